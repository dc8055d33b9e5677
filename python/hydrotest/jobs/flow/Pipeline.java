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
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
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
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.apache.spark.sql.streaming.Trigger;

/**
 * The pipeline: a splitter that sends each log record to the topic of its level, and a persister for each of
 * those topics and each sink. Each is a separate query with its own checkpoints. A query that an error has
 * ended is restarted from its checkpoint, as an operator would do, since Spark does not restart it.
 */
final class Pipeline {
  /** Where a log record's level begins, counted from 1, and its length: rust/kafka/src/payload.rs. */
  private static final String LEVEL = "trim(cast(substring(value, 25, 8) as string))";
  /** Its intended start, nanoseconds of wall time, big-endian. */
  private static final String INTENDED =
      "timestamp_micros(cast(conv(hex(substring(value, 17, 8)), 16, 10) as bigint) div 1000)";
  /**
   * Records that are older than the youngest one so far by more than this are no longer counted: retries of a
   * producer whose broker is away take that long.
   */
  private static final String LATE_AFTER = "120 seconds";

  /** Interval at which progress is stored in real-time mode: Spark's minimum. */
  private static final long REAL_TIME_MS = 5_000;
  private static final long RESTART_MS = 5_000;
  private static final long POLL_MS = 200;

  private final SparkSession spark;
  private final Consumer<ObjectNode> say;
  private final ScheduledExecutorService restarter = Executors.newSingleThreadScheduledExecutor(work -> {
    Thread thread = new Thread(work, "restart");
    thread.setDaemon(true);
    return thread;
  });

  /** By name, in the order of the pipeline; guarded by this. */
  private final Map<String, DataStreamWriter<Row>> writers = new LinkedHashMap<>();
  private final Map<String, StreamingQuery> queries = new LinkedHashMap<>();
  private final Map<String, Integer> endings = new HashMap<>();
  /** Stopped on purpose. */
  private final Set<String> halted = new HashSet<>();
  /** Why a query is not restarted. */
  private final Map<String, String> givenUp = new HashMap<>();
  private int restarts;
  private boolean isRealTime;
  private String brokers;
  /** The input of each query. */
  private final Map<String, String> topics = new HashMap<>();

  Pipeline(SparkSession spark, Consumer<ObjectNode> say) {
    this.spark = spark;
    this.say = say;
    spark.streams().addListener(new Told());
  }

  /**
   * {@code wish}: brokers, input, branches (topic by level), sinks, checkpoints, restarts (of each query),
   * is_real_time, and, each may be null, windows (topic, micros and tasks), trigger_ms and
   * offsets_per_trigger.
   */
  synchronized void begin(JsonNode wish) throws TimeoutException {
    restarts = wish.get("restarts").asInt();
    isRealTime = wish.get("is_real_time").asBoolean();
    brokers = wish.get("brokers").asText();
    Column topic = null;
    Column first = null;
    for (Map.Entry<String, JsonNode> branch : wish.get("branches").properties()) {
      Column name = lit(branch.getValue().asText());
      Column own = col("level").equalTo(branch.getKey().toUpperCase(java.util.Locale.ROOT));
      topic = topic == null ? when(own, name) : topic.when(own, name);
      first = first == null ? name : first;
    }
    // An unknown level goes to the first branch, where the account finds it to be wrong.
    Dataset<Row> split = read(wish, wish.get("input").asText())
        .select(col("value"), expr(LEVEL).as("level")).select(col("value"), coalesce(topic, first).as("topic"));
    start("splitter", wish.get("input").asText(), wish, kafka(split, brokers));
    if (wish.hasNonNull("windows")) {
      start("windows", wish.get("input").asText(), wish, kafka(counts(wish), brokers).outputMode("update"));
    }
    for (Map.Entry<String, JsonNode> branch : wish.get("branches").properties()) {
      for (JsonNode sink : wish.get("sinks")) {
        Dataset<Row> records = read(wish, branch.getValue().asText()).select(col("value"));
        String name = "persist-" + branch.getKey() + "-" + sink.get("name").asText();
        start(name, branch.getValue().asText(), wish, into(records, sink, branch.getKey(), brokers));
      }
    }
  }

