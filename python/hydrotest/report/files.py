"""Table of files written and read."""

from __future__ import annotations

from typing import Any

from hydrotest.report.sheet import Sheet, yes_no
from hydrotest.units import show_bytes


def files_sheet(summary: dict[str, Any]) -> Sheet:
    """A row for each number of files under way at once; the measures are TestDFSIO's."""
    rows = [
        [row["workload"], row["op"], str(row["at_once"]), f"{row['files']:,} × {show_bytes(row['file_bytes'])}", str(row["passes"]),
         f"{show_bytes(round(row['bytes_per_s']))}/s", f"{show_bytes(round(row['per_file_bytes_per_s_mean']))}/s",
         f"{show_bytes(round(row['per_file_bytes_per_s_sd']))}/s", yes_no(row["is_limit"])]
        for row in summary.get("hdfs", [])
    ]  # fmt: skip
    return Sheet(
        "HDFS files", ["workload", "op", "at once", "files", "passes", "all together", "each, mean", "standard deviation", "most"], rows
    )
