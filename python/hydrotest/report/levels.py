"""Tables of given levels, in the form of the published ones."""

from __future__ import annotations

from hydrotest.analysis.by_test.levels import littles_in_flight
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.percentiles import NAMES, heads
from hydrotest.report.table import NONE, Table, decimal, rate, yes_no
from hydrotest.report.wording.trial import failure_words
from hydrotest.summary.base import Latency
from hydrotest.summary.levels import Level
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes
from hydrotest.verdicts.trial import Check

LATENCY_HEADS = ("mean ms", *heads(every=True), "max ms")


def _latencies(latency: Latency) -> list[str]:
    """The cells below `LATENCY_HEADS`."""
    return [*(decimal(latency.get(key), 2) for key in ("mean", *NAMES)), decimal(latency.max, 1)]


def _table_of(row: Level, kinds: dict[str, str]) -> str | None:
    """The table of the two in which a level is shown."""
    kind = WORKLOADS.get(kinds.get(row.workload, ""))
    return None if kind is None else kind.table


def produce_sheet(summary: Summary, kinds: dict[str, str]) -> Table:
    """Produce rate, records, throughput, latency: the published Kafka table."""
    rows = []
    for row in summary.levels:
        if _table_of(row, kinds) != "records" or row.tenancy == "combined":
            continue
        latency = row.latency_ms or row.latency_from_send_ms or Latency()
        throughput = NONE if row.bytes_per_s is None else f"{show_bytes(row.bytes_per_s)}/s"
        rows.append(
            [
                row.workload,
                row.client,
                target(row),
                f"{row.count:,}",
                rate(row.achieved),
                throughput,
                *_latencies(latency),
                _errors(row),
                _timed_from(row),
                decimal(row.cpu_s_per_million, 2),
                yes_no(row.accepted),
            ]
        )
    columns = [
        "workload",
        "client",
        "target",
        "records",
        "records/s",
        "throughput",
        *LATENCY_HEADS,
        "errors",
        "timed from",
        "client CPU-s per million",
        "sustained",
    ]
    return Table("Kafka levels", columns, rows)


def cassandra_sheet(summary: Summary, kinds: dict[str, str]) -> Table:
    """Op, rate, mean, median, p95, p99: the published Cassandra table, with Little's law."""
    rows = []
    for row in summary.levels:
        if _table_of(row, kinds) != "operations" or row.tenancy == "combined":
            continue
        latency = row.latency_ms or Latency()
        mean = latency.mean
        implied = NONE if mean is None else f"{littles_in_flight(row.achieved, mean):.1f}"
        rows.append(
            [
                row.workload,
                row.client,
                target(row),
                row.op or NONE,
                rate(row.achieved),
                *_latencies(latency),
                NONE if row.samples is None else f"{row.samples:,}",
                _errors(row),
                implied,
                yes_no(row.accepted),
            ]
        )
    columns = [
        "workload",
        "client",
        "target",
        "op",
        "op/s",
        *LATENCY_HEADS,
        "samples",
        "errors",
        "rate × mean",
        "sustained",
    ]
    return Table("Cassandra levels (rate × mean = operations in flight, Little's law)", columns, rows)


def rejected_sheet(summary: Summary) -> Table:
    """Why a level was not sustained: a row for each rule that failed."""
    rows = []
    for row in summary.levels:
        if row.accepted is not False:
            continue
        # Failures outside the rules: the trial is void, or a quota throttled the client.
        failed = [(why.rule if isinstance(why, Check) else NONE, failure_words(why)) for why in row.because]
        rows += [[row.workload, row.client, target(row), rule, words] for rule, words in failed]
    return Table("Levels that were not sustained", ["workload", "client", "target", "rule", "why"], rows)


def _errors(row: Level) -> str:
    """Failed operations of the whole trial, and how many of them are among the timed ones."""
    if not row.errors_known:
        return NONE
    timed = row.latency_includes_failed or 0
    return f"{row.errors:,}" + (f" ({timed:,} timed)" if timed else "")


def target(row: Level) -> str:
    """The request: a rate, a number in flight, or unthrottled."""
    if row.offered is not None:
        return f"{row.offered:,.0f}/s"
    return f"{row.concurrency} in flight" if row.concurrency else "as fast as it can"


def _timed_from(row: Level) -> str:
    if row.latency_ms is None:
        return "send" if row.latency_from_send_ms else NONE
    return "intended start"


def given_rates_sheet(summary: Summary) -> Table:
    """Verdicts on given rates."""
    rows = [
        [row.workload, rate(row.offered), row.verdict, f"{row.probability:.1%}", f"{row.held} of {row.windows}",
         ", ".join(f"{rule} {count}×" for rule, count in row.stopped_by.items()) or NONE]
        for row in summary.given_rates
    ]  # fmt: skip
    return Table("Given rates", ["workload", "rate/s", "verdict", "chance that most windows hold", "windows held", "failed by"], rows)
