"""Files written and read, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.table import Table, decimal, rate, yes_no
from hydrotest.summary.files import Files
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes, show_count

ALLOWED = ": as much as `most` allows, so the file system may take more"


def files_sheet(summary: Summary) -> Table:
    """A row for each number of files under way at once; the measures are TestDFSIO's."""
    rows = [
        [row.workload, _operation(row), str(row.at_once), f"{row.files:,} × {show_bytes(row.file_bytes)}", str(row.passes),
         f"{show_bytes(round(row.bytes_per_s))}/s", f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s",
         f"{show_bytes(round(row.per_file_bytes_per_s_sd))}/s", rate(row.offered),
         *(decimal(None if row.latency_ms is None else row.latency_ms.get(name), 1) for name in ("p50", "p99", "max")), yes_no(row.is_limit)]
        for row in summary.hdfs
    ]  # fmt: skip
    heads = ["workload", "op", "at once", "files", "passes", "all together", "each, mean", "standard deviation", "offered/s", "p50 ms",
             "p99 ms", "longest ms", "most"]  # fmt: skip
    return Table("HDFS files", heads, rows, lead=("workload", "op", "at once", "all together", "p99 ms", "most"))


def _operation(row: Files) -> str:
    how = [row.op, *(["random"] if row.is_random else []), *(["cold"] if row.is_cold else [])]
    size = [] if row.operation_bytes is None else [show_bytes(row.operation_bytes)]
    return ", ".join(how + size)


def files_sentences(rows: Sequence[Files]) -> list[str]:
    """Throughput of written and read files, at the number at once with the highest one."""
    return [
        f"{row.workload} {_did(row)} {show_bytes(round(row.bytes_per_s))}/s, {_at_once(row)} "
        f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s ± {show_bytes(round(row.per_file_bytes_per_s_sd))}/s{ALLOWED if row.is_allowed else ''}."
        for row in rows
        if row.is_limit
    ]


def _did(row: Files) -> str:
    if row.op == "write":
        return "wrote"
    return "read" + (" at random" if row.is_random else "") + (" from cold disks" if row.is_cold else "")


def _at_once(row: Files) -> str:
    return "one file at a time, at" if row.at_once == 1 else f"{show_count(row.at_once, 'file')} at once, each at"
