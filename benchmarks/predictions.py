"""How wrong predictions are: held-out cases, predicted before they are measured, with three simple rules for comparison.

Each group is one run of a lab: its first test calibrates some workloads, its second measures others, or the same on other hosts. As soon
as the first has ended, all predictions are made from it alone and written with their SHA-256; no window of the second is there then, or
the group is void. Groups without a calibration of their own are predicted from those of others. Needs root. Resumable: what is in OUT is
not repeated. Writes OUT/cases.json, and prints the tables of RESULTS.md.

    python benchmarks/predictions.py [--groups kafka,brokers,…] [--out DIR] [--errors FILE] [--only-score] [--hindsight]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from prediction_tables import print_cases, spread_of

from hydrotest.analysis.demand.body import Applied, Ride, Source, alike_to, body_of
from hydrotest.analysis.demand.windows import Seen, system_windows
from hydrotest.predict.capacity import Scene
from hydrotest.predict.gates import LAW_ERROR_MAX
from hydrotest.predict.known import Known, read_known
from hydrotest.run.tests.calibrate import CALIBRATED
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder

ROOT = Path(__file__).resolve().parents[1]
HYDROTEST = Path(sys.executable).parent / "hydrotest"
GROUPS = json.loads((ROOT / "benchmarks" / "predictions.json").read_text())
"""Labs and cases, written before any of them was measured."""


CPU_MAX = 0.85
"""Share of the cores from which on a window by schedule shows an overload."""


@dataclass(frozen=True)
class Case:
    """A held-out case: a workload on hosts that have so much."""

    group: str
    workload: str
    axes: list[str]
    resource: str | None
    given: float

    @property
    def name(self) -> str:
        return f"{self.group} {self.workload}" + (f" {self.resource} × {self.given:g}" if self.resource else "")


def loaded(experiment: Experiment, name: str) -> tuple[str, int]:
    """Of a case's workload: the one that has a rate, and the consumer groups that read it; a reader reads with those before it."""
    source = experiment.workloads[name].source
    if source is None:
        return name, 0
    return source, [key for key, one in experiment.workloads.items() if one.source == source].index(name) + 1


