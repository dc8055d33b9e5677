package hydrotest.jobs;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Operations of all threads, each due a fixed time after the one before, whatever those take. */
final class Schedule {
  private final long start;
  private final double nanosEach;
  private final AtomicLong number = new AtomicLong();

  Schedule(long start, double perS) {
    this.start = start;
    nanosEach = 1e9 / perS;
  }

  long next() throws InterruptedException {
    long due = start + Math.round(number.getAndIncrement() * nanosEach);
    TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
    return due;
  }
}
