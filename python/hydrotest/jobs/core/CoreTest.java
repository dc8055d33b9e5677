package hydrotest.jobs;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import scala.Tuple2;

/** The tests of spark-perf's core suite, on its key-value data; each checks its own answer. */
enum CoreTest implements Test {
  /**
   * Empty tasks, ten times as many as a stage of the other tests has: how many the driver schedules in a
   * second.
   */
  SCHEDULING_THROUGHPUT("scheduling-throughput") {
    @Override
    public boolean run(Data all) {
      int tasks = EMPTY_TASKS * all.partitions;
      List<Integer> numbers = new ArrayList<>(IntStream.range(0, tasks).boxed().toList());
      return all.spark.parallelize(numbers, tasks).count() == tasks;
    }
  },
  /** Sums the values of each key, with map-side combining (reduceByKey). */
  AGG_BY_KEY("agg-by-key") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return isSummed(data, data.pairs.mapValues(Long::parseLong).reduceByKey(Long::sum, data.partitions));
    }
  },
  /** The same with numbers, which are smaller than strings. */
  AGG_BY_KEY_INT("agg-by-key-int") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return isSummed(data, data.numbers.mapValues(Integer::longValue).reduceByKey(Long::sum, data.partitions));
    }
  },
  /** Sums without map-side combining (groupByKey): every record goes through the shuffle. */
  AGG_BY_KEY_NAIVE("agg-by-key-naive") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return isSummed(data, data.pairs.mapValues(Long::parseLong).groupByKey(data.partitions).mapValues(CoreTest::sumOf));
    }
  },
  /** Sorts by key over all partitions. */
  SORT_BY_KEY("sort-by-key") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return isSorted(data, data.pairs.sortByKey(true, data.partitions)
          .mapPartitions(pairs -> List.of(Part.of(pairs)).iterator(), true).collect());
    }
  },
  /** The same with numbers. */
  SORT_BY_KEY_INT("sort-by-key-int") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return isSorted(data, data.numbers.sortByKey(true, data.partitions)
          .mapPartitions(pairs -> List.of(Part.of(pairs)).iterator(), true).collect());
    }
  },
  /** Counts the records. */
  COUNT("count") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return data.pairs.count() == data.records;
    }
  },
  /** Counts those with odd keys. */
  COUNT_WITH_FILTER("count-with-filter") {
    @Override
    public boolean run(Data all) {
      KeyValueData data = all.pairs();
      return data.pairs.filter(pair -> Integer.parseInt(pair._1) % 2 == 1).count() == data.oddKeys;
    }
  };

  private static final int EMPTY_TASKS = 10;

  private final String title;

  CoreTest(String title) {
    this.title = title;
  }

  /** True if there is a sum for each key, and together they are the sum of all values. */
  private static boolean isSummed(KeyValueData data, JavaPairRDD<?, Long> sums) {
    Tuple2<Long, Long> found = sums.values().aggregate(new Tuple2<>(0L, 0L), (sum, value) -> new Tuple2<>(sum._1 + 1, sum._2 + value),
        (a, b) -> new Tuple2<>(a._1 + b._1, a._2 + b._2));
    return found._1 == data.distinctKeys && found._2 == data.sumOfValues;
  }

  private static long sumOf(Iterable<Long> values) {
    long sum = 0;
    for (long value : values) {
      sum += value;
    }
    return sum;
  }

  /** True if the parts are in order, each in itself and one after the other, and contain all records. */
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

  @Override
  public void prepare(Data data) {
    if (this != SCHEDULING_THROUGHPUT) {
      data.pairs();
    }
  }

  @Override
  public String title() {
    return title;
  }

  /** The contents of one sorted partition. */
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
