package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Writes or reads files through Hadoop's file system API, several at once, and reports how long each took.
 * These are the figures of Hadoop's own TestDFSIO, without MapReduce. Each file's content follows from its
 * number, and is checked on reading.
 */
public final class Press {
  private static final int CHUNK_BYTES = 1 << 20;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode settings;
  private final FileSystem files;
  private final byte[] pool = new byte[2 * CHUNK_BYTES];
  private final Pace pace;
  private final int operationBytes;

  /** How long operations took, in microseconds to three digits, and how many took so long. */
  private final ConcurrentHashMap<Long, LongAdder> taken = new ConcurrentHashMap<>();

  /** Operations that are due one after the other; null while none counts. */
  private volatile Schedule schedule;

  private Press(JsonNode settings) throws Exception {
    this.settings = settings;
    Configuration configuration = new Configuration();
    configuration.set("dfs.replication", settings.get("replication").asText());
    configuration.set("dfs.blocksize", settings.get("block_bytes").asText());
    settings.get("properties").properties().forEach(one -> configuration.set(one.getKey(), one.getValue().asText()));
    files = FileSystem.get(new Path(settings.get("folder").asText()).toUri(), configuration);
    pace = settings.get("bytes_per_s").isNull() ? null : new Pace(settings.get("bytes_per_s").asDouble());
    operationBytes = settings.get("operation_bytes").asInt();
    new Random(settings.get("seed").asLong()).nextBytes(pool);
  }

  /** The one argument is a file of settings: do (write, read, remove), folder, files, file_bytes, at_once, replication, block_bytes, seed,
   * operation_bytes, operations_per_s and bytes_per_s (null: as fast as it goes), is_random, makes_folder, properties. */
  public static void main(String[] args) throws Exception {
    Press press = new Press(JSON.readTree(new File(args[0])));
    if (press.settings.get("do").asText().equals("remove")) {
      press.files.delete(new Path(press.settings.get("folder").asText()), true);
      return;
    }
    press.work();
  }

  private void work() throws Exception {
    boolean writes = settings.get("do").asText().equals("write");
    ExecutorService workers = Executors.newFixedThreadPool(settings.get("at_once").asInt());
    try {
      work(writes, workers);
    } finally {
      workers.shutdownNow();
    }
  }

  private void work(boolean writes, ExecutorService workers) throws Exception {
    // A first file that does not count: classes are loaded, connections made.
    String warm = "warm-up";
    if (writes && settings.get("makes_folder").asBoolean()) {
      files.mkdirs(new Path(settings.get("folder").asText()));
    }
    workers.submit(writes ? () -> write(warm, 0) : () -> read(warm, 0)).get();
    taken.clear();
    List<Future<ObjectNode>> all = new ArrayList<>();
    double began = System.currentTimeMillis() / 1e3;
    long start = System.nanoTime();
    JsonNode rate = settings.get("operations_per_s");
    schedule = rate.isNull() ? null : new Schedule(start, rate.asDouble());
    boolean isRandom = !writes && settings.get("is_random").asBoolean();
    int tasks = settings.get(isRandom ? "at_once" : "files").asInt();
    for (int number = 0; number < tasks; number++) {
      int own = number;
      Callable<ObjectNode> one = isRandom ? () -> readAnywhere(own, tasks) : writes ? () -> write("file-" + own, own) : () -> read("file-" + own, own);
      all.add(workers.submit(one));
    }
    ObjectNode told = JSON.createObjectNode().put("began_wall_s", began);
    var each = told.putArray("files");
    for (Future<ObjectNode> one : all) {
      each.add(one.get());
    }
    told.put("seconds", (System.nanoTime() - start) / 1e9);
    var operations = told.putObject("operations_us");
    taken.forEach((micros, count) -> operations.put(Long.toString(micros), count.sum()));
    System.out.println(JSON.writeValueAsString(told));
  }

  /** Where in the pool a chunk begins: another place for each chunk of each file. */
  private static int place(int number, long chunk) {
    return (int) Math.floorMod(number * 7919L + chunk * 104729L, CHUNK_BYTES);
  }

  /** Never with its folder: where somebody has removed it, it stays away. */
  private OutputStream create(Path path) throws Exception {
    return files.createFile(path).overwrite(true).build();
  }

