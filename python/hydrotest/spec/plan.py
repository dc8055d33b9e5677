"""From experiment to plan: what will be done, how long it takes, what it needs. Pure."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict

from hydrotest.spec.check import memory_needed
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests import Combined, Concurrency, Doubling, Fault, Isolated, Levels, Profile, Saturated, Soak
from hydrotest.spec.workloads import (
    AnyWorkload,
    CassandraLoad,
    Command,
    Dataflow,
    HdfsRead,
    HdfsWrite,
    KafkaConsume,
    KafkaProduce,
    SparkPerf,
)
from hydrotest.units import show_duration

COMBINED_TRIALS = 6
"""Trials of one search of the safe working point, as seen on two cores."""

OVERHEAD_S = 3.0
"""Beside its windows a trial takes this long: set-up, the check of every record, tear-down."""

FLOW_S = 20.0

START_S = {"kafka": 10.0, "cassandra": 20.0, "hdfs": 12.0, "spark": 15.0}
BATCH_S = 15.0
"""One run of a batch job's test is reckoned to take this long; its size decides."""
FILES_S = 8.0
"""One pass over files is reckoned to take this long; their size decides."""
SQUEEZE_ROUND_S = 40.0
"""A round with four candidates is about so long."""
POPULATE_PER_S = 15_000
"""Rows a second that populating is reckoned with."""

BYTES_PER_TRIAL = 2 << 30
"""Most that one trial leaves on disk before it is deleted again."""


class Step(BaseModel):
    """One test of one workload."""

    model_config = ConfigDict(frozen=True)

    test: str
    workload: str
    trials: int
    seconds: float
    detail: str


class Plan(BaseModel):
    """What a run will do. `seconds` is an estimate; searches are as long as the answer needs."""

    model_config = ConfigDict(frozen=True)

    experiment: str
    hosts: list[str]
    systems: dict[str, list[str]]
    steps: list[Step]
    seconds: float
    memory_bytes: dict[str, int]
    disk_bytes: int

    @property
    def trials(self) -> int:
        """Trials in all, estimated."""
        return sum(step.trials for step in self.steps)


def make_plan(experiment: Experiment) -> Plan:
    """Expands an experiment into its steps."""
    steps: list[Step] = []
    for test in experiment.tests:
        if isinstance(test, Isolated):
            steps.extend(_limit_step(experiment, name) for name in test.workloads)
            if test.squeeze is not None:
                steps.extend(step for name in test.workloads for step in _squeeze_step(experiment, name, test.squeeze))
        elif isinstance(test, Combined):
            steps.append(_combined_step(experiment, test))
        elif isinstance(test, Soak | Fault):
            steps.append(_level_step(test))
        elif isinstance(test, Profile):
            course = ", ".join(f"{s.rate:,.0f} to {s.end_rate:,.0f}/s in {s.duration:g} s" for s in test.stretches)
            steps.append(Step(test="profile", workload=test.workload, trials=1, seconds=test.duration + OVERHEAD_S, detail=course))
        elif isinstance(test, Doubling):
            trials = 2 * test.pairs
            seconds = trials * (test.duration + experiment.search.warm_up + OVERHEAD_S)
            own = len(experiment.generator_hosts(test.workload))
            detail = f"{test.pairs} pairs without schedule, {own} and {2 * own} generators"
            steps.append(Step(test="doubling", workload=test.workload, trials=trials, seconds=seconds, detail=detail))
        elif isinstance(test, Saturated):
            steps.append(_levels_step(experiment, test, 1, "without schedule"))
        elif isinstance(test, Levels):
            rates = ", ".join(f"{rate:,.0f}/s" for rate in test.rates)
            steps.append(_levels_step(experiment, test, len(test.rates), rates))
        else:
            counts = ", ".join(str(count) for count in test.counts)
            steps.append(_levels_step(experiment, test, len(test.counts), f"{counts} in flight"))
    present = experiment.systems.present()
    seconds = sum(step.seconds for step in steps) + sum(START_S[name] for name in present)
    # Of what has its own way to warm up, a consumer and the writing and reading of files have none.
    seconds += experiment.warm_up.least * sum(
        not isinstance(w, KafkaConsume | HdfsWrite | HdfsRead | Command) for w in experiment.workloads.values()
    )
    keys = [w.keys.size for w in experiment.workloads.values() if isinstance(w, CassandraLoad)]
    seconds += sum(keys) / POPULATE_PER_S
    return Plan(
        experiment=experiment.name,
        hosts=list(experiment.hosts),
        systems={name: list(system.hosts) for name, system in present.items()},
        steps=steps,
        seconds=seconds,
        memory_bytes=memory_needed(experiment),
        disk_bytes=BYTES_PER_TRIAL + sum(keys) * 1024,
    )


