package hydrotest.jobs;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.to_json;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.window;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamReader;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.apache.spark.sql.streaming.Trigger;

/**
 * The pipeline: a splitter that sends each log record to the topic of its level, and for each of those topics and each
 * sink a persister, all queries of their own with checkpoints of their own.
 */
final class Pipeline {
  /** Where a log record's level begins, counted from 1, and its length: rust/kafka/src/payload.rs. */
  private static final String LEVEL = "trim(cast(substring(value, 25, 8) as string))";
  /** Its intended start, nanoseconds of wall time, big-endian. */
  private static final String INTENDED =
      "timestamp_micros(cast(conv(hex(substring(value, 17, 8)), 16, 10) as bigint) div 1000)";
  /** Records that are so much older than the youngest that was seen are not counted any more: retries of a producer whose
   * broker is away take that long. */
  private static final String LATE_AFTER = "120 seconds";

  private final SparkSession spark;
  private final List<StreamingQuery> queries = new ArrayList<>();

  Pipeline(SparkSession spark, Consumer<ObjectNode> say) {
    this.spark = spark;
    spark.streams().addListener(new Told(say));
  }

  /**
   * {@code wish}: brokers, input, branches (topic by level), sinks, checkpoints, and, each may be null, windows (topic, seconds
   * and tasks), trigger_ms and offsets_per_trigger.
   */
  void begin(JsonNode wish) throws TimeoutException {
    String brokers = wish.get("brokers").asText();
    Column topic = null;
    Column first = null;
    for (Map.Entry<String, JsonNode> branch : wish.get("branches").properties()) {
      Column name = lit(branch.getValue().asText());
      Column own = col("level").equalTo(branch.getKey().toUpperCase(java.util.Locale.ROOT));
      topic = topic == null ? when(own, name) : topic.when(own, name);
      first = first == null ? name : first;
    }
    // A level that nobody knows goes the first way, where it is found to be wrong.
    Dataset<Row> split = read(wish, wish.get("input").asText())
        .select(col("value"), expr(LEVEL).as("level")).select(col("value"), coalesce(topic, first).as("topic"));
    start("splitter", wish, kafka(split, brokers));
    if (wish.hasNonNull("windows")) {
      start("windows", wish, kafka(counts(wish), brokers).outputMode("update"));
    }
    for (Map.Entry<String, JsonNode> branch : wish.get("branches").properties()) {
      for (JsonNode sink : wish.get("sinks")) {
        Dataset<Row> records = read(wish, branch.getValue().asText()).select(col("value"));
        String name = "persist-" + branch.getKey() + "-" + sink.get("name").asText();
        start(name, wish, into(records, sink, branch.getKey(), brokers));
      }
    }
  }

  /** Records by level and window of intended time; each batch tells anew of the windows that it added to, with the youngest record in them. */
  private Dataset<Row> counts(JsonNode wish) {
    JsonNode windows = wish.get("windows");
    // Each task of a batch opens a state of its own: Spark's 200 would take seconds for a few windows.
    spark.conf().set("spark.sql.shuffle.partitions", windows.get("tasks").asLong());
    return read(wish, wish.get("input").asText()).select(expr(LEVEL).as("level"), expr(INTENDED).as("intended"))
        .withWatermark("intended", LATE_AFTER)
        .groupBy(window(col("intended"), windows.get("seconds").asText() + " seconds"), col("level"))
        .agg(count(lit(1)).as("records"), max("intended").as("newest"))
        .select(lit(windows.get("topic").asText()).as("topic"), to_json(struct(col("level"),
            col("window.start").cast("double").as("start_s"), col("records"), col("newest").cast("double").as("newest_s"))).as("value"));
  }

