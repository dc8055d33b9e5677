package hydrotest.jobs;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Asks a little of what others use, so many times a second, and reports each second how that went. */
final class Canary {
  private static final int THREADS = 8;

  /** One small thing, written, read and removed. */
  interface Song {
    void sing(long number) throws Exception;
  }

  private Canary() {}

  /** From `go` until stdin ends. */
  static void live(Talk talk, double perS, Song song) throws Exception {
    Seconds seconds = new Seconds(talk);
    song.sing(0);  // classes are loaded, connections made
    talk.tell(talk.event("ready").put("pid", ProcessHandle.current().pid()).put("nice", 0).put("real_time", false));
    if (talk.line() == null) {
      return;
    }
    ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    var workers = Executors.newFixedThreadPool(THREADS);
    long[] number = {0};
    clock.scheduleAtFixedRate(() -> {
      long own = ++number[0];
      long due = System.nanoTime();
      seconds.start();
      workers.submit(() -> {
        try {
          song.sing(own);
          seconds.end(System.nanoTime() - due);
        } catch (Exception error) {
          seconds.fail();
        }
      });
    }, 0, Math.round(1e9 / perS), TimeUnit.NANOSECONDS);
    clock.scheduleAtFixedRate(() -> {
      try {
        talk.tell(seconds.told());
      } catch (IOException gone) {
        System.exit(1);
      }
    }, 1, 1, TimeUnit.SECONDS);
    while (talk.line() != null) { // until it ends
    }
    clock.shutdownNow();
    workers.shutdownNow();
  }

  /** Counters since the beginning, and the latencies of the current second. */
  private static final class Seconds {
    private final Talk talk;
    private long started;
    private long completed;
    private long failed;
    private List<Long> nanos = new ArrayList<>();

    Seconds(Talk talk) {
      this.talk = talk;
    }

    synchronized void start() {
      started++;
    }

    synchronized void end(long took) {
      completed++;
      nanos.add(took);
    }

    synchronized void fail() {
      failed++;
    }

    synchronized ObjectNode told() {
      List<Long> ended = nanos;
      nanos = new ArrayList<>();
      Collections.sort(ended);
      ObjectNode told = talk.event("second").put("wall_s", System.currentTimeMillis() / 1e3);
      told.putObject("counts").put("started", started).put("completed", completed).put("failed", failed);
      if (ended.isEmpty()) {
        return told.putNull("p99_ms");
      }
      return told.put("p99_ms", ended.get((int) Math.ceil(0.99 * ended.size()) - 1) / 1e6);
    }
  }
}
