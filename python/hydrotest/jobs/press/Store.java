package hydrotest.jobs;

import java.io.Closeable;

/** Where files or objects are written to and read from. Each `write` and each `read` is one operation, and is timed. */
interface Store {
  /** Begins a new one, in place of one of that name. */
  Writing create(String name, int number, long size) throws Exception;

  /** Opens one that is there, and should be of that size. */
  Reading open(String name, long size) throws Exception;

  /** Waits until another operation is allowed. */
  default void admit() throws InterruptedException {}

  /** How many requests were allowed so far; 0 where they are not bounded. */
  default long admitted() {
    return 0;
  }

  /** Closed without `end`, it leaves nothing, or an incomplete one. */
  interface Writing extends Closeable {
    /** Its content from an offset on. */
    void write(long at, int length) throws Exception;

    /** It is complete. */
    default void end() throws Exception {}
  }

  interface Reading extends Closeable {
    /** Whether it is known, without an operation, that nothing is left. */
    default boolean isAtEnd() {
      return false;
    }

    /** Fills an array from where the last call ended, but for the end; returns how many bytes there were. */
    int next(byte[] got, int most) throws Exception;

    /** Fills an array from an offset on. */
    void at(long offset, byte[] got, int length) throws Exception;
  }

  /** An operation that failed, and is counted; the others go on. */
  final class Failed extends Exception {
    private static final long serialVersionUID = 1;

    /** What the store calls it. */
    final String code;

    Failed(String code, Throwable cause) {
      super(cause);
      this.code = code;
    }
  }
}