  private Dataset<Row> read(JsonNode wish, String topic) {
    DataStreamReader reader = spark.readStream().format("kafka")
        .option("kafka.bootstrap.servers", wish.get("brokers").asText()).option("subscribe", topic)
        .option("startingOffsets", "earliest").option("failOnDataLoss", "true");
    if (wish.hasNonNull("offsets_per_trigger")) {
      reader = reader.option("maxOffsetsPerTrigger", wish.get("offsets_per_trigger").asLong());
    }
    return reader.load();
  }

  private static DataStreamWriter<Row> kafka(Dataset<Row> records, String brokers) {
    return records.writeStream().format("kafka").option("kafka.bootstrap.servers", brokers)
        .option("kafka.acks", "all").option("kafka.enable.idempotence", "true");
  }

  private static DataStreamWriter<Row> into(Dataset<Row> records, JsonNode sink, String level, String brokers) {
    switch (sink.get("kind").asText()) {
      case "kafka":
        return kafka(records.withColumn("topic", lit(sink.get("topic").asText())), brokers);
      case "files":
        return records.writeStream().format(sink.get("format").asText())
            .option("path", sink.get("path").asText() + "/" + level);
      case "cassandra":
        CassandraSink table = new CassandraSink(sink);
        table.create();
        return records.writeStream().foreachBatch((VoidFunction2<Dataset<Row>, Long>) (batch, number) -> table.write(batch));
      default:
        throw new IllegalArgumentException("there is no sink " + sink.get("kind"));
    }
  }

  private void start(String name, JsonNode wish, DataStreamWriter<Row> writer) throws TimeoutException {
    if (wish.hasNonNull("trigger_ms")) {
      writer = writer.trigger(Trigger.ProcessingTime(wish.get("trigger_ms").asLong()));
    }
    String checkpoint = wish.get("checkpoints").asText() + "/" + name;
    queries.add(writer.queryName(name).option("checkpointLocation", checkpoint).start());
  }

  /** Waits until each query, in the order of the pipeline, has dealt with all that lies in its topic; false if that takes longer. */
  boolean drain(double seconds) throws Exception {
    Throwable[] failure = new Throwable[1];
    Thread thread = new Thread(() -> {
      try {
        queries.forEach(StreamingQuery::processAllAvailable);
      } catch (Throwable error) {
        failure[0] = error;
      }
    }, "drain");
    thread.start();
    thread.join((long) (seconds * 1e3));
    boolean ended = !thread.isAlive();
    thread.interrupt();
    if (ended && failure[0] != null) {
      throw new IllegalStateException(failure[0].getMessage(), failure[0]);
    }
    return ended;
  }

  void end() throws TimeoutException {
    for (StreamingQuery query : queries) {
      query.stop();
    }
    queries.clear();
  }

  /** Tells of every batch. */
  private static final class Told extends StreamingQueryListener {
    private final Consumer<ObjectNode> say;

    Told(Consumer<ObjectNode> say) {
      this.say = say;
    }

    @Override
    public void onQueryStarted(QueryStartedEvent event) {}

    @Override
    public void onQueryProgress(QueryProgressEvent event) {
      StreamingQueryProgress progress = event.progress();
      if (progress.numInputRows() == 0) {
        return;
      }
      ObjectNode line = Flow.JSON.createObjectNode().put("event", "progress").put("query", progress.name());
      line.put("wall_s", System.currentTimeMillis() / 1e3).put("batch", progress.batchId());
      line.put("rows", progress.numInputRows()).put("seconds", progress.batchDuration() / 1e3);
      ObjectNode parts = line.putObject("ms");
      progress.durationMs().forEach((part, ms) -> parts.put(part, ms.longValue()));
      if (progress.stateOperators().length > 0) {
        line.put("late", progress.stateOperators()[0].numRowsDroppedByWatermark());
        line.put("state_rows", progress.stateOperators()[0].numRowsTotal());
      }
      String behind = progress.sources()[0].metrics().get("maxOffsetsBehindLatest");
      say.accept(behind == null ? line.putNull("behind") : line.put("behind", Long.parseLong(behind)));
    }

    /** One that ended by an error says so when it is drained. */
    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {}
  }
}
