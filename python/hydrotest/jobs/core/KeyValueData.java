package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * spark-perf's key-value data (its KVDataTest): strings of ten digits, keys and values drawn evenly from a fixed
 * number of distinct ones, by a generator seeded for each partition, kept in the executors' memory. At scale factor 1:
 * 400 partitions, 200 million records, 20,000 keys, a million values. {@code data_scale} shrinks the records alone.
 */
final class KeyValueData {
  static final int DIGITS = 10;
  private static final double PARTITIONS = 400;
  private static final double RECORDS = 200e6;
  private static final double KEYS = 20e3;
  private static final double VALUES = 1e6;

  final int partitions;
  final long records;
  final long uniqueKeys;
  final JavaPairRDD<String, String> pairs;
  /** The answers, found another way than the tests find them. */
  final long distinctKeys;
  final long sumOfValues;

  private KeyValueData(int partitions, long records, long uniqueKeys, JavaPairRDD<String, String> pairs) {
    this.partitions = partitions;
    this.records = records;
    this.uniqueKeys = uniqueKeys;
    this.pairs = pairs;
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

  static KeyValueData create(JavaSparkContext spark, JsonNode settings) {
    double scale = settings.get("scale_factor").asDouble();
    int partitions = (int) Math.max(1, Math.round(PARTITIONS * scale));
    long perPartition = Math.max(1, Math.round(RECORDS * scale * settings.get("data_scale").asDouble() / partitions));
    long keys = Math.max(1, Math.round(KEYS * scale));
    long values = Math.max(1, Math.round(VALUES * scale));
    long seed = settings.get("seed").asLong();
    List<Integer> numbers = new ArrayList<>(IntStream.range(0, partitions).boxed().toList());
    JavaPairRDD<String, String> pairs = spark.parallelize(numbers, partitions).flatMapToPair(number -> {
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
          return new Tuple2<>(digits(random.nextLong(keys)), digits(random.nextLong(values)));
        }
      };
    }).persist(StorageLevel.MEMORY_AND_DISK());
    return new KeyValueData(partitions, perPartition * partitions, keys, pairs);
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