  /**
   * Records by level and window of intended time; each batch reports the windows that it added to, with the
   * youngest record in them.
   */
  private Dataset<Row> counts(JsonNode wish) {
    JsonNode windows = wish.get("windows");
    // Each task of a batch opens its own state: Spark's 200 would take seconds for a few windows.
    spark.conf().set("spark.sql.shuffle.partitions", windows.get("tasks").asLong());
    return read(wish, wish.get("input").asText()).select(expr(LEVEL).as("level"), expr(INTENDED).as("intended"))
        .withWatermark("intended", LATE_AFTER)
        .groupBy(window(col("intended"), windows.get("micros").asText() + " microseconds"), col("level"))
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

  private void start(String name, String topic, JsonNode wish, DataStreamWriter<Row> writer) throws TimeoutException {
    if (isRealTime) {
      writer = writer.outputMode("update").trigger(Trigger.RealTime(wish.path("trigger_ms").asLong(REAL_TIME_MS)));
    } else if (wish.hasNonNull("trigger_ms")) {
      writer = writer.trigger(Trigger.ProcessingTime(wish.get("trigger_ms").asLong()));
    }
    String checkpoint = wish.get("checkpoints").asText() + "/" + name;
    topics.put(name, topic);
    writers.put(name, writer.queryName(name).option("checkpointLocation", checkpoint));
    resume(name);
  }

  /** Continues a query from its checkpoint, unless it runs. */
  synchronized void resume(String name) throws TimeoutException {
    halted.remove(name);
    StreamingQuery last = queries.get(name);
    if (last == null || !last.isActive()) {
      queries.put(name, writers.get(name).start());
    }
  }

  /** Stops a query in the middle of its batch, until {@code resume}. */
  void halt(String name) throws TimeoutException {
    StreamingQuery query;
    synchronized (this) {
      halted.add(name);
      query = queries.get(name);
    }
    query.stop();
  }

  private synchronized StreamingQuery current(String name) {
    if (givenUp.containsKey(name)) {
      throw new IllegalStateException(givenUp.get(name));
    }
    return queries.get(name);
  }

  /** An error has ended a query: it is reported, and restarted if allowed. */
  private synchronized void ended(String id, String error) {
    for (Map.Entry<String, StreamingQuery> one : queries.entrySet()) {
      if (one.getValue().id().toString().equals(id)) {
        failed(one.getKey(), error);
        return;
      }
    }
  }

  private synchronized void failed(String name, String error) {
    if (halted.contains(name)) {
      return; // it was interrupted, and that may end in any way
    }
    say.accept(Flow.JSON.createObjectNode().put("event", "ended").put("query", name)
        .put("wall_s", System.currentTimeMillis() / 1e3).put("error", error));
    if (endings.merge(name, 1, Integer::sum) > restarts) {
      givenUp.put(name, name + " ended " + endings.get(name) + " times, at last by: " + error);
      return;
    }
    StreamingQuery dead = queries.get(name);
    restarter.schedule(() -> restart(name, dead), RESTART_MS, TimeUnit.MILLISECONDS);
  }

  private synchronized void restart(String name, StreamingQuery dead) {
    if (queries.get(name) != dead || halted.contains(name)) {
      return; // the pipeline has ended, another thread was faster, or the query was stopped meanwhile
    }
    try {
      resume(name);
    } catch (Exception error) {
      failed(name, error.toString());
    }
  }

  /**
   * Waits until each query, in the order of the pipeline, has processed its topic to the end; false if that
   * takes longer.
   */
  boolean drain(double seconds) throws Exception {
    Throwable[] failure = new Throwable[1];
    Map<String, DataStreamWriter<Row>> all;
    synchronized (this) {
      all = new LinkedHashMap<>(writers);
    }
    Thread thread = new Thread(() -> {
      try {
        for (String name : all.keySet()) {
          drain(name);
        }
      } catch (Throwable error) {
        failure[0] = error;
      }
    }, "drain");
    thread.start();
    thread.join((long) (seconds * 1e3));
    boolean ended = !thread.isAlive();
    thread.interrupt();
    // Records for a query that was abandoned are not in flight, however far the others have come.
    for (String name : all.keySet()) {
      current(name);
    }
    if (ended && failure[0] != null) {
      throw new IllegalStateException(failure[0].getMessage(), failure[0]);
    }
    return ended;
  }

  private void drain(String name) throws Exception {
    // In real-time mode a batch never runs out of records: the progress of each query shows when it is done.
    TopicEnds ends = isRealTime ? TopicEnds.now(brokers, topics.get(name)) : null;
    while (true) {
      StreamingQuery query = current(name);
      try {
        if (isRealTime) {
          ends.await(query);
        } else {
          query.processAllAvailable();
        }
        return;
      } catch (Exception error) {
        boolean isDead = error instanceof StreamingQueryException || !query.isActive();
        if (!isDead || error instanceof InterruptedException) {
          throw error;
        }
        Thread.sleep(POLL_MS); // until it continues, or is abandoned
      }
    }
  }

  void end() throws TimeoutException {
    Map<String, StreamingQuery> last;
    synchronized (this) {
      last = new LinkedHashMap<>(queries);
      writers.clear();
      queries.clear();
      endings.clear();
      halted.clear();
      givenUp.clear();
    }
    for (StreamingQuery query : last.values()) {
      query.stop();
    }
  }

  /** Reports every batch, and every query that ends. */
  private final class Told extends StreamingQueryListener {
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

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {
      if (event.exception().isDefined()) {
        ended(event.id().toString(), event.exception().get());
      }
    }
  }
}
