package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.HdrHistogram.Histogram;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.roaringbitmap.longlong.PeekableLongIterator;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/**
 * The contents of a sink: for each producer the sequences that are there, those that are there more than
 * once, and the flawed ones. It also has how long each took, from its intended start until it was visible
 * there. Counted next to the records, and added up. Memory grows with gaps and duplicates, not with records.
 */
final class Ledger implements Serializable {
  /** See rust/kafka/src/payload.rs: checksum, producer, sequence, intended start, level. */
  private static final int STAMP_BYTES = 24;
  private static final int LEVEL_BYTES = 8;
  /** For latencies, microseconds. */
  private static final int DIGITS = 3;
  private static final Column NEVER = functions.lit(null).cast("long");

  private static final class Account implements Serializable {
    final Roaring64Bitmap seen = new Roaring64Bitmap();
    final Roaring64Bitmap doubled = new Roaring64Bitmap();
    long duplicated;
  }

  private final Map<Integer, Account> accounts = new TreeMap<>();
  private long records;
  private long corrupted;
  private long wrongBranch;
  private long outOfOrder;
  private final Histogram latencies = new Histogram(DIGITS);

  private Ledger() {}

  /**
   * {@code wish}: a sink as for a pipeline, with its levels and, for topics, the brokers; from_s and to_s:
   * latencies cover the records intended between them.
   */
  static Ledger of(SparkSession spark, JsonNode wish) throws java.io.IOException {
    JsonNode sink = wish.get("sink");
    Ledger all = new Ledger();
    long[] span = {(long) (wish.get("from_s").asDouble() * 1e6), (long) (wish.get("to_s").asDouble() * 1e6)};
    if (sink.get("kind").asText().equals("kafka")) {
      Dataset<Row> records = spark.read().format("kafka").option("kafka.bootstrap.servers", wish.get("brokers").asText())
          .option("subscribe", sink.get("topic").asText()).option("startingOffsets", "earliest").load();
      // Records do not show when a transaction ended, or a batch was there.
      all.add(count(records.select(functions.col("value"), functions.col("partition").cast("string").as("place"), NEVER), null, span));
      return all;
    }
    if (sink.get("kind").asText().equals("cassandra")) {
      // A table has no order, and contains all levels.
      Dataset<Row> rows = new CassandraSink(sink).read(spark);
      all.add(count(rows.select(functions.col("value"), functions.lit(null).cast("string"), functions.col("written_us")), null, span));
      return all;
    }
    for (JsonNode level : wish.get("levels")) {
      String path = sink.get("path").asText() + "/" + level.asText();
      Dataset<Row> records = spark.read().schema("value binary").format(sink.get("format").asText()).load(path);
      Map<String, Long> visible = Manifest.visible(path, spark.sparkContext().hadoopConfiguration());
      UserDefinedFunction at = functions.udf((UDF1<String, Long>) file -> visible.get(file.substring(file.lastIndexOf('/') + 1)), DataTypes.LongType);
      all.add(count(records.withColumn("place", functions.input_file_name()).withColumn("visible_us", at.apply(functions.input_file_name())),
          level.asText(), span));
    }
    return all;
  }

  /**
   * {@code records}: value, place (records in one have an order), and when each became visible, wall time in
   * microseconds; null if unknown.
   */
  private static Ledger count(Dataset<Row> records, String level, long[] span) {
    byte[] expected = level == null ? null
        : String.format("%-" + LEVEL_BYTES + "s", level.toUpperCase(Locale.ROOT)).getBytes(StandardCharsets.US_ASCII);
    List<Ledger> parts = records.javaRDD().mapPartitions((Iterator<Row> rows) -> {
      Ledger own = new Ledger();
      own.read(rows, expected, span);
      return List.of(own).iterator();
    }).collect();
    Ledger sum = new Ledger();
    parts.forEach(sum::add);
    return sum;
  }

