"""Files or objects written and read, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hydrotest.report.table import Table, decimal, rate, yes_no
from hydrotest.summary.files import Files
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes, show_count

Thing = Literal["file", "object"]
KEEPS: dict[Thing, str] = {"file": "file system", "object": "store"}


def files_sheet(summary: Summary) -> Table:
    """A row for each number of files under way at once; the measures are TestDFSIO's."""
    return _sheet("HDFS files", "file", summary.hdfs)


def objects_sheet(summary: Summary) -> Table:
    """The same of objects."""
    return _sheet("Objects", "object", summary.objects)


def _sheet(title: str, thing: Thing, rows: Sequence[Files]) -> Table:
    fails = thing == "object"
    cells = [
        [row.workload, _operation(row), str(row.at_once), f"{row.files:,} × {show_bytes(row.file_bytes)}", str(row.passes),
         f"{show_bytes(round(row.bytes_per_s))}/s", f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s",
         f"{show_bytes(round(row.per_file_bytes_per_s_sd))}/s", rate(row.offered),
         *(decimal(None if row.latency_ms is None else row.latency_ms.get(name), 1) for name in ("p50", "p99", "max")),
         *([f"{sum(row.errors.values()):,}"] if fails else []), yes_no(row.is_limit)]
        for row in rows
    ]  # fmt: skip
    heads = ["workload", "op", "at once", f"{thing}s", "passes", "all together", "each, mean", "standard deviation", "offered/s", "p50 ms",
             "p99 ms", "longest ms", *(["errors"] if fails else []), "most"]  # fmt: skip
    return Table(title, heads, cells, lead=("workload", "op", "at once", "all together", "p99 ms", *(["errors"] if fails else []), "most"))


def _operation(row: Files) -> str:
    how = [row.op, *(["random"] if row.is_random else []), *(["cold"] if row.is_cold else [])]
    size = [] if row.operation_bytes is None else [show_bytes(row.operation_bytes)]
    return ", ".join(how + size)


def files_sentences(rows: Sequence[Files], thing: Thing = "file") -> list[str]:
    """Throughput of what was written and read, at the number at once with the highest one, and what failed."""
    return [
        f"{row.workload} {_did(row)} {show_bytes(round(row.bytes_per_s))}/s, {_at_once(row, thing)} "
        f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s ± {show_bytes(round(row.per_file_bytes_per_s_sd))}/s{_allowed(row, thing)}."
        for row in rows
        if row.is_limit
    ] + [_failed(name, [row for row in rows if row.workload == name]) for name in dict.fromkeys(row.workload for row in rows if row.errors)]


def _allowed(row: Files, thing: Thing) -> str:
    return f": as much as `most` allows, so the {KEEPS[thing]} may take more" if row.is_allowed else ""


def _failed(workload: str, rows: Sequence[Files]) -> str:
    """Of all its passes."""
    codes: dict[str, int] = {}
    for row in rows:
        for code, number in row.errors.items():
            codes[code] = codes.get(code, 0) + number
    failed = sum(codes.values())
    listed = ", ".join(f"{code} {number:,}" for code, number in sorted(codes.items(), key=lambda one: -one[1]))
    operations = failed + sum(row.operations for row in rows)
    return f"Of {operations:,} operations of {workload} {failed:,} failed, and were not tried again: {listed}. Latencies are of the others."


def _did(row: Files) -> str:
    if row.op == "write":
        return "wrote"
    return "read" + (" at random" if row.is_random else "") + (" from cold disks" if row.is_cold else "")


def _at_once(row: Files, thing: Thing) -> str:
    return f"one {thing} at a time, at" if row.at_once == 1 else f"{show_count(row.at_once, thing)} at once, each at"
