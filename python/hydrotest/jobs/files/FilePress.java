package hydrotest.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Files in HDFS, through Hadoop's file system API. */
public final class FilePress implements Store {
  private final JsonNode settings;
  private final FileSystem files;
  private final Content content;

  private FilePress(JsonNode settings) throws IOException {
    this.settings = settings;
    content = new Content(settings.get("seed").asLong());
    Configuration configuration = new Configuration();
    configuration.set("dfs.replication", settings.get("replication").asText());
    configuration.set("dfs.blocksize", settings.get("block_bytes").asText());
    settings.get("properties").properties().forEach(one -> configuration.set(one.getKey(), one.getValue().asText()));
    files = FileSystem.get(folder().toUri(), configuration);
  }

  /** The one argument is a file of settings: those of `Press`, and do (also remove), folder, replication, block_bytes, seed, makes_folder,
   * properties. */
  public static void main(String[] args) throws Exception {
    FilePress own = new FilePress(Press.JSON.readTree(new File(args[0])));
    String what = own.settings.get("do").asText();
    if (what.equals("remove")) {
      own.files.delete(own.folder(), true);
      return;
    }
    if (what.equals("write") && own.settings.get("makes_folder").asBoolean()) {
      own.files.mkdirs(own.folder());
    }
    new Press(own.settings, own, own.content).work();
  }

  private Path folder() {
    return new Path(settings.get("folder").asText());
  }

  @Override
  public Writing create(String name, int number, long size) throws IOException {
    // Never with its folder: where somebody has removed it, it stays away.
    OutputStream out = files.createFile(new Path(folder(), name)).overwrite(true).build();
    return new Writing() {
      @Override
      public void write(long at, int length) throws Exception {
        content.give(number, at, length, out::write);
      }

      @Override
      public void close() throws IOException {
        out.close();
      }
    };
  }

  @Override
  public Reading open(String name, long size) throws IOException {
    FSDataInputStream in = files.open(new Path(folder(), name));
    return new Reading() {
      @Override
      public int next(byte[] got, int most) throws IOException {
        return in.readNBytes(got, 0, most);
      }

      @Override
      public void at(long offset, byte[] got, int length) throws IOException {
        in.readFully(offset, got, 0, length);
      }

      @Override
      public void close() throws IOException {
        in.close();
      }
    };
  }
}
