package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * A driver that stays up for a complete run and repeats its tests in order while its control file contains
 * {@code run}. It pauses on {@code pause}, and ends on {@code stop} or when the file is gone. Its events are
 * appended to a file, one JSON object a line. They are {@code ready} once executors are up and the data is in
 * memory, one {@code iteration} for each test that ended or that a pause cut short, and {@code resting} each
 * time that nothing runs any more.
 */
public final class Batch {
  private static final long POLL_MS = 20;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path control;
  private final FileWriter out;

  private Batch(Path control, FileWriter out) {
    this.control = control;
    this.out = out;
  }

  /** The one argument is a file of settings: control, out, beats, tests, scale_factor, data_scale, seed,
   * unique_keys, skew. */
  public static void main(String[] args) throws Exception {
    JsonNode settings = JSON.readTree(new File(args[0]));
    try (FileWriter out = new FileWriter(settings.get("out").asText(), true);
        JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      Beat.begin(spark, Path.of(settings.get("beats").asText()));
      new Batch(Path.of(settings.get("control").asText()), out).work(spark, settings);
    }
  }

  private void work(JavaSparkContext spark, JsonNode settings) throws Exception {
    spark.setJobGroup("prepare", "data in memory, answers known", true);
    Data data = new Data(spark, settings);
    List<Test> tests = new ArrayList<>();
    settings.get("tests").forEach(name -> tests.add(Test.named(name.asText())));
    tests.forEach(test -> test.prepare(data));
    ObjectNode ready = JSON.createObjectNode().put("event", "ready").put("application", spark.sc().applicationId());
    say(ready.put("partitions", data.partitions));
    boolean resting = false;
    for (int number = 0; !wish().equals("stop"); ) {
      if (wish().equals("run")) {
        resting = false;
        iterate(spark, data, tests.get(number % tests.size()), number);
        number++;
      } else {
        if (!resting) {
          say(JSON.createObjectNode().put("event", "resting"));
        }
        resting = true;
        Thread.sleep(POLL_MS);
      }
    }
  }

  /** One test; cut short as soon as the control file no longer contains run. */
  private void iterate(JavaSparkContext spark, Data data, Test test, int number) throws Exception {
    String group = "iteration-" + number;
    ObjectNode line = JSON.createObjectNode().put("event", "iteration").put("test", test.title()).put("group", group);
    line.put("started_wall_s", System.currentTimeMillis() / 1e3);
    Throwable[] failure = new Throwable[1];
    boolean[] correct = new boolean[1];
    long begin = System.nanoTime();
    Thread thread = new Thread(() -> {
      spark.setJobGroup(group, test.title(), true);
      try {
        correct[0] = test.run(data);
      } catch (Throwable error) {
        failure[0] = error;
      }
    });
    thread.start();
    boolean cut = false;
    while (thread.isAlive()) {
      thread.join(POLL_MS);
      if (!cut && !wish().equals("run")) {
        cut = true;
        spark.cancelJobGroup(group);
      }
    }
    line.put("seconds", (System.nanoTime() - begin) / 1e9).put("ended_wall_s", System.currentTimeMillis() / 1e3);
    line.put("finished", failure[0] == null).put("correct", correct[0]).put("cut", cut);
    say(line.put("error", failure[0] == null || cut ? null : failure[0].toString()));
  }

  /** The contents of the control file; a controller removes it at its end. */
  private String wish() {
    try {
      return Files.readString(control).strip();
    } catch (IOException gone) {
      return "stop";
    }
  }

  private void say(ObjectNode line) throws IOException {
    out.write(JSON.writeValueAsString(line) + "\n");
    out.flush();
  }
}
