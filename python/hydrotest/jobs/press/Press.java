package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;

/**
 * Writes or reads files or objects, several at once, and reports how long each took, and each operation.
 * These are the figures of Hadoop's own TestDFSIO, without MapReduce.
 *
 * <p>Its settings: do (write, read), files, file_bytes, at_once, operation_bytes, operations_per_s and bytes_per_s (null: as fast as it
 * goes), is_random.
 */
final class Press {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final String WARM_UP = "warm-up";

  private final JsonNode settings;
  private final Store store;
  private final Content content;
  private final Pace pace;
  private final int operationBytes;
  private final long size;

  /** How long operations took, in microseconds to three digits, and how many took so long. */
  private final ConcurrentHashMap<Long, LongAdder> taken = new ConcurrentHashMap<>();

  /** Operations that failed, by what the store calls it. */
  private final ConcurrentHashMap<String, LongAdder> failed = new ConcurrentHashMap<>();

  /** Operations that are due one after the other; null while none counts. */
  private volatile Schedule schedule;

  Press(JsonNode settings, Store store, Content content) {
    this.settings = settings;
    this.store = store;
    this.content = content;
    pace = settings.get("bytes_per_s").isNull() ? null : new Pace(settings.get("bytes_per_s").asDouble());
    operationBytes = settings.get("operation_bytes").asInt();
    size = settings.get("file_bytes").asLong();
  }

  /** One pass; its figures are the last line of the output. */
  void work() throws Exception {
    ExecutorService workers = Executors.newFixedThreadPool(settings.get("at_once").asInt());
    try {
      System.out.println(JSON.writeValueAsString(pass(workers)));
    } finally {
      workers.shutdownNow();
    }
  }

  private ObjectNode pass(ExecutorService workers) throws Exception {
    boolean writes = settings.get("do").asText().equals("write");
    // A first one that does not count: classes are loaded, connections made.
    workers.submit(writes ? () -> write(WARM_UP, 0) : () -> read(WARM_UP, 0)).get();
    taken.clear();
    failed.clear();
    List<Future<ObjectNode>> all = new ArrayList<>();
    double began = System.currentTimeMillis() / 1e3;
    long start = System.nanoTime();
    JsonNode rate = settings.get("operations_per_s");
    schedule = rate.isNull() ? null : new Schedule(start, rate.asDouble());
    long admitted = store.admitted();
    boolean isRandom = !writes && settings.get("is_random").asBoolean();
    int files = settings.get("files").asInt();
    // No more readers than there is something to read.
    int tasks = isRandom ? (int) Math.min(settings.get("at_once").asInt(), files * places()) : files;
    for (int number = 0; number < tasks; number++) {
      int own = number;
      Callable<ObjectNode> one = isRandom ? () -> readAnywhere(own, tasks) : writes ? () -> write(name(own), own) : () -> read(name(own), own);
      all.add(workers.submit(one));
    }
    ObjectNode told = JSON.createObjectNode().put("began_wall_s", began);
    var each = told.putArray("files");
    for (Future<ObjectNode> one : all) {
      each.add(one.get());
    }
    told.put("seconds", (System.nanoTime() - start) / 1e9);
    told.put("requests", store.admitted() - admitted);
    var operations = told.putObject("operations_us");
    taken.forEach((micros, count) -> operations.put(Long.toString(micros), count.sum()));
    var errors = told.putObject("errors");
    failed.forEach((code, count) -> errors.put(code, count.sum()));
    return told;
  }

  /** Operations that a whole file takes; the last one may be shorter. */
  private long places() {
    return Math.max(1, (size + operationBytes - 1) / operationBytes);
  }

  private static String name(int number) {
    return "file-" + number;
  }

  private ObjectNode write(String name, int number) throws Exception {
    long start = System.nanoTime();
    try (Store.Writing out = store.create(name, number, size)) {
      for (long at = 0; at < size; at += operationBytes) {
        int length = (int) Math.min(size - at, operationBytes);
        keepTo(length);
        long due = due();
        out.write(at, length);
        took(System.nanoTime() - due);
      }
      out.end();
    } catch (Store.Failed error) {
      count(error);
      return told(0, System.nanoTime() - start, true).put("failed", true);
    }
    return told(size, System.nanoTime() - start, true);
  }

  private ObjectNode read(String name, int number) throws Exception {
    byte[] got = new byte[operationBytes];
    long nanos = 0;
    long read = 0;
    boolean correct = true;
    try (Store.Reading in = store.open(name, size)) {
      while (!in.isAtEnd()) {
        keepTo((int) Math.min(Math.max(size - read, 1), operationBytes));
        long due = read < size ? due() : System.nanoTime();
        long start = System.nanoTime();
        int length = in.next(got, operationBytes);
        long end = System.nanoTime();
        nanos += end - start;
        if (length == 0) {
          break;
        }
        took(end - due);
        // Checked outside the measured time: only the reading is measured.
        correct &= content.is(number, read, got, length);
        read += length;
      }
    } catch (Store.Failed error) {
      count(error);
      return told(read, nanos, correct).put("failed", true);
    }
    return told(read, nanos, correct && read == size);
  }

  /** One of several readers, each of which has its share of the operations of a whole pass, anywhere in any file. */
  private ObjectNode readAnywhere(int reader, int readers) throws Exception {
    int count = settings.get("files").asInt();
    long places = places();
    Random random = new Random(settings.get("seed").asLong() * 31 + reader);
    byte[] got = new byte[operationBytes];
    Store.Reading[] open = new Store.Reading[count];
    long nanos = 0;
    long bytes = 0;
    boolean correct = true;
    boolean hasFailed = false;
    try {
      for (long operation = reader; operation < count * places; operation += readers) {
        int number = random.nextInt(count);
        if (open[number] == null) {
          open[number] = store.open(name(number), size);
        }
        long at = (long) (random.nextDouble() * places) * operationBytes;
        int length = (int) Math.min(size - at, operationBytes);
        keepTo(length);
        long due = due();
        long start = System.nanoTime();
        try {
          open[number].at(at, got, length);
        } catch (Store.Failed error) {
          count(error);
          hasFailed = true;
          continue;
        }
        long end = System.nanoTime();
        nanos += end - start;
        took(end - due);
        correct &= content.is(number, at, got, length);
        bytes += length;
      }
    } finally {
      for (Store.Reading one : open) {
        if (one != null) {
          one.close();
        }
      }
    }
    return told(bytes, nanos, correct).put("failed", hasFailed);
  }

  /** When the next operation is to begin: now, or by the schedule, for which this waits. */
  private long due() throws InterruptedException {
    Schedule own = schedule;
    return own == null ? System.nanoTime() : own.next();
  }

  private void took(long nanos) {
    long micros = Math.max(1, nanos / 1000);
    long unit = 1;
    while (micros / unit >= 1000) {
      unit *= 10;
    }
    taken.computeIfAbsent(micros / unit * unit, any -> new LongAdder()).increment();
  }

  private void count(Store.Failed error) {
    failed.computeIfAbsent(error.code, any -> new LongAdder()).increment();
  }

  private void keepTo(int bytes) throws InterruptedException {
    if (pace != null) {
      pace.take(bytes);
    }
    store.admit();
  }

  private static ObjectNode told(long bytes, long nanos, boolean correct) {
    return JSON.createObjectNode().put("bytes", bytes).put("seconds", nanos / 1e9).put("correct", correct);
  }
}
