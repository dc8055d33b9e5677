package hydrotest.jobs;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Log records as rows of a table, by producer and sequence: a repeated write goes to the same row. Prepared
 * statements are sent to a node that has the row. Each task has a fixed number in flight, and retries
 * failures that may pass.
 */
final class CassandraSink implements Serializable {
  /** For each task; a node's one connection carries those of all tasks of an executor. */
  private static final int IN_FLIGHT = 64;
  private static final int REQUESTS_MAX = 8192;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  /** The driver's own minute would not use a node for long after it is back. */
  private static final Duration RECONNECT_MAX = Duration.ofSeconds(5);
  private static final int TRIES = 5;
  private static final long BACKOFF_MS = 200;
  private static final long TOKENS = 64;

  /** One session for each JVM and place. */
  private static final Map<String, CqlSession> SESSIONS = new ConcurrentHashMap<>();
  private static final Map<String, PreparedStatement> INSERTS = new ConcurrentHashMap<>();

  private final List<String> addresses = new ArrayList<>();
  private final String dataCenter;
  private final String table;
  private final String keyspace;
  private final String consistency;
  private final int replication;

  /** {@code sink}: addresses, data_center, keyspace, replication, consistency. */
  CassandraSink(JsonNode sink) {
    sink.get("addresses").forEach(one -> addresses.add(one.asText()));
    dataCenter = sink.get("data_center").asText();
    keyspace = sink.get("keyspace").asText();
    table = keyspace + ".records";
    consistency = sink.get("consistency").asText();
    replication = sink.get("replication").asInt();
  }

  void create() {
    session().execute("CREATE KEYSPACE IF NOT EXISTS " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy', '"
        + dataCenter + "': " + replication + "}");
    session().execute("CREATE TABLE IF NOT EXISTS " + table
        + " (producer int, sequence bigint, value blob, PRIMARY KEY ((producer, sequence)))");
  }

  void drop() {
    if (!keyspace.startsWith("hydrotest")) {
      throw new IllegalArgumentException(keyspace + " is not hydrotest's own and stays");
    }
    session().execute("DROP KEYSPACE IF EXISTS " + keyspace);
  }

  void write(Dataset<Row> batch) {
    batch.foreachPartition((ForeachPartitionFunction<Row>) this::write);
  }

  private void write(Iterator<Row> rows) throws Exception {
    CqlSession session = session();
    PreparedStatement insert = INSERTS.computeIfAbsent(table, name ->
        session.prepare("INSERT INTO " + name + " (producer, sequence, value) VALUES (?, ?, ?)"));
    Semaphore free = new Semaphore(IN_FLIGHT);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    while (rows.hasNext() && failure.get() == null) {
      byte[] value = (byte[]) rows.next().get(0);
      ByteBuffer fields = ByteBuffer.wrap(value);
      BoundStatement bound = insert.bind(fields.getInt(4), fields.getLong(8), ByteBuffer.wrap(value))
          .setConsistencyLevel(DefaultConsistencyLevel.valueOf(consistency)).setIdempotent(true);
      free.acquire();
      send(session, bound, TRIES, free, failure);
    }
    free.acquire(IN_FLIGHT);
    if (failure.get() != null) {
      throw new IllegalStateException("a record was not stored: " + failure.get(), failure.get());
    }
  }

  private static void send(CqlSession session, BoundStatement bound, int tries, Semaphore free, AtomicReference<Throwable> failure) {
    CompletionStage<AsyncResultSet> answer = session.executeAsync(bound);
    answer.whenComplete((result, error) -> {
      if (error == null) {
        free.release();
      } else if (tries > 1) {
        java.util.concurrent.CompletableFuture.delayedExecutor(BACKOFF_MS, java.util.concurrent.TimeUnit.MILLISECONDS)
            .execute(() -> send(session, bound, tries - 1, free, failure));
      } else {
        failure.set(error);
        free.release();
      }
    });
  }

  /**
   * All values of the table and their write times, by the writer's clock (microseconds); read by ranges of
   * the ring.
   */
  Dataset<Row> read(SparkSession spark) {
    List<Long> ranges = new ArrayList<>();
    for (long range = 0; range < TOKENS; range++) {
      ranges.add(range);
    }
    var values = new JavaSparkContext(spark.sparkContext()).parallelize(ranges, (int) TOKENS).flatMap(range -> {
      long width = Long.divideUnsigned(-1L, TOKENS);
      long first = Long.MIN_VALUE + range * width;
      long last = range == TOKENS - 1 ? Long.MAX_VALUE : first + width - 1;
      // From every replica: one that was away may lack what the others have.
      var found = session().execute(SimpleStatement.newInstance("SELECT value, WRITETIME(value) FROM " + table + " WHERE token(producer, sequence) >= " + first
          + " AND token(producer, sequence) <= " + last).setConsistencyLevel(DefaultConsistencyLevel.ALL));
      Iterator<com.datastax.oss.driver.api.core.cql.Row> rows = found.iterator();
      return new Iterator<Row>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public Row next() {
          var row = rows.next();
          ByteBuffer value = row.getByteBuffer(0);
          byte[] bytes = new byte[value.remaining()];
          value.get(bytes);
          return RowFactory.create(bytes, row.getLong(1));
        }
      };
    });
    return spark.createDataFrame(values, new StructType().add("value", DataTypes.BinaryType).add("written_us", DataTypes.LongType));
  }

  private CqlSession session() {
    return SESSIONS.computeIfAbsent(addresses + " " + dataCenter, place -> {
      var config = DriverConfigLoader.programmaticBuilder().withDuration(DefaultDriverOption.REQUEST_TIMEOUT, TIMEOUT)
          .withInt(DefaultDriverOption.CONNECTION_MAX_REQUESTS, REQUESTS_MAX).withBoolean(DefaultDriverOption.NETTY_DAEMON, true)
          .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, RECONNECT_MAX).build();
      var builder = CqlSession.builder().withLocalDatacenter(dataCenter).withConfigLoader(config);
      for (String address : addresses) {
        int colon = address.lastIndexOf(':');
        builder.addContactPoint(new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1))));
      }
      return builder.build();
    });
  }
}
