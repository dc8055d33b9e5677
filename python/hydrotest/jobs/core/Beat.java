package hydrotest.jobs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileWriter;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.SparkStageInfo;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/**
 * Reports the progress of the stages and the state of the driver once a second, one JSON object a line, as
 * long as the driver lives. A driver without free memory still reports that, or is silent, and either shows
 * the problem.
 */
final class Beat {
  private static final long INTERVAL_MS = 1000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private Beat() {}

  static void begin(JavaSparkContext spark, Path path) throws IOException {
    FileWriter out = new FileWriter(path.toFile(), true);
    AtomicReference<String> lost = new AtomicReference<>();
    spark.sc().addSparkListener(new SparkListener() {
      @Override
      public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        lost.set(event.reason());
      }
    });
    Thread thread = new Thread(() -> {
      try (out) {
        while (!spark.sc().isStopped()) {
          out.write(JSON.writeValueAsString(now(spark).put("lost", lost.get())) + "\n");
          out.flush();
          Thread.sleep(INTERVAL_MS);
        }
      } catch (IOException | InterruptedException gone) {
        // The reader of the beats notices that they stop.
        Thread.currentThread().interrupt();
      }
    }, "beat");
    thread.setDaemon(true);
    thread.start();
  }

  private static ObjectNode now(JavaSparkContext spark) {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    long collectingMs = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collectingMs += collector.getCollectionTime();
    }
    ObjectNode beat = JSON.createObjectNode().put("wall_s", System.currentTimeMillis() / 1e3);
    beat.put("heap_bytes", heap.getUsed()).put("heap_max_bytes", heap.getMax()).put("gc_s", collectingMs / 1e3);
    SparkExecutorInfo[] all = spark.sc().statusTracker().getExecutorInfos();
    // The driver counts as one of them.
    beat.put("executors", Math.max(0, all.length - 1));
    ArrayNode stages = beat.putArray("stages");
    for (int number : spark.statusTracker().getActiveStageIds()) {
      SparkStageInfo stage = spark.statusTracker().getStageInfo(number);
      if (stage != null) {
        stages.addObject().put("stage", number).put("name", stage.name()).put("tasks", stage.numTasks())
            .put("done", stage.numCompletedTasks()).put("active", stage.numActiveTasks())
            .put("failed", stage.numFailedTasks());
      }
    }
    return beat;
  }
}
