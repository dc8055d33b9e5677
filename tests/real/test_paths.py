"""Paths of every kind, each for cache, data and run folder, with a real Kafka in the poorest locale: all lies where it should, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from hydrotest.hosts.java import find_java
from hydrotest.systems.fetch import EXPORTER, KAFKA, fetch
from hydrotest.systems.properties import properties_text
from tests.real.conftest import HYDROTEST

pytestmark = pytest.mark.real

EXPERIMENT = """\
name: paths
hosts:
  here: {{connect: local, data: {data}}}
systems:
  kafka: {{hosts: [here], heap: 256 MiB}}
workloads:
  ingest: {{kind: kafka-produce, partitions: 1}}
  stock:  {{kind: kafka-produce, partitions: 1, client: stock}}
tests:
  - levels: {{workload: ingest, rates: [500], duration: 3 s}}
  - levels: {{workload: stock, rates: [500], duration: 3 s}}
search: {{window: 3 s, warm_up: 1 s, saturated: 3 s}}
warm_up: {{least: 1 s, most: 1 s}}
"""


def entries(folder: Path) -> set[str]:
    """All but what is below a link or the run folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "run" not in path.relative_to(folder).parts}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.long) for kind in ("Größe Ω 100%", "two words", "by a link")])
def test_a_run_keeps_to_its_paths(tmp_path: Path, kind: str) -> None:
    base = tmp_path / kind
    if kind == "by a link":
        (tmp_path / "true place").mkdir()
        base.symlink_to(tmp_path / "true place")
    else:
        base.mkdir()
    cache, data, out = base / "cache", base / "data", base / "run"
    (cache / "hydrotest").mkdir(parents=True)
    data.mkdir()
    for bundle in (KAFKA, EXPORTER):
        # Not copied: what is fetched anew shows by its not being a link.
        (cache / "hydrotest" / bundle.folder.name).symlink_to(fetch(bundle, lambda text: None))
    file = base / "experiment.yaml"
    file.write_text(EXPERIMENT.format(data=json.dumps(str(data), ensure_ascii=False)), encoding="utf-8")
    before = entries(tmp_path)
    env = os.environ | {"LC_ALL": "C", "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([str(HYDROTEST), "run", str(file), "--out", str(out)], env=env, capture_output=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    assert [row["client"] for row in summary["levels"]] == ["native", "stock"]
    assert all(row["achieved"] > 400 for row in summary["levels"])
    # Locks stay; data that lay elsewhere would have been left there.
    new = {name for name in entries(tmp_path) - before if not name.endswith(".lock")}
    assert new == set()
    assert all((cache / "hydrotest" / bundle.folder.name).is_symlink() for bundle in (KAFKA, EXPORTER))


READER = """\
import java.io.*;
import java.util.*;

public class Read {
  public static void main(String[] files) throws IOException {
    Properties asLatin = new Properties();
    asLatin.load(new FileInputStream(files[0]));
    Properties asText = new Properties();
    asText.load(new InputStreamReader(new FileInputStream(files[0]), "UTF-8"));
    if (!asLatin.equals(asText)) throw new IOException("it depends on the encoding");
    for (Object key : new TreeMap<>(asText).keySet()) {
      for (Object part : new Object[] {key, asText.get(key)}) {
        String text = (String) part;
        for (char unit : text.toCharArray()) System.out.print((int) unit + " ");
        System.out.println();
      }
    }
  }
}
"""


def test_java_reads_the_properties_that_were_written(tmp_path: Path) -> None:
    properties = {
        "a b:c=d#e!": "x",
        "path": "/two words/Größe Ω 100%/😀\\n",
        "blank": "  before and behind ",
        "lines": "1\n2\r3\t4\f5",
        "empty": "",
    }
    (tmp_path / "p.properties").write_text(properties_text(properties))
    (tmp_path / "Read.java").write_text(READER)
    argv = [str(find_java()), str(tmp_path / "Read.java"), str(tmp_path / "p.properties")]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    texts = ["".join(map(chr, map(int, line.split()))).encode("utf-16", "surrogatepass").decode("utf-16") for line in printed]
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == properties
