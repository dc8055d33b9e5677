import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/**
 * The kind of work of `hydrotest rate` that systems in a JVM do: records are made, kept by their keys in
 * maps, some of them in order, and written into a buffer under a checksum. On one thread.
 *
 * <p>Arguments: seconds until the compiler has done its part, and seconds that count. Prints the records a
 * second of each slice of a fifth of a second, one in a line.
 */
public final class Kernel {
  private static final long SLICE_NS = 200_000_000L;
  private static final int BATCH = 1_000;
  private static final int RECORD_BYTES = 100;
  private static final int KEYS = 20_000;
  /** Of ordered records: a memtable of which the oldest are written out. */
  private static final int ORDERED_MAX = 5_000;

  private final SplittableRandom random = new SplittableRandom(7);
  private final Map<String, byte[]> byKey = new HashMap<>();
  private final TreeMap<Long, byte[]> ordered = new TreeMap<>();
  private final ByteBuffer buffer = ByteBuffer.allocate(BATCH * (RECORD_BYTES + Long.BYTES));
  private long checksum;

  public static void main(String[] arguments) {
    Kernel kernel = new Kernel();
    long warmUntil = System.nanoTime() + (long) (1e9 * Double.parseDouble(arguments[0]));
    while (System.nanoTime() < warmUntil) {
      kernel.slice();
    }
    long until = System.nanoTime() + (long) (1e9 * Double.parseDouble(arguments[1]));
    do {
      System.out.println(kernel.slice());
    } while (System.nanoTime() < until);
    // Nothing of the work may be left out by the compiler.
    System.err.println(kernel.checksum);
  }

  /** Records a second. */
  private double slice() {
    long begin = System.nanoTime();
    long done = 0;
    long now = begin;
    while (now - begin < SLICE_NS) {
      batch();
      done += BATCH;
      now = System.nanoTime();
    }
    return done * 1e9 / (now - begin);
  }

  private void batch() {
    buffer.clear();
    for (int number = 0; number < BATCH; number++) {
      long identity = random.nextLong();
      byte[] record = new byte[RECORD_BYTES];
      random.nextBytes(record);
      byKey.put("key-" + Math.floorMod(identity, KEYS), record);
      ordered.put(identity, record);
      if (ordered.size() > ORDERED_MAX) {
        ordered.pollFirstEntry();
      }
      buffer.putLong(identity).put(record);
    }
    CRC32C crc = new CRC32C();
    crc.update(buffer.array(), 0, buffer.position());
    checksum += crc.getValue();
  }
}
