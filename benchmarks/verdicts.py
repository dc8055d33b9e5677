"""Bottleneck verdicts, scored against planted bottlenecks: by squeezing, and by the usual rule (the busiest
resource above 80 %).

In random order, each plant at least twice. The systems stay up; a plant is applied live and removed again,
and the verdict does not know of it. Needs root. Resumable: finished cases are read from OUT/cases.jsonl;
those of other code are ignored. Writes OUT/table.md.

    python benchmarks/verdicts.py [--only kafka,cassandra] [--plants "CPU of"] [--times 2]
    python benchmarks/verdicts.py --judge

The second command judges the finished cases, whatever code recorded them, by the current rules.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import log
from pathlib import Path
from typing import Any

import polars as pl
from plants import PLANTS, TEXTS, Plant
from verdict_scores import FAILED, HOW, kind_of, match, named_kind, score, table, usual

import hydrotest
from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.analysis.bottleneck.outcome import rate_of, squeezed
from hydrotest.analysis.bottleneck.proof import proven
from hydrotest.analysis.bottleneck.squeeze import RATE_MIN, Candidate, changes
from hydrotest.analysis.bottleneck.windows import uses_in, window_of
from hydrotest.analysis.resources.rates import read_speeds
from hydrotest.analysis.spark.bounds import suspect
from hydrotest.analysis.statistics.intervals import pooled_deviation
from hydrotest.hosts.base import Service
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.places import node_binary
from hydrotest.report.bounds import full_on
from hydrotest.report.wording.binding import explained
from hydrotest.report.wording.figures import of_hosts
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.interrupt import cancel_on_signals
from hydrotest.run.lifecycle.scratch import clear_abandoned
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.squeezer import Squeezable, Squeezer
from hydrotest.run.trials.trial import Disturbance, TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.run.workloads.batch import Batch
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.spec.hosts import NetnsHost as NetnsSpec
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import Spark
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import SqueezeBlock, Trial
from hydrotest.verdicts.binding import BoundBy
from hydrotest.verdicts.evidence import InsideLine

BUDGET_S = 110.0
CASES = "cases.jsonl"
BESIDE = LoadSpec(in_flight=4)
"""The load of the other workload of `combined`."""


@dataclass(frozen=True)
class Together:
    """A workload with the load that a plant needs, and another one with it on the same hosts."""

    press: Rated
    beside: Rated

    @property
    def generator_count(self) -> int:
        """See `Doubleable`."""
        return self.press.generator_count

    @property
    def name(self) -> str:
        """That of the one that is asked about."""
        return self.press.name

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        """See `Squeezable`."""
        runner = self.press.bench.runner
        number = runner.claim()
        parts = [self.press.part(number, plan, load_spec), self.beside.part(number, plan, BESIDE)]
        return await runner.press(number, plan, parts, disturbance)

    async def last(self, seconds: float) -> None:
        """See `Squeezable`."""
        await self.press.last(seconds)


async def give(bench: Bench, shares: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Gives hosts these shares, live; what they had."""
    had: dict[str, dict[str, float]] = {}
    for name, own in shares.items():
        host = bench.hosts[name]
        assert isinstance(host, NetnsHost)
        had[name] = {key: getattr(host.spec, key) for key in own}
        host.spec = host.spec.model_copy(update=dict(own))
        for key in own:
            await host.give("cpu" if key == "cores" else key, 1.0)
    return had


def environment(experiment: Experiment, plant: Plant) -> list[dict[str, Any]]:
    """Hosts with what the plant gives them as their ceilings."""
    found = []
    machine_cores = os.cpu_count() or 1
    for name, host in experiment.hosts.items():
        assert isinstance(host, NetnsSpec)
        spec = host.model_copy(update=dict(plant.shares.get(name, {})))
        cores = spec.core_count or float(machine_cores)
        ceilings: dict[str, float] = {"cpu_cores": cores}
        if spec.disk is not None:
            ceilings |= {"disk_write_bytes_per_s": spec.disk / 8, "disk_read_bytes_per_s": spec.disk / 8}
        if spec.network is not None:
            ceilings["network_bytes_per_s"] = spec.network / 8
        found.append({"name": name, "connect": "netns", "cores": cores, "machine_cores": machine_cores,
                      "memory_bytes": spec.memory or 0, "ceilings": ceilings})  # fmt: skip
    return found