  private ObjectNode write(String name, int number) throws Exception {
    long size = settings.get("file_bytes").asLong();
    long start = System.nanoTime();
    try (OutputStream out = create(new Path(settings.get("folder").asText(), name))) {
      for (long at = 0; at < size; at += operationBytes) {
        int length = (int) Math.min(size - at, operationBytes);
        keepTo(length);
        long due = due();
        for (int done = 0; done < length; ) {
          int piece = piece(at + done, length - done);
          out.write(pool, placeAt(number, at + done), piece);
          done += piece;
        }
        took(System.nanoTime() - due);
      }
    }
    return told(size, System.nanoTime() - start, true);
  }

  private ObjectNode read(String name, int number) throws Exception {
    long left = settings.get("file_bytes").asLong();
    byte[] got = new byte[operationBytes];
    long nanos = 0;
    long size = 0;
    boolean correct = true;
    try (InputStream in = files.open(new Path(settings.get("folder").asText(), name))) {
      while (true) {
        keepTo((int) Math.min(Math.max(left - size, 1), operationBytes));
        long due = size < left ? due() : System.nanoTime();
        long start = System.nanoTime();
        int length = in.readNBytes(got, 0, operationBytes);
        long end = System.nanoTime();
        nanos += end - start;
        if (length == 0) {
          break;
        }
        took(end - due);
        // Checked outside the measured time: only the reading is measured.
        correct &= isWritten(number, size, got, length);
        size += length;
      }
    }
    return told(size, nanos, correct && size == left);
  }

  /** One of several readers, each of which reads its share of all bytes, anywhere in any file. */
  private ObjectNode readAnywhere(int reader, int readers) throws Exception {
    long size = settings.get("file_bytes").asLong();
    int count = settings.get("files").asInt();
    long places = Math.max(1, size / operationBytes);
    Random random = new Random(settings.get("seed").asLong() * 31 + reader);
    byte[] got = new byte[operationBytes];
    FSDataInputStream[] open = new FSDataInputStream[count];
    long nanos = 0;
    long bytes = 0;
    boolean correct = true;
    try {
      for (long operation = reader; operation < count * places; operation += readers) {
        int number = random.nextInt(count);
        if (open[number] == null) {
          open[number] = files.open(new Path(settings.get("folder").asText(), "file-" + number));
        }
        long at = (long) (random.nextDouble() * places) * operationBytes;
        int length = (int) Math.min(size - at, operationBytes);
        keepTo(length);
        long due = due();
        long start = System.nanoTime();
        open[number].readFully(at, got, 0, length);
        long end = System.nanoTime();
        nanos += end - start;
        took(end - due);
        correct &= isWritten(number, at, got, length);
        bytes += length;
      }
    } finally {
      for (FSDataInputStream one : open) {
        if (one != null) {
          one.close();
        }
      }
    }
    return told(bytes, nanos, correct);
  }

  /** The part of so many bytes that is in the same chunk. */
  private static int piece(long at, int most) {
    return (int) Math.min(most, CHUNK_BYTES - at % CHUNK_BYTES);
  }

  /** Where in the pool the content of a file at an offset is. */
  private static int placeAt(int number, long at) {
    return place(number, at / CHUNK_BYTES) + (int) (at % CHUNK_BYTES);
  }

  private boolean isWritten(int number, long at, byte[] got, int length) {
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

  private void keepTo(int bytes) throws InterruptedException {
    if (pace != null) {
      pace.take(bytes);
    }
  }

  /** A rate that all threads together keep to: each waits until what it takes is due. */
  private static final class Pace {
    private final double nanosPerByte;
    private long due = System.nanoTime();

    Pace(double bytesPerS) {
      nanosPerByte = 1e9 / bytesPerS;
    }

    void take(int bytes) throws InterruptedException {
      long wait;
      synchronized (this) {
        // What was not taken in time is not taken later: no second has more than the rate.
        due = Math.max(due, System.nanoTime()) + Math.round(bytes * nanosPerByte);
        wait = due - System.nanoTime();
      }
      TimeUnit.NANOSECONDS.sleep(wait);
    }
  }

  /** Operations of all threads, each due a fixed time after the one before, whatever those take. */
  private static final class Schedule {
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

  private static ObjectNode told(long bytes, long nanos, boolean correct) {
    return JSON.createObjectNode().put("bytes", bytes).put("seconds", nanos / 1e9).put("correct", correct);
  }
}
