"""How wrong predictions are of latencies, jobs, pipelines, and systems that share hosts: by the product's own commands.

Each group is a run that calibrates, questions that `hydrotest predict` answers from it, and a run for each that `hydrotest score` holds
against the answer. Answers are written with their SHA-256 before the second run begins. Needs root. Resumable: what is in OUT is not
repeated. Prints the tables of RESULTS.md.

    python benchmarks/predicted_runs.py [--groups broker,node,job,jobs,shared,pipeline] [--out DIR] [--errors FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prediction_tables import print_scores

from hydrotest.predict.change import asked, read_change
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of

ROOT = Path(__file__).resolve().parents[1]
HYDROTEST = Path(sys.executable).parent / "hydrotest"
GROUPS = json.loads((ROOT / "benchmarks" / "predicted_runs.json").read_text())
"""Labs and questions, written before any of them was measured."""
OURS = {"loads", "changes", "then", "together"}
"""Keys that are no part of an experiment."""


@dataclass(frozen=True)
class Question:
    """What is asked of a calibration, and the tests that answer it."""

    name: str
    arguments: list[str]
    experiment: dict[str, Any]


def lab(group: str, tests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The experiment of a group, with these tests."""
    return {"name": f"predicted-{group}", **{key: value for key, value in GROUPS[group].items() if key not in OURS}, "tests": list(tests)}


def run(file: Path, value: dict[str, Any], folder: Path) -> None:
    """Runs an experiment, unless it is there."""
    if (folder / "summary.json").exists():
        return
    file.write_text(json.dumps(value, indent=1))
    with file.with_suffix(".log").open("w") as log:
        done = subprocess.run([HYDROTEST, "run", file, "--out", folder], stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{folder}: the run failed, see {file.with_suffix('.log')}")


def predicted(base: Path, arguments: Sequence[str], save: Path | None = None) -> dict[str, Any]:
    """The answer of `hydrotest predict`."""
    command = [str(HYDROTEST), "predict", str(base), *arguments, "--json", *(["--save", str(save)] if save is not None else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def questions(group: str, base: Path) -> Iterator[Question]:
    """Loads as shares of the limits that are predicted; changes; and what runs at once."""
    form = GROUPS[group]
    if loads := form.get("loads"):
        limits = {one["workload"]: one["limit"] for one in predicted(base, [])["predictions"]}
        rates = {name: [round(share * limits[name]) for share in shares] for name, shares in loads.items() if name in limits}
        tests = [{"levels": {"workload": name, "rates": own, "duration": "10 s"}} for name, own in rates.items()]
        for name, own in rates.items():
            for share, rate in zip(loads[name], own, strict=True):
                yield Question(f"{name}-{share:g}", ["--load", f"{name}={rate}"], lab(group, tests))
    for change in form.get("changes", []):
        text = (base / "experiment.yaml").read_text()
        document = parse_document(text, base / "experiment.yaml")
        changed = asked(experiment_of(document, opens_files=False), text, [read_change(one) for one in change], base)
        arguments = [word for one in change for word in ("--set", one)]
        yield Question("-".join(change).replace("=", "-"), arguments, parse_document(changed.text, base).value)
    if together := form.get("together"):
        yield Question("together", ["--together", together], lab(group, form["then"]))


def measured(group: str, out: Path) -> list[dict[str, Any]]:
    """The scores of a group."""
    base = out / group
    run(out / f"{group}.yaml", lab(group, GROUPS[group]["tests"]), base)
    asked_now, rows, folders = list(questions(group, base)), [], dict[str, Path]()
    for one in asked_now:
        save = out / f"{group}-{one.name}.prediction.json"
        if not save.exists():
            predicted(base, one.arguments, save)
            save.with_suffix(".sha256").write_text(hashlib.sha256(save.read_bytes()).hexdigest())
    for one in asked_now:
        key = json.dumps(one.experiment, sort_keys=True)
        if key not in folders:
            folders[key] = out / f"{group}-then-{len(folders)}"
            run(out / f"{group}-then-{len(folders) - 1}.yaml", one.experiment, folders[key])
        save = out / f"{group}-{one.name}.prediction.json"
        # Its scores are none of the user's own.
        own = {**os.environ, "XDG_CACHE_HOME": str(out / "cache")}
        done = subprocess.run([HYDROTEST, "score", save, folders[key], "--json"], capture_output=True, text=True, check=False, env=own)
        scored = json.loads(done.stdout)["scored"] if done.returncode in (0, 1) else []
        # What a row has by default is not written.
        scored = [{"what": "limit", "unit": "", "axes": [], **row} for row in scored]
        wanted = [row for row in scored if row["what"] != "limit" or group not in ("broker", "node")]
        rows += [{"group": group, "question": one.name, **row} for row in wanted]
        if not wanted:
            answer = json.loads(save.read_text())
            why = (
                [one["why"] for one in answer["refused"]]
                or [one.get("no_latency") for one in answer["predictions"]]
                or done.stderr.split("\n")[:1]
            )
            rows.append({"group": group, "question": one.name, "refused": ", ".join(filter(None, why))})
    return rows


def axis_errors(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Adds the log errors by axis to those that are there."""
    found: dict[str, list[float]] = defaultdict(list, json.loads(file.read_text()) if file.exists() else {})
    for row in rows:
        for axis in row.get("axes", []):
            found[axis.rpartition(".")[2]].append(round(row["log_error"], 4))
    file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--out", type=Path, default=Path("runs/predicted"))
    parser.add_argument("--errors", type=Path, help="Add the errors by axis to this file (python/hydrotest/predict/errors.json).")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for group in given.groups.split(","):
        rows += measured(group, given.out)
        print(f"{group}: measured", file=sys.stderr, flush=True)
    (given.out / "cases.json").write_text(json.dumps(rows, indent=1))
    print_scores(rows)
    if given.errors is not None:
        axis_errors(rows, given.errors)


if __name__ == "__main__":
    main()
