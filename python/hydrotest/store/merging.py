"""Several generators of one workload merged into one. Nothing is lost: counters add up, and so do histograms
of the same bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from hydrotest.store.records import Counts, Load, Outcome, Second, ThreadUse
from hydrotest.store.second_lines import CountsLine, SecondLine, SecondRead


def merged_seconds(parts: Sequence[Iterable[SecondRead]]) -> Iterator[SecondRead]:
    """The generators' readings second by second: they begin together, so the n-th of each belong to one
    second. A generator that ended earlier keeps its last counters and has nothing in flight."""
    if len(parts) < 2:
        yield from parts[0] if parts else ()
        return
    last: list[SecondRead | None] = [None] * len(parts)
    for row in zip_longest(*parts):
        last = [now or _ended(before) for now, before in zip(row, last, strict=True)]
        yield _together(last)


def _ended(last: SecondRead | None) -> SecondRead | None:
    """The contribution of a generator that has ended to the seconds after it."""
    if last is None:
        return None
    at_rest = {"in_flight": [0], "completed": last.completed[-1:], "failed": last.failed[-1:], "at_s": []}
    return replace(last, **at_rest) if isinstance(last, SecondLine) else last.model_copy(update=at_rest)


def _together(row: Sequence[SecondRead | None]) -> Second:
    known = {number: second for number, second in enumerate(row) if second is not None}
    every = list(known.values())
    return Second(
        wall_s=max(second.wall_s for second in every),
        counts=_added(second.counts for second in every),
        in_flight=_sums([second.in_flight for second in every]),
        completed=_sums([second.completed for second in every]),
        failed=_sums([second.failed for second in every]),
        # They begin together, and their reporters read at the same tenths: the last reader's times count.
        at_s=max((second.at_s for second in every), key=len),
        p99_ms=max((second.p99_ms for second in every if second.p99_ms is not None), default=None),
        threads=[
            ThreadUse(name=f"{thread.name}@{number}", cpu_ns=thread.cpu_ns, run_delay_ns=thread.run_delay_ns)
            for number, second in known.items()
            for thread in second.threads
        ],
    )


def _sums(readings: Sequence[Sequence[int]]) -> list[int]:
    """Element by element; a row that ends earlier stays at its last value."""
    length = max(map(len, readings))
    filled = [list(row) + [row[-1]] * (length - len(row)) for row in readings if row]
    return [sum(values) for values in zip(*filled, strict=True)]


def _added(counts: Iterable[Counts | CountsLine]) -> Counts:
    every = list(counts)
    return Counts(**{name: sum(getattr(one, name) for one in every) for name in Counts.model_fields})


def merged_load(loads: Sequence[Load]) -> Load:
    """The results of one workload's generators as those of one. The requested rate and number in flight are
    the workload's on each of them."""
    first = loads[0]
    outcomes = [load.outcome for load in loads if load.outcome is not None]
    if len(loads) == 1 or not outcomes:
        return first
    nice = [load.nice for load in loads if load.nice is not None]
    return first.model_copy(update={
        "outcome": _merged_outcome(outcomes), "nice": max(nice, default=None), "generators": len(loads),
        "hosts": list(dict.fromkeys(host for load in loads for host in load.hosts)),
    })  # fmt: skip


def _merged_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    def total(of: Callable[[Outcome], int]) -> int:
        return sum(of(outcome) for outcome in outcomes)

    errors: dict[str, int] = {}
    for outcome in outcomes:
        for name, count in outcome.errors.items():
            errors[name] = errors.get(name, 0) + count
    return Outcome(
        counts=_added(outcome.counts for outcome in outcomes),
        started_wall_s=min(outcome.started_wall_s for outcome in outcomes),
        ended_wall_s=max(outcome.ended_wall_s for outcome in outcomes),
        errors=errors,
        unanswered=total(lambda outcome: outcome.unanswered),
        completed_late=total(lambda outcome: outcome.completed_late),
        overflows=total(lambda outcome: outcome.overflows),
        memory_bytes_max=total(lambda outcome: outcome.memory_bytes_max),
        gave_up=any(outcome.gave_up for outcome in outcomes),
        extra={key: _joined([outcome.extra[key] for outcome in outcomes if key in outcome.extra]) for key in outcomes[0].extra},
    )


def _joined(values: Sequence[Any]) -> Any:
    """Findings of one name. Lists are joined, counts added, groups merged name by name. A condition is true
    if it is for all; of texts the first counts."""
    first = values[0]
    if isinstance(first, list):
        return [item for value in values for item in value]
    if isinstance(first, dict):
        return {key: _joined([value[key] for value in values if key in value]) for key in first}
    if isinstance(first, bool):
        return all(values)
    if isinstance(first, int | float):
        return sum(values)
    return next((value for value in values if value is not None), None)
