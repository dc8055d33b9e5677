package hydrotest.jobs;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.when;

import java.io.Serializable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;

/**
 * Tables for the SQL tests: {@code facts} (id, key, hot, value) and {@code names} (key, weight), a row for each key. At
 * scale factor 1: 100 million facts, 200,000 keys. Keys and values are hashes of the id and the seed, so evenly spread;
 * {@code hot} is the same key for half of the facts and the fact's own for the rest.
 */
final class Tables {
  private static final double FACTS = 100e6;
  private static final double KEYS = 200e3;
  static final int VALUES = 1000;
  static final int WEIGHTS = 7;

  final Dataset<Row> facts;
  final Dataset<Row> names;
  final long records;
  /** The answers, computed row by row, without Spark's SQL. */
  final Sums sums;
  final long distinctKeys;

  private Tables(Dataset<Row> facts, Dataset<Row> names, long records) {
    this.facts = facts;
    this.names = names;
    this.records = records;
    this.sums = facts.toJavaRDD().aggregate(new Sums(), (sum, row) -> sum.with(row), Sums::plus);
    this.distinctKeys = facts.toJavaRDD().map(row -> row.getLong(1)).distinct().count();
  }

  static Tables create(Data data) {
    SparkSession session = data.session();
    long records = data.records(FACTS);
    long keys = Math.max(1, Math.round(KEYS * data.scale()));
    Dataset<Row> facts = session.range(0, records, 1, data.partitions)
        .withColumn("key", expr("pmod(xxhash64(id, " + data.seed() + "L), " + keys + "L)"))
        .withColumn("hot", when(expr("pmod(xxhash64(id, 1L), 2L)").equalTo(0), lit(0L)).otherwise(col("key")))
        .withColumn("value", expr("pmod(xxhash64(id, 2L), " + VALUES + "L)"))
        .persist(StorageLevel.MEMORY_AND_DISK());
    Dataset<Row> names = session.range(0, keys, 1, Math.min(data.partitions, 8)).toDF("key")
        .withColumn("weight", expr("pmod(key, " + WEIGHTS + "L)")).persist(StorageLevel.MEMORY_AND_DISK());
    names.count();
    return new Tables(facts, names, records);
  }

  /** Sums over facts. */
  static final class Sums implements Serializable {
    long few;
    long ofFew;
    long weights;
    long hotWeights;

    Sums with(Row row) {
      long value = row.getLong(3);
      if (value < VALUES / 10) {
        few++;
        ofFew += value;
      }
      weights += row.getLong(1) % WEIGHTS;
      hotWeights += row.getLong(2) % WEIGHTS;
      return this;
    }

    Sums plus(Sums other) {
      few += other.few;
      ofFew += other.ofFew;
      weights += other.weights;
      hotWeights += other.hotWeights;
      return this;
    }
  }
}