def _squeeze_step(experiment: Experiment, name: str, budget_s: float) -> list[Step]:
    """Nothing for what is not squeezed."""
    workload = experiment.workloads[name]
    if not isinstance(workload, KafkaProduce | KafkaConsume | CassandraLoad | SparkPerf):
        return []
    trials = max(1, math.ceil(budget_s / SQUEEZE_ROUND_S)) + 1
    return [Step(test="isolated", workload=name, trials=trials, seconds=budget_s + trials * (experiment.search.warm_up + OVERHEAD_S),
                 detail=f"squeezes for at most {show_duration(budget_s)}, to prove what binds")]  # fmt: skip


def _limit_step(experiment: Experiment, name: str) -> Step:
    search = experiment.search
    workload = experiment.workloads[name]
    # A pipeline is begun, comes to its end and is accounted for in each trial.
    trial_s = search.window + search.warm_up + (FLOW_S if isinstance(workload, Dataflow) else OVERHEAD_S)
    if isinstance(workload, KafkaConsume):
        return Step(test="isolated", workload=name, trials=search.repeats, seconds=search.repeats * trial_s + search.saturated,
                    detail="catch-up rate over a prefilled topic")  # fmt: skip
    if isinstance(workload, SparkPerf):
        runs = search.repeats * len(workload.tests)
        return Step(test="isolated", workload=name, trials=1, seconds=(runs + 1) * BATCH_S,
                    detail=f"{', '.join(workload.tests)}, {search.repeats} times each")  # fmt: skip
    if isinstance(workload, HdfsWrite | HdfsRead):
        passes = workload.at_once.bit_length() + search.repeats
        return Step(test="isolated", workload=name, trials=passes, seconds=passes * FILES_S,
                    detail=f"passes over files, at most {workload.at_once} at once")  # fmt: skip
    # Bracket and bisect over a factor of about two, then short searches of three trials each.
    bisect = math.ceil(math.log2(math.log(2.0) / math.log(1 + search.precision))) + 2
    trials = 1 + bisect + 3 * search.repeats
    detail = f"limit to {search.precision:.0%}, {search.repeats} independent searches, objective {_objective(experiment, name)}"
    return Step(test="isolated", workload=name, trials=trials, seconds=trials * trial_s, detail=detail)


def _objective(experiment: Experiment, name: str) -> str:
    bounds = experiment.objective(name).latencies_ms()
    return ", ".join(f"{key} ≤ {bound:g} ms" for key, bound in bounds.items()) or "none on latency"


def _levels_step(experiment: Experiment, test: Levels | Concurrency | Saturated, trials: int, what: str) -> Step:
    seconds = trials * (test.duration + experiment.search.warm_up + OVERHEAD_S)
    return Step(test=test.test, workload=test.workload, trials=trials, seconds=seconds, detail=f"{what}, {experiment.client(test)} client")


def _level_step(test: Soak | Fault) -> Step:
    rates = ", ".join(f"{name} {rate:,.0f}/s" for name, rate in test.rates.items())
    fault = f"; {test.action} {test.struck} after {test.at:g} s for {test.down:g} s" if isinstance(test, Fault) else ""
    return Step(test=test.test, workload=", ".join(test.workloads), trials=1, seconds=test.duration + OVERHEAD_S, detail=rates + fault)


def _combined_step(experiment: Experiment, test: Combined) -> Step:
    alone = len(test.workloads) + 1
    pair_s = alone * (test.window + experiment.search.warm_up + OVERHEAD_S)
    # From an equal share on, each rejection twice: about as many for the first search as for each of the independent ones.
    searched = 0 if test.rates else COMBINED_TRIALS * (1 + experiment.search.repeats)
    search_s = searched * (experiment.search.window + experiment.search.warm_up + OVERHEAD_S)
    all_out = 0 if test.rates else experiment.search.repeats
    seconds = search_s + test.pairs * pair_s + all_out * (experiment.search.saturated + OVERHEAD_S)
    what = "at given rates" if test.rates else f"safe working point to {test.precision:.0%}, all pressed without schedule {all_out} times"
    return Step(test="combined", workload=", ".join(test.workloads), trials=searched + test.pairs * alone + all_out, seconds=seconds,
                detail=f"{what}; interference over {test.pairs} pairs")  # fmt: skip


def describe_workload(workload: AnyWorkload) -> dict[str, Any]:
    """The workload's settings as plain data, for plan and report."""
    return workload.model_dump(mode="json")
