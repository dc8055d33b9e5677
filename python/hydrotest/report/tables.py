"""The tables, in the form of the published ones: as rows for any output, and as rich tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from hydrotest.analysis.compare import Row
from hydrotest.analysis.levels import littles_in_flight
from hydrotest.report.words import Summary, headline, not_valid
from hydrotest.units import show_bytes, show_rate

NONE = "–"


@dataclass(frozen=True)
class Sheet:
    """A table: title, column heads, cells as text."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def number(value: float | None, digits: int = 1) -> str:
    """A figure, or a dash where it is not known."""
    return NONE if value is None else f"{value:,.{digits}f}"


def _rate(value: float | None) -> str:
    return NONE if value is None else show_rate(value)


def limits_sheet(summary: Summary) -> Sheet:
    """Limit, interval, latency at the limit, what stopped and bound it."""
    rows = []
    for row in summary["limits"]:
        latency = row["latency_ms"] or {}
        limit = _rate(row["limit"])
        rows.append(
            [
                row["workload"],
                row["tenancy"],
                row["unit"],
                f"≥ {limit}" if row["at_least"] else limit,
                f"{_rate(row['low'])} … {_rate(row['high'])}",
                _rate(row["saturated"]),
                number(latency.get("p50")),
                number(latency.get("p99")),
                number(latency.get("p999")),
                row["stopped_by"],
                _bound(row["bound_by"]),
            ]
        )
    heads = ["workload", "tenancy", "unit", "limit", "interval", "saturated", "p50 ms", "p99 ms", "p99.9 ms", "stopped by", "bound by"]
    return Sheet("Limits", heads, rows)


def interference_sheet(summary: Summary) -> Sheet:
    """Isolated beside combined, at the same rates."""
    rows = [
        [row["workload"], row["metric"].replace("_ms", " ms"), number(row["isolated"], 2), number(row["combined"], 2), f"{row['change_pct']:+.1f} %",
         f"{row['low_pct']:+.1f} … {row['high_pct']:+.1f} %", str(row["n"]), "yes" if row["significant"] else "no"]
        for row in summary["interference"]
    ]  # fmt: skip
    return Sheet(
        "Interference at the same rates",
        ["workload", "metric", "isolated", "combined", "change", "95 % interval", "pairs", "significant"],
        rows,
    )


