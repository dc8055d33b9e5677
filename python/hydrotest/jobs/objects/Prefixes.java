package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CommonPrefix;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.MultipartUpload;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * What runs do in a bucket, besides load: they begin prefixes of their own, know again what is theirs, remove it, and ask a little of the
 * store each second. A prefix holds a marker, whose content is an identity that nobody else has; all other keys below it begin with that
 * identity, and their objects carry it. It speaks the protocol of hydrotest-node: JSON lines on stdin and stdout.
 */
public final class Prefixes {
  /** The user's metadata of each object that is ours. */
  static final String MARK = "hydrotest";
  private static final String MARKER = "marker";
  private static final String BEAT = "beat";
  private static final int CANARY_BYTES = 1024;
  /** A canary changes its beat each second. */
  private static final long CANARY_LIVES_MS = 3000;
  private static final int AT_ONCE = 8;
  private static final int CONNECTIONS = 32;
  /** So many keys of others are told by name. */
  private static final int KEPT_TOLD = 10;

  private final JsonNode settings;
  private final Bucket bucket;
  private final S3Client s3;

  Prefixes(JsonNode settings) throws Exception {
    this.settings = settings;
    bucket = Bucket.of(settings, CONNECTIONS);
    s3 = bucket.s3;
  }

  /** The one argument: `query`, for one answer, or `canary`. */
  public static void main(String[] args) throws Exception {
    Talk talk = new Talk();
    JsonNode settings = talk.settings();
    try {
      Prefixes own = new Prefixes(settings);
      if (args[0].equals("canary")) {
        Canary.live(talk, settings.get("rate_per_s").asDouble(), own::sing);
      } else {
        talk.done(own.answer(settings.get("do").asText()));
      }
    } catch (IOException | RuntimeException error) {
      talk.failed(error);
    }
    System.exit(0);
  }

  JsonNode answer(String what) throws Exception {
    return switch (what) {
      case "reach" -> reach();
      case "make" -> make();
      case "ids" -> ids();
      case "remove" -> remove();
      case "canaries" -> canaries();
      default -> throw new IOException("unknown: " + what);
    };
  }

  /** With what the keys of a prefix's own objects begin. */
  static String below(String prefix, String identity) {
    return prefix + "/" + identity + "/";
  }

  private String prefix() {
    return settings.get("prefix").asText();
  }

  private String identity() {
    return settings.get("identity").asText();
  }

  /** What is wrong with the bucket, the key or its rights, by the step at which it showed: of these only the last two leave a trace in the
   * store, which is removed at once. Empty if nothing is. */
  private JsonNode reach() {
    String own = prefix() + "hydrotest-reach-" + UUID.randomUUID();
    String step = "list";
    try {
      s3.listObjectsV2(of -> of.bucket(bucket.name).prefix(own).maxKeys(1));
      step = "versions";
      if (keepsVersions()) {
        return refused(step, "Versioned", "the bucket keeps versions");
      }
      // Without an object of that name, as nobody has one, this asks only for the right.
      step = "delete";
      s3.deleteObject(of -> of.bucket(bucket.name).key(own));
      // An upload that is not completed is no object.
      step = "write";
      String upload = s3.createMultipartUpload(to -> to.bucket(bucket.name).key(own)).uploadId();
      step = "abort";
      s3.abortMultipartUpload(to -> to.bucket(bucket.name).key(own).uploadId(upload));
    } catch (RuntimeException error) {
      return refused(step, Bucket.code(error), said(error));
    }
    return Talk.JSON.createObjectNode();
  }

  private static ObjectNode refused(String step, String code, String said) {
    return Talk.JSON.createObjectNode().put("step", step).put("code", code).put("said", said);
  }

  /** The store's words, without what Amazon's client adds to them. */
  private static String said(RuntimeException error) {
    if (error instanceof AwsServiceException told && told.awsErrorDetails() != null && told.awsErrorDetails().errorMessage() != null) {
      return told.awsErrorDetails().errorMessage();
    }
    return String.valueOf(error.getMessage());
  }

