package hydrotest.jobs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * When files of Spark's file sink became visible. Readers of its folder follow its log, {@code
 * _spark_metadata}. The log's file of a batch names the files of that batch, or, every tenth, those of all
 * batches so far.
 */
final class Manifest {
  private Manifest() {}

  /**
   * By file name: when the log's file that first named it was written, wall time in microseconds. Files for
   * which that is no longer known are left out.
   */
  static Map<String, Long> visible(String folder, Configuration configuration) throws IOException {
    Path log = new Path(folder, "_spark_metadata");
    FileSystem files = log.getFileSystem(configuration);
    TreeMap<Long, FileStatus> batches = new TreeMap<>();
    if (files.exists(log)) {
      for (FileStatus status : files.listStatus(log)) {
        String name = status.getPath().getName();
        if (name.matches("\\d+(\\.compact)?")) {
          batches.put(Long.parseLong(name.replace(".compact", "")), status);
        }
      }
    }
    Map<String, Long> found = new HashMap<>();
    long expected = 0;
    // Old log files are removed after ten minutes: until one covers all batches, its new names may be from
    // any batch.
    boolean isWhole = true;
    for (Map.Entry<Long, FileStatus> batch : batches.entrySet()) {
      boolean isOfAll = batch.getValue().getPath().getName().endsWith(".compact");
      isWhole &= batch.getKey() == expected;
      Long at = isWhole || !isOfAll ? batch.getValue().getModificationTime() * 1000 : null;
      for (String name : named(files, batch.getValue().getPath())) {
        if (!found.containsKey(name)) {
          found.put(name, at);
        }
      }
      isWhole |= isOfAll;
      expected = batch.getKey() + 1;
    }
    found.values().removeIf(at -> at == null);
    return found;
  }

  private static List<String> named(FileSystem files, Path batch) throws IOException {
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(files.open(batch), StandardCharsets.UTF_8))) {
      return reader.lines().filter(line -> line.startsWith("{")).map(Manifest::name).toList();
    }
  }

  private static String name(String line) {
    try {
      return new Path(Flow.JSON.readTree(line).get("path").asText()).getName();
    } catch (IOException broken) {
      throw new java.io.UncheckedIOException(broken);
    }
  }
}
