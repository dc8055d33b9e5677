package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;

/**
 * What runs do in a file system that others use, besides load: they make folders of their own, know them again by their inode ids,
 * remove them, and ask a little of it each second. It speaks the protocol of hydrotest-node: JSON lines on stdin and stdout.
 */
public final class Folders {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PROTOCOL = 3;
  private static final int CANARY_BYTES = 1024;
  private static final int CANARY_THREADS = 8;
  /** A canary makes and removes files several times in this time, and each changes its folder. */
  private static final long CANARY_LIVES_MS = 2000;

  private final JsonNode settings;
  private final FileSystem files;

  private Folders(JsonNode settings) throws IOException {
    this.settings = settings;
    Configuration configuration = new Configuration();
    settings.get("properties").properties().forEach(one -> configuration.set(one.getKey(), one.getValue().asText()));
    files = FileSystem.get(new Path(settings.get("url").asText()).toUri(), configuration);
  }

  /** The one argument: `query`, for one answer, or `canary`. */
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    in.readLine();
    tell(event("hello").put("protocol", PROTOCOL));
    JsonNode settings = JSON.readTree(in.readLine());
    try {
      Folders folders = new Folders(settings);
      if (args[0].equals("canary")) {
        folders.canary(in);
      } else {
        ObjectNode done = event("done");
        done.set("result", folders.answer(settings.get("do").asText()));
        tell(done);
      }
    } catch (IOException | RuntimeException error) {
      tell(event("failed").put("error", brief(error)));
    }
    System.exit(0);
  }

  private static ObjectNode event(String name) {
    return JSON.createObjectNode().put("event", name);
  }

  private static synchronized void tell(ObjectNode event) throws IOException {
    System.out.println(JSON.writeValueAsString(event));
    System.out.flush();
  }

  /** The first line of what Hadoop says; the others are stack frames of the NameNode. */
  private static String brief(Throwable error) {
    String said = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    return said.lines().findFirst().orElse(said);
  }

  private JsonNode answer(String what) throws Exception {
    return switch (what) {
      case "make" -> make();
      case "ids" -> ids();
      case "remove" -> remove();
      case "canaries" -> canaries();
      case "reach" -> reach();
      default -> throw new IOException("unknown: " + what);
    };
  }

  private Path folder() {
    return new Path(settings.get("folder").asText());
  }

  /** The inode's number: a folder of the same name that is made later has another one. Null where there is none. */
  private String id(Path path) throws IOException {
    try {
      return Long.toString(((HdfsFileStatus) files.getFileStatus(path)).getFileId());
    } catch (java.io.FileNotFoundException none) {
      return null;
    }
  }

  /** Whether files can be made in a folder, which is there. */
  private JsonNode reach() throws IOException {
    Path path = folder();
    if (!files.getFileStatus(path).isDirectory()) {
      throw new IOException(path.toUri().getPath() + " is no folder");
    }
    files.access(path, FsAction.WRITE_EXECUTE);
    return JSON.createObjectNode();
  }

  private JsonNode make() throws IOException {
    if (files.exists(folder())) {
      throw new IOException(folder().toUri().getPath() + " is there already");
    }
    // Folders above it would be made as well, with the rights of ours, and stay.
    files.getFileStatus(folder().getParent());
    files.mkdirs(folder());
    return JSON.createObjectNode().put("id", id(folder()));
  }

  private JsonNode ids() throws IOException {
    ObjectNode found = JSON.createObjectNode();
    for (JsonNode name : settings.get("names")) {
      found.put(name.asText(), id(new Path(name.asText())));
    }
    return found;
  }

  /** By its inode, whatever has its name by now. Not by way of a trash: nobody wants it back. */
  private JsonNode remove() throws IOException {
    String wanted = settings.get("id").asText();
    boolean gone;
    try {
      gone = files.delete(new Path("/.reserved/.inodes/" + wanted), true);
    } catch (java.io.FileNotFoundException none) {
      gone = false;
    }
    if (!gone && wanted.equals(id(folder()))) {
      throw new IOException(folder().toUri().getPath() + " cannot be removed");
    }
    return JSON.createObjectNode().put("removed", gone);
  }

  /** Folders of canaries that live: what is made and removed in one changes its time. No clock is asked. */
  private JsonNode canaries() throws IOException, InterruptedException {
    Map<String, Long> before = changed();
    Thread.sleep(before.isEmpty() ? 0 : CANARY_LIVES_MS);
    Map<String, Long> after = before.isEmpty() ? before : changed();
    var found = JSON.createArrayNode();
    after.forEach((name, at) -> {
      if (before.containsKey(name) && !before.get(name).equals(at)) {
        found.add(name);
      }
    });
    return found;
  }

  private Map<String, Long> changed() throws IOException {
    Map<String, Long> found = new HashMap<>();
    FileStatus[] there = files.globStatus(new Path(settings.get("pattern").asText()));
    for (FileStatus one : there == null ? new FileStatus[0] : there) {
      found.put(one.getPath().toUri().getPath(), one.getModificationTime());
    }
    return found;
  }

  /** Writes, reads and removes a small file so many times a second, from `go` until stdin ends; reports each second. */
  private void canary(BufferedReader in) throws IOException {
    double rate = settings.get("rate_per_s").asDouble();
    Seconds seconds = new Seconds();
    one(0);  // classes are loaded, connections made
    tell(event("ready").put("pid", ProcessHandle.current().pid()).put("nice", 0).put("real_time", false));
    if (in.readLine() == null) {
      return;
    }
    ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    var workers = Executors.newFixedThreadPool(CANARY_THREADS);
    long[] number = {0};
    clock.scheduleAtFixedRate(() -> {
      long own = ++number[0];
      long due = System.nanoTime();
      seconds.start();
      workers.submit(() -> {
        try {
          one(own);
          seconds.end(System.nanoTime() - due);
        } catch (IOException | RuntimeException error) {
          seconds.fail();
        }
      });
    }, 0, Math.round(1e9 / rate), TimeUnit.NANOSECONDS);
    clock.scheduleAtFixedRate(() -> {
      try {
        tell(seconds.told());
      } catch (IOException gone) {
        System.exit(1);
      }
    }, 1, 1, TimeUnit.SECONDS);
    while (in.readLine() != null) { // until it ends
    }
    clock.shutdownNow();
    workers.shutdownNow();
  }

  private void one(long number) throws IOException {
    Path path = new Path(folder(), "canary-" + number);
    byte[] content = new byte[CANARY_BYTES];
    short copies = (short) settings.get("replication").asInt();
    try (var out = files.createFile(path).overwrite(true).replication(copies).blockSize(1L << 20).build()) {
      out.write(content);
    }
    try (var file = files.open(path)) {
      file.readFully(content);
    }
    files.delete(path, false);
  }

  /** Counters since the beginning, and the latencies of the current second. */
  private static final class Seconds {
    private long started;
    private long completed;
    private long failed;
    private List<Long> nanos = new ArrayList<>();

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
      ObjectNode told = event("second").put("wall_s", System.currentTimeMillis() / 1e3);
      told.putObject("counts").put("started", started).put("completed", completed).put("failed", failed);
      if (ended.isEmpty()) {
        return told.putNull("p99_ms");
      }
      return told.put("p99_ms", ended.get((int) Math.ceil(0.99 * ended.size()) - 1) / 1e6);
    }
  }
}
