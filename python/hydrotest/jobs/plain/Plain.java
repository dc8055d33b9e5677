package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The pipeline without an engine: consume, transform, produce, in Kafka transactions, so that each record
 * goes through once. One thread for the splitter and one for each level's persister; with more tasks, that
 * many of each.
 */
public final class Plain {
  private static final Duration POLL = Duration.ofMillis(100);
  /** Where a log record's level is: rust/kafka/src/payload.rs. */
  private static final int LEVEL_AT = 24;
  private static final int LEVEL_BYTES = 8;

  private final String brokers;
  private final String group;

  private Plain(String brokers, String group) {
    this.brokers = brokers;
    this.group = group;
  }

  /**
   * The one argument is a file of settings: brokers, group, input, branches (topic by level), aggregate,
   * tasks, ready (a file that is created once all threads have their partitions).
   */
  public static void main(String[] args) throws Exception {
    JsonNode settings = new ObjectMapper().readTree(new File(args[0]));
    Plain plain = new Plain(settings.get("brokers").asText(), settings.get("group").asText());
    Map<String, String> branches = new HashMap<>();
    settings.get("branches").properties().forEach(one -> branches.put(one.getKey().toUpperCase(Locale.ROOT), one.getValue().asText()));
    String first = settings.get("branches").properties().iterator().next().getValue().asText();
    int tasks = settings.get("tasks").asInt();
    CountDownLatch assigned = new CountDownLatch(tasks * (1 + branches.size()));
    List<Thread> threads = new ArrayList<>();
    for (int task = 0; task < tasks; task++) {
      String number = "-" + task;
      String input = settings.get("input").asText();
      String aggregate = settings.get("aggregate").asText();
      // An unknown level goes to the first branch, where the account finds it to be wrong.
      threads.add(plain.hop("splitter", number, input, value -> branches.getOrDefault(level(value), first), assigned));
      branches.forEach((level, topic) -> threads.add(plain.hop("persist-" + level, number, topic, value -> aggregate, assigned)));
    }
    threads.forEach(Thread::start);
    assigned.await();
    Files.createFile(Path.of(settings.get("ready").asText()));
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static String level(byte[] value) {
    return value.length < LEVEL_AT + LEVEL_BYTES ? "" : new String(value, LEVEL_AT, LEVEL_BYTES, StandardCharsets.US_ASCII).strip();
  }

  private Thread hop(String name, String task, String from, Function<byte[], String> to, CountDownLatch assigned) {
    Thread thread = new Thread(() -> work(name, task, from, to, assigned), name + task);
    thread.setUncaughtExceptionHandler((own, error) -> {
      error.printStackTrace();
      System.exit(1);
    });
    return thread;
  }

  private void work(String name, String task, String from, Function<byte[], String> to, CountDownLatch assigned) {
    Properties reading = new Properties();
    reading.put("bootstrap.servers", brokers);
    reading.put("group.id", group + "-" + name);
    reading.put("isolation.level", "read_committed");
    reading.put("enable.auto.commit", "false");
    reading.put("auto.offset.reset", "earliest");
    reading.put("max.poll.records", "5000");
    Properties writing = new Properties();
    writing.put("bootstrap.servers", brokers);
    writing.put("transactional.id", group + "-" + name + task);
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer())) {
      producer.initTransactions();
      consumer.subscribe(List.of(from));
      boolean told = false;
      while (true) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
        if (!told && !consumer.assignment().isEmpty()) {
          told = true;
          assigned.countDown();
        }
        if (!records.isEmpty()) {
          pass(consumer, producer, records, to);
        }
      }
    }
  }

  /** One transaction: all of these records and the read position, or nothing. */
  private static void pass(KafkaConsumer<byte[], byte[]> consumer, KafkaProducer<byte[], byte[]> producer,
      ConsumerRecords<byte[], byte[]> records, Function<byte[], String> to) {
    Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
    try {
      producer.beginTransaction();
      for (ConsumerRecord<byte[], byte[]> record : records) {
        producer.send(new ProducerRecord<>(to.apply(record.value()), record.value()));
        read.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
      }
      producer.sendOffsetsToTransaction(read, consumer.groupMetadata());
      producer.commitTransaction();
    } catch (ProducerFencedException | FencedInstanceIdException fatal) {
      throw fatal;
    } catch (KafkaException error) {
      // Nothing of the transaction counts: its records are read again from the end of the last one.
      producer.abortTransaction();
      Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
      committed.forEach((partition, offset) -> {
        if (offset == null) {
          consumer.seekToBeginning(List.of(partition));
        } else {
          consumer.seek(partition, offset);
        }
      });
    }
  }
}
