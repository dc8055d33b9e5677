package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a consumer group: Kafka's own consumer, used as an application uses it. It takes its settings as a JSON
 * line on stdin; each line after it is a moment before which it reads nothing ({@link System#nanoTime}). It leaves its
 * group in good order at the end of stdin.
 *
 * <p>Its work on records is to report them on stdout, in frames (rust/kafka/src/group/frames.rs). What is reported is
 * processed: offsets are committed afterwards, as for any reader that must not miss a record. A member that is killed has
 * processed the frames that are complete.
 */
public final class Member implements ConsumerRebalanceListener {
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration CLOSE = Duration.ofSeconds(10);
  private static final byte ASSIGNED = 'A';
  private static final byte REVOKED = 'R';
  private static final byte LOST = 'L';
  private static final byte POLLED = 'P';
  private static final byte COMMITTED = 'C';

  /** The header that holds the stamp of a record whose value is not ours (rust/kafka/src/payload.rs). */
  private static final String STAMP_HEADER = "hydrotest";

  /** Where the intended start is in a stamp. */
  private static final int INTENDED_AT = 16;

  private static final int STAMP_BYTES = 24;
  private static final int SHORT_STAMP_BYTES = 10;

  private enum Commit {
    AUTO,
    SYNC,
    ASYNC
  }

  private final OutputStream out = new FileOutputStream(FileDescriptor.out);
  private final CRC32C checksum = new CRC32C();
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Map<String, Integer> topics = new HashMap<>();
  private final int partitions;
  private final Commit commit;
  private final long commitNs;

  /** Where the next poll of a partition begins. */
  private final Map<TopicPartition, Long> next = new HashMap<>();

  private volatile boolean leaves;
  private volatile long heldUntilNs = Long.MIN_VALUE;
  private boolean isPaused;
  private long commits;
  private long commitsSaid;
  private boolean isBehindCommit;

  private Member(JsonNode settings) throws IOException {
    Properties properties = new Properties();
    if (settings.hasNonNull("credentials")) {
      try (InputStream file = new FileInputStream(settings.get("credentials").asText())) {
        properties.load(file);
      }
    }
    settings.get("properties").properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
    partitions = settings.get("partitions").asInt();
    commit = Commit.valueOf(settings.get("commit").asText().toUpperCase(Locale.ROOT));
    commitNs = Math.round(settings.get("commit_ms").asDouble() * 1e6);
    for (JsonNode topic : settings.get("topics")) {
      topics.put(topic.asText(), topics.size());
    }
    consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  public static void main(String[] arguments) throws Exception {
    System.setOut(System.err); // of the frames alone; what libraries print would be taken for one
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Member member = new Member(new ObjectMapper().readTree(in.readLine()));
    Thread orders = new Thread(() -> member.takeOrders(in), "orders");
    orders.setDaemon(true);
    orders.start();
    member.work();
    System.exit(0);
  }

  private void takeOrders(BufferedReader in) {
    try {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        heldUntilNs = Long.parseLong(line);
      }
    } catch (IOException | NumberFormatException gone) {
      System.err.println("stdin cannot be read: " + gone);
    }
    leaves = true;
    consumer.wakeup();
  }

  private void work() throws IOException {
    consumer.subscribe(new ArrayList<>(topics.keySet()), this);
    long committedNs = System.nanoTime();
    while (!leaves) {
      ConsumerRecords<byte[], byte[]> records;
      try {
        records = consumer.poll(untilAllowed());
      } catch (WakeupException leaving) {
        continue;
      } catch (InvalidOffsetException gone) {
        begin(gone.partitions());
        continue;
      }
      long now = System.nanoTime();
      if (!records.nextOffsets().isEmpty()) {
        report(now, records);
        isBehindCommit = true;
      }
      if (commit != Commit.AUTO && isBehindCommit && now - committedNs >= commitNs) {
        committedNs = now;
        commit(commit == Commit.SYNC);
      }
      sayCommits();
    }
    if (commit != Commit.AUTO) {
      commit(true);
      if (isBehindCommit) {
        commit(true); // what woke it up for leaving may have ended the first one
      }
      sayCommits();
    }
    consumer.close(CloseOptions.timeout(CLOSE));
  }

  /**
   * Pauses its partitions where nothing is to be read yet, as the owner of the cluster allows no more; how long the next poll
   * takes at most. It goes on polling meanwhile, so that it stays a member and takes part in rebalances.
   */
  private Duration untilAllowed() {
    long left = heldUntilNs == Long.MIN_VALUE ? 0 : heldUntilNs - System.nanoTime();
    if (left > 0) {
      consumer.pause(consumer.assignment());
      isPaused = true;
      return Duration.ofNanos(Math.min(left, POLL.toNanos()));
    }
    if (isPaused) {
      consumer.resume(consumer.paused());
      isPaused = false;
    }
    return POLL;
  }

  private void sayCommits() throws IOException {
    if (commits > commitsSaid) {
      commitsSaid = commits;
      send(frame(COMMITTED, System.nanoTime(), Long.BYTES).putLong(commits));
    }
  }

  /** Begins where there are records: nobody has committed anything, or what was committed is removed. The jump is reported. */
  private void begin(Set<TopicPartition> partitions) {
    consumer.seekToBeginning(partitions);
    next.keySet().removeAll(partitions);
  }

  private long position(TopicPartition partition) {
    while (true) {
      try {
        return consumer.position(partition);
      } catch (InvalidOffsetException none) {
        consumer.seekToBeginning(none.partitions());
      }
    }
  }

  /** Commits what is reported. A commit that fails is repeated with a later one; one of a member that is no longer is void. */
  private void commit(boolean waits) {
    isBehindCommit = false;
    try {
      if (waits) {
        consumer.commitSync();
        commits++;
      } else {
        consumer.commitAsync((offsets, error) -> {
          if (error == null) {
            commits++;
          } else {
            failed(error);
          }
        });
      }
    } catch (KafkaException error) {
      failed(error);
    }
  }

  private void failed(Exception error) {
    if (error instanceof AuthorizationException refused) {
      throw refused;
    }
    isBehindCommit = true;
    System.err.println("a commit failed: " + error);
  }

  private void report(long now, ConsumerRecords<byte[], byte[]> records) throws IOException {
    Map<TopicPartition, OffsetAndMetadata> passed = records.nextOffsets();
    ByteBuffer frame = frame(POLLED, now, Integer.BYTES + passed.size() * 40 + records.count() * 20);
    frame.putInt(passed.size());
    for (Map.Entry<TopicPartition, OffsetAndMetadata> one : passed.entrySet()) {
      List<ConsumerRecord<byte[], byte[]>> read = records.records(one.getKey());
      long to = one.getValue().offset();
      Long from = next.put(one.getKey(), to);
      frame.putInt(number(one.getKey()));
      frame.putLong(from != null ? from : read.isEmpty() ? to : read.get(0).offset());
      frame.putLong(to);
      put(frame, read);
    }
    send(frame);
  }

  /** The records of a partition: bytes, how many are corrupted, runs of offsets, and the intended start of each. */
  private void put(ByteBuffer frame, List<ConsumerRecord<byte[], byte[]>> read) {
    int head = frame.position();
    frame.position(head + 2 * Integer.BYTES + Integer.BYTES);
    int bytes = 0;
    int corrupted = 0;
    int runs = 0;
    int countAt = 0;
    long expected = -1;
    for (ConsumerRecord<byte[], byte[]> record : read) {
      byte[] value = record.value();
      bytes += Math.max(0, record.serializedKeySize()) + (value == null ? 0 : value.length);
      corrupted += isWhole(stampOf(record), value) ? 0 : 1;
      if (record.offset() != expected) {
        runs++;
        frame.putLong(record.offset());
        countAt = frame.position();
        frame.putInt(0);
      }
      frame.putInt(countAt, frame.getInt(countAt) + 1);
      expected = record.offset() + 1;
    }
    for (ConsumerRecord<byte[], byte[]> record : read) {
      byte[] stamp = stampOf(record);
      frame.putLong(stamp == null || stamp.length < STAMP_BYTES ? 0 : ByteBuffer.wrap(stamp).getLong(INTENDED_AT));
    }
    frame.putInt(head, bytes).putInt(head + Integer.BYTES, corrupted).putInt(head + 2 * Integer.BYTES, runs);
  }

  /** What begins with a record's stamp: a header of its own, or its value. */
  private static byte[] stampOf(ConsumerRecord<byte[], byte[]> record) {
    Header apart = record.headers().lastHeader(STAMP_HEADER);
    return apart == null ? record.value() : apart.value();
  }

  private boolean isWhole(byte[] stamp, byte[] value) {
    if (stamp == null || stamp.length < SHORT_STAMP_BYTES) {
      return false;
    }
    checksum.reset();
    checksum.update(stamp, Integer.BYTES, stamp.length - Integer.BYTES);
    if (stamp != value && value != null) {
      checksum.update(value);
    }
    return (int) checksum.getValue() == ByteBuffer.wrap(stamp).getInt();
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
    for (TopicPartition partition : assigned) {
      // Where the group has committed to. What lies between, and the group did not read, is missed.
      next.put(partition, position(partition));
    }
    if (isPaused) {
      consumer.pause(assigned);
    }
    say(ASSIGNED, assigned);
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
    if (commit != Commit.AUTO && isBehindCommit) {
      commit(true);
    }
    next.keySet().removeAll(revoked);
    say(REVOKED, revoked);
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> lost) {
    next.keySet().removeAll(lost);
    say(LOST, lost);
  }

  private void say(byte kind, Collection<TopicPartition> about) {
    ByteBuffer frame = frame(kind, System.nanoTime(), Integer.BYTES + about.size() * Integer.BYTES);
    frame.putInt(about.size());
    about.forEach(partition -> frame.putInt(number(partition)));
    sendNow(frame);
  }

  /** The number of a partition among those of all topics (rust/kafka/src/topics.rs). */
  private int number(TopicPartition partition) {
    return topics.get(partition.topic()) * partitions + partition.partition();
  }

  private static ByteBuffer frame(byte kind, long now, int bytes) {
    ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + 1 + Long.BYTES + bytes);
    return frame.putInt(0).put(kind).putLong(now);
  }

  private void send(ByteBuffer frame) throws IOException {
    frame.putInt(0, frame.position() - Integer.BYTES);
    out.write(frame.array(), 0, frame.position());
  }

  /** In a callback, which may throw nothing that is checked. */
  private void sendNow(ByteBuffer frame) {
    try {
      send(frame);
    } catch (IOException gone) {
      throw new UncheckedIOException(gone);
    }
  }
}