  private boolean keepsVersions() {
    try {
      String status = s3.getBucketVersioning(of -> of.bucket(bucket.name)).statusAsString();
      return status != null && !status.isEmpty();
    } catch (AwsServiceException error) {
      // A store that has no versions may not know the question.
      if (error.statusCode() == 501 || error.statusCode() == 405) {
        return false;
      }
      throw error;
    }
  }

  /** Begins a prefix, where nothing is yet. It may have been begun by us, without an answer. */
  private JsonNode make() throws IOException {
    String prefix = prefix();
    String key = prefix + "/" + MARKER;
    if (settings.get("makes_bucket").asBoolean()) {
      makeBucket();
    }
    if (identity().equals(identityOf(prefix))) {
      return Talk.JSON.createObjectNode();
    }
    if (!s3.listObjectsV2(of -> of.bucket(bucket.name).prefix(prefix + "/").maxKeys(1)).contents().isEmpty()) {
      throw new IOException(prefix + " is there already");
    }
    PutObjectResponse made = s3.putObject(to -> to.bucket(bucket.name).key(key).metadata(Map.of(MARK, identity())).ifNoneMatch("*"), RequestBody.fromString(identity()));
    String version = made.versionId();
    if (version != null && !version.equals("null")) {
      s3.deleteObject(of -> of.bucket(bucket.name).key(key).versionId(version));
      throw new IOException("the bucket keeps versions, so what is deleted stays");
    }
    // A store that does not know the condition may have let two write.
    if (!identity().equals(identityOf(prefix))) {
      throw new IOException(prefix + " was begun by somebody else at the same moment");
    }
    return Talk.JSON.createObjectNode();
  }

  private void makeBucket() {
    try {
      s3.createBucket(with -> with.bucket(bucket.name));
    } catch (AwsServiceException error) {
      if (error.statusCode() != 409) { // it is there
        throw error;
      }
    }
  }

  /** Null where there is no marker. */
  private String identityOf(String prefix) {
    byte[] content = Bucket.unlessMissing(() -> s3.getObjectAsBytes(of -> of.bucket(bucket.name).key(prefix + "/" + MARKER)).asByteArray());
    return content == null ? null : new String(content, StandardCharsets.UTF_8);
  }

  private JsonNode ids() {
    ObjectNode found = Talk.JSON.createObjectNode();
    for (JsonNode name : settings.get("names")) {
      found.put(name.asText(), identityOf(name.asText()));
    }
    return found;
  }

