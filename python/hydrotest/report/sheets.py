"""All tables in their order, and those of no kind of test: as rows for any output. What a table is: `table.py`."""

from __future__ import annotations

from dataclasses import replace

from hydrotest.kinds.registry import TESTS
from hydrotest.percentiles import BRIEF, heads
from hydrotest.report.dataflow import dataflow_sheet, executors_sheet, queries_sheet, splitter_beside_sheet, windows_sheet
from hydrotest.report.demand import demand_sheet, driver_sheet, part_sheet
from hydrotest.report.evidence import evidence_sheet
from hydrotest.report.files import files_sheet, objects_sheet
from hydrotest.report.groups import groups_sheet, rebalances_sheet
from hydrotest.report.levels import cassandra_sheet, given_rates_sheet, produce_sheet, rejected_sheet
from hydrotest.report.nearest import nearest_sheet
from hydrotest.report.published_results import beside_sheet, spark_beside_sheet
from hydrotest.report.sections import Section
from hydrotest.report.spark import ernest_sheet, job_time_sheet, scaling_sheet, speedup_sheet
from hydrotest.report.table import NONE, Table, decimal, rate, yes_no
from hydrotest.report.together import all_out_sheet, interference_sheet, services_sheet
from hydrotest.report.unchecked import conditional_sheet, unchecked_sheet
from hydrotest.report.usage import by_test_sheet, usage_sheet
from hydrotest.report.views import views_sheet
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Limit
from hydrotest.summary.machine import Overhead
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes
from hydrotest.verdicts.binding import BoundBy, Kind


def sheets(summary: Summary, kinds: dict[str, str]) -> list[Table]:
    """All tables that have rows, by the order of the questions. `kinds` is each workload's kind."""
    by_section: dict[Section, list[Table]] = {
        Section.LIMITS: [limits_sheet(summary), beside_sheet(summary, kinds), files_sheet(summary), objects_sheet(summary), nearest_sheet(summary)],
        Section.BOTTLENECKS: [evidence_sheet(summary)],
        Section.TOGETHER: [interference_sheet(summary), all_out_sheet(summary), services_sheet(summary)],
        Section.SPARK: [
            spark_sheet(summary), job_time_sheet(summary), scaling_sheet(summary), speedup_sheet(summary), ernest_sheet(summary),
            spark_beside_sheet(summary),
        ],
        Section.DATAFLOW: [
            dataflow_sheet(summary), executors_sheet(summary), queries_sheet(summary), windows_sheet(summary), splitter_beside_sheet(summary),
        ],
        Section.INTEGRITY: [
            integrity_sheet(summary), unchecked_sheet(summary), conditional_sheet(summary), views_sheet(summary), groups_sheet(summary),
            rebalances_sheet(summary),
        ],
        Section.TRIALS: [
            produce_sheet(summary, kinds), cassandra_sheet(summary, kinds), given_rates_sheet(summary), rejected_sheet(summary),
        ],
        Section.USAGE: [
            usage_sheet(summary), by_test_sheet(summary), demand_sheet(summary), driver_sheet(summary), part_sheet(summary), generator_sheet(summary),
            overhead_sheet(summary),
        ],
    }  # fmt: skip
    every = [replace(sheet, section=section) for section, own in by_section.items() for sheet in own]
    every += [sheet.load()(summary) for kind in TESTS.values() for sheet in kind.sheets]
    order = list(Section)
    return sorted((sheet for sheet in every if sheet.rows), key=lambda sheet: order.index(sheet.section))


def limits_sheet(summary: Summary) -> Table:
    """Limit with its interval, safe rate, lapses, latency at the limit, what stopped and bound it."""
    rows = []
    for row in summary.limits:
        latency = row.latency_ms or Latency()
        limit = rate(row.limit)
        rows.append(
            [
                row.workload,
                row.tenancy,
                row.unit,
                f"≥ {limit}" if row.at_least else limit,
                f"{rate(row.low)} … {rate(row.high)}",
                rate(row.safe),
                NONE if row.lapse is None else f"{row.lapse.share:.0%}",
                rate(row.saturated),
                *(decimal(latency.get(one.name)) for one in BRIEF),
                _stopped(row),
                _bound(row.bound_by),
            ]
        )
    columns = [
        "workload",
        "tenancy",
        "unit",
        "limit",
        "low … high",
        "safe",
        "lapse",
        "saturated",
        *heads(every=False),
        "stopped by",
        "bound by",
    ]
    return Table("Limits", columns, rows, lead=("workload", "tenancy", "limit", "low … high", "p99 ms", "bound by"))


