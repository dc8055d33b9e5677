"""Results of a Cassandra workload's reads over all its trials: what was checked, and what was not and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Outcome, Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.integrity import Conditional, Unchecked


@dataclass(frozen=True)
class Reads:
    """Results of a workload's reads. The counts are None if it reads no tables, or if its reads were not
    kept."""

    checked: int | None = None
    missing: int | None = None
    corrupted: int | None = None
    unchecked: list[Unchecked] = field(default_factory=list)
    not_applied: dict[str, int] = field(default_factory=dict)
    conditional: list[Conditional] = field(default_factory=list)


CONTENDED = "cassandra_contended_total"


def contended_by_workload(run: RunFolder, trials: Sequence[Trial], resumed_after: Collection[int] = ()) -> dict[str, int]:
    """Conditional writes that met others and began again, as the nodes count them, warm-up included. A workload is left out where that is not
    known: nobody was asked after its last write, or another workload had such writes, too, before a node was asked again.

    Nodes are asked every few seconds, and some trials are shorter: what a node has counted since it was asked last is of the workloads that
    have had such writes since. `resumed_after`: numbers of trials after which the run was begun again; what was counted meanwhile is of none.
    """
    conditional = _conditional_in(trials)
    found: dict[str, int] = {}
    unknown: set[str] = set()
    unread: set[str] = set()
    last: dict[str, float] = {}
    since: dict[str, set[str]] = {}
    for at, trial in enumerate(sorted(trials, key=lambda one: one.number) if any(conditional.values()) else ()):
        if at in resumed_after:
            unknown |= unread
            last, since, unread = {}, {}, set()
        own = conditional[trial.number]
        since = {node: before | own for node, before in since.items()}
        unread |= own
        for node, readings in _contended(run.folder_of(trial)).items():
            pressing = since.get(node, own)
            meanwhile = 0.0 if node not in last else rise(pl.Series([last[node], readings[0]]))
            for workloads, count in ((pressing, meanwhile), (own, rise(readings))):
                if len(workloads) > 1 and count > 0:
                    unknown |= workloads
                for workload in workloads:
                    found[workload] = found.get(workload, 0) + round(count)
            last[node], since[node], unread = float(readings[-1]), own, set()
    return {workload: count for workload, count in found.items() if workload not in unknown | unread}


def _conditional_in(trials: Sequence[Trial]) -> dict[int, set[str]]:
    """By trial, the workloads that had conditional writes. Of one that failed what has them in others had them there, too."""
    ended = {
        trial.number: {load.workload for load in trial.loads if load.outcome is not None and load.outcome.extra.get("conditional")}
        for trial in trials
    }
    every = set().union(*ended.values())
    return {
        trial.number: ended[trial.number] | {load.workload for load in trial.loads if load.outcome is None and load.workload in every}
        for trial in trials
    }


def _contended(folder: Path) -> dict[str, pl.Series]:
    """Readings of the count, by node."""
    readings = read_samples(folder, layout.GAUGE_SAMPLES, pl.col("gauge") == CONTENDED, ["service", "wall_s", "value"])
    if readings.is_empty():
        return {}
    return {str(node): own["value"] for (node,), own in readings.sort("wall_s").group_by("service", maintain_order=True)}


def rise(readings: pl.Series) -> float:
    """By how much a counter has grown. One that is lower than before has begun again at 0, with its process."""
    steps = readings.diff().drop_nulls()
    return float(steps.zip_with(steps >= 0, readings.slice(1)).sum())


def reads_by_workload(trials: Iterable[Trial]) -> dict[str, Reads]:
    """The findings of each workload that has any, warm-up included."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for trial in trials:
        for load in trial.loads:
            if load.outcome is not None and "missing_reads" in load.outcome.extra:
                outcomes[load.workload].append(load.outcome)
    return {
        workload: replace(reads_of([outcome.extra for outcome in parts]), conditional=_conditional(parts))
        for workload, parts in outcomes.items()
    }


def _conditional(parts: list[Outcome]) -> list[Conditional]:
    """Of each statement that writes only where a condition holds; generators before it was kept named none."""
    counts: dict[str, Counter[str]] = {}
    for part in parts:
        for statement in part.extra.get("conditional", []):
            counted = counts.setdefault(statement, Counter())
            counted["answered"] += part.extra["answered"].get(statement, 0)
            counted["not_applied"] += part.extra["not_applied"].get(statement, 0)
            counted["timed_out"] += part.errors.get(f"{statement} WriteTimeout", 0)
    return [
        Conditional(statement=statement, answered=one["answered"], not_applied=one["not_applied"], timed_out=one["timed_out"])
        for statement, one in counts.items()
    ]


def reads_of(parts: list[dict[str, Any]]) -> Reads:
    """Adds up the generators' findings (`extra` of rust/cassandra/src/load_driver.rs). A count that one of
    them has not kept is unknown."""
    not_applied: dict[str, int] = defaultdict(int)
    unchecked: dict[tuple[Any, ...], Unchecked] = {}
    for part in parts:
        for statement, count in part.get("not_applied", {}).items():
            not_applied[statement] += count
        for row in map(Unchecked.model_validate, part.get("unchecked", [])):
            key = (row.statement, row.what, row.reason, *row.columns)
            known = unchecked.get(key)
            unchecked[key] = row if known is None else row.model_copy(
                update={"reads": known.reads + row.reads, "absent": known.absent + row.absent})  # fmt: skip

    def total(key: str) -> int | None:
        return sum(part[key] for part in parts) if all(key in part for part in parts) else None

    return Reads(
        total("checked_reads"), total("missing_reads"), total("corrupted_reads"),
        # A statement that was never executed has left nothing unchecked.
        [row for row in unchecked.values() if row.reads],
        {statement: count for statement, count in not_applied.items() if count},
    )  # fmt: skip