  /** All that is ours below a prefix, and last its marker. What does not prove to be ours stays, and is named. */
  private JsonNode remove() throws Exception {
    String prefix = prefix();
    ArrayNode kept = Talk.JSON.createArrayNode();
    int removed = 0;
    ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE);
    try {
      for (MultipartUpload one : uploads(below(prefix, identity()))) {
        s3.abortMultipartUpload(of -> of.bucket(bucket.name).key(one.key()).uploadId(one.uploadId()));
      }
      List<String> keys = new ArrayList<>();
      s3.listObjectsV2Paginator(of -> of.bucket(bucket.name).prefix(prefix + "/")).contents().forEach(one -> keys.add(one.key()));
      keys.remove(prefix + "/" + MARKER);
      Map<String, Future<Boolean>> gone = new HashMap<>();
      keys.forEach(key -> gone.put(key, workers.submit(() -> removeOwn(key))));
      for (String key : keys) {
        if (gone.get(key).get()) {
          removed++;
        } else if (kept.size() < KEPT_TOLD) {
          kept.add(key);
        }
      }
    } finally {
      workers.shutdownNow();
    }
    if (identity().equals(identityOf(prefix))) {
      s3.deleteObject(of -> of.bucket(bucket.name).key(prefix + "/" + MARKER));
    }
    ObjectNode told = Talk.JSON.createObjectNode().put("removed", removed);
    told.set("kept", kept);
    return told;
  }

  /** Uploads that were begun and neither completed nor aborted. */
  private List<MultipartUpload> uploads(String below) {
    List<MultipartUpload> found = new ArrayList<>();
    s3.listMultipartUploadsPaginator(of -> of.bucket(bucket.name).prefix(below)).uploads()
        .forEach(one -> {
          // Not every store heeds the prefix.
          if (one.key().startsWith(below)) {
            found.add(one);
          }
        });
    return found;
  }

  /** Whether it was ours, and is gone. */
  private boolean removeOwn(String key) {
    if (!key.startsWith(below(prefix(), identity()))) {
      return false;
    }
    HeadObjectResponse head = Bucket.unlessMissing(() -> s3.headObject(of -> of.bucket(bucket.name).key(key)));
    if (head == null) {
      return true;
    }
    if (!identity().equals(head.metadata().get(MARK))) {
      return false;
    }
    s3.deleteObject(of -> of.bucket(bucket.name).key(key));
    return true;
  }

  /** Prefixes of canaries that live: their beat changes. No clock is asked. */
  private JsonNode canaries() throws InterruptedException {
    Map<String, String> before = beats();
    Thread.sleep(before.isEmpty() ? 0 : CANARY_LIVES_MS);
    ArrayNode found = Talk.JSON.createArrayNode();
    if (!before.isEmpty()) {
      beats().forEach((name, beat) -> {
        if (before.containsKey(name) && !before.get(name).equals(beat)) {
          found.add(name);
        }
      });
    }
    return found;
  }

  /** By prefix. In `pattern` a star stands for the run. */
  private Map<String, String> beats() {
    String pattern = settings.get("pattern").asText();
    String begin = pattern.substring(0, pattern.indexOf('*'));
    Pattern wanted = Pattern.compile(String.join("[^/]+", Arrays.stream(pattern.split("\\*", -1)).map(Pattern::quote).toList()) + "/");
    Map<String, String> found = new HashMap<>();
    for (CommonPrefix one : s3.listObjectsV2Paginator(of -> of.bucket(bucket.name).prefix(begin).delimiter("/")).commonPrefixes()) {
      if (wanted.matcher(one.prefix()).matches()) {
        for (S3Object object : s3.listObjectsV2(of -> of.bucket(bucket.name).prefix(one.prefix())).contents()) {
          if (object.key().endsWith("/" + BEAT)) {
            byte[] beat = Bucket.unlessMissing(() -> s3.getObjectAsBytes(of -> of.bucket(bucket.name).key(object.key())).asByteArray());
            found.put(one.prefix().substring(0, one.prefix().length() - 1), beat == null ? "" : new String(beat, StandardCharsets.UTF_8));
          }
        }
      }
    }
    return found;
  }

  /** Puts a small object, gets it and deletes it; and once a second shows that it lives. */
  private void sing(long number) throws IOException {
    String key = below(prefix(), identity()) + "canary-" + number;
    byte[] content = new byte[CANARY_BYTES];
    if (number % Math.max(1, Math.round(settings.get("rate_per_s").asDouble())) == 0) {
      put(below(prefix(), identity()) + BEAT, Long.toString(System.nanoTime()).getBytes(StandardCharsets.UTF_8));
    }
    put(key, content);
    if (!Arrays.equals(content, s3.getObjectAsBytes(of -> of.bucket(bucket.name).key(key)).asByteArray())) {
      throw new IOException(key + " is not what was put");
    }
    s3.deleteObject(of -> of.bucket(bucket.name).key(key));
  }

  private void put(String key, byte[] content) {
    s3.putObject(to -> to.bucket(bucket.name).key(key).metadata(Map.of(MARK, identity())), RequestBody.fromBytes(content));
  }
}
