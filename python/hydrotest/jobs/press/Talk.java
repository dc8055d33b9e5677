package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** The protocol of hydrotest-node: JSON lines on stdin and stdout. */
final class Talk {
  private static final int PROTOCOL = 4;
  static final ObjectMapper JSON = new ObjectMapper();

  private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

  /** Greets, and takes the settings in. */
  JsonNode settings() throws IOException {
    in.readLine();
    tell(event("hello").put("protocol", PROTOCOL));
    return JSON.readTree(in.readLine());
  }

  /** The next line; null at the end. */
  String line() throws IOException {
    return in.readLine();
  }

  ObjectNode event(String name) {
    return JSON.createObjectNode().put("event", name);
  }

  synchronized void tell(ObjectNode event) throws IOException {
    System.out.println(JSON.writeValueAsString(event));
    System.out.flush();
  }

  void done(JsonNode result) throws IOException {
    ObjectNode done = event("done");
    done.set("result", result);
    tell(done);
  }

  /** Tells the first line of what an error says; the others may be stack frames of a server. */
  void failed(Throwable error) throws IOException {
    String said = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    tell(event("failed").put("error", said.lines().findFirst().orElse(said)));
  }
}
