"""Dataflows: the output of each step and its queries, as tables and in words, with the published results of
such a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.catalogue.published import published
from hydrotest.report.table import NONE, Table, decimal, rate
from hydrotest.store.purposes import Purpose, Trait
from hydrotest.summary.base import Latency
from hydrotest.summary.dataflow import Query, Step
from hydrotest.summary.model import Summary
from hydrotest.units import show_count

FORGETS = (
    "With `commitlog_sync: periodic`, its default, a Cassandra node that is killed may lose what it acknowledged in its last 0.1 s (CASSANDRA-13987). Where that is "
    "set, and this was the only copy, it may explain the loss; `config: {commitlog_sync: batch}` or more copies prevent it."
)
"""For rows lost when a node was killed. Every 0.1 s, Cassandra marks how far its commit log can be replayed
(AbstractCommitLogService)."""


def _is_shown(row: Step | Query) -> bool:
    """True for trials that are shown one by one; results of a search are among the limits."""
    return row.purpose is not None and Trait.STEPS in Purpose(row.purpose).traits


def dataflow_sheet(summary: Summary) -> Table:
    """A row for each step of each trial, those of a search added up."""
    rows = []
    for what, row in _told(summary.dataflow):
        latency = row.latency_ms or Latency()
        counts = (row.arrived_once, row.arrived_more, row.lost, row.in_flight, row.corrupted, row.wrong_branch, row.out_of_order)
        rows.append([
            row.workload, what, row.hop, row.sink or "", rate(row.records_per_s), f"{row.acked:,}",
            *(f"{count:,}" for count in counts), _where(row), decimal(latency.p50, 0), decimal(latency.p99, 0),
        ])  # fmt: skip
    heads = ["workload", "trial", "step", "sink", "records/s", "acknowledged", "arrived once", "more than once", "lost", "in flight", "corrupted",
             "wrong branch", "out of order", "where", "p50 ms", "p99 ms"]  # fmt: skip
    return Table("Dataflow", heads, rows, lead=("workload", "step", "sink", "acknowledged", "arrived once", "lost"))


ADDED = (
    "acked",
    "arrived_once",
    "arrived_more",
    "lost",
    "in_flight",
    "corrupted",
    "wrong_branch",
    "out_of_order",
    "lost_here",
    "doubled_here",
)
"""Fields that are added up over the trials of a search."""


def _told(rows: Sequence[Step]) -> list[tuple[str, Step]]:
    """Each trial separately, but all of a search as one, by workload and step; with its name."""
    out: dict[tuple[object, ...], tuple[str, list[Step]]] = {}
    for at, row in enumerate(rows):
        if _is_shown(row):
            what = row.fault or f"{row.purpose}" + (f" at {rate(row.offered)}" if row.offered else "")
            out[at,] = f"{row.trial}: {what}", [row]
        else:
            out.setdefault((row.workload, row.hop, row.sink), ("searches, in all", []))[1].append(row)
    return [(what, own[0] if _is_shown(own[0]) else _added(own)) for what, own in out.values()]


def _added(rows: Sequence[Step]) -> Step:
    sums = {name: sum(getattr(row, name) for row in rows) for name in ADDED}
    return rows[0].model_copy(update={**sums, "records_per_s": max(row.records_per_s for row in rows), "latency_ms": None})


def _where(row: Step) -> str:
    """What happened in this step and not before."""
    here = [f"{count:,} {word} here" for count, word in ((row.lost_here, "lost"), (row.doubled_here, "doubled")) if count]
    if row.missing and row.lost_here:
        producer, start, end = row.missing[0]
        here.append(f"first: {end - start:,} from {start:,} of producer {producer & 0xFFFF}, partition {producer >> 16}")
    return "; ".join(here) or NONE


def splitter_beside_sheet(summary: Summary) -> Table:
    """The published results of such a pipeline next to ours: the highest rate that went through it."""
    heads = ["source", "aggregate", "workers", "machines", "records/s", "MB/s"]
    if summary.published is None or summary.published.source != "scribengin-2016":
        return Table("Dataflow next to what was published", heads, [])
    rows = [
        [
            "published",
            row["sink"],
            str(row["hadoop_workers"]),
            row["kafka_type"],
            rate(row["records_per_s"]),
            decimal(row["bytes_per_s"] / 1e6, 1),
        ]
        for row in published()["dataflow_splitter"]
    ]
    limits = {row.workload: row.limit for row in summary.limits}
    best: dict[tuple[str, str], Step] = {}
    for row in summary.dataflow:
        key = (row.workload, row.sink or "")
        if row.sink and (key not in best or row.records_per_s > best[key].records_per_s):
            best[key] = row
    for (workload, sink), step in best.items():
        limit = limits.get(workload)
        workers = sum(len(system.hosts) for system in summary.systems if system.name == "spark")
        through = limit if limit is not None and sink == "kafka" else step.records_per_s
        rows.append([f"ours: {workload}", sink, str(workers), "this machine", rate(through), NONE])
    return Table("Dataflow next to what was published", heads, rows)


def queries_sheet(summary: Summary) -> Table:
    """A row for each query of a dataflow; for a search only of its last trials."""
    rows = summary.queries
    last: dict[str, int] = {}
    for row in rows:
        if not _is_shown(row):
            last[row.workload] = row.trial
    cells = [
        [row.workload, f"{row.trial}: {row.purpose}" + (f" at {rate(row.offered)}" if row.offered else ""), row.query, str(row.batches),
         rate(row.records_per_s), decimal(row.batch_s_median, 2), decimal(row.batch_s_max, 2), decimal(row.work_pct, 0),
         NONE if row.behind_max is None else f"{row.behind_max:,}", str(row.restarts)]
        for row in rows
        if _is_shown(row) or row.trial == last.get(row.workload)
    ]  # fmt: skip
    heads = ["workload", "trial", "query", "batches", "records/s", "batch s, median", "longest", "of it work %", "left to the next batch, at most",
             "restarts"]  # fmt: skip
    return Table("Queries of dataflows", heads, cells)


def step_sentences(queries: Sequence[Query]) -> list[str]:
    """For each dataflow whose limit was searched: the slowest step at the highest load, which the others wait
    for."""
    out = []
    for workload in dict.fromkeys(row.workload for row in queries if not _is_shown(row)):
        own = [row for row in queries if row.workload == workload and row.batch_s_median is not None and row.tenancy == "isolated"]
        most = max((row.offered or 0.0 for row in own), default=None)
        at_most = sorted((row for row in own if (row.offered or 0.0) == most), key=lambda row: -(row.batch_s_median or 0.0))
        if len(at_most) > 1:
            slow, rest = at_most[0], at_most[1:]
            out.append(
                f"Of {workload}'s steps {slow.query} is the slowest where most was offered: {slow.batch_s_median:.1f} s a batch (median), of which "
                f"{slow.work_pct or 0:.0f} % is reading, working and writing, and the rest bookkeeping; the next takes {rest[0].batch_s_median:.1f} s."
            )
    return out


def executors_sheet(summary: Summary) -> Table:
    """A row for each dataflow on several numbers of executors: how its limit rises, by the universal
    scalability law, and where more no longer pay."""
    rows = []
    for row in summary.executors:
        points = ", ".join(f"{point.executors}: {rate(point.limit)}" for point in row.points)
        law = NONE if row.serial is None else f"{row.serial:.3f}, {row.crosstalk:.3f}"
        best = NONE if row.fastest_at is None else f"{row.fastest_at:.0f}" + ("" if row.from_ <= row.fastest_at <= row.to else " (a guess)")
        rows.append([", ".join(row.workloads), points, law, NONE if row.error_pct is None else f"{row.error_pct:.0f} %", best,
                     f"{row.from_} … {row.to}; beyond it is a guess", str(row.stops_paying_at or NONE), row.bound_by or NONE])  # fmt: skip
    heads = [
        "workloads",
        "limit on executors",
        "serial, crosstalk",
        "off where not measured",
        "highest on",
        "holds for",
        "more stop paying at",
        "what binds there",
    ]
    return Table("Dataflows: limits by executors", heads, rows)


def windows_sheet(summary: Summary) -> Table:
    """A row for each trial of a dataflow that counts windows."""
    cells = []
    for row in summary.windows:
        counted = sum(row.counted.values())
        levels = ", ".join(f"{level} {count:,}" for level, count in sorted(row.counted.items(), key=lambda one: -one[1]))
        cells.append([
            row.workload, f"{row.trial}: {row.purpose}" + (f" at {rate(row.offered)}" if row.offered else ""), f"{row.length_s:g}",
            str(row.windows), f"{row.updates:,}", f"{counted:,} of {row.came:,}", levels, f"{row.late:,}", f"{row.state_rows_max:,}",
            decimal(row.delays_ms.get("p50"), 0), decimal(row.delays_ms.get("p99"), 0),
        ])  # fmt: skip
    heads = [
        "workload",
        "trial",
        "window s",
        "windows",
        "updates",
        "records counted",
        "by level",
        "groups too late",
        "windows held, at most",
        "p50 ms",
        "p99 ms",
    ]
    return Table("Windowed counts of dataflows", heads, cells)


def promise_sentences(rows: Sequence[Step]) -> list[str]:
    """For each sink of a dataflow: what was found there, and what its engine guarantees for records in its
    first topic."""
    out = []
    for workload, sink in dict.fromkeys((row.workload, row.sink) for row in rows if row.sink):
        of_flow = [row for row in rows if row.workload == workload]
        own = [row for row in of_flow if row.sink == sink]
        acked, lost = sum(row.acked for row in own), sum(row.lost for row in own)
        more, flying = sum(row.arrived_more for row in own), sum(row.in_flight for row in own)
        strayed = sum(row.wrong_branch for row in own) + sum(row.wrong_branch for row in of_flow if row.hop == "splitter")
        faults = sum(row.fault is not None for row in own)
        over = f" over {show_count(faults, 'fault')}" if faults else ""
        seen = f"{lost:,} lost" if lost else "no loss"
        own_doubles = sum(row.doubled_here for row in own)
        seen += f" and {more:,} that arrived more than once" if more else " and no duplicate"
        seen += " (all of them doubled by the steps before it)" if more and not own_doubles else ""
        seen += f" and {strayed:,} in a wrong branch" if strayed else ""
        late = f" ({flying:,} were still on their way when it was looked at)" if flying else ""
        # What was lost before the pipeline, or doubled by the step before, does not count against this step.
        lost_within = lost - sum(row.lost for row in of_flow if row.hop == "input")
        broken = lost_within > 0 or (own[0].promise == "exactly once" and own_doubles > 0)
        promise = own[0].promise
        stated = (
            f"its engine promises {promise}" + (", which did NOT hold" if broken else "")
            if promise
            else "what its job promises is not known"
        )
        forgot = sink == "cassandra" and any(row.lost_here and _is_killed_node(row) for row in own)
        out.append(
            f"{workload} → {sink}: {seen} seen in {acked:,} acknowledged records{over}{late}; {stated}." + (f" {FORGETS}" if forgot else "")
        )
    return out


def _is_killed_node(row: Step) -> bool:
    """True if a node of Cassandra was killed in its trial."""
    return row.fault_action == "kill" and str(row.fault_service).startswith("cassandra-")
