"""How long the analysis of large runs takes, and how much memory: a soak of hours on many hosts, and a run of many trials.

Both are made up (tests/long_soak.py, tests/synthetic.py): files as a run leaves them, of the same size. Each command is a process of
its own. Writes OUT/scale.json, and prints a table.

    python benchmarks/scale.py [--hosts 100] [--hours 1,6,24] [--trials 200,2000] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from one_run import HYDROTEST, users_environment

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.long_soak import make_long_soak  # noqa: E402
from tests.synthetic import SyntheticRun  # noqa: E402

TRIAL_S = 10
COMMANDS = ("show", "report", "predict")


def main() -> None:
    """Makes each run, and times `show`, `report` and `predict` of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--hours", default="1,6,24", help="of the soak; empty for none")
    parser.add_argument("--trials", default="200,2000", help="of a run of many; empty for none")
    parser.add_argument("--out", type=Path, default=Path("runs/scale"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = []
    for hours in filter(None, options.hours.split(",")):
        with tempfile.TemporaryDirectory(dir=options.out) as folder:
            run = make_long_soak(Path(folder), options.hosts, float(hours)).path
            found.append({"run": f"a soak of {hours} h on {options.hosts} hosts", **measured(run)})
            print(json.dumps(found[-1]), flush=True)
    for trials in filter(None, options.trials.split(",")):
        with tempfile.TemporaryDirectory(dir=options.out) as folder:
            made = many_trials(Path(folder), int(trials))
            found.append({"run": f"{trials} trials", **measured(made)})
            print(json.dumps(found[-1]), flush=True)
    (options.out / "scale.json").write_text(json.dumps(found, indent=1))
    print_table(found)


def many_trials(path: Path, count: int) -> Path:
    """A search, and then trials at and around its limit."""
    run = SyntheticRun(path)
    run.search()
    while run.number < count:
        run.trial("search", run.limit * (0.5 + run.number % 60 / 100), seconds=TRIAL_S)
    run.folder.unlock()
    return run.folder.path


def measured(run: Path) -> dict[str, Any]:
    """Size of a run folder; seconds and peak memory of each command; size of the report."""
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    found: dict[str, Any] = {"mb": round(size / 1e6)}
    for command in COMMANDS:
        begun = time.monotonic()
        process = subprocess.Popen(
            [str(HYDROTEST), command, str(run)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=users_environment()
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        # What a run without a calibration is asked about may be refused, which takes as long.
        assert process.returncode in (0, 1, 4), f"hydrotest {command} ended with {process.returncode}"
        found[command] = {"seconds": round(time.monotonic() - begun, 2), "gib": round(used.ru_maxrss / (1 << 20), 2)}
    found["report_mb"] = round((run / "report.html").stat().st_size / 1e6, 2)
    return found


def print_table(found: list[dict[str, Any]]) -> None:
    """One row a run."""
    print("| run | folder, MB | `show`, s; GiB | `report`, s; GiB | `predict`, s; GiB | report, MB |\n|---|---|---|---|---|---|")
    for row in found:
        figures = [f"{row[command]['seconds']}; {row[command]['gib']}" for command in COMMANDS]
        print(f"| {row['run']} | {row['mb']} | {' | '.join(figures)} | {row['report_mb']} |")


if __name__ == "__main__":
    main()
