"""Files written and read, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.table import Table, yes_no
from hydrotest.summary.files import Files
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes, show_count

ALLOWED = ": as much as `most` allows, so the file system may take more"


def files_sheet(summary: Summary) -> Table:
    """A row for each number of files under way at once; the measures are TestDFSIO's."""
    rows = [
        [row.workload, row.op, str(row.at_once), f"{row.files:,} × {show_bytes(row.file_bytes)}", str(row.passes),
         f"{show_bytes(round(row.bytes_per_s))}/s", f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s",
         f"{show_bytes(round(row.per_file_bytes_per_s_sd))}/s", yes_no(row.is_limit)]
        for row in summary.hdfs
    ]  # fmt: skip
    return Table(
        "HDFS files", ["workload", "op", "at once", "files", "passes", "all together", "each, mean", "standard deviation", "most"], rows
    )


def files_sentences(rows: Sequence[Files]) -> list[str]:
    """Throughput of written and read files, at the number at once with the highest one."""
    return [
        f"{row.workload} {'wrote' if row.op == 'write' else 'read'} {show_bytes(round(row.bytes_per_s))}/s, {_at_once(row)} "
        f"{show_bytes(round(row.per_file_bytes_per_s_mean))}/s ± {show_bytes(round(row.per_file_bytes_per_s_sd))}/s{ALLOWED if row.is_allowed else ''}."
        for row in rows
        if row.is_limit
    ]


def _at_once(row: Files) -> str:
    return "one file at a time, at" if row.at_once == 1 else f"{show_count(row.at_once, 'file')} at once, each at"
