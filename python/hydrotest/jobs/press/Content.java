package hydrotest.jobs;

import java.io.InputStream;
import java.util.Arrays;
import java.util.Random;

/** What is written: it follows from a seed, and from the number of a file or object, and is checked on reading. */
final class Content {
  private static final int CHUNK_BYTES = 1 << 20;

  /** Receives consecutive parts of an array. */
  interface Taker {
    void take(byte[] bytes, int from, int length) throws Exception;
  }

  private final byte[] pool = new byte[2 * CHUNK_BYTES];

  Content(long seed) {
    new Random(seed).nextBytes(pool);
  }

  /** Where in the pool a chunk begins: another place for each chunk of each file. */
  private static int place(int number, long chunk) {
    return Math.floorMod(number * 7919L + chunk * 104729L, CHUNK_BYTES);
  }

  /** The part of so many bytes that is in the same chunk. */
  private static int piece(long at, int most) {
    return (int) Math.min(most, CHUNK_BYTES - at % CHUNK_BYTES);
  }

  /** Where in the pool the content of a file at an offset is. */
  private static int placeAt(int number, long at) {
    return place(number, at / CHUNK_BYTES) + (int) (at % CHUNK_BYTES);
  }

  /** Hands on the content of a file between two offsets, without a copy. */
  void give(int number, long at, int length, Taker taker) throws Exception {
    for (int done = 0; done < length; ) {
      int piece = piece(at + done, length - done);
      taker.take(pool, placeAt(number, at + done), piece);
      done += piece;
    }
  }

  /** Whether so many bytes are the content of a file at an offset. */
  boolean is(int number, long at, byte[] got, int length) {
    for (int done = 0; done < length; ) {
      int piece = piece(at + done, length - done);
      int place = placeAt(number, at + done);
      if (!Arrays.equals(got, done, done + piece, pool, place, place + piece)) {
        return false;
      }
      done += piece;
    }
    return true;
  }

  /** The same as a stream, without a copy. */
  InputStream stream(int number, long from, int length) {
    return new InputStream() {
      private int done;
      private int mark;

      @Override
      public int read() {
        if (done == length) {
          return -1;
        }
        return pool[placeAt(number, from + done++)] & 0xff;
      }

      @Override
      public int read(byte[] into, int offset, int wanted) {
        if (done == length) {
          return wanted == 0 ? 0 : -1;
        }
        int piece = piece(from + done, Math.min(wanted, length - done));
        System.arraycopy(pool, placeAt(number, from + done), into, offset, piece);
        done += piece;
        return piece;
      }

      @Override
      public int available() {
        return length - done;
      }

      @Override
      public boolean markSupported() {
        return true;
      }

      @Override
      public synchronized void mark(int most) {
        mark = done;
      }

      @Override
      public synchronized void reset() {
        done = mark;
      }
    };
  }
}