def lab(group: str, tests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The experiment of a group."""
    form = GROUPS[group]
    hosts = {f"H{number}": {"connect": "netns", **form["host"]} for number in range(1, form["hosts"] + 1)}
    return {
        "name": f"predictions-{group}",
        "hosts": {**hosts, "Clients": {"connect": "netns"}},
        "systems": {form["system"]: {"hosts": list(hosts), **form["settings"]}},
        "workloads": {
            name: {**({} if "kind" in own else form["workload"]), **own, "on": "Clients"} for name, own in form["workloads"].items()
        },
        "tests": list(tests),
        # Until it settles: a broker that does not is another one in the next test.
        "warm_up": form.get("warm_up", {"least": "20 s", "most": "150 s"}),
    }


def tests_of(group: str) -> list[dict[str, Any]]:
    """The calibration, where it has one, and the held-out tests."""
    return [{"calibrate": test} for test in GROUPS[group]["tests"]]


def held(group: str) -> list[int]:
    """The held-out tests: all but the calibration, which groups that stand on others have none of."""
    return list(range(0 if "from" in GROUPS[group] else 1, len(GROUPS[group]["tests"])))


def cases_of(group: str) -> list[Case]:
    """The held-out cases of a group: each workload with all that hosts have, and with what else is given."""
    form, found = GROUPS[group], []
    for test in (form["tests"][at] for at in held(group)):
        given = [(key, float(one)) for key in ("cores", "network", "disk") for one in test.get(key, [])]
        for name in test["workloads"]:
            axes = form["axes"].get(name, []) + form["axes"].get("*", [])
            if axes and not given:
                found.append(Case(group, name, axes, None, 1.0))
            found += [Case(group, name, [*axes, key], key, one) for key, one in given]
    return found


def run_group(group: str, out: Path) -> None:
    """Runs a group, and writes its predictions as soon as they can be made."""
    folder, made = out / group, out / f"{group}.predictions.json"
    if made.exists() and (folder / "summary.json").exists():
        return
    file = out / f"{group}.yaml"
    file.write_text(json.dumps(lab(group, tests_of(group)), indent=1))
    process = subprocess.Popen([HYDROTEST, "run", file, "--out", folder], stdout=(out / f"{group}.log").open("w"), stderr=subprocess.STDOUT)
    is_made = False
    while process.poll() is None:
        time.sleep(2)
        if not is_made and _may_predict(folder, group):
            write_predictions(group, calibrated(group, out), folder, made)
            is_made = True
    if process.returncode not in (0, 1) or not is_made:
        raise SystemExit(f"{group}: the run failed, see {out / f'{group}.log'}")


def _may_predict(folder: Path, group: str) -> bool:
    """Whether the calibration is over, and nothing of a held-out test is there."""
    trials = [json.loads(path.read_text()) for path in folder.glob("trials/*/trial.json")] if folder.exists() else []
    done = [one for one in trials if one["purpose"] == "calibrate"]
    # Trials in which cores were stolen are repeated, so their number says nothing.
    ended = {entry["test"] for entry in RunFolder(folder).read_journal() if entry["what"] == CALIBRATED} if folder.exists() else set()
    if any(one["test"] in held(group) for one in done):
        raise SystemExit(f"{folder}: a held-out test was measured before it was predicted")
    if "from" in GROUPS[group]:
        return bool(trials)
    return 0 in ended


def known(folder: Path, *tests: int) -> Known:
    """A run, as far as some of its tests show it."""
    found, run = read_known(folder), RunFolder.open(folder)
    # What counts of a test does not hang on what the others were.
    trials = [one for one in run.trials() if one.test in tests]
    return replace(found, seen=system_windows(run, found.experiment, trials))


def calibrated(group: str, out: Path) -> list[Known]:
    """The calibrations that the predictions of a group stand on."""
    return [known(out / one, 0) for one in GROUPS[group].get("from", [group])]


def write_predictions(group: str, runs: Sequence[Known], folder: Path, file: Path) -> None:
    """Predictions of all cases of a group, by the model and by the simple rules, with the hash of what they are."""
    here = read_known(folder)
    rows = [{"case": asdict(case), **predicted(runs, here, case)} for case in cases_of(group)]
    text = json.dumps(rows, sort_keys=True)
    file.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "at": time.time(), "rows": rows}, indent=1))


def refusal(outside: Sequence[str], error: float) -> str | None:
    """Why the product would not answer."""
    return f"inseparable: {', '.join(outside)}" if outside else "the law's own error" if error > LAW_ERROR_MAX else None


def predicted(runs: Sequence[Known], here: Known, case: Case) -> dict[str, Any]:
    """Of the workload and of the group's reference: the rate without a rate limit; of the workload also the cores at rates by schedule."""
    runs = [
        replace(run, seen={key: [replace(one, run=at) for one in seen] for key, seen in run.seen.items()}) for at, run in enumerate(runs)
    ]
    form = GROUPS[case.group]
    name, groups = loaded(here.experiment, case.workload)
    system, spec = form["system"], here.experiment.workloads[name]
    body = body_of(
        [Source(run.experiment.workloads, len(run.experiment.systems.present()[system].hosts), run.seen[system]) for run in runs],
        alike_to(spec),
    )
    if body is None:
        return {"refused": "too few"}
    times = {"cores": case.given if case.resource == "cores" else 1.0, "link": case.given if case.resource == "network" else 1.0,
             "disk": case.given if case.resource == "disk" else 1.0}  # fmt: skip
    has = here.has[system].times(**times)
    hosts = len(here.experiment.systems.present()[system].hosts)
    scene = Scene(body, Applied(spec, hosts, body.ride, groups), has, True, body.full)
    reference = Scene(body, Applied(here.experiment.workloads[form["reference"]], hosts, body.ride), here.has[system], True, body.full)
    outside = body.demands.outside(scene.applied.work(1e5, is_closed=True).drivers)
    binds = scene.binds()
    error = body.demands.relative_error(scene.applied.work(scene.limit(), is_closed=True).drivers)
    return {
        "refused": refusal(outside, error), "limit": scene.limit(), "reference": reference.limit(),
        "binds": binds[0].resource, "next": binds[1].rate if len(binds) > 1 else None, "error": error,
        "fit": body.demands.error, "soft": body.is_soft,
        "law": {name: float(value) for name, value in zip(body.demands.names, body.demands.values, strict=True)},
    }  # fmt: skip


def rules(group: str, out: Path, case: Case) -> dict[str, float]:
    """What simple rules say of a case, from the same calibration: rate by cores, bytes by cores, each at most what links carry; and a
    demand for each record with nothing fixed."""
    form = GROUPS[group]
    system, first = form["system"], known(out / form.get("from", [group])[-1], 0)
    here = known(out / group)
    basis = form.get("base_reference", form["reference"])
    was, spec = first.experiment.workloads[basis], here.experiment.workloads[loaded(here.experiment, case.workload)[0]]
    had, hosts_then = first.has[system], len(first.experiment.systems.present()[system].hosts)
    hosts = len(here.experiment.systems.present()[system].hosts)
    has = here.has[system].times(
        **{{"cores": "cores", "network": "link", "disk": "disk"}[case.resource]: case.given} if case.resource else {}
    )
    closed = [one for one in first.seen[system] if one.is_closed and one.is_of(basis, 0)]
    rate = median([one.rates[basis] for one in closed if one.is_whole])
    cores, copies = has.cores * hosts / (had.cores * hosts_then), was.copies / spec.copies
    carried = (has.link or math.inf) * hosts / (spec.operation_bytes * spec.copies)
    each = median([one.used.cores * hosts_then / sum(one.rates.values()) for one in closed])
    return {
        "proportional": rate * cores * copies, "bytes": min(carried, rate * cores * copies * was.operation_bytes / spec.operation_bytes),
        "no fixed part": min(carried, has.cores * hosts / each * copies),
    }  # fmt: skip


def measured(folder: Path, group: str, case: Case) -> tuple[float, float, list[Seen]] | None:
    """The rate of a case, that of the reference, and its windows."""
    run = known(folder, *held(group))
    seen, base = run.seen[GROUPS[group]["system"]], next(iter(run.has.values()))

    def rate(name: str, resource: str | None, given: float) -> list[Seen]:
        source, groups = loaded(run.experiment, name)
        if resource is None:
            return [one for one in seen if one.is_saturated_by(source, groups)]

        def times(one: Seen) -> float:
            """How many times what the hosts have otherwise."""
            if resource == "cores":
                return one.has.cores / base.cores
            return (one.has.link or 0.0) / (base.link or 1.0) if resource == "network" else (one.has.disk or 0.0) / (base.disk or 1.0)

        return [
            one for one in seen if one.is_closed and not one.is_whole and one.is_of(source, groups) and abs(times(one) / given - 1) < 0.02
        ]

    windows = rate(case.workload, case.resource, case.given)
    if case.resource is not None:
        # In the same trials, with all that hosts have: the turns before and after.
        trials = {one.trial for one in windows}
        around = [one for one in seen if one.trial in trials and one.is_whole and one.is_closed]
    else:
        around = rate(GROUPS[group]["reference"], None, 1.0)
    if not windows or not around:
        return None
    return (median(sum(one.rates.values()) for one in windows), median(sum(one.rates.values()) for one in around), windows)


def predictions(group: str, out: Path, *, is_hindsight: bool) -> list[dict[str, Any]]:
    """As they were written before anything was measured; in hindsight: by today's code."""
    if is_hindsight:
        here = read_known(out / group)
        return [{"case": asdict(case), **predicted(calibrated(group, out), here, case)} for case in cases_of(group)]
    rows: list[dict[str, Any]] = json.loads((out / f"{group}.predictions.json").read_text())["rows"]
    return rows


def scored(group: str, out: Path, made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each case with its log errors: raw, and as a ratio to the reference."""
    rows = []
    for row in made:
        case = Case(**row["case"])
        found = measured(out / group, group, case)
        if found is None or not row.get("limit"):
            rows.append(
                {
                    "case": case.name,
                    "axes": case.axes,
                    "refused": row.get("refused") or ("by the law nothing is left for it" if row.get("limit") == 0 else "not measured"),
                }
            )
            continue
        rate, reference, windows = found
        ratio = _ratio(out, group, case, row, rate / reference)
        has, own = windows[0].has, "cpu" if fmean(one.used.cores for one in windows) >= 0.85 * windows[0].has.cores else None
        link = fmean(max(one.used.into, one.used.out) for one in windows) >= 0.85 * (has.link or math.inf)
        disk = fmean(one.used.written for one in windows) >= 0.85 * (has.disk or math.inf)
        rows.append({
            "case": case.name, "axes": case.axes, "refused": row.get("refused"), "predicted": row["limit"],
            "measured": rate, "raw": math.log(rate / row["limit"]), "ratio": ratio, "binds": row["binds"], "bound": "network" if link else "disk" if disk else own,
            "held": abs(math.log(rate / row["limit"])) <= math.log1p(row["error"]),
            "rules": {name: math.log(rate / value) for name, value in rules(group, out, case).items()}, "error": row["error"],
        })  # fmt: skip
    return rows


def unchanged(group: str, out: Path) -> list[float]:
    """Log ratios of what was calibrated and measured again in the held-out tests, the same on the same hosts: without any law, how well a run
    agrees with itself. Nothing can be predicted better than that."""
    if "from" in GROUPS[group]:
        return []
    system, form = GROUPS[group]["system"], GROUPS[group]
    then, again = (known(out / group, *tests).seen[system] for tests in ([0], held(group)))
    found = []
    for name in form["tests"][0]["workloads"]:
        source, groups = loaded(known(out / group).experiment, name)
        before, after = ([sum(one.rates.values()) for one in seen if one.is_saturated_by(source, groups)] for seen in (then, again))
        if before and after:
            found.append(math.log(median(after) / median(before)))
    return found


def demanded(group: str, out: Path, predicted_rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """CPU by schedule: of each held-out window that is not nearly idle, cores by the law that was written down, and cores used. Where a
    system uses more than it needs below its limit, no law says how much."""
    made = {one["case"]["workload"]: one for one in predicted_rows}
    run, system, rows = known(out / group, *held(group)), GROUPS[group]["system"], []
    hosts = len(run.experiment.systems.present()[system].hosts)
    for case, row in made.items():
        name, groups = loaded(run.experiment, case)
        seen = [
            one for one in run.seen[system] if not one.is_closed and one.is_of(name, groups) and one.used.cores < CPU_MAX * one.has.cores
        ]
        for one in (
            sorted(seen, key=lambda one: one.rates[name])[:: max(1, len(seen) // 4)]
            if row.get("law") and not row.get("refused") and not row.get("soft")
            else []
        ):
            work = Applied(run.experiment.workloads[name], hosts, Ride({}), groups).work(one.rates[name], is_closed=False)
            law = row["law"]
            cores = law["fixed"] + sum(law.get(driver, 0.0) * rate for driver, rate in work.drivers.items())
            rows.append({"case": f"{group} {case} at {one.rates[name]:,.0f}/s", "log": math.log(one.used.cores / cores)})
    return rows


def _ratio(out: Path, group: str, case: Case, row: dict[str, Any], measured: float) -> float | None:
    """The log error of a case as a multiple of its reference, which was measured in the same test: how fast the machine was then is in both.
    The reference is the group's; of a case with another share of what hosts have, the workload itself with all of it. None of a case that
    is its own reference."""
    if case.resource is None:
        return None if case.workload == GROUPS[group]["reference"] else math.log(measured / (row["limit"] / row["reference"]))
    whole = predicted(calibrated(group, out), read_known(out / group), replace(case, resource=None, given=1.0))
    if not whole.get("limit"):
        return None
    return math.log(measured / (row["limit"] / whole["limit"]))


def axis_errors(rows: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Log errors by axis, of cases that move it: as `errors.json` has them."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for axis in row["axes"] if "raw" in row and not row["refused"] else []:
            found[axis].append(round(row["raw"], 4))
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--out", type=Path, default=Path("runs/predictions"))
    parser.add_argument("--errors", type=Path, help="Write the errors by axis there (python/hydrotest/predict/errors.json).")
    parser.add_argument("--only-score", action="store_true")
    parser.add_argument("--hindsight", action="store_true", help="Predict anew by today's code what is in OUT, which is not blind.")
    given = parser.parse_args()
    if given.hindsight and (given.errors is not None or not given.only_score):
        parser.error("--hindsight goes with --only-score, and gives no errors that predictions could carry")
    given.out.mkdir(parents=True, exist_ok=True)
    groups = [one for one in given.groups.split(",") if not given.only_score or (given.out / f"{one}.predictions.json").exists()]
    for group in groups if not given.only_score else []:
        run_group(group, given.out)
        print(f"{group}: measured", flush=True)
    made = {group: predictions(group, given.out, is_hindsight=given.hindsight) for group in groups}
    rows = [row for group in groups for row in scored(group, given.out, made[group])]
    (given.out / ("cases.hindsight.json" if given.hindsight else "cases.json")).write_text(json.dumps(rows, indent=1))
    print_cases(rows)
    print(spread_of("the same once more", [one for group in groups for one in unchanged(group, given.out)]))
    cpu = [row for group in groups for row in demanded(group, given.out, made[group])]
    print(spread_of("CPU by schedule", [row["log"] for row in cpu]))
    if given.errors is not None:
        given.errors.write_text(json.dumps(axis_errors(rows), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
