package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
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
  private static final int CANARY_BYTES = 1024;
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
    Talk talk = new Talk();
    JsonNode settings = talk.settings();
    try {
      Folders folders = new Folders(settings);
      if (args[0].equals("canary")) {
        Canary.live(talk, settings.get("rate_per_s").asDouble(), folders::one);
      } else {
        talk.done(folders.answer(settings.get("do").asText()));
      }
    } catch (IOException | RuntimeException error) {
      talk.failed(error);
    }
    System.exit(0);
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
    return Talk.JSON.createObjectNode();
  }

  private JsonNode make() throws IOException {
    if (files.exists(folder())) {
      throw new IOException(folder().toUri().getPath() + " is there already");
    }
    // Folders above it would be made as well, with the rights of ours, and stay.
    files.getFileStatus(folder().getParent());
    files.mkdirs(folder());
    return Talk.JSON.createObjectNode().put("id", id(folder()));
  }

  private JsonNode ids() throws IOException {
    ObjectNode found = Talk.JSON.createObjectNode();
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
    return Talk.JSON.createObjectNode().put("removed", gone);
  }

  /** Folders of canaries that live: what is made and removed in one changes its time. No clock is asked. */
  private JsonNode canaries() throws IOException, InterruptedException {
    Map<String, Long> before = changed();
    Thread.sleep(before.isEmpty() ? 0 : CANARY_LIVES_MS);
    Map<String, Long> after = before.isEmpty() ? before : changed();
    var found = Talk.JSON.createArrayNode();
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
}
