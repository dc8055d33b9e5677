"""From experiment to plan: what will be done, how long it takes, what it needs. Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.check import memory_needed
from hydrotest.spec.choice import narrowed
from hydrotest.spec.kafka_consume import KafkaConsume
from hydrotest.spec.models import Experiment
from hydrotest.spec.step import Step
from hydrotest.spec.tests.isolated import Isolated

POPULATE_PER_S = 15_000
"""Assumed rate of populating, in rows a second."""

BYTES_PER_TRIAL = 2 << 30
"""Most bytes that one trial leaves on disk until they are deleted."""


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
    machine_memory_bytes: int
    """What this machine must have for all hosts: what their services need, or more where a host is given more."""
    needs_root: bool

    @property
    def trials(self) -> int:
        """Trials in all, estimated."""
        return sum(step.trials for step in self.steps)


def _followed(experiment: Experiment) -> set[str]:
    """Workloads whose records a `kafka-consume` reads as they come, in some test; in `isolated` each is alone."""
    readers, tests = experiment.workloads_of(KafkaConsume), [test for test in experiment.tests if narrowed(test, Isolated) is None]
    return {spec.reads for name, spec in readers for test in tests if {name, spec.reads} <= set(test.names)}


def make_plan(experiment: Experiment) -> Plan:
    """Expands an experiment into its steps."""
    steps = [step for test in experiment.tests for step in test.steps(experiment)]
    present = experiment.systems.present()
    seconds = sum(step.seconds for step in steps) + sum(SYSTEMS[name].start_s for name in present)
    # Consumers, and the writing and reading of files, have no warm-up of their own; what consumers follow has another one with them.
    seconds += experiment.warm_up.least * (
        sum(workload.is_warmed for workload in experiment.workloads.values()) + len(_followed(experiment))
    )
    rows = sum(workload.rows_before for workload in experiment.workloads.values())
    seconds += rows / POPULATE_PER_S
    needed = memory_needed(experiment)
    return Plan(
        experiment=experiment.name,
        hosts=list(experiment.hosts),
        systems={name: list(system.hosts) for name, system in present.items()},
        steps=steps,
        seconds=seconds,
        memory_bytes=needed,
        disk_bytes=BYTES_PER_TRIAL + rows * 1024,
        machine_memory_bytes=sum(max(size, round(experiment.hosts[name].shares.get("memory") or 0)) for name, size in needed.items()),
        needs_root=experiment.needs_root,
    )
