package hydrotest.jobs;

import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.row_number;
import static org.apache.spark.sql.functions.sum;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.expressions.Window;

/** Tests of Spark's SQL, on tables in memory; each compares its answer with one computed row by row. */
enum SqlTest implements Test {
  /** Reads all rows, keeps a tenth. */
  SCAN_FILTER("scan-filter") {
    @Override
    boolean run(Tables tables) {
      Row found = tables.facts.filter(col("value").lt(Tables.VALUES / 10)).agg(count(lit(1)), sum("value")).first();
      return found.getLong(0) == tables.sums.few && found.getLong(1) == tables.sums.ofFew;
    }
  },
  /** Joins with a small table that every executor gets completely. */
  BROADCAST_JOIN("broadcast-join") {
    @Override
    boolean run(Tables tables) {
      return weights(tables.facts.join(broadcast(tables.names), "key")) == tables.sums.weights;
    }
  },
  /** The same by shuffling and sorting both. */
  SHUFFLED_JOIN("shuffled-join") {
    @Override
    boolean run(Tables tables) {
      return weights(tables.facts.join(tables.names.hint("merge"), "key")) == tables.sums.weights;
    }
  },
  /** Joins by a key that half of the facts have. */
  SKEWED_JOIN("skewed-join") {
    @Override
    boolean run(Tables tables) {
      Dataset<Row> hot = tables.facts.select(col("hot").as("key"));
      return weights(hot.join(tables.names.hint("merge"), "key")) == tables.sums.hotWeights;
    }
  },
  /** The first fact of each key. */
  WINDOW("window") {
    @Override
    boolean run(Tables tables) {
      return tables.facts.withColumn("place", row_number().over(Window.partitionBy("key").orderBy("id")))
          .filter(col("place").equalTo(1)).count() == tables.distinctKeys;
    }
  },
  /** Groups of four facts on average: hardly anything is combined before the shuffle. */
  GROUP_BY("group-by") {
    @Override
    boolean run(Tables tables) {
      long groups = Math.max(1, tables.records / 4);
      Row found = tables.facts.groupBy(col("id").mod(groups)).agg(count(lit(1)).as("n")).agg(count(lit(1)), sum("n")).first();
      return found.getLong(0) == Math.min(groups, tables.records) && found.getLong(1) == tables.records;
    }
  };

  private final String title;

  SqlTest(String title) {
    this.title = title;
  }

  abstract boolean run(Tables tables);

  @Override
  public boolean run(Data data) {
    return run(data.tables());
  }

  @Override
  public void prepare(Data data) {
    data.tables();
  }

  @Override
  public String title() {
    return title;
  }

  private static long weights(Dataset<Row> joined) {
    return joined.agg(sum("weight")).first().getLong(0);
  }
}
