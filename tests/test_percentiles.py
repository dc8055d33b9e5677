"""A further percentile is a line in one table: it can be asked for, is measured, judged and shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

WITH_ANOTHER = """
import pathlib, sys, types
import hydrotest

path = pathlib.Path(hydrotest.__file__).with_name("percentiles.py")
last = '    Percentile("p999", 99.9, "99.9th percentile"),\\n'
text = path.read_text()
assert last in text
module = types.ModuleType("hydrotest.percentiles")
sys.modules[module.__name__] = module
exec(compile(text.replace(last, last + '    Percentile("p9999", 99.99, "99.99th percentile"),\\n'), str(path), "exec"), module.__dict__)

from hydrotest.cli.entry import main
from tests.synthetic import EXPERIMENT, SyntheticRun

run = SyntheticRun(pathlib.Path(sys.argv[1]), text=EXPERIMENT.replace("p99: 50 ms", "p9999: 50 ms"))
run.search()
sys.exit(main(["show", str(run.folder.path), *sys.argv[2:]]))
"""


def shown(folder: Path, *options: str) -> str:
    """What `show` prints of a made-up run that was judged by the further percentile."""
    root = Path(__file__).parent.parent
    argv = [sys.executable, "-c", WITH_ANOTHER, str(folder), *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=root, env={**os.environ, "COLUMNS": "250"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_percentile_is_a_line_in_one_file(tmp_path: Path) -> None:
    summary = json.loads(shown(tmp_path / "json", "--json"))
    (limit,) = summary["limits"]
    latency = limit["latency_ms"]
    assert limit["limit"] is not None
    assert limit["objective"]["p9999_ms"] == 50
    assert 0 < latency["p999"] <= latency["p9999"] <= latency["max"]
    assert summary["curves"][0]["points"][0]["p9999_ms"] > 0
    assert "p99.99 ms" in shown(tmp_path / "tables", "limits")