async def case(bench: Bench, press: Squeezable, plant: Plant, index: int) -> dict[str, Any]:
    """One planted bottleneck, and its verdict."""
    began = time.monotonic()
    folder = bench.runner.folder
    folder.write_json(layout.ENVIRONMENT, {"hosts": environment(bench.experiment, plant)})
    had = await give(bench, plant.shares)
    busy = [await bench.hosts[name].node("supervise", burner(folder.path, name, index).settings()) for name in plant.busy]
    try:
        await press.trial(TrialPlan("settle", Purpose.WARM_UP, 0.0, 5.0, index), plant.load_spec)
        await press.trial(
            TrialPlan(FREELY, Purpose.BATCH if isinstance(press, Batch) else Purpose.SATURATED, 1.0, 6.0, index), plant.load_spec
        )
        if _freely(folder, index).status == "done":
            await Squeezer(index, press, BUDGET_S, bench, [], plant.load_spec).run()
    finally:
        for node in busy:
            await node.close()
        await give(bench, had)
    seconds = time.monotonic() - began
    given = environment(bench.experiment, plant)
    return {
        "run": folder.path.parent.name,
        "index": index,
        "seconds": seconds,
        "given": given,
        **judged(folder, bench.experiment, plant, index),
    }


FREELY = "freely"
"""The trial of a case with full load and nothing taken."""
PRESS = "press"
"""The workload that is asked about."""


def _freely(folder: RunFolder, index: int) -> Trial:
    return next(trial for trial in folder.trials() if trial.test == index and trial.slug == FREELY)


def judged(folder: RunFolder, experiment: Experiment, plant: Plant, index: int) -> dict[str, Any]:
    """What the verdict on a case is, by what its trials show, and how it scores."""
    row: dict[str, Any] = {"plant": plant.name, "planted_kind": kind_of(plant)}
    freely = _freely(folder, index)
    if freely.status != "done":
        return row | {"word": FAILED, "named_kind": FAILED, "said": freely.reason}
    hosts = environment(experiment, plant)
    windows = [window_of(folder, freely, PRESS)]
    own = [trial for trial in folder.trials() if trial.test == index]
    found = squeezed(folder, own, PRESS, experiment.peers(PRESS), hosts, experiment.needs(PRESS))
    verdict = proven(suspect(folder, windows, PRESS, hosts, experiment.needs(PRESS)), found, ["clients"])
    settings = {one.setting for one in told_inside(experiment, verdict)}
    word = score(plant, verdict, settings, is_none=found.decision.is_none and verdict.kind == "system")
    # Kind, resource and hosts, whatever settings are named with them.
    is_named = word == "right" or (word == "in part" and match(plant, verdict.resource, verdict.binds) == "right")
    usual_word, usual_said = usual(found.freely or uses_in(folder, windows, hosts), plant)
    return row | {
        "word": word, "is_named": is_named, "said": explained(verdict.because), "confirmed": verdict.confirmed, "named_kind": named_kind(word, verdict, plant),
        "hosts": f"{len(plant.binds[1] & set(verdict.binds))} of {len(plant.binds[1])}" if verdict.confirmed else "", "inside": sorted(settings),
        "usual": usual_said, "usual_word": usual_word,
        "elasticities": {of_hosts(one.hosts, one.resource): [mean.value, mean.low, mean.high, mean.n] for one, mean in found.elasticities.items()},
        "scatter": scatters(folder, [trial for trial in own if trial.purpose == "squeeze" and trial.status == "done"], PRESS, hosts[0]["name"]),
    }  # fmt: skip


def judged_again(out: Path) -> list[dict[str, Any]]:
    """The cases that are done, by whatever code, judged by this one from what was recorded; without those of plants that are not there any more as they were."""
    rows = []
    for row in map(json.loads, (out / CASES).read_text().splitlines()):
        folder = RunFolder(out / row["run"] / "run")
        experiment, _ = load_experiment(folder.path / layout.EXPERIMENT)
        plant = next((one for one in PLANTS.get(row["family"], []) if one.name == row["plant"]), None)
        if plant is not None and environment(experiment, plant) == row["given"]:
            rows.append(row | judged(folder, experiment, plant, row["index"]))
    return rows


def burner(folder: Path, name: str, index: int) -> Service:
    """A process that is always busy, behind all others."""
    return Service(
        "busy", ["nice", "-n", "19", "sh", "-c", "while :; do :; done"], folder, folder / f"busy-{index}-{name}.log", grace_s=1.0
    )