def all_out_sheet(summary: Summary) -> Sheet:
    """What each achieves without schedule, alone and with all the others."""
    alone = {row["workload"]: row["saturated"] for row in summary["limits"] if row["tenancy"] == "isolated"}
    rates: dict[str, list[float]] = {}
    for row in summary["levels"]:
        if row["tenancy"] == "combined" and row["offered"] is None and row["concurrency"] is None:
            rates.setdefault(row["workload"], []).append(row["achieved"])
    rows = []
    for workload, found in rates.items():
        middle = sorted(found)[len(found) // 2]
        share = NONE if not alone.get(workload) else f"{middle / alone[workload]:.0%}"
        rows.append([workload, _rate(alone.get(workload)), _rate(middle), share, str(len(found))])
    return Sheet("All pressed without schedule: achieved rates", ["workload", "alone", "all at once (median)", "share", "trials"], rows)


def spark_sheet(summary: Summary) -> Sheet:
    """The published columns of spark-perf."""
    rows = [
        [row["test"], row["tenancy"], f"{row['scale_factor']:g}", f"{row['tasks_per_stage']:,}", str(row["stages"]), show_bytes(row["input_bytes"]),
         show_bytes(row["shuffle_read_bytes"]), show_bytes(row["shuffle_write_bytes"]), number(row["max_shuffle_read_s"], 3),
         number(row["max_shuffle_write_s"], 3), number(row["total_s"], 2), _interval(row.get("total_s_low"), row.get("total_s_high")),
         str(row.get("runs", 1))]
        for row in summary["spark"]
    ]  # fmt: skip
    heads = ["test", "tenancy", "scale factor", "tasks per stage", "stages", "input", "shuffle read", "shuffle write", "slowest fetch wait s",
             "slowest shuffle write s", "total s (median)", "95 % of mean", "runs"]  # fmt: skip
    return Sheet("Spark", heads, rows)


def _interval(low: float | None, high: float | None) -> str:
    return NONE if low is None or high is None else f"{low:.2f} … {high:.2f}"


def soak_sheet(summary: Summary) -> Sheet:
    """Drift of each workload over a long level; growth of each service."""
    rows = []
    for soak in summary.get("soak", []):
        for load in soak["workloads"]:
            for metric, drift in load["drift_pct"].items():
                changes = ", ".join(f"{c['at_s'] / 60:.1f} min" for c in load["changes"] if c["metric"] == metric)
                told = NONE if drift is None else f"{drift['per_hour']:+.1f} %"
                between = NONE if drift is None else f"{drift['low']:+.1f} … {drift['high']:+.1f} %"
                rows.append([load["workload"], metric.replace("_ms", " ms"), told, between, changes or NONE])
        for service in soak["services"]:
            growth = service["growth_bytes_per_hour"]
            told = NONE if growth is None else f"{growth['per_hour'] / 1e6:+,.1f} MB"
            between = NONE if growth is None else f"{growth['low'] / 1e6:+,.1f} … {growth['high'] / 1e6:+,.1f} MB"
            rows.append([service["service"], "memory", told, between, NONE])
        rows += [[name.replace("_", " "), "in all", f"{value:,.0f}", NONE, NONE] for name, value in soak["counters"].items()]
    return Sheet("Soak: drift an hour", ["what", "metric", "an hour", "95 % interval", "changed after"], rows)


def fault_sheet(summary: Summary) -> Sheet:
    """What a service's absence did to each workload."""
    rows = []
    for fault in summary.get("faults", []):
        for load in fault["workloads"]:
            found = load["recovery"] or {}
            p99 = [number((load["latency_ms"][phase] or {}).get("p99"), 1) for phase in ("before", "during", "after")]
            spans = [number(found.get(key), 1) for key in ("without_progress_s", "longest_stall_s", "recovered_s", "caught_up_s")]
            again = NONE if load["sent_again"] is None else f"{load['sent_again']:,}"
            rows.append([f"{fault['action']} {fault['service']}", load["workload"], *spans, *p99, f"{load['failed']:,}", again])
    heads = ["fault", "workload", "s without progress", "longest", "s until as before", "s catching up", "p99 ms before", "during", "after",
             "failed", "sent again"]  # fmt: skip
    return Sheet("Faults", heads, rows)


def services_sheet(summary: Summary) -> Sheet:
    """Whose cores, memory and disk, while all pressed together."""
    rows = [
        [
            row["service"],
            row["host"],
            f"{row['cpu_cores']:.2f}",
            show_bytes(row["memory_bytes"]),
            f"{show_bytes(row['disk_write_bytes_per_s'] or 0)}/s",
        ]
        for row in summary.get("together", {}).get("services", [])
    ]
    return Sheet("Services while all pressed together", ["service", "host", "cores mean", "memory peak", "disk written mean"], rows)


def _bound(bound: dict[str, Any]) -> str:
    name = f"{bound['resource']} of {bound['host']}" if bound["kind"] == "resource" else bound["kind"]
    return name + ("" if bound["confirmed"] else " (unconfirmed)" if bound["kind"] == "resource" else "")


def produce_sheet(summary: Summary, kinds: dict[str, str]) -> Sheet:
    """Produce rate, records, throughput, latency: the published Kafka table."""
    rows = []
    for row in summary["levels"]:
        if kinds.get(row["workload"]) not in ("kafka-produce", "kafka-consume") or row["tenancy"] == "combined":
            continue
        latency = row["latency_ms"] or row.get("latency_from_send_ms") or {}
        throughput = NONE if row["bytes_per_s"] is None else f"{show_bytes(row['bytes_per_s'])}/s"
        rows.append(
            [
                row["workload"],
                row["client"],
                level_target(row),
                f"{row['count']:,}",
                _rate(row["achieved"]),
                throughput,
                number(latency.get("mean"), 2),
                number(latency.get("p50"), 2),
                number(latency.get("p95"), 2),
                number(latency.get("p99"), 2),
                number(latency.get("p999"), 2),
                number(latency.get("max"), 1),
                _timed_from(row),
                number(row.get("cpu_s_per_million"), 2),
                _accepted(row["accepted"]),
            ]
        )
    heads = [
        "workload",
        "client",
        "target",
        "records",
        "records/s",
        "throughput",
        "mean ms",
        "median ms",
        "p95 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "timed from",
        "client CPU-s per million",
        "sustained",
    ]
    return Sheet("Kafka levels", heads, rows)


def level_target(row: dict[str, Any]) -> str:
    """What was asked for: a rate, a number in flight, or as much as it takes."""
    if row["offered"] is not None:
        return f"{row['offered']:,.0f}/s"
    return f"{row['concurrency']} in flight" if row["concurrency"] else "as fast as it can"


def _timed_from(row: dict[str, Any]) -> str:
    if row["latency_ms"] is None:
        return "send" if row.get("latency_from_send_ms") else NONE
    return "intended start"


def cassandra_sheet(summary: Summary, kinds: dict[str, str]) -> Sheet:
    """Op, rate, mean, median, p95, p99: the published Cassandra table, with Little's law beside it."""
    rows = []
    for row in summary["levels"]:
        if kinds.get(row["workload"]) != "cassandra" or row["tenancy"] == "combined":
            continue
        latency = row["latency_ms"] or {}
        mean = latency.get("mean")
        implied = NONE if mean is None else f"{littles_in_flight(row['achieved'], mean):.1f}"
        rows.append(
            [
                row["workload"],
                row["client"],
                level_target(row),
                row["op"] or NONE,
                _rate(row["achieved"]),
                number(mean, 2),
                number(latency.get("p50"), 2),
                number(latency.get("p95"), 2),
                number(latency.get("p99"), 2),
                number(latency.get("p999"), 2),
                number(latency.get("max"), 1),
                f"{row['errors']:,}",
                implied,
                _accepted(row["accepted"]),
            ]
        )
    heads = [
        "workload",
        "client",
        "target",
        "op",
        "op/s",
        "mean ms",
        "median ms",
        "p95 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "errors",
        "rate × mean",
        "sustained",
    ]
    return Sheet("Cassandra levels (rate × mean = operations in flight, Little's law)", heads, rows)


def _accepted(value: bool | None) -> str:
    return NONE if value is None else "yes" if value else "no"


def integrity_sheet(summary: Summary) -> Sheet:
    """The fate of every acknowledged record."""
    keys = ["sent", "acked", "seen", "lost", "duplicated", "corrupted", "out_of_order", "unacked_present", "in_flight"]
    rows = [
        [row["workload"], row.get("unit", "records"), *(NONE if row[key] is None else f"{row[key]:,}" for key in keys)]
        for row in summary["integrity"]
    ]
    heads = [
        "workload",
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
    return Sheet("Integrity", heads, rows)


def usage_sheet(summary: Summary) -> Sheet:
    """What each host used while each workload was measured."""
    rows = [
        [
            row["host"],
            row["workload"] or "all together",
            f"{row['cpu_cores_mean']:.2f}",
            f"{row['cpu_cores_peak']:.2f}",
            show_bytes(row["memory_bytes_peak"]),
            show_bytes(row["swap_bytes_peak"]),
            f"{show_bytes(row['disk_write_bytes_per_s_peak'])}/s",
            f"{row['disk_writes_per_s_peak']:,.0f}",
            f"{show_bytes(row['network_out_bytes_per_s_peak'])}/s",
            f"{row['tcp_segments_out_per_s_peak']:,.0f}",
        ]
        for row in summary["usage"]
    ]
    heads = [
        "host",
        "workload",
        "cores mean",
        "cores peak",
        "memory peak",
        "swap peak",
        "disk written peak",
        "writes/s peak",
        "network out peak",
        "TCP segments out/s",
    ]
    return Sheet("Usage while measured", heads, rows)


def generator_sheet(summary: Summary) -> Sheet:
    """Did our own client have room?"""
    rows = [
        [
            row["workload"],
            row["tenancy"],
            row["client"],
            number(row["cpu_s_per_million"], 2),
            number(row["busiest_thread_pct"], 0),
            number(row.get("run_delay_pct"), 1),
            number(row["wait_p99_ms"], 2),
            _accepted(row["has_room"]),
        ]
        for row in summary["generator"]
    ]
    return Sheet(
        "Generator",
        ["workload", "tenancy", "client", "CPU-s per million", "busiest thread %", "run delay %", "wait p99 ms", "had room"],
        rows,
    )


def overhead_sheet(summary: Summary) -> Sheet:
    """hydrotest's own use."""
    overhead = summary.get("overhead") or {}
    rows = [
        [name, f"{overhead[key] * 100:.2f} % of a core"]
        for key, name in (("controller_cores", "controller"), ("sampler_cores", "sampler"))
        if overhead.get(key) is not None
    ]
    rows += [
        [f"exporter in {service}", f"{cores * 100:.2f} % of a core"] for service, cores in (overhead.get("exporter_cores") or {}).items()
    ]
    return Sheet("Our own overhead while pressing", ["part", "CPU"], rows)


def sheets(summary: Summary, kinds: dict[str, str]) -> list[Sheet]:
    """All tables that have rows. `kinds` is each workload's kind."""
    every = [
        limits_sheet(summary),
        interference_sheet(summary),
        all_out_sheet(summary),
        spark_sheet(summary),
        soak_sheet(summary),
        fault_sheet(summary),
        produce_sheet(summary, kinds),
        cassandra_sheet(summary, kinds),
        integrity_sheet(summary),
        usage_sheet(summary),
        services_sheet(summary),
        generator_sheet(summary),
        overhead_sheet(summary),
    ]
    return [sheet for sheet in every if sheet.rows]


def comparison_sheet(rows: Sequence[Row]) -> Sheet:
    """Two runs beside each other."""
    cells = [
        [row.workload, row.tenancy, row.what, row.unit, row.first, row.second, NONE if row.change_pct is None else f"{row.change_pct:+.1f} %",
         NONE if row.low_pct is None or row.high_pct is None else f"{row.low_pct:+.1f} … {row.high_pct:+.1f} %", str(row.n), row.word]
        for row in rows
    ]  # fmt: skip
    heads = ["workload", "tenancy", "what", "unit", "first run", "second run", "change", "95 % interval", "n", "the second is"]
    return Sheet("Compared", heads, cells)


def print_sheet(sheet: Sheet, console: Console) -> None:
    """One table on the terminal."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    for index, head in enumerate(sheet.heads):
        numeric = all(row[index][:1].isdigit() or row[index][:1] in "–≥+-" for row in sheet.rows)
        table.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def print_summary(summary: Summary, kinds: dict[str, str], console: Console) -> None:
    """Findings and tables on the terminal."""
    console.print(f"[bold]{summary['experiment']}[/bold], run {summary['run']}, {summary['status']}", highlight=False)
    for finding in headline(summary):
        console.print(f"[bold]{finding.question}[/bold]", highlight=False)
        console.print(f"  {finding.answer}", highlight=False, markup=False)
    if summary["status"] != "complete":
        console.print(
            f"The run is {summary['status']}" + (f": {summary['error']}" if summary.get("error") else "."), highlight=False, markup=False
        )
    for sheet in sheets(summary, kinds):
        print_sheet(sheet, console)
    problems = not_valid(summary)
    if problems:
        console.print("\n[bold]What does not count, or not fully[/bold]")
        for problem in problems:
            console.print(f"• {problem}", highlight=False, markup=False)
