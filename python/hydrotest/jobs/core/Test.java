package hydrotest.jobs;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import scala.Tuple2;

/** The tests of spark-perf's core suite, on its key-value data; each checks its own answer. */
enum Test {
  /** Empty tasks, ten times as many as a stage of the other tests has: what the driver schedules in a second. */
  SCHEDULING_THROUGHPUT("scheduling-throughput") {
    @Override
    boolean run(KeyValueData data) {
      int tasks = EMPTY_TASKS * data.partitions;
      List<Integer> numbers = new ArrayList<>(IntStream.range(0, tasks).boxed().toList());
      return data.spark.parallelize(numbers, tasks).count() == tasks;
    }
  },
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
  /** The same of numbers, which weigh less than strings. */
  AGG_BY_KEY_INT("agg-by-key-int") {
    @Override
    boolean run(KeyValueData data) {
      Tuple2<Long, Long> found = data.numbers.mapValues(Integer::longValue).reduceByKey(Long::sum, data.partitions)
          .aggregate(new Tuple2<>(0L, 0L), (sum, pair) -> new Tuple2<>(sum._1 + 1, sum._2 + pair._2),
              (a, b) -> new Tuple2<>(a._1 + b._1, a._2 + b._2));
      return found._1 == data.distinctKeys && found._2 == data.sumOfValues;
    }
  },
  /** Sums without map-side combining (groupByKey): every record goes through the shuffle. */
  AGG_BY_KEY_NAIVE("agg-by-key-naive") {
    @Override
    boolean run(KeyValueData data) {
      Tuple2<Long, Long> found = data.pairs.mapValues(Long::parseLong).groupByKey(data.partitions).mapValues(Test::sumOf)
          .aggregate(new Tuple2<>(0L, 0L), (sum, pair) -> new Tuple2<>(sum._1 + 1, sum._2 + pair._2),
              (a, b) -> new Tuple2<>(a._1 + b._1, a._2 + b._2));
      return found._1 == data.distinctKeys && found._2 == data.sumOfValues;
    }
  },
  /** Sorts by key over all partitions. */
  SORT_BY_KEY("sort-by-key") {
    @Override
    boolean run(KeyValueData data) {
      return isSorted(data, data.pairs.sortByKey(true, data.partitions)
          .mapPartitions(pairs -> List.of(Part.of(pairs)).iterator(), true).collect());
    }
  },
  /** The same of numbers. */
  SORT_BY_KEY_INT("sort-by-key-int") {
    @Override
    boolean run(KeyValueData data) {
      return isSorted(data, data.numbers.sortByKey(true, data.partitions)
          .mapPartitions(pairs -> List.of(Part.of(pairs)).iterator(), true).collect());
    }
  },
  /** Counts the records. */
  COUNT("count") {
    @Override
    boolean run(KeyValueData data) {
      return data.pairs.count() == data.records;
    }
  },
  /** Counts those of odd keys. */
  COUNT_WITH_FILTER("count-with-filter") {
    @Override
    boolean run(KeyValueData data) {
      return data.pairs.filter(pair -> Integer.parseInt(pair._1) % 2 == 1).count() == data.oddKeys;
    }
  };

  private static final int EMPTY_TASKS = 10;

  private final String title;

  Test(String title) {
    this.title = title;
  }

  /** True if the answer is right. */
  abstract boolean run(KeyValueData data);

  private static long sumOf(Iterable<Long> values) {
    long sum = 0;
    for (long value : values) {
      sum += value;
    }
    return sum;
  }

  /** True if the parts are in order, each in itself and one after the other, and hold all records. */
  private static <K extends Comparable<K>> boolean isSorted(KeyValueData data, List<Part<K>> parts) {
    long records = 0;
    K last = null;
    for (Part<K> part : parts) {
      if (!part.inOrder || (part.records > 0 && last != null && part.first.compareTo(last) < 0)) {
        return false;
      }
      records += part.records;
      last = part.records > 0 ? part.last : last;
    }
    return records == data.records;
  }

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
  static final class Part<K extends Comparable<K>> implements java.io.Serializable {
    long records;
    boolean inOrder = true;
    K first;
    K last;

    static <K extends Comparable<K>, V> Part<K> of(Iterator<Tuple2<K, V>> pairs) {
      Part<K> part = new Part<>();
      while (pairs.hasNext()) {
        K key = pairs.next()._1;
        part.inOrder &= part.last == null || part.last.compareTo(key) <= 0;
        part.first = part.first == null ? key : part.first;
        part.last = key;
        part.records++;
      }
      return part;
    }
  }
}
