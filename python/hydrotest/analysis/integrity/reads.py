"""Results of a Cassandra workload's reads over all its trials: what was checked, and what was not and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Outcome, Trial
from hydrotest.store.samples import gauge_readings
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


def contended_by_workload(run: RunFolder, trials: Iterable[Trial]) -> dict[str, int]:
    """Conditional writes that met others and began again, as the nodes count them, warm-up included. A workload is left out where it is not
    known of one of its trials: nobody was asked, or another workload had such writes, too."""
    found: dict[str, int | None] = {}
    for trial in trials:
        conditional = [load.workload for load in trial.loads if load.outcome is not None and load.outcome.extra.get("conditional")]
        met = [rise(own) for own in gauge_readings(run.folder_of(trial), CONTENDED)] if len(conditional) == 1 else []
        for workload in conditional:
            so_far = found.get(workload, 0)
            found[workload] = None if so_far is None or not met else so_far + round(sum(met))
    return {workload: met for workload, met in found.items() if met is not None}


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
