package hydrotest.jobs;

import static org.apache.spark.sql.functions.abs;
import static org.apache.spark.sql.functions.avg;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.pow;

import java.util.Locale;
import org.apache.spark.ml.classification.LogisticRegression;
import org.apache.spark.ml.clustering.KMeans;
import org.apache.spark.ml.clustering.KMeansModel;
import org.apache.spark.ml.feature.VectorAssembler;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.ml.recommendation.ALS;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Tests of MLlib, on data with a known answer: they must recover the generated structure. Ten million rows at
 * scale factor 1.
 */
enum LearningTest implements Test {
  /** Ten clusters, 100 apart, each ten wide; the centres must be found at their known places. */
  K_MEANS("k-means") {
    @Override
    Dataset<Row> make(Data data) {
      Dataset<Row> points = rows(data).withColumn("cluster", expr("pmod(id, " + CLUSTERS + "L)"))
          .withColumn("x", expr("cluster * 100 + 10 * noise")).withColumn("y", expr("-cluster * 100 + 10 * other"));
      return assembled(points, "x", "y");
    }

    @Override
    boolean isFound(Dataset<Row> made, Data data) {
      KMeansModel model = new KMeans().setK(CLUSTERS).setSeed(data.seed()).setMaxIter(10).setInitSteps(5).fit(made);
      boolean[] seen = new boolean[CLUSTERS];
      for (Vector centre : model.clusterCenters()) {
        int nearest = (int) Math.round((centre.apply(0) - 5) / 100);
        if (nearest >= 0 && nearest < CLUSTERS && Math.abs(centre.apply(0) - 5 - nearest * 100) < 10) {
          seen[nearest] = true;
        }
      }
      int found = 0;
      for (boolean one : seen) {
        found += one ? 1 : 0;
      }
      // Its random start may put two centres into one cluster; then its neighbours share one.
      return found >= CLUSTERS - 2;
    }
  },
  /** Labels separated by a plane; nearly all must be predicted correctly. */
  LOGISTIC_REGRESSION("logistic-regression") {
    @Override
    Dataset<Row> make(Data data) {
      return assembled(rows(data).withColumn("label", expr("cast(noise + 2 * other > 1.5 as double)")), "noise", "other");
    }

    @Override
    boolean isFound(Dataset<Row> made, Data data) {
      Dataset<Row> told = new LogisticRegression().setMaxIter(20).fit(made).transform(made);
      return told.filter(col("label").equalTo(col("prediction"))).count() >= 0.95 * made.count();
    }
  },
  /** Ratings that are products of a user's and an item's number; predictions must be right to a tenth. */
  ALS("als") {
    @Override
    Dataset<Row> make(Data data) {
      return rows(data).withColumn("user", expr("cast(pmod(xxhash64(id, 3L), 200L) as int)"))
          .withColumn("item", expr("cast(pmod(xxhash64(id, 4L), 100L) as int)"))
          .withColumn("rating", expr("(1 + user / 200D) * (1 + item / 100D)"));
    }

    @Override
    boolean isFound(Dataset<Row> made, Data data) {
      Dataset<Row> told = new ALS().setRank(2).setMaxIter(10).setRegParam(0.001).setSeed(data.seed()).setUserCol("user").setItemCol("item")
          .setRatingCol("rating").fit(made).transform(made);
      Row error = told.agg(avg(pow(col("prediction").minus(col("rating")), 2)), avg(abs(col("rating")))).first();
      return Math.sqrt(error.getDouble(0)) < 0.1 * error.getDouble(1);
    }
  };

  private static final double ROWS = 10e6;
  private static final int CLUSTERS = 10;

  private final String title;
  private Dataset<Row> made;

  LearningTest(String title) {
    this.title = title;
  }

  abstract Dataset<Row> make(Data data);

  abstract boolean isFound(Dataset<Row> made, Data data);

  @Override
  public boolean run(Data data) {
    return isFound(made, data);
  }

  @Override
  public void prepare(Data data) {
    made = make(data).cache();
    made.count();
  }

  @Override
  public String title() {
    return title;
  }

  /** Rows with two numbers, evenly spread over 0 to 1. */
  private static Dataset<Row> rows(Data data) {
    String unit = "pmod(xxhash64(id, %dL), 1000000L) / 1000000D";
    return data.session().range(0, data.records(ROWS), 1, data.partitions).toDF("id")
        .withColumn("noise", expr(String.format(Locale.ROOT, unit, data.seed()))).withColumn("other", expr(String.format(Locale.ROOT, unit, data.seed() + 1)));
  }

  private static Dataset<Row> assembled(Dataset<Row> rows, String... columns) {
    return new VectorAssembler().setInputCols(columns).setOutputCol("features").transform(rows);
  }
}