  private void read(Iterator<Row> rows, byte[] expected, long[] span) {
    String place = null;
    Map<Integer, Long> last = new TreeMap<>();
    CRC32C checksum = new CRC32C();
    while (rows.hasNext()) {
      Row row = rows.next();
      if (row.getString(1) != null && !row.getString(1).equals(place)) {
        // Each file has an order of its own.
        place = row.getString(1);
        last.clear();
      }
      records++;
      byte[] value = (byte[]) row.get(0);
      if (value == null || value.length < STAMP_BYTES + LEVEL_BYTES) {
        corrupted++;
        continue;
      }
      ByteBuffer fields = ByteBuffer.wrap(value);
      checksum.reset();
      checksum.update(value, 4, value.length - 4);
      if ((int) checksum.getValue() != fields.getInt(0)) {
        corrupted++;
        continue;
      }
      if (expected != null && fields.slice(STAMP_BYTES, LEVEL_BYTES).mismatch(ByteBuffer.wrap(expected)) >= 0) {
        wrongBranch++;
      }
      long intended = fields.getLong(16) / 1000;
      if (!row.isNullAt(2) && intended >= span[0] && intended < span[1]) {
        latencies.recordValue(Math.max(0, row.getLong(2) - intended));
      }
      int producer = fields.getInt(4);
      long sequence = fields.getLong(8);
      Account account = accounts.computeIfAbsent(producer, any -> new Account());
      if (account.seen.contains(sequence)) {
        account.duplicated++;
        account.doubled.addLong(sequence);
      } else if (sequence < last.getOrDefault(producer, -1L)) {
        outOfOrder++;
      }
      account.seen.addLong(sequence);
      last.merge(producer, sequence, Math::max);
    }
    accounts.values().forEach(account -> account.seen.runOptimize());
  }

  private void add(Ledger other) {
    records += other.records;
    corrupted += other.corrupted;
    wrongBranch += other.wrongBranch;
    outOfOrder += other.outOfOrder;
    latencies.add(other.latencies);
    other.accounts.forEach((producer, theirs) -> {
      Account own = accounts.computeIfAbsent(producer, any -> new Account());
      Roaring64Bitmap both = new Roaring64Bitmap();
      both.or(own.seen);
      both.and(theirs.seen);
      own.duplicated += theirs.duplicated + both.getLongCardinality();
      own.doubled.or(both);
      own.doubled.or(theirs.doubled);
      own.seen.or(theirs.seen);
    });
  }

  /** {@code percentiles}: those of the latencies, per cent by name. */
  ObjectNode told(JsonNode percentiles) {
    ObjectNode told = Flow.JSON.createObjectNode().put("records", records).put("corrupted", corrupted);
    told.put("wrong_branch", wrongBranch);
    ArrayNode seen = told.putArray("seen");
    accounts.forEach((producer, account) -> {
      ObjectNode one = seen.addObject().put("producer", Integer.toUnsignedLong(producer)).put("duplicated", account.duplicated);
      one.set("runs", runs(account.seen));
      one.set("doubled", runs(account.doubled));
    });
    if (latencies.getTotalCount() > 0) {
      ObjectNode latency = told.putObject("latency_ms").put("mean", latencies.getMean() / 1e3);
      percentiles.fieldNames().forEachRemaining(name -> latency.put(name, latencies.getValueAtPercentile(percentiles.get(name).asDouble()) / 1e3));
      latency.put("max", latencies.getMaxValue() / 1e3);
    }
    return told.put("out_of_order", outOfOrder);
  }

  /** As half-open runs. */
  private static ArrayNode runs(Roaring64Bitmap numbers) {
    ArrayNode runs = Flow.JSON.createArrayNode();
    PeekableLongIterator each = numbers.getLongIterator();
    while (each.hasNext()) {
      long first = each.next();
      long end = first + 1;
      while (each.hasNext() && each.peekNext() == end) {
        each.next();
        end++;
      }
      runs.addArray().add(first).add(end);
    }
    return runs;
  }
}
