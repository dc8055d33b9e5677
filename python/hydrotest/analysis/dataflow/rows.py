"""The account of a dataflow: every acknowledged record, after each step. So a loss is assigned to the step
where it happened."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from hydrotest.analysis.integrity.ranges import Runs, common, normalised, size, without
from hydrotest.analysis.measured import Measured
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Hop, Trial, Windowed
from hydrotest.summary.base import Latency
from hydrotest.summary.dataflow import Query, WindowCounts
from hydrotest.summary.dataflow import Step as StepRow

MISSING_MAX = 5
"""Most ranges of lost records to report."""

Ledger = dict[int, Runs]
"""Sequences by producer. For log records, a producer's id also includes the partition where they came in
(rust/kafka/src/payload.rs)."""


@dataclass(frozen=True)
class Found:
    """The records in one place."""

    seen: Ledger
    doubled: Ledger = field(default_factory=dict)
    """The records found more than once."""
    corrupted: int = 0
    wrong_branch: int = 0
    out_of_order: int = 0

    @property
    def records(self) -> int:
        """Number of distinct records."""
        return sum(size(runs) for runs in self.seen.values())

    @classmethod
    def of(cls, readings: Sequence[Mapping[str, Any]]) -> Found:
        """The findings of the readers of its parts: `extra` of consumers, answers of a driver's `account`."""
        seen: Ledger = {}
        doubled: Ledger = {}
        out_of_order = 0
        for reading in readings:
            out_of_order += int(reading.get("out_of_order", 0))
            for part in reading["seen"]:
                producer, own = part["producer"], normalised(part["runs"])
                out_of_order += int(part.get("out_of_order", 0))
                # A record in two parts is there twice, though neither could see it.
                twice = [*doubled.get(producer, []), *part["doubled"], *common(seen.get(producer, []), own)]
                doubled[producer] = normalised(twice)
                seen[producer] = normalised([*seen.get(producer, []), *own])
        return cls(
            seen, doubled, sum(int(r["corrupted"]) for r in readings), sum(int(r.get("wrong_branch", 0)) for r in readings), out_of_order
        )


@dataclass(frozen=True)
class Step:
    """One step of a dataflow: its output, and how much went through it."""

    hop: str
    sink: str | None
    found: Found
    before: int | None
    """The step that feeds it; None: the generator."""
    records_per_s: float = 0.0
    promise: str | None = None
    latency_ms: dict[str, float] | None = None


def acknowledged(produced: Mapping[str, Any]) -> Ledger:
    """The records that a generator has acknowledgements for, from its `extra`."""
    out: Ledger = {}
    for part in produced["acked"]:
        out[part["producer"]] = normalised([*out.get(part["producer"], []), *part["runs"]])
    return out


def account(acked: Ledger, steps: Sequence[Step], drained: bool) -> list[Hop]:
    """The account of all acknowledged records after each step. Without `drained`, what a step lacks and
    the one before it has is in flight, since the step was still working. Otherwise it is lost, and lost
    here."""
    hops: list[Hop] = []
    in_flight: list[Ledger] = []
    for step in steps:
        before = acked if step.before is None else steps[step.before].found.seen
        before_doubled = {} if step.before is None else steps[step.before].found.doubled
        came_in_flight = {} if step.before is None else in_flight[step.before]
        missing = _each(without, acked, step.found.seen)
        stopped_here = _each(common, missing, before)
        flying = {p: normalised([*(stopped_here[p] if not drained else []), *came_in_flight.get(p, [])]) for p in missing}
        in_flight.append(flying)
        lost = _each(without, missing, flying)
        more = _each(common, acked, step.found.doubled)
        hops.append(Hop(
            hop=step.hop, sink=step.sink, promise=step.promise, records_per_s=step.records_per_s, latency_ms=step.latency_ms, acked=_size(acked),
            arrived_once=_size(_each(common, acked, step.found.seen)) - _size(more), arrived_more=_size(more),
            lost=_size(lost), in_flight=_size(flying), corrupted=step.found.corrupted, out_of_order=step.found.out_of_order,
            wrong_branch=step.found.wrong_branch, lost_here=_size(_each(common, lost, before)),
            doubled_here=_size(_each(without, more, before_doubled)),
            missing=[(p, start, end) for p, runs in lost.items() for start, end in runs][:MISSING_MAX],
        ))  # fmt: skip
    return hops


def windows_hop(source: Hop, windowed: Windowed, records_per_s: float, drained: bool) -> Hop:
    """The account of a step that counts records instead of passing them on: only how many are missing, or too
    many, is known. `source`: the step before it."""
    counted = sum(windowed.counted.values())
    lacking, more = max(0, windowed.came - counted), max(0, counted - windowed.came)
    lost, flying = (lacking, 0) if drained else (0, lacking)
    return Hop(hop="windows", sink=None, records_per_s=records_per_s, acked=source.acked, arrived_once=max(0, source.acked - source.lost - lacking - more),
               arrived_more=more, lost=source.lost + lost, in_flight=source.in_flight + flying, corrupted=0, out_of_order=0, wrong_branch=0, lost_here=lost,
               doubled_here=more, missing=[])  # fmt: skip


