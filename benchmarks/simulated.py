"""How near `hydrotest simulate` is to what a lab does: overloads, failures, restarts, bursts and disks, played in both.

Each group is a lab that is calibrated, then scenarios of it, which are simulated and written with their SHA-256 before the lab plays the
same. For how long a killed broker is away is taken from the lab, as an operator would know it; all else is not. Needs root. Resumable:
what is in OUT is not repeated. Prints the table of RESULTS.md.

    python benchmarks/simulated.py [--groups three,one,burst] [--out DIR] [--again]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hydrotest.places import data_root

ROOT = Path(__file__).resolve().parents[1]
HYDROTEST = Path(sys.executable).parent / "hydrotest"
GROUPS = json.loads((ROOT / "benchmarks" / "simulated.json").read_text())
"""Labs and cases, written before any of them was measured."""
FAULT_AT_S, FAULT_S, DOWN_S = 20.0, 90.0, 10.0
"""As a fault has them by default."""
QUIET_PER_S = 100
GONE = 0.05
"""Of a backlog's peak: less is none."""
STALLED = 0.02
"""Of what is asked for: less served is a stall."""
GOALS = {"stall": 0.25, "backlog": 0.30, "drain": 0.30, "served after the burst": 0.05, "burst lasts": 0.30, "disk growth": 0.05}
STALL_S = 2.0
"""Or so many seconds."""


@dataclass(frozen=True)
class Compared:
    """A figure of both."""

    group: str
    case: str
    what: str
    simulated: float
    measured: float
    unit: str

    @property
    def off(self) -> float:
        return self.simulated / self.measured - 1 if self.measured else float(self.simulated > 0)

    @property
    def is_near(self) -> bool:
        far = abs(self.simulated - self.measured)
        return far <= GOALS[self.what] * self.measured or (self.unit == "s" and far <= STALL_S and self.what == "stall")


def lab(group: str, tests: list[dict[str, Any]]) -> dict[str, Any]:
    """The experiment of a group."""
    form = GROUPS[group]
    own = dict(GROUPS[form.get("of", group)])
    hosts = own["hosts"]
    if "burst" in form:
        hosts = {
            name: one | ({"network": form["network"], "burst": form["burst"]} if name != "Clients" else {}) for name, one in hosts.items()
        }
    return {
        "name": f"simulated-{group}",
        "hosts": hosts,
        "systems": own["systems"],
        "workloads": own["workloads"],
        "warm_up": own["warm_up"],
        "tests": tests,
    }