def scatters(folder: RunFolder, trials: list[Trial], name: str, machine: str) -> dict[str, float]:
    """How much the rate of a block scatters: the standard deviation of its change by a squeeze
    (logarithms), pooled over what was squeezed.

    As it is, and with each block's rate divided by the machine's speed in it, which shows whether the speed
    reference helps. Empty where too little was squeezed.
    """
    changed: dict[str, dict[Candidate, list[float]]] = {how: {} for how in HOW}
    for trial in trials:
        rate = rate_of(folder, trial, name)
        speeds = read_speeds(folder.folder_of(trial), machine)
        corrected = partial(by_speed, rate, speeds)
        ways: tuple[Callable[[SqueezeBlock], float | None], ...] = (rate, corrected)
        for how, one in zip(HOW, ways, strict=True):
            for turn, before, after in changes(trial.turns, one):
                if turn.given < 1:
                    changed[how].setdefault(Candidate(tuple(turn.hosts), turn.resource or ""), []).append(
                        log(max(after / before, RATE_MIN))
                    )
    pooled = {how: pooled_deviation(list(own.values())) for how, own in changed.items()}
    return {how: deviation for how, (deviation, freedom) in pooled.items() if freedom}


def by_speed(rate: Callable[[SqueezeBlock], float | None], speeds: pl.DataFrame, turn: SqueezeBlock) -> float | None:
    """The rate of a block per fixed computation in a millisecond of CPU meanwhile; None where either is
    unknown."""
    speed = speeds.filter(pl.col("wall_s").is_between(turn.start_wall_s, turn.end_wall_s))["speed"].mean()
    own = rate(turn)
    return own / speed if own is not None and isinstance(speed, float) else None


def told_inside(experiment: Experiment, verdict: BoundBy) -> list[InsideLine]:
    """The limits inside the system that the verdict shows to a reader."""
    spark = experiment.systems.of(Spark)
    workers = spark.workers if spark is not None else []
    return full_on(verdict, workers) if verdict.confirmed else inside(verdict.evidence)


async def family(name: str, plants: str, times: int, out: Path) -> None:
    """All cases of one system that are not done yet."""
    file = out / CASES
    done = Counter((row["family"], row["plant"]) for row in rows_of(out))
    order = [plant for plant in PLANTS[name] if plant.name.startswith(plants) for _ in range(times - done[name, plant.name])]
    random.Random(len(order)).shuffle(order)
    if not order:
        return
    cancel_on_signals()
    for left in out.glob(f"{name}-*"):
        clear_abandoned(left)  # by one that was killed
    async with open_testbed(TEXTS[name], out / f"{name}-{int(time.time())}", Silent()) as bench:
        press = await prepared(bench)
        for index, plant in enumerate(order):
            row = {"family": name, "code": code(), **await case(bench, press, plant, index)}
            with file.open("a") as handle:
                handle.write(json.dumps(row) + "\n")
            print(f"{name}: {plant.name}: {row['word']} in {row['seconds']:.0f} s: {row['said']}", flush=True)


async def prepared(bench: Bench) -> Squeezable:
    """The loaded workload, its system warm; with the other one, if there is one."""
    every = make_workloads(bench)
    for one in every.values():
        await one.prepare()
    press, beside = every["press"], every.get("beside")
    if isinstance(beside, Rated):
        assert isinstance(press, Rated)
        return Together(press, beside)
    assert isinstance(press, Rated | Batch)
    return press


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Finished cases of this code: those of other code are of another method, or of other plants."""
    file = out / CASES
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [row for row in rows if row["code"] == code()]


@cache
def code() -> str:
    """Identifies this code: a hash of the package with the programs in it, of the generators, and of
    these benchmarks."""
    package = Path(hydrotest.__file__).parent
    files = [
        *sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"),
        node_binary(),
        *(Path(__file__).with_name(name) for name in ("plants.py", "verdict_scores.py", "verdicts.py")),
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def main() -> None:
    """Runs what is left, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PLANTS))
    parser.add_argument("--plants", default="", help="only those whose name begins so")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--judge", action="store_true", help="judge again what is done, and press nothing")
    parser.add_argument("--out", type=Path, default=Path("runs/verdicts"))
    options = parser.parse_args()
    # Systems are started in folders of their own.
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(",") if not options.judge else []:
        asyncio.run(family(name, options.plants, options.times, options.out))
    told = table(judged_again(options.out) if options.judge else rows_of(options.out))
    (options.out / "table.md").write_text(told)
    print(told)


if __name__ == "__main__":
    main()
