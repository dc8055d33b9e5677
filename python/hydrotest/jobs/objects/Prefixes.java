package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CommonPrefix;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * What runs do in a bucket, besides load: they begin prefixes of their own, know again what is theirs, remove it, and ask a little of the
 * store each second. A prefix holds a marker, whose content is an identity that nobody else has; all other keys below it begin with that
 * identity, and their objects carry it. It speaks the protocol of hydrotest-node: JSON lines on stdin and stdout.
 */
public final class Prefixes {
  /** The user's metadata of each object that is ours. */
  static final String MARK = "hydrotest";
  static final String MARKER = "marker";
  private static final String BEAT = "beat";
  private static final int CANARY_BYTES = 1024;
  /** A canary changes its beat each second. */
  private static final long CANARY_LIVES_MS = 3000;
  private static final int CONNECTIONS = 32;

  private final JsonNode settings;
  private final Bucket bucket;
  private final S3Client s3;

  /** `triesAgain`: what a store refuses for a moment; a canary is to see just that. */
  Prefixes(JsonNode settings, boolean triesAgain) throws Exception {
    this.settings = settings;
    bucket = Bucket.of(settings, CONNECTIONS, triesAgain ? AwsRetryStrategy.standardRetryStrategy() : AwsRetryStrategy.doNotRetry());
    s3 = bucket.s3;
  }

  /** Is told now and then how much is done. */
  interface Progress {
    void told(long done) throws IOException;
  }

  /** The one argument: `query`, for one answer, or `canary`. */
  public static void main(String[] args) throws Exception {
    Talk talk = new Talk();
    JsonNode settings = talk.settings();
    try {
      boolean sings = args[0].equals("canary");
      Prefixes own = new Prefixes(settings, !sings);
      if (sings) {
        Canary.live(talk, settings.get("rate_per_s").asDouble(), own::sing);
      } else {
        talk.done(own.answer(settings.get("do").asText(), done -> talk.tell(talk.event("progress").put("done", done))));
      }
    } catch (Exception error) {
      talk.failed(error);
    }
    System.exit(0);
  }

  JsonNode answer(String what, Progress progress) throws Exception {
    return switch (what) {
      case "reach" -> reach();
      case "make" -> make();
      case "ids" -> ids();
      case "remove" -> new Removal(s3, bucket.name, settings, progress).carriedOut(() -> identity().equals(identityOf(prefix())));
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
    String upload = null;
    try {
      s3.listObjectsV2(of -> of.bucket(bucket.name).prefix(own).maxKeys(1));
      step = "versions";
      if (keepsVersions()) {
        return refused(step, "Versioned", "the bucket keeps versions");
      }
      step = "uploads";
      s3.listMultipartUploads(of -> of.bucket(bucket.name).prefix(own).maxUploads(1));
      // Without an object of that name, as nobody has one, these ask only for the right. Some stores say that it is not there.
      step = "read";
      Bucket.unlessMissing(() -> s3.getObjectAsBytes(of -> of.bucket(bucket.name).key(own)));
      step = "delete";
      Bucket.unlessMissing(() -> s3.deleteObject(of -> of.bucket(bucket.name).key(own)));
      // An upload that is not completed is no object.
      step = "write";
      String begun = s3.createMultipartUpload(to -> to.bucket(bucket.name).key(own)).uploadId();
      upload = begun;
      step = "abort";
      s3.abortMultipartUpload(to -> to.bucket(bucket.name).key(own).uploadId(begun));
    } catch (RuntimeException error) {
      // It is in no list of ours: whoever reads this can abort it.
      return refused(step, Bucket.code(error), said(error)).put("key", upload == null ? null : own).put("upload", upload);
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
      return proven(key);
    }
    if (!s3.listObjectsV2(of -> of.bucket(bucket.name).prefix(prefix + "/").maxKeys(1)).contents().isEmpty()) {
      throw new IOException(prefix + " is there already");
    }
    String version = begun(key);
    if (version != null && !version.equals("null")) {
      s3.deleteObject(of -> of.bucket(bucket.name).key(key).versionId(version));
      throw new IOException("the bucket keeps versions, so what is deleted stays");
    }
    // A store that does not know the condition may have let two write.
    if (!identity().equals(identityOf(prefix))) {
      throw new IOException(prefix + " was begun by somebody else at the same moment");
    }
    return proven(key);
  }

  /** Puts a marker where none is; returns its version. */
  private String begun(String key) {
    try {
      return s3.putObject(to -> to.bucket(bucket.name).key(key).metadata(Map.of(MARK, identity())).ifNoneMatch("*"), RequestBody.fromString(identity()))
          .versionId();
    } catch (AwsServiceException error) {
      if (error.statusCode() != 412) { // it is there: another's, or ours by a first try without an answer
        throw error;
      }
      return null;
    }
  }

  /** Refuses a store that drops metadata: nothing in it would prove to be ours. */
  private JsonNode proven(String key) throws IOException {
    if (!identity().equals(s3.headObject(of -> of.bucket(bucket.name).key(key)).metadata().get(MARK))) {
      s3.deleteObject(of -> of.bucket(bucket.name).key(key));
      throw new IOException("the store drops the metadata of objects (x-amz-meta-" + MARK + "), which proves what is hydrotest's own");
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