def _each(operation: Any, one: Ledger, other: Ledger) -> Ledger:
    return {producer: operation(runs, other.get(producer, [])) for producer, runs in one.items()}


def _size(ledger: Ledger) -> int:
    return sum(size(runs) for runs in ledger.values())


def dataflow_rows(run: RunFolder, trials: Sequence[Trial]) -> list[StepRow]:
    """Every step of every trial with an account, in the contract's terms. Latencies begin at each record's
    intended start. They end when it is in the topic of the aggregate, which is followed, or visible in a file
    or table, as far as known."""
    rows = []
    for trial in trials:
        for load in trial.loads:
            measured = Measured.read(run, trial, load.workload) if load.hops else None
            for hop in load.hops:
                is_followed = hop.sink == "kafka"
                rows.append(StepRow(
                    workload=load.workload, tenancy=trial.tenancy, trial=trial.number, purpose=trial.purpose, offered=load.offered,
                    **hop.model_dump(exclude={"latency_ms"}), latency_ms=Latency.of(measured.latency if measured is not None and is_followed else hop.latency_ms),
                    fault=None if trial.fault is None else f"{trial.fault.action} {trial.fault.service}",
                    fault_action=None if trial.fault is None else trial.fault.action,
                    fault_service=None if trial.fault is None else trial.fault.service,
                ))  # fmt: skip
    return rows


def window_rows(trials: Sequence[Trial]) -> list[WindowCounts]:
    """The windowed counts of every trial that has any."""
    return [
        WindowCounts(workload=load.workload, tenancy=trial.tenancy, trial=trial.number, purpose=trial.purpose, offered=load.offered,
         **dict(load.windowed))
        for trial in trials for load in trial.loads if load.windowed is not None
    ]  # fmt: skip


class Batch(BaseModel):
    """One batch of one query, as jobs/flow/Pipeline.java reports it."""

    model_config = ConfigDict(frozen=True)

    query: str
    wall_s: float
    """When it was reported, right after its end."""
    batch: int
    rows: int
    seconds: float
    ms: dict[str, int]
    """By part: `addBatch` reads, works and writes; the rest is bookkeeping."""
    behind: int | None
    """Records in the query's topic that were not in this batch, in the partition with the most; null if not
    reported."""


def batch_rate(batches: Sequence[tuple[float, float, int]], begin_s: float, end_s: float) -> float | None:
    """Records per second of one query, from its batches (end, wall time; length, s; records) that ended in a
    window. It is taken between the ends of the first and the last, since only part of a batch may lie in the
    window. None if none ended there."""
    inside = sorted(batch for batch in batches if begin_s <= batch[0] < end_s)
    if not inside:
        return None
    (first, length, rows), last = inside[0], inside[-1][0]
    if last <= first:
        return rows / max(1e-3, length)
    return sum(batch[2] for batch in inside[1:]) / (last - first)


def query_rows(run: RunFolder, trials: Sequence[Trial]) -> list[Query]:
    """Each query of a dataflow in a trial's window: how long its batches took, how much of that was work, and
    how far it was behind."""
    rows = []
    for trial in trials:
        for load in trial.loads if trial.purpose != Purpose.WARM_UP else []:
            file = run.folder_of(trial) / layout.batches(load.workload)
            if load.kind != "dataflow" or load.outcome is None or not file.exists():
                continue
            measured = Measured.read(run, trial, load.workload)
            every = [Batch.model_validate_json(line) for line in file.read_text().splitlines()]
            inside = [batch for batch in every if measured.start_s <= batch.wall_s < measured.end_s]
            for query in dict.fromkeys(batch.query for batch in every):
                own = [batch for batch in inside if batch.query == query]
                endings = [ending for ending in load.endings if ending.query == query]
                if not own and not endings:
                    continue
                spent = sum(sum(batch.ms[part] for part in batch.ms if part != "triggerExecution") for batch in own)
                rows.append(Query(
                    workload=load.workload, tenancy=trial.tenancy, trial=trial.number, purpose=trial.purpose, offered=load.offered,
                    query=query, batches=len(own),
                    records_per_s=batch_rate([(batch.wall_s, batch.seconds, batch.rows) for batch in own], measured.start_s, measured.end_s),
                    batch_s_median=statistics.median(batch.seconds for batch in own) if own else None,
                    batch_s_max=max((batch.seconds for batch in own), default=None),
                    restarts=len(endings), ended_by=endings[0].error if endings else None,
                    work_pct=100 * sum(batch.ms.get("addBatch", 0) for batch in own) / spent if spent else None,
                    behind_max=max((batch.behind for batch in own if batch.behind is not None), default=None),
                ))  # fmt: skip
    return rows
