"""Published results next to ours, figure by figure: measured by others on the machines that emulated hosts
stand for."""

from __future__ import annotations

from typing import Any

from hydrotest.catalogue.published import published
from hydrotest.report.table import NONE, Table, decimal, rate, yes_no
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.summary.spark import JobTest
from hydrotest.units import show_bytes

LATENCIES = ("latency_median_ms", "latency_p95_ms")
Row = dict[str, Any]


def beside_sheet(summary: Summary, kinds: dict[str, str]) -> Table:
    """A row for each published figure that this run has one for. Ours are also shown divided by the scale of
    the cores, as if on the real machines: a rule of three, not a prediction."""
    wanted = summary.published
    rows: list[list[str]] = []
    if wanted:
        source, scale = wanted.source, wanted.scale
        theirs = {
            kind: [row for row in found if row.get("source") == source] for kind, found in published().items() if isinstance(found, list)
        }
        rows += _produced(theirs.get("kafka_produce", []), summary, kinds, scale)
        rows += _consumed(theirs.get("kafka_consume", []), summary, kinds, scale)
        rows += _stored(theirs.get("cassandra_mixed", []), summary, kinds, scale)
    heads = ["what", "published", "median ms", "p95 ms", "ours", "median ms", "p95 ms", "ours ÷ scale", "÷ published", "what differs"]
    return Table("Published results next to ours", heads, rows)


def _figures(value: float | None, theirs: float, scale: float) -> list[str]:
    if value is None:
        return [NONE, NONE]
    return [rate(value / scale), f"{value / scale / theirs:.2f}"]


def _produced(published_rows: list[Row], summary: Summary, kinds: dict[str, str], scale: float) -> list[list[str]]:
    ours = [row for row in summary.levels if kinds.get(row.workload) == "kafka-produce" and row.offered and row.tenancy == "isolated"]
    out = []
    for theirs in published_rows:
        if "target_records_per_s" not in theirs:
            continue
        asked = theirs["target_records_per_s"] * scale
        level = min(ours, key=lambda row: abs(row.offered - asked), default=None)
        if level is None or abs(level.offered / asked - 1) > 0.05:
            continue
        latency = level.latency_ms or Latency()
        out.append([
            f"produce at {rate(theirs['target_records_per_s'])}/s", rate(theirs["records_per_s"]), *(decimal(theirs.get(key), 1) for key in LATENCIES),
            rate(level.achieved), decimal(latency.p50), decimal(latency.p95),
            *_figures(level.achieved, theirs["records_per_s"], scale),
            _differs(theirs, "theirs are timed from the send, ours from the intended start"),
        ])  # fmt: skip
    return out


def _limit(summary: Summary, kinds: dict[str, str], kind: str) -> Limit | None:
    return next((row for row in summary.limits if kinds.get(row.workload) == kind and row.tenancy == "isolated"), None)


def _consumed(published_rows: list[Row], summary: Summary, kinds: dict[str, str], scale: float) -> list[list[str]]:
    ours = _limit(summary, kinds, "kafka-consume")
    peak = next((row for row in published_rows if "peak_records_per_s" in row), None)
    if ours is None or peak is None:
        return []
    bound = "≥ " if ours.at_least else ""
    return [["consume, peak", rate(peak["peak_records_per_s"]), NONE, NONE, bound + rate(ours.limit), NONE, NONE,
             *_figures(ours.limit, peak["peak_records_per_s"], scale), _differs(peak, "ours checks every record")]]  # fmt: skip


