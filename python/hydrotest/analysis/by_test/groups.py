"""Consumer groups, by trial: what each read, and its rebalances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.models import Experiment
from hydrotest.store.records import Trial
from hydrotest.summary.groups import ConsumerGroup, Missed, Rebalance


def group_rows(experiment: Experiment, trials: Sequence[Trial]) -> list[ConsumerGroup]:
    """A row for each group in each trial that is done."""
    rows = []
    for trial in trials:
        for load in trial.loads if trial.status == "done" else ():
            spec = experiment.workload(load.workload, KafkaGroup)
            if spec is not None and load.outcome is not None:
                found = load.outcome.extra["groups"]
                held_s = load.outcome.extra.get("held_s")
                rows += [_row(trial, load.workload, spec, number, one, held_s) for number, one in enumerate(found)]
    return rows


def _row(trial: Trial, workload: str, spec: KafkaGroup, number: int, found: dict[str, Any], held_s: float | None) -> ConsumerGroup:
    account = found["account"]

    def at(seconds: float | None) -> float | None:
        """Since the window began."""
        return None if seconds is None else seconds - trial.warm_up_s

    return ConsumerGroup(
        trial=trial.number, workload=workload, group=number, protocol=spec.protocol, members=spec.members,
        held_s=held_s, commits=None if spec.commit == "auto" else found["commits"],
        **{key: account[key] for key in ("records", "again", "missed", "unread", "corrupted")},
        first_missed=[Missed(partition=partition, first=first, end=end) for partition, first, end in account["first_missed"]],
        rebalances=[
            Rebalance(**{**one, "began_s": at(one["began_s"]), "ended_s": at(one["ended_s"])}) for one in found["rebalances"]
        ],
    )  # fmt: skip
