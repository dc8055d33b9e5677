package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/** Objects in a store that speaks S3. An operation is one request: an object or a part of it is put, or a range of it is got. */
public final class ObjectPress implements Store {
  private static final String TYPE = "application/octet-stream";
  /** In addition to one for each that is under way. */
  private static final int CONNECTIONS = 4;

  private final JsonNode settings;
  private final Bucket bucket;
  private final S3Client s3;
  private final Content content;
  private final Pace requests;
  private final AtomicLong admitted = new AtomicLong();
  private final int operationBytes;
  private final Map<String, String> mark;

  private ObjectPress(JsonNode settings) throws Exception {
    this.settings = settings;
    bucket = Bucket.of(settings, settings.get("at_once").asInt() + CONNECTIONS, AwsRetryStrategy.doNotRetry());
    s3 = bucket.s3;
    content = new Content(settings.get("seed").asLong());
    requests = settings.get("requests_per_s").isNull() ? null : new Pace(settings.get("requests_per_s").asDouble());
    operationBytes = settings.get("operation_bytes").asInt();
    mark = Map.of(Prefixes.MARK, settings.get("identity").asText());
  }

  /** The one argument is a file of settings: those of `Press` and of `Bucket`, but for the key, and do (also make, remove), prefix, identity,
   * seed, requests_per_s (null: without a bound). */
  public static void main(String[] args) throws Exception {
    JsonNode settings = Press.JSON.readTree(new File(args[0]));
    String what = settings.get("do").asText();
    if (what.equals("make") || what.equals("remove")) {
      JsonNode done = new Prefixes(settings, true).answer(what, any -> {});
      if (!done.path("failed").isEmpty()) {
        throw new IOException("not all is removed: " + done);
      }
      return;
    }
    ObjectPress own = new ObjectPress(settings);
    new Press(own.settings, own, own.content).work();
  }

  private String key(String name) {
    return Prefixes.below(settings.get("prefix").asText(), settings.get("identity").asText()) + name;
  }

  @Override
  public void admit() throws InterruptedException {
    if (requests != null) {
      requests.take(1);
    }
    admitted.incrementAndGet();
  }

  @Override
  public long admitted() {
    return admitted.get();
  }

  private RequestBody body(int number, long at, int length) {
    ContentStreamProvider stream = () -> content.stream(number, at, length);
    return RequestBody.fromContentProvider(stream, length, TYPE);
  }

  @Override
  public Writing create(String name, int number, long size) throws Exception {
    return size <= operationBytes ? new Whole(key(name), number) : new Parts(key(name), number);
  }

  /** One that is put by one request. */
  private final class Whole implements Writing {
    private final String key;
    private final int number;

    Whole(String key, int number) {
      this.key = key;
      this.number = number;
    }

    @Override
    public void write(long at, int length) throws Exception {
      Bucket.counted(() -> s3.putObject(to -> to.bucket(bucket.name).key(key).metadata(mark), body(number, at, length)));
    }

    @Override
    public void close() {}
  }

  /** One that is put by a multipart upload. */
  private final class Parts implements Writing {
    private final String key;
    private final int number;
    private final List<CompletedPart> parts = new ArrayList<>();
    private String upload;

    Parts(String key, int number) throws Exception {
      this.key = key;
      this.number = number;
      admit();
      Bucket.counted(() -> upload = s3.createMultipartUpload(to -> to.bucket(bucket.name).key(key).metadata(mark)).uploadId());
    }

    @Override
    public void write(long at, int length) throws Exception {
      int part = parts.size() + 1;
      Bucket.counted(() -> {
        String tag = s3.uploadPart(to -> to.bucket(bucket.name).key(key).uploadId(upload).partNumber(part), body(number, at, length)).eTag();
        parts.add(CompletedPart.builder().partNumber(part).eTag(tag).build());
      });
    }

    @Override
    public void end() throws Exception {
      admit();
      Bucket.counted(() -> s3.completeMultipartUpload(to -> to.bucket(bucket.name).key(key).uploadId(upload).multipartUpload(all -> all.parts(parts))));
      upload = null;
    }

    @Override
    public void close() throws IOException {
      if (upload != null) {
        try {
          admit();
          s3.abortMultipartUpload(to -> to.bucket(bucket.name).key(key).uploadId(upload));
        } catch (RuntimeException | InterruptedException error) {
          throw new IOException("a multipart upload of " + key + " stays until the run removes what it made", error);
        }
      }
    }
  }

  @Override
  public Reading open(String name, long size) {
    return new Ranges(key(name), size);
  }

  /** One that is read range by range. */
  private final class Ranges implements Reading {
    private final String key;
    /** As the store says once it has said so; as it should be until then. */
    private long size;
    private long place;

    Ranges(String key, long size) {
      this.key = key;
      this.size = size;
    }

    @Override
    public boolean isAtEnd() {
      return place >= size;
    }

    @Override
    public int next(byte[] got, int most) throws Exception {
      // All of it at once where it should fit: then no range is asked for.
      String range = place == 0 && size <= most ? null : range(place, most);
      int read = get(range, got, most);
      place += read;
      return read;
    }

    @Override
    public void at(long offset, byte[] got, int length) throws Exception {
      int read = get(range(offset, length), got, length);
      if (read < length) {
        throw new Store.Failed("Short", new IOException(key + " ends after " + (offset + read) + " B"));
      }
    }

    private String range(long from, int length) {
      return "bytes=" + from + "-" + (from + length - 1);
    }

    /** Returns how many bytes there were. The client's deadline holds until the last of them. */
    private int get(String range, byte[] got, int most) throws Exception {
      int[] read = {0};
      Bucket.counted(() -> s3.getObject(from -> from.bucket(bucket.name).key(key).range(range), (response, in) -> {
        read[0] = in.readNBytes(got, 0, most);
        size = sizeOf(response);
        emptied(in);
        return response;
      }));
      return read[0];
    }

    /** Of the whole object. */
    private long sizeOf(GetObjectResponse response) {
      String range = response.contentRange();
      return range == null ? response.contentLength() : Long.parseLong(range.substring(range.indexOf('/') + 1));
    }

    /** A connection whose answer was read to its end is used again; one with more than was asked for is not worth it. */
    private void emptied(AbortableInputStream in) throws IOException {
      if (in.read() >= 0) {
        in.abort();
      }
    }

    @Override
    public void close() {}
  }
}