def _stored(published_rows: list[Row], summary: Summary, kinds: dict[str, str], scale: float) -> list[list[str]]:
    ours = [row for row in summary.levels if kinds.get(row.workload) == "cassandra" and row.concurrency and row.tenancy == "isolated"]
    out = []
    for theirs in (row for row in published_rows if row["tenancy"] == "isolated"):
        same = [row for row in ours if row.op == theirs["op"]]
        # By Little's law the published client had as many in flight as threads.
        level = min(same, key=lambda row: row.concurrency or 0, default=None)
        if level is None:
            continue
        latency = level.latency_ms or Latency()
        out.append([
            f"Cassandra {theirs['op']}, {level.concurrency} in flight", rate(theirs["ops_per_s"]), decimal(theirs["median_ms"]),
            decimal(theirs["p95_ms"]), rate(level.achieved), decimal(latency.p50), decimal(latency.p95),
            *_figures(level.achieved, theirs["ops_per_s"], scale), _differs(theirs, ""),
        ])  # fmt: skip
    limit, mix = _limit(summary, kinds, "cassandra"), next((row for row in published_rows if row["op"] == "mix"), None)
    if limit is not None and mix is not None:
        out.append(["Cassandra mix, limit", rate(mix["ops_per_s"]), decimal(mix["median_ms"]), decimal(mix["p95_ms"]),
                    ("≥ " if limit.at_least else "") + rate(limit.limit), decimal((limit.latency_ms or Latency()).p50),
                    decimal((limit.latency_ms or Latency()).p95), *_figures(limit.limit, mix["ops_per_s"], scale),
                    "called an upper bound there; ours is the highest rate that met its objective"])  # fmt: skip
    return out


def spark_beside_sheet(summary: Summary) -> Table:
    """A row for each published run of the Spark suite with a scale factor and tenancy that this run has tests
    for: theirs, then ours."""
    wanted = summary.published
    rows = []
    if wanted:
        for theirs in published()["spark_perf"]:
            ours = [row for row in summary.spark
                    if row.tenancy == theirs["tenancy"] and row.scale_factor == theirs["scale_factor"]]  # fmt: skip
            if theirs["source"] == wanted.source and ours:
                rows += [_their_suite(theirs), _our_suite(ours)]
    heads = ["scale factor", "tenancy", "whose", "tests", "tasks per stage", "input", "shuffle read", "slowest read s", "shuffle write",
             "slowest write s", "total s", "finished", "note"]  # fmt: skip
    return Table("Spark suite: published next to ours", heads, rows)


def _their_suite(row: Row) -> list[str]:
    return [f"{row['scale_factor']:g}", row["tenancy"], "published", "whole suite of 2016", f"{row.get('tasks_per_stage', NONE)}",
            f"{row['shuffle_input_gb']:g} GB", f"{row['shuffle_read_mb']:g} MB", decimal(row["max_shuffle_read_s"], 3),
            f"{row['shuffle_write_mb']:g} MB", decimal(row["max_shuffle_write_s"], 3), decimal(row["total_s"], 0),
            yes_no(row.get("finished", True)), row.get("note", NONE)]  # fmt: skip


def _our_suite(rows: list[JobTest]) -> list[str]:
    """Sums of one run of each test; the slowest of all."""
    shrunk = sorted({row.data_scale for row in rows})
    finished = all(row.finished for row in rows)
    return [f"{rows[0].scale_factor:g}", rows[0].tenancy, "ours", ", ".join(row.test for row in rows),
            f"{max(row.tasks_per_stage for row in rows if row.test != 'scheduling-throughput' or len(rows) == 1):,}",
            show_bytes(sum(row.input_bytes for row in rows)), show_bytes(sum(row.shuffle_read_bytes for row in rows)),
            decimal(max(row.max_shuffle_read_s for row in rows), 3), show_bytes(sum(row.shuffle_write_bytes for row in rows)),
            decimal(max(row.max_shuffle_write_s for row in rows), 3), decimal(sum(row.total_s or 0.0 for row in rows), 1), yes_no(finished),
            f"records × {', '.join(f'{scale:g}' for scale in shrunk)}; read waits are for blocks of others, of one worker there are none"]  # fmt: skip


def _differs(theirs: Row, ours: str) -> str:
    return "; ".join(part for part in (theirs.get("note", ""), ours) if part) or NONE
