package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.ListMultipartUploadsResponse;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Response;
import software.amazon.awssdk.services.s3.model.MultipartUpload;

/**
 * Removes all that is ours below a prefix, and last its marker. What does not prove to be ours stays, and is named. What the store refuses is
 * counted by its code, and the rest goes on. The marker, which is the proof, stays as long as anything does that may be ours.
 */
final class Removal {
  private static final int AT_ONCE = 8;
  /** Progress is reported so often at most. */
  private static final long TOLD_NANOS = 1_000_000_000L;
  /** So many keys of others are told by name. */
  private static final int KEPT_TOLD = 10;

  private final S3Client s3;
  private final String bucket;
  private final String prefix;
  private final String identity;
  private final String below;
  private final Prefixes.Progress progress;
  /** Null: without a bound. */
  private final Pace requests;

  private final ArrayNode kept = Talk.JSON.createArrayNode();
  private final Map<String, Integer> failed = new TreeMap<>();
  private int removed;
  private boolean isWhole = true;
  private long toldAt = System.nanoTime();

  /** Of settings: prefix, identity, requests_per_s (null: without a bound). */
  Removal(S3Client s3, String bucket, JsonNode settings, Prefixes.Progress progress) {
    this.s3 = s3;
    this.bucket = bucket;
    this.progress = progress;
    prefix = settings.get("prefix").asText();
    identity = settings.get("identity").asText();
    below = Prefixes.below(prefix, identity);
    JsonNode most = settings.get("requests_per_s");
    requests = most.isNull() ? null : new Pace(most.asDouble());
  }

  /** Returns how many are removed, keys that are kept, and what failed, by code. `isOurs`: asks whose the marker is. */
  JsonNode carriedOut(Callable<Boolean> isOurs) throws Exception {
    ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE);
    try {
      Map<String, Future<Boolean>> gone = new LinkedHashMap<>();
      keys().forEach(key -> gone.put(key, workers.submit(() -> removeOwn(key))));
      for (Map.Entry<String, Future<Boolean>> one : gone.entrySet()) {
        account(one.getKey(), one.getValue()::get);
      }
    } finally {
      workers.shutdownNow();
    }
    // What cannot be listed hinders nothing else.
    List<MultipartUpload> begun = new ArrayList<>();
    unlessRefused(() -> begun.addAll(uploads()));
    for (MultipartUpload one : begun) {
      account(one.key(), () -> {
        admit();
        // A second try may find that the first one did it.
        Bucket.unlessMissing(() -> s3.abortMultipartUpload(of -> of.bucket(bucket).key(one.key()).uploadId(one.uploadId())));
        return true;
      });
    }
    if (isWhole && isOurs.call()) {
      s3.deleteObject(of -> of.bucket(bucket).key(prefix + "/" + Prefixes.MARKER));
    }
    ObjectNode told = Talk.JSON.createObjectNode().put("removed", removed);
    told.set("kept", kept);
    told.set("failed", Talk.JSON.valueToTree(failed));
    return told;
  }

  private void admit() throws InterruptedException {
    if (requests != null) {
      requests.take(1);
    }
  }

  /** Takes into account whether one is removed, or is kept, or the store refused it. */
  private void account(String key, Callable<Boolean> work) throws Exception {
    Boolean isGone = unlessRefused(work);
    if (isGone != null && isGone) {
      removed++;
    } else if (isGone != null) {
      isWhole &= !key.startsWith(below);
      if (kept.size() < KEPT_TOLD) {
        kept.add(key);
      }
    }
    if (System.nanoTime() - toldAt >= TOLD_NANOS) {
      progress.told(removed);
      toldAt = System.nanoTime();
    }
  }

  /** What this gives; null where the store refused it, which is counted. */
  private <T> T unlessRefused(Callable<T> work) throws Exception {
    Throwable refused;
    try {
      return work.call();
    } catch (ExecutionException error) {
      refused = error.getCause();
    } catch (RuntimeException error) {
      refused = error;
    }
    isWhole = false;
    failed.merge(Bucket.code(refused), 1, Integer::sum);
    return null;
  }

  /** All below the prefix but the marker. */
  private List<String> keys() throws Exception {
    List<String> found = new ArrayList<>();
    admit();
    for (ListObjectsV2Response page : s3.listObjectsV2Paginator(of -> of.bucket(bucket).prefix(prefix + "/"))) {
      page.contents().forEach(one -> found.add(one.key()));
      progress.told(removed);
      admit();
    }
    found.remove(prefix + "/" + Prefixes.MARKER);
    return found;
  }

  /** Uploads that were begun and neither completed nor aborted. */
  private List<MultipartUpload> uploads() throws Exception {
    List<MultipartUpload> found = new ArrayList<>();
    admit();
    for (ListMultipartUploadsResponse page : s3.listMultipartUploadsPaginator(of -> of.bucket(bucket).prefix(below))) {
      // Not every store heeds the prefix.
      page.uploads().stream().filter(one -> one.key().startsWith(below)).forEach(found::add);
      progress.told(removed);
      admit();
    }
    return found;
  }

  /** Whether it was ours, and is gone. */
  private boolean removeOwn(String key) throws InterruptedException {
    if (!key.startsWith(below)) {
      return false;
    }
    admit();
    HeadObjectResponse head = Bucket.unlessMissing(() -> s3.headObject(of -> of.bucket(bucket).key(key)));
    if (head == null) {
      return true;
    }
    if (!identity.equals(head.metadata().get(Prefixes.MARK))) {
      return false;
    }
    admit();
    Bucket.unlessMissing(() -> s3.deleteObject(of -> of.bucket(bucket).key(key)));
    return true;
  }
}
