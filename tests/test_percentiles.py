"""A further percentile is a line in one table: it can be asked for, is measured, judged and shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

WITH_ANOTHER = """
import json, pathlib, sys, types
import hydrotest

path = pathlib.Path(hydrotest.__file__).with_name("percentiles.py")
last = '    Percentile("p999", 99.9, "99.9th percentile"),\\n'
text = path.read_text()
assert last in text
module = types.ModuleType("hydrotest.percentiles")
sys.modules[module.__name__] = module
exec(compile(text.replace(last, last + '    Percentile("p9999", 99.99, "99.99th percentile"),\\n'), str(path), "exec"), module.__dict__)

from tests.made_up import EXPERIMENT, MadeUpRun
from hydrotest.analysis.summary import summarise_run
from hydrotest.report.tables import sheets
from hydrotest.spec.reference import reference

run = MadeUpRun(pathlib.Path(sys.argv[1]), text=EXPERIMENT.replace("p99: 50 ms", "p9999: 50 ms"))
run.search()
summary = summarise_run(run.folder, run.experiment, "complete", "2026-01-01T00:00:00Z")
shown = json.loads(json.dumps(summary))
(limit,) = shown["limits"]
print(json.dumps({
    "limit": limit["limit"], "objective": limit["objective"], "latency": limit["latency_ms"], "curve": shown["curves"][0]["points"][0],
    "heads": next(sheet.heads for sheet in sheets(summary, {"ingest": "kafka-produce"}) if sheet.title == "Limits"),
    "reference": [line for line in reference().splitlines() if line.startswith("| `p9999`")],
}))
"""


def test_another_percentile_is_a_line_in_one_file(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", WITH_ANOTHER, str(tmp_path)], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["limit"] is not None
    assert found["objective"]["p9999_ms"] == 50
    assert 0 < found["latency"]["p999"] <= found["latency"]["p9999"] <= found["latency"]["max"]
    assert found["curve"]["p9999_ms"] > 0
    assert found["heads"][6:10] == ["p50 ms", "p99 ms", "p99.9 ms", "p99.99 ms"]
    assert len(found["reference"]) == 1
