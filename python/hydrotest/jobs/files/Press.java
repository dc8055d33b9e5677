package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.apache.hadoop.conf.Configuration;
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

  private Press(JsonNode settings) throws Exception {
    this.settings = settings;
    Configuration configuration = new Configuration();
    configuration.set("dfs.replication", settings.get("replication").asText());
    configuration.set("dfs.blocksize", settings.get("block_bytes").asText());
    settings.get("properties").properties().forEach(one -> configuration.set(one.getKey(), one.getValue().asText()));
    files = FileSystem.get(new Path(settings.get("folder").asText()).toUri(), configuration);
    pace = settings.get("bytes_per_s").isNull() ? null : new Pace(settings.get("bytes_per_s").asDouble());
    new Random(settings.get("seed").asLong()).nextBytes(pool);
  }

  /** The one argument is a file of settings: do (write, read, remove), folder, files, file_bytes, at_once, replication, block_bytes, seed,
   * bytes_per_s (null: as fast as it goes), makes_folder, properties. */
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
    List<Future<ObjectNode>> all = new ArrayList<>();
    double began = System.currentTimeMillis() / 1e3;
    long start = System.nanoTime();
    for (int number = 0; number < settings.get("files").asInt(); number++) {
      int own = number;
      Callable<ObjectNode> one = writes ? () -> write("file-" + own, own) : () -> read("file-" + own, own);
      all.add(workers.submit(one));
    }
    ObjectNode told = JSON.createObjectNode().put("began_wall_s", began);
    var each = told.putArray("files");
    for (Future<ObjectNode> one : all) {
      each.add(one.get());
    }
    told.put("seconds", (System.nanoTime() - start) / 1e9);
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
    long left = settings.get("file_bytes").asLong();
    long start = System.nanoTime();
    try (OutputStream out = create(new Path(settings.get("folder").asText(), name))) {
      for (long chunk = 0; left > 0; chunk++) {
        int size = (int) Math.min(left, CHUNK_BYTES);
        keepTo(size);
        out.write(pool, place(number, chunk), size);
        left -= size;
      }
    }
    return told(start, true);
  }

  private ObjectNode read(String name, int number) throws Exception {
    long left = settings.get("file_bytes").asLong();
    byte[] chunk = new byte[CHUNK_BYTES];
    CRC32C found = new CRC32C();
    CRC32C expected = new CRC32C();
    long nanos = 0;
    long size = 0;
    try (InputStream in = files.open(new Path(settings.get("folder").asText(), name))) {
      for (long count = 0; ; count++) {
        keepTo((int) Math.min(Math.max(left - size, 1), CHUNK_BYTES));
        long start = System.nanoTime();
        int got = in.readNBytes(chunk, 0, CHUNK_BYTES);
        nanos += System.nanoTime() - start;
        if (got == 0) {
          break;
        }
        size += got;
        // Checked outside the measured time: only the reading is measured.
        found.update(chunk, 0, got);
        expected.update(pool, place(number, count), got);
      }
    }
    boolean whole = size == left && found.getValue() == expected.getValue();
    return JSON.createObjectNode().put("bytes", size).put("seconds", nanos / 1e9).put("correct", whole);
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

  private ObjectNode told(long start, boolean correct) {
    long bytes = settings.get("file_bytes").asLong();
    return JSON.createObjectNode().put("bytes", bytes).put("seconds", (System.nanoTime() - start) / 1e9).put("correct", correct);
  }
}