def run(file: Path, value: Mapping[str, Any], folder: Path) -> None:
    """Runs an experiment, unless it is there, and writes how much was on the disk meanwhile."""
    if (folder / "summary.json").exists():
        return
    file.write_text(json.dumps(value, indent=1))
    stop, sizes = threading.Event(), list[tuple[float, int]]()

    def watch() -> None:
        while not stop.wait(1.0):
            sizes.append((time.time(), on_disk()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with file.with_suffix(".log").open("w") as log:
            done = subprocess.run([HYDROTEST, "run", file, "--out", folder], stdout=log, stderr=subprocess.STDOUT, check=False)
    finally:
        stop.set()
        watcher.join()
    if done.returncode not in (0, 1):
        raise SystemExit(f"{folder}: the run failed, see {file.with_suffix('.log')}")
    (folder / "sizes.json").write_text(json.dumps(sizes))


def on_disk() -> int:
    """Bytes of all systems' data."""
    total = 0
    for folder, _, names in os.walk(data_root()):  # which passes over folders that are deleted meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).stat().st_blocks * 512
    return total


def limit(base: Path) -> float:
    """What the simulator's law serves at most, with all that hosts have."""
    done = subprocess.run([HYDROTEST, "predict", base, "--json"], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["predictions"][0]["limit"])


def stretches(case: Mapping[str, Any], full: float) -> list[dict[str, Any]]:
    """Rates as shares of the limit."""
    return [
        {"rate": round(one[0] * full), "duration": f"{one[1]} s"} | ({"to": round(one[2] * full)} if len(one) > 2 else {})
        for one in case["profile"]
    ]


def test_of(case: Mapping[str, Any], full: float, group: str) -> dict[str, Any]:
    """The case as a test of an experiment."""
    if "fault" in case:
        return {"fault": {"workloads": ["ingest"], "rates": {"ingest": round(case["share"] * full)}, **case["fault"]}}
    if "burst" in case:
        # The warm-up has spent it: a quiet stretch fills it again.
        quiet, busy = (
            {"rate": QUIET_PER_S, "duration": f"{case['quiet']} s"},
            {"rate": rate_of(case, group), "duration": f"{case['seconds']} s"},
        )
        return {"profile": {"workload": "ingest", "stretches": [quiet, busy]}}
    return {"profile": {"workload": "ingest", "stretches": stretches(case, full)}}


def rate_of(case: Mapping[str, Any], group: str) -> int:
    """Records a second whose copies fill a link so many times: each broker takes in as many bytes as all are."""
    spec = GROUPS[GROUPS[group]["of"]]["workloads"]["ingest"]
    link = float(GROUPS[group]["network"].split()[0]) * 1e6 / 8
    brokers = len(GROUPS[GROUPS[group]["of"]]["systems"]["kafka"]["hosts"])
    each: float = (int(spec["record_size"].split()[0]) + 10) * spec["replication"] / brokers
    return round(float(case["rate_of_link"]) * link / each)


def scenario(case: Mapping[str, Any], full: float, group: str, base: Path, away_s: float) -> dict[str, Any]:
    """The same as a scenario."""
    form = GROUPS[GROUPS[group].get("of", group)]
    hosts: dict[str, Any] = {"count": len(form["systems"]["kafka"]["hosts"])}
    if "disk" in case:
        hosts["disk"] = {"size": "100 GB"}
    if "burst" in GROUPS[group]:
        hosts |= {"network": GROUPS[group]["network"], "burst": GROUPS[group]["burst"]}
    found: dict[str, Any] = {"name": "case", "model": str(base), "hosts": {"broker": hosts}, "systems": {"kafka": {"on": "broker"}}}
    if "fault" in case:
        event: dict[str, Any] = {"at": f"{FAULT_AT_S:g} s", "for": f"{away_s:.3f} s"}
        how = "cut" if case["fault"]["action"] == "cut" else "fail"
        event |= {"roll": "kafka"} if "system" in case["fault"] else {how: f"broker-{case['host']}"}
        seconds = float(str(case["fault"].get("duration", FAULT_S)).split()[0])
        return found | {"load": {"ingest": {"rate": round(case["share"] * full)}}, "events": [event], "duration": f"{seconds} s"}
    own = test_of(case, full, group)["profile"]["stretches"]
    return found | {"load": {"ingest": {"stretches": own}}, "duration": f"{sum(float(one['duration'].split()[0]) for one in own):g} s"}


def simulated(file: Path, value: Mapping[str, Any]) -> pl.DataFrame:
    """The series of a scenario, which is simulated once."""
    out = file.with_suffix("")
    if not out.exists():
        file.write_text(yaml.safe_dump(dict(value)))
        done = subprocess.run([HYDROTEST, "simulate", file, "--out", out], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        file.with_suffix(".sha256").write_text(hashlib.sha256((out / "series.parquet").read_bytes()).hexdigest())
    return pl.read_parquet(out / "series.parquet")


def drain(times: list[float], backlog: list[float]) -> tuple[float, float]:
    """The peak of a backlog, and how long it took from there until it was gone."""
    peak = max(backlog)
    at = backlog.index(peak)
    gone = next((when for when, left in zip(times[at:], backlog[at:], strict=True) if left <= GONE * peak), times[-1])
    return peak, gone - times[at]


def measured_series(folder: Path, case: Mapping[str, Any], at: int) -> tuple[list[float], list[float], list[float], float]:
    """Times, what was served a second, what waited beyond what always is in flight, and the longest stall."""
    summary = json.loads((folder / "summary.json").read_text())
    if "fault" in case:
        row = summary["faults"][at]["workloads"][0]
        points = row["series"]
        normal = statistics.median(one["in_flight"] for one in points if one["at_s"] < FAULT_AT_S - 1)
        stall = (row["recovery"] or {}).get("longest_stall_s") or 0.0
        return (
            [one["at_s"] for one in points],
            [one["rate"] for one in points],
            [max(0.0, one["in_flight"] - normal) for one in points],
            stall,
        )
    points = summary["profiles"][at]["series"]
    normal = statistics.median(one["in_flight"] or 0 for one in points[2:12])
    return (
        [one["at_s"] for one in points],
        [one["achieved"] or 0.0 for one in points],
        [max(0.0, (one["in_flight"] or 0) - normal) for one in points],
        0.0,
    )


def compared(group: str, case: Mapping[str, Any], series: pl.DataFrame, folder: Path, at: int) -> Iterator[Compared]:
    """The figures of a case."""
    times, served, backlog, stall = measured_series(folder, case, at)
    own_times, own_served, own_backlog = (series[name].to_list() for name in ("seconds", "ingest served", "ingest backlog"))

    def pair(what: str, ours: float, theirs: float, unit: str) -> Compared:
        return Compared(group, case["case"], what, ours, theirs, unit)

    if "disk" in case:
        begin, end = series["broker fill"][len(own_times) // 4], series["broker fill"][-1]
        ours = (end - begin) * 100e9 / (own_times[-1] - own_times[len(own_times) // 4])
        yield pair("disk growth", ours, growth(folder, at), "B/s")
        return
    if "burst" in case:
        rate, begin = rate_of(case, group), case["quiet"] + 3
        ours_until = next(when for when, now in zip(own_times, own_served, strict=True) if when > begin and now < 0.8 * rate)
        until = next((when for when, now in zip(times, served, strict=True) if when > begin and now < 0.8 * rate), times[-1])
        yield pair("burst lasts", ours_until - case["quiet"], until - case["quiet"], "s")
        last = [now for when, now in zip(times, served, strict=True) if when > until + 5]
        ours_last = [now for when, now in zip(own_times, own_served, strict=True) if when > ours_until + 5]
        yield pair("served after the burst", statistics.fmean(ours_last), statistics.fmean(last), "/s")
        yield pair("backlog", own_backlog[-1], backlog[-1], "records")
        return
    if "fault" in case:
        offered = series["ingest offered"][0]
        steps = zip([0.0, *own_times], own_times, own_served, strict=False)
        ours_stall = sum(end - begin for begin, end, now in steps if now < STALLED * offered)
        yield pair("stall", ours_stall, stall, "s")
        if "system" in case["fault"]:
            return
    (peak, drained), (own_peak, own_drained) = drain(times, backlog), drain(own_times, own_backlog)
    yield pair("backlog", own_peak, peak, "records")
    yield pair("drain", own_drained, drained, "s")


def growth(folder: Path, at: int) -> float:
    """Bytes a second that the systems' data grew by in a profile, without its beginning."""
    summary = json.loads((folder / "summary.json").read_text())
    number = summary["profiles"][at]["trial"]
    trial = next(one for path in sorted(folder.glob("trials/*/trial.json")) if (one := json.loads(path.read_text()))["number"] == number)
    begin, end = trial["prepared_wall_s"], trial["ended_wall_s"]
    seconds = summary["profiles"][at]["series"][-1]["at_s"]
    inside = [
        (when, size)
        for when, size in json.loads((folder / "sizes.json").read_text())
        if begin + seconds / 4 <= when <= min(end, begin + seconds)
    ]
    return statistics.linear_regression(*zip(*inside, strict=True)).slope


def measured(group: str, out: Path) -> list[Compared]:
    """All figures of a group."""
    form = GROUPS[group]
    base = out / form.get("of", group)
    run(base.with_suffix(".yaml"), lab(base.name, [{"calibrate": GROUPS[base.name]["calibrate"]}]), base)
    full = limit(base)
    tests = [test_of(case, full, group) for case in form["then"]]
    lasts = {at: away(case) for at, case in enumerate(form["then"])}
    for at, case in enumerate(form["then"]):
        simulated(out / f"{group}-{at}.scenario.yaml", scenario(case, full, group, base, lasts[at]))
    folder = out / f"{group}-then"
    run(folder.with_suffix(".yaml"), lab(group, tests), folder)
    found, places = list[Compared](), {"fault": 0, "profile": 0}
    faults = json.loads((folder / "summary.json").read_text()).get("faults", [])
    for at, case in enumerate(form["then"]):
        kind = "fault" if "fault" in case else "profile"
        series = simulated(out / f"{group}-{at}.scenario.yaml", {})
        if case.get("fault", {}).get("action") == "kill":
            fault = faults[places[kind]]
            real = fault["ready_s"] - fault["struck_s"]
            series = simulated(out / f"{group}-{at}-away.scenario.yaml", scenario(case, full, group, base, real))
        found += compared(group, case, series, folder, places[kind])
        places[kind] += 1
    return found


def away(case: Mapping[str, Any]) -> float:
    """For how long a host is away, as the experiment says."""
    return float(str(case.get("fault", {}).get("down", DOWN_S)).split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--out", type=Path, default=Path("runs/simulated"))
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    found = [one for group in given.groups.split(",") for one in measured(group, out)]
    (out / "cases.json").write_text(json.dumps([vars(one) | {"off": one.off, "near": one.is_near} for one in found], indent=1))
    print("| lab | case | what | simulated | measured | off | within |\n|---|---|---|---|---|---|---|")
    for one in found:
        print(
            f"| {one.group} | {one.case} | {one.what} | {one.simulated:,.3g} {one.unit} | {one.measured:,.3g} | {one.off:+.0%} | {'yes' if one.is_near else 'no'} |"
        )
    print(f"{sum(one.is_near for one in found)} of {len(found)} within")


if __name__ == "__main__":
    main()
