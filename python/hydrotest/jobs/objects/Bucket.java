package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.exception.ApiCallAttemptTimeoutException;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.profiles.ProfileFile;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.RetryStrategy;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;

/** A bucket, by Amazon's own client. Where load is applied it tries nothing a second time: every failure is reported. */
final class Bucket {
  private static final Duration CONNECTED = Duration.ofSeconds(5);
  /** A request without content that takes longer has failed; and so has any that nothing is heard of for so long. */
  private static final Duration ANSWERED = Duration.ofSeconds(60);

  final S3Client s3;
  final String name;

  private Bucket(S3Client s3, String name) {
    this.s3 = s3;
    this.name = name;
  }

  /**
   * Of settings: endpoint, bucket, region, is_in_path, authority (PEM; null: not encrypted). The key is in `credentials`, or else in the
   * environment, by the names that all of Amazon's programs know. And answered_s: a request that takes longer has failed; if not given, by
   * what those without content take.
   */
  static Bucket of(JsonNode settings, int connections, RetryStrategy retries) throws Exception {
    JsonNode answered = settings.get("answered_s");
    Duration whole = answered == null ? ANSWERED : Duration.ofMillis(Math.round(answered.asDouble() * 1e3));
    Apache5HttpClient.Builder http = Apache5HttpClient.builder().maxConnections(connections).connectionTimeout(CONNECTED).socketTimeout(ANSWERED)
        .connectionAcquisitionTimeout(ANSWERED);
    if (!settings.get("authority").isNull()) {
      TrustManager[] trusted = trusted(settings.get("authority").asText());
      http.tlsTrustManagersProvider(() -> trusted);
    }
    S3Client s3 = S3Client.builder()
        .region(Region.of(settings.get("region").asText()))
        .endpointOverride(URI.create(settings.get("endpoint").asText()))
        .forcePathStyle(settings.get("is_in_path").asBoolean())
        .credentialsProvider(StaticCredentialsProvider.create(credentials(settings.get("credentials"))))
        // Plain requests, which every store takes; content is checked by ourselves.
        .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
        .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
        .serviceConfiguration(S3Configuration.builder().chunkedEncodingEnabled(false).build())
        .httpClientBuilder(http)
        // Nor does a file of this machine's user change anything.
        .overrideConfiguration(own -> own.retryStrategy(retries).apiCallTimeout(whole)
            .defaultProfileFile(ProfileFile.aggregator().build()))
        .build();
    return new Bucket(s3, settings.get("bucket").asText());
  }

  private static AwsCredentials credentials(JsonNode given) {
    String access = given == null ? System.getenv("AWS_ACCESS_KEY_ID") : given.get("access").asText();
    String secret = given == null ? System.getenv("AWS_SECRET_ACCESS_KEY") : given.get("secret").asText();
    String token = given == null ? System.getenv("AWS_SESSION_TOKEN") : given.get("token").isNull() ? null : given.get("token").asText();
    return token == null || token.isEmpty() ? AwsBasicCredentials.create(access, secret) : AwsSessionCredentials.create(access, secret, token);
  }

  private static TrustManager[] trusted(String authority) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    byte[] pem = authority.getBytes(StandardCharsets.UTF_8);
    int number = 0;
    for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem))) {
      store.setCertificateEntry("authority-" + number++, one);
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  /** A request that may fail. */
  interface Request {
    void carryOut() throws Exception;
  }

  /** Carries a request out; a failure is reported with its code. */
  static void counted(Request request) throws Exception {
    try {
      request.carryOut();
    } catch (RuntimeException | IOException error) {
      throw new Store.Failed(code(error), error);
    }
  }

  /** What a request gives; null where there is no such thing. */
  static <T> T unlessMissing(Supplier<T> request) {
    try {
      return request.get();
    } catch (AwsServiceException error) {
      if (error.statusCode() == 404) {
        return null;
      }
      throw error;
    }
  }

  /** What the store calls an error; where it said nothing, what became of the connection: one of few words of ours. */
  static String code(Throwable error) {
    if (error instanceof AwsServiceException said) {
      String code = said.awsErrorDetails() == null ? null : said.awsErrorDetails().errorCode();
      return code == null || code.isEmpty() ? "HTTP " + said.statusCode() : code;
    }
    if (error instanceof ApiCallTimeoutException || error instanceof ApiCallAttemptTimeoutException) {
      return "Timeout";
    }
    Throwable first = error;
    boolean isEncryption = false;
    while (true) {
      isEncryption |= first instanceof SSLException;
      if (first.getCause() == null || first.getCause() == first) {
        break;
      }
      first = first.getCause();
    }
    return isEncryption ? "TLS" : first instanceof IOException lost ? ofConnection(lost) : first.getClass().getSimpleName();
  }

  private static String ofConnection(IOException error) {
    return error instanceof SocketTimeoutException ? "Timeout"
        : error instanceof UnknownHostException ? "UnknownHost"
        : error instanceof NoRouteToHostException ? "NoRoute"
        : error instanceof ConnectException ? "NotConnected"
        : "ConnectionLost";
  }
}
