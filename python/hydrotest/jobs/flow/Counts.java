package hydrotest.jobs;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.from_json;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.sum;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * The final contents of the topic of windowed counts. Each batch that adds to a window reports it, and so
 * does a batch that is repeated after a failure: the largest count is the last.
 */
final class Counts {
  private static final StructType UPDATE = StructType.fromDDL("level STRING, start_s DOUBLE, records BIGINT, newest_s DOUBLE");

  private Counts() {}

  /**
   * {@code wish}: brokers, topic, from_s and to_s. Reports {@code windows}, {@code updates}, {@code counted}
   * by level, and {@code delays_ms} for updates whose youngest record was intended between from_s and to_s.
   * These are percentiles of the time from that record's intended start until the update is in the topic.
   */
  static ObjectNode of(SparkSession spark, JsonNode wish) {
    Dataset<Row> updates = spark.read().format("kafka").option("kafka.bootstrap.servers", wish.get("brokers").asText())
        .option("subscribe", wish.get("topic").asText()).option("startingOffsets", "earliest").load()
        .select(from_json(col("value").cast("string"), UPDATE).as("update"), col("timestamp").cast("double").as("there_s"))
        .select("update.*", "there_s").cache();
    Dataset<Row> windows = updates.groupBy("level", "start_s").agg(max("records").as("records"));
    List<Row> levels = windows.groupBy("level").agg(sum("records"), count(lit(1))).collectAsList();
    ObjectNode told = Flow.JSON.createObjectNode().put("updates", updates.count());
    told.put("windows", levels.stream().mapToLong(row -> row.getLong(2)).sum());
    ObjectNode counted = told.putObject("counted");
    levels.forEach(row -> counted.put(row.getString(0), row.getLong(1)));
    Row delays = updates.where(col("newest_s").geq(wish.get("from_s").asDouble()).and(col("newest_s").lt(wish.get("to_s").asDouble())))
        .agg(expr("percentile((there_s - newest_s) * 1000, array(0.5, 0.99))"), max(expr("(there_s - newest_s) * 1000"))).first();
    ObjectNode latency = told.putObject("delays_ms");
    if (!delays.isNullAt(1)) {
      latency.put("p50", (double) delays.getList(0).get(0)).put("p99", (double) delays.getList(0).get(1)).put("max", delays.getDouble(1));
    }
    updates.unpersist();
    return told;
  }
}
