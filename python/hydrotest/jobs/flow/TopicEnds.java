package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** The end of a topic at a moment, and whether a query has reached it. */
final class TopicEnds {
  private static final long POLL_MS = 100;

  private final String topic;
  private final Map<Integer, Long> ends = new HashMap<>();

  private TopicEnds(String topic) {
    this.topic = topic;
  }

  /** The ends that the brokers report now. */
  static TopicEnds now(String brokers, String topic) {
    TopicEnds found = new TopicEnds(topic);
    Map<String, Object> settings = Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(one -> new TopicPartition(topic, one.partition())).toList();
      consumer.endOffsets(partitions).forEach((partition, end) -> found.ends.put(partition.partition(), end));
    }
    return found;
  }

  /** Returns when the query has stored progress up to them; throws the error that ended it, if one does. */
  void await(StreamingQuery query) throws StreamingQueryException, java.io.IOException, InterruptedException {
    while (!isReached(query.lastProgress())) {
      if (!query.isActive()) {
        if (query.exception().isDefined()) {
          throw query.exception().get();
        }
        throw new IllegalStateException(query.name() + " was stopped");
      }
      Thread.sleep(POLL_MS);
    }
  }

  private boolean isReached(StreamingQueryProgress progress) throws java.io.IOException {
    if (progress == null) {
      return ends.values().stream().allMatch(end -> end == 0);
    }
    JsonNode kept = Flow.JSON.readTree(progress.sources()[0].endOffset()).path(topic);
    return ends.entrySet().stream().allMatch(one -> kept.path(one.getKey().toString()).asLong(0) >= one.getValue());
  }
}
