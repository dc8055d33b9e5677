package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;

/**
 * A driver that stays up for a complete run and follows its control file, one command after the other: a JSON
 * object with a growing number and the command. It ends when the file is gone; a controller removes it at its
 * end.
 *
 * <p>{@code begin} starts a pipeline, {@code halt} stops one of its queries, {@code resume} continues it.
 * {@code drain} waits until its topics are read to their ends, and {@code end} stops it. {@code account}
 * reports the records in a sink, {@code counts} the contents of the windows' topic. {@code remove} deletes
 * files and tables. Results are appended to a file, one JSON object a line: {@code done} or {@code failed}
 * with the number. Between them are {@code progress} of each query's batches, and {@code ended} for a query
 * that an error has ended.
 */
public final class Flow {
  private static final long POLL_MS = 20;
  static final ObjectMapper JSON = new ObjectMapper();

  private final Path control;
  private final FileWriter out;

  private Flow(Path control, FileWriter out) {
    this.control = control;
    this.out = out;
  }

  /** The one argument is a file of settings: control, out. */
  public static void main(String[] args) throws Exception {
    JsonNode settings = JSON.readTree(new File(args[0]));
    try (FileWriter out = new FileWriter(settings.get("out").asText(), true);
        SparkSession spark = SparkSession.builder().getOrCreate()) {
      new Flow(Path.of(settings.get("control").asText()), out).work(spark);
    }
  }

  private void work(SparkSession spark) throws Exception {
    Pipeline pipeline = new Pipeline(spark, this::say);
    say(JSON.createObjectNode().put("event", "ready").put("application", spark.sparkContext().applicationId()));
    for (long last = 0; ; Thread.sleep(POLL_MS)) {
      JsonNode wish = wish();
      if (wish == null) {
        return;
      }
      if (wish.get("number").asLong() > last) {
        last = wish.get("number").asLong();
        ObjectNode line = JSON.createObjectNode().put("number", last);
        try {
          line.set("result", carryOut(spark, pipeline, wish));
          say(line.put("event", "done"));
        } catch (Exception error) {
          say(line.put("event", "failed").put("error", error.toString()));
        }
      }
    }
  }

  private static ObjectNode carryOut(SparkSession spark, Pipeline pipeline, JsonNode wish) throws Exception {
    switch (wish.get("do").asText()) {
      case "begin":
        pipeline.begin(wish);
        return JSON.createObjectNode();
      case "halt":
        pipeline.halt(wish.get("query").asText());
        return JSON.createObjectNode();
      case "resume":
        pipeline.resume(wish.get("query").asText());
        return JSON.createObjectNode();
      case "drain":
        return JSON.createObjectNode().put("drained", pipeline.drain(wish.get("seconds").asDouble()));
      case "end":
        pipeline.end();
        return JSON.createObjectNode();
      case "remove":
        for (JsonNode path : wish.get("paths")) {
          org.apache.hadoop.fs.Path gone = new org.apache.hadoop.fs.Path(path.asText());
          if (!gone.getName().startsWith("hydrotest")) {
            throw new IllegalArgumentException(gone + " is not hydrotest's own and stays");
          }
          gone.getFileSystem(spark.sparkContext().hadoopConfiguration()).delete(gone, true);
        }
        for (JsonNode table : wish.get("tables")) {
          new CassandraSink(table).drop();
        }
        return JSON.createObjectNode();
      case "account":
        return Ledger.of(spark, wish).told(wish.get("percentiles"));
      case "counts":
        return Counts.of(spark, wish);
      default:
        throw new IllegalArgumentException("there is nothing like " + wish.get("do"));
    }
  }

  /** The contents of the control file; null if it is gone. */
  private JsonNode wish() throws IOException {
    try {
      return JSON.readTree(Files.readString(control));
    } catch (java.nio.file.NoSuchFileException gone) {
      return null;
    }
  }

  private synchronized void say(ObjectNode line) {
    try {
      out.write(JSON.writeValueAsString(line) + "\n");
      out.flush();
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }
}
