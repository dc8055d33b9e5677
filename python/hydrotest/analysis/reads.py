"""What the reads of a Cassandra workload found, of all its trials: what was checked, and what was not and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from hydrotest.store.records import Outcome, Trial

COUNTS = ("checked_reads", "missing_reads", "corrupted_reads")


def no_reads() -> dict[str, Any]:
    """Of a workload that reads no tables, and of one whose reads were not kept."""
    return {**dict.fromkeys(COUNTS), "unchecked": [], "not_applied": {}}


def reads_by_workload(trials: Iterable[Trial]) -> dict[str, dict[str, Any]]:
    """The findings of each workload that has any, warm-up included."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for trial in trials:
        for load in trial.loads:
            if load.outcome is not None and "missing_reads" in load.outcome.extra:
                outcomes[load.workload].append(load.outcome)
    return {workload: reads_of([outcome.extra for outcome in parts]) for workload, parts in outcomes.items()}


def reads_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Adds up what generators found (`extra` of rust/cassandra/src/load_driver.rs). A count that one of them has not kept is not known."""
    not_applied: dict[str, int] = defaultdict(int)
    unchecked: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in parts:
        for statement, count in part.get("not_applied", {}).items():
            not_applied[statement] += count
        for row in part.get("unchecked", []):
            key = (row["statement"], row["what"], row["reason"], *row["columns"])
            known = unchecked.setdefault(key, {**row, "reads": 0, "absent": 0})
            known["reads"] += row["reads"]
            known["absent"] += row["absent"]
    return {
        **{key: sum(part[key] for part in parts) if all(key in part for part in parts) else None for key in COUNTS},
        # A statement that was never executed has left nothing unchecked.
        "unchecked": [row for row in unchecked.values() if row["reads"]],
        "not_applied": {statement: count for statement, count in not_applied.items() if count},
    }
