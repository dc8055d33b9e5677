package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** The data of the tests. Each kind is created when the first test needs it, and stays in memory. */
final class Data {
  private static final double PARTITIONS = 400;

  final JavaSparkContext spark;
  final JsonNode settings;
  /** Tasks of a stage: 400 × the scale factor, as in spark-perf. */
  final int partitions;

  private KeyValueData pairs;
  private Tables tables;
  private SparkSession session;

  Data(JavaSparkContext spark, JsonNode settings) {
    this.spark = spark;
    this.settings = settings;
    this.partitions = (int) Math.max(1, Math.round(PARTITIONS * scale()));
  }

  double scale() {
    return settings.get("scale_factor").asDouble();
  }

  /**
   * The number of records for {@code full} at scale factor 1, shrunk by the settings; at least one for each
   * partition.
   */
  long records(double full) {
    return Math.max(1, Math.round(full * scale() * settings.get("data_scale").asDouble() / partitions)) * partitions;
  }

  long seed() {
    return settings.get("seed").asLong();
  }

  /** For SQL and MLlib: the requested number of tasks and kind of join. */
  SparkSession session() {
    if (session == null) {
      session = SparkSession.builder().sparkContext(spark.sc()).getOrCreate();
      session.conf().set("spark.sql.shuffle.partitions", partitions);
      session.conf().set("spark.sql.adaptive.coalescePartitions.enabled", false);
      session.conf().set("spark.sql.autoBroadcastJoinThreshold", -1);
    }
    return session;
  }

  KeyValueData pairs() {
    pairs = pairs == null ? KeyValueData.create(this) : pairs;
    return pairs;
  }

  Tables tables() {
    tables = tables == null ? Tables.create(this) : tables;
    return tables;
  }
}
