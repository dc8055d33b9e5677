package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * spark-perf's key-value data (its KVDataTest): strings of ten digits, kept in the executors' memory. Keys
 * and values are drawn from a fixed number of distinct ones, by a generator seeded for each partition. At
 * scale factor 1: 400 partitions, 200 million records, 20,000 keys, a million values. {@code data_scale}
 * shrinks only the records; {@code unique_keys} and {@code skew} change the keys.
 */
final class KeyValueData {
  static final int DIGITS = 10;
  private static final double RECORDS = 200e6;
  private static final double KEYS = 20e3;
  private static final double VALUES = 1e6;

  final int partitions;
  final long records;
  final long uniqueKeys;
  final JavaPairRDD<String, String> pairs;
  /** The same as numbers, in memory too; null if no test needs them. */
  final JavaPairRDD<Integer, Integer> numbers;
  /** The answers, computed in another way than in the tests. */
  final long distinctKeys;
  final long sumOfValues;
  final long oddKeys;

  private KeyValueData(int partitions, long records, long uniqueKeys, boolean needsNumbers,
      JavaPairRDD<String, String> pairs) {
    this.partitions = partitions;
    this.records = records;
    this.uniqueKeys = uniqueKeys;
    this.pairs = pairs;
    this.numbers = needsNumbers ? numbersOf(pairs) : null;
    this.oddKeys = pairs.keys().mapToDouble(key -> (key.charAt(DIGITS - 1) - '0') & 1).sum().longValue();
    this.sumOfValues = pairs.values().mapToDouble(Long::parseLong).sum().longValue();
    this.distinctKeys = pairs.keys().mapPartitions(keys -> {
      java.util.Set<String> seen = new java.util.HashSet<>();
      keys.forEachRemaining(seen::add);
      return List.<java.util.Set<String>>of(seen).iterator();
    }).treeReduce((a, b) -> {
      a.addAll(b);
      return a;
    }).size();
  }

  private static JavaPairRDD<Integer, Integer> numbersOf(JavaPairRDD<String, String> pairs) {
    JavaPairRDD<Integer, Integer> numbers =
        pairs.mapToPair(pair -> new Tuple2<>(Integer.parseInt(pair._1), Integer.parseInt(pair._2)))
            .persist(StorageLevel.MEMORY_AND_DISK());
    numbers.count();
    return numbers;
  }

  static KeyValueData create(Data data) {
    JsonNode settings = data.settings;
    int partitions = data.partitions;
    long records = data.records(RECORDS);
    long perPartition = records / partitions;
    double scale = data.scale();
    JsonNode given = settings.get("unique_keys");
    long keys = given.isNull() ? Math.max(1, Math.round(KEYS * scale)) : given.asLong();
    // The inverse of the distribution function of a density that falls as a power of the rank.
    double exponent = 1 / (1 - settings.get("skew").asDouble());
    long values = Math.max(1, Math.round(VALUES * scale));
    long seed = data.seed();
    List<Integer> numbers = new ArrayList<>(IntStream.range(0, partitions).boxed().toList());
    JavaPairRDD<String, String> pairs = data.spark.parallelize(numbers, partitions).flatMapToPair(number -> {
      SplittableRandom random = new SplittableRandom(seed * 1_000_003 + number);
      return new java.util.Iterator<Tuple2<String, String>>() {
        private long left = perPartition;

        @Override
        public boolean hasNext() {
          return left > 0;
        }

        @Override
        public Tuple2<String, String> next() {
          left--;
          long key = exponent == 1 ? random.nextLong(keys) : (long) (keys * Math.pow(random.nextDouble(), exponent));
          return new Tuple2<>(digits(key), digits(random.nextLong(values)));
        }
      };
    }).persist(StorageLevel.MEMORY_AND_DISK());
    boolean needsNumbers = false;
    for (JsonNode test : settings.get("tests")) {
      needsNumbers |= test.asText().endsWith("-int");
    }
    return new KeyValueData(partitions, records, keys, needsNumbers, pairs);
  }

  /** A number as ten digits, zeros in front. */
  static String digits(long number) {
    char[] text = new char[DIGITS];
    for (int at = DIGITS - 1; at >= 0; at--) {
      text[at] = (char) ('0' + number % 10);
      number /= 10;
    }
    return new String(text);
  }
}