def _stopped(row: Limit) -> str:
    """What stopped the search; for workloads under load together it may be another one's failure."""
    is_others = row.tenancy == "combined" and row.stopped_by == "search-end" and not row.at_least
    return "another workload" if is_others else str(row.stopped_by)


def _bound(bound: BoundBy) -> str:
    host = bound.host or " and ".join(bound.binds) or "the whole machine"
    is_resource = bound.kind == Kind.RESOURCE
    name = f"{bound.resource} of {host}" if is_resource else str(bound.kind)
    return name + ("" if bound.confirmed or not is_resource else " (suspected)")


def spark_sheet(summary: Summary) -> Table:
    """The published columns of spark-perf."""
    rows = [
        [row.test, row.tenancy, f"{row.scale_factor:g}", f"{row.tasks_per_stage:,}", str(row.stages), show_bytes(row.input_bytes),
         show_bytes(row.shuffle_read_bytes), show_bytes(row.shuffle_write_bytes), decimal(row.max_shuffle_read_s, 3),
         decimal(row.max_shuffle_write_s, 3), decimal(row.total_s, 2), _interval(row.total_s_low, row.total_s_high),
         str(row.runs), yes_no(row.finished)]
        for row in summary.spark
    ]  # fmt: skip
    heads = ["test", "tenancy", "scale factor", "tasks per stage", "stages", "input", "shuffle read", "shuffle write", "slowest fetch wait s",
             "slowest shuffle write s", "total s (median)", "95 % of mean", "runs", "finished"]  # fmt: skip
    return Table("Spark", heads, rows, lead=("test", "tenancy", "scale factor", "stages", "total s (median)", "95 % of mean"))


def _interval(low: float | None, high: float | None) -> str:
    return NONE if low is None or high is None else f"{low:.2f} … {high:.2f}"


def integrity_sheet(summary: Summary) -> Table:
    """The account of every acknowledged record."""
    rows = []
    for row in summary.integrity:
        counts = (
            row.sent,
            row.acked,
            row.seen,
            row.lost,
            row.duplicated,
            row.corrupted,
            row.out_of_order,
            row.unacked_present,
            row.in_flight,
        )
        rows.append([row.workload, row.tenancy, row.unit, *(NONE if count is None else f"{count:,}" for count in counts)])
    heads = [
        "workload",
        "tenancy",
        "unit",
        "sent",
        "acknowledged",
        "seen",
        "lost",
        "doubled",
        "corrupted",
        "out of order",
        "unacked yet there",
        "in flight",
    ]
    return Table("Integrity", heads, rows, lead=("workload", "tenancy", "acknowledged", "seen", "lost", "corrupted"))


def generator_sheet(summary: Summary) -> Table:
    """Did our own client have headroom?"""
    rows = [
        [
            row.workload,
            row.tenancy,
            row.client,
            decimal(row.cpu_s_per_million, 2),
            decimal(row.busiest_thread_pct, 0),
            show_bytes(row.memory_bytes) if row.memory_bytes else NONE,
            decimal(row.run_delay_pct, 1),
            decimal(row.wait_p99_ms, 2),
            NONE if row.arrivals_by_kernel is None else "kernel" if row.arrivals_by_kernel else "generator",
            yes_no(row.has_room),
        ]
        for row in summary.generator
    ]
    return Table(
        "Generator",
        [
            "workload",
            "tenancy",
            "client",
            "CPU-s per million",
            "busiest thread %",
            "memory",
            "run delay %",
            "wait p99 ms",
            "answers timed by",
            "had room",
        ],
        rows,
        lead=("workload", "tenancy", "busiest thread %", "run delay %", "wait p99 ms", "had room"),
    )


def overhead_sheet(summary: Summary) -> Table:
    """hydrotest's own use."""
    overhead = summary.overhead or Overhead()
    named = [("controller", overhead.controller_cores), ("sampler", overhead.sampler_cores),
             *((f"exporter in {service}", cores) for service, cores in overhead.exporter_cores.items())]  # fmt: skip
    rows = [[name, f"{cores * 100:.2f} % of a core"] for name, cores in named if cores is not None]
    return Table("Our own overhead under load", ["part", "CPU"], rows)
