package hydrotest.jobs;

import java.util.Iterator;
import java.util.List;
import scala.Tuple2;

/** The tests of spark-perf, on its key-value data; each checks its own answer. */
enum Test {
  /** Sums the values of each key, with map-side combining (reduceByKey). */
  AGG_BY_KEY("agg-by-key") {
    @Override
    boolean run(KeyValueData data) {
      Tuple2<Long, Long> found = data.pairs.mapValues(Long::parseLong).reduceByKey(Long::sum, data.partitions)
          .aggregate(new Tuple2<>(0L, 0L), (sum, pair) -> new Tuple2<>(sum._1 + 1, sum._2 + pair._2),
              (a, b) -> new Tuple2<>(a._1 + b._1, a._2 + b._2));
      return found._1 == data.distinctKeys && found._2 == data.sumOfValues;
    }
  },
  /** Sorts by key over all partitions. */
  SORT_BY_KEY("sort-by-key") {
    @Override
    boolean run(KeyValueData data) {
      List<Part> parts = data.pairs.sortByKey(true, data.partitions)
          .mapPartitionsWithIndex((index, pairs) -> List.of(Part.of(index, pairs)).iterator(), true).collect();
      long records = 0;
      String last = "";
      for (Part part : parts) {
        if (!part.inOrder || (part.records > 0 && part.first.compareTo(last) < 0)) {
          return false;
        }
        records += part.records;
        last = part.records > 0 ? part.last : last;
      }
      return records == data.records;
    }
  };

  private final String title;

  Test(String title) {
    this.title = title;
  }

  /** True if the answer is right. */
  abstract boolean run(KeyValueData data);

  String title() {
    return title;
  }

  static Test named(String title) {
    for (Test test : values()) {
      if (test.title.equals(title)) {
        return test;
      }
    }
    throw new IllegalArgumentException("there is no test " + title);
  }

  /** What one sorted partition held. */
  static final class Part implements java.io.Serializable {
    final int index;
    long records;
    boolean inOrder = true;
    String first = "";
    String last = "";

    private Part(int index) {
      this.index = index;
    }

    static Part of(int index, Iterator<Tuple2<String, String>> pairs) {
      Part part = new Part(index);
      while (pairs.hasNext()) {
        String key = pairs.next()._1;
        part.first = part.records == 0 ? key : part.first;
        part.inOrder &= part.last.compareTo(key) <= 0;
        part.last = key;
        part.records++;
      }
      return part;
    }
  }
}
