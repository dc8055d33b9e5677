import java.util.Arrays;
import java.util.Locale;

/** Prints, in each locale that this Java has, what the stock tools print by their own format strings; a line before each names the locale. */
public final class Printed {
  public static void main(String[] arguments) {
    Locale[] all = Locale.getAvailableLocales();
    Arrays.sort(all, (one, other) -> one.toLanguageTag().compareTo(other.toLanguageTag()));
    for (Locale locale : all) {
      Locale.setDefault(Locale.Category.FORMAT, locale);
      System.out.println("LOCALE " + locale.toLanguageTag());
      System.out.println("Results:");
      System.out.println(String.format("Op rate                   : %,8.0f op/s  [READ: %,.0f op/s, WRITE: %,.0f op/s]", 12345.0, 9258.0, 3087.0));
      System.out.println(String.format("Partition rate            : %,8.0f pk/s  [READ: %,.0f pk/s, WRITE: %,.0f pk/s]", 12345.0, 9258.0, 3087.0));
      double[] latencies = {5.1, 3.6, 13.2, 25.9, 57.8, 4399.8};
      String[] labels = {"mean             ", "median           ", "95th percentile  ", "99th percentile  ", "99.9th percentile", "max              "};
      for (int i = 0; i < labels.length; i++) {
        System.out.println(String.format("Latency " + labels[i] + " : %6.1f ms [READ: %,.1f ms, WRITE: %,.1f ms]", latencies[i], latencies[i], latencies[i]));
      }
      System.out.println(String.format("Total partitions          : %,10d [READ: %,d, WRITE: %,d]", 1250000L, 1000000L, 250000L));
      System.out.println(String.format("Total errors              : %,10d [READ: %,d, WRITE: %,d]", 1012L, 5L, 1007L));
      System.out.printf("%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, "
          + "%d ms 99th, %d ms 99.9th.%n", 1234567L, "", 100731.309306, 98.37, 0.56, 1490.0, 0, 1, 13, 1047);
      System.out.println("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
          + "fetch.MB.sec, fetch.nMsg.sec");
      System.out.printf("%s, %s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f%n", "2021-01-13 22:21:09:545", "2021-01-13 22:21:18:655",
          953.67407, 104.6843, 1000005L, 109770.0329, 84L, 9026L, 105.6586, 1000005 / 9.026);
    }
  }
}
