package hydrotest.jobs;

import java.util.concurrent.TimeUnit;

/** A rate that all threads together keep to: each waits until what it takes is due. */
final class Pace {
  private final double nanosEach;
  private long due = System.nanoTime();

  Pace(double perS) {
    nanosEach = 1e9 / perS;
  }

  void take(int count) throws InterruptedException {
    long wait;
    synchronized (this) {
      // What was not taken in time is not taken later: no second has more than the rate.
      due = Math.max(due, System.nanoTime()) + Math.round(count * nanosEach);
      wait = due - System.nanoTime();
    }
    TimeUnit.NANOSECONDS.sleep(wait);
  }
}
