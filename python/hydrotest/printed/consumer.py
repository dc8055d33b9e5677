"""The table of kafka-consumer-perf-test (ConsumerPerformance), all versions. Its MB are MiB."""

from __future__ import annotations

import re
from datetime import datetime

from hydrotest.errors import TrialFailedError
from hydrotest.printed.figures import Printed, read_printed

TOOL = "ConsumerPerformance"
HEAD = "start.time, end.time, "
_ROW = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+, [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+, ")
_TIME = "%Y-%m-%d %H:%M:%S:%f"
CUT_SHORT = "WARNING: Exiting before consuming the expected number of messages"


def consumed_rows(output: str) -> tuple[list[str], list[str]]:
    """The heads, and the rows below them; both empty where there is none."""
    lines = [line.rstrip("\r") for line in output.split("\n")]
    at = next((number for number, line in enumerate(lines) if line.startswith(HEAD)), None)
    return ([], []) if at is None else (lines[at].split(", "), [line for line in lines[at:] if _ROW.match(line)])


def is_cut_short(output: str) -> bool:
    """True where the tool gave up before it had all."""
    return any(line.startswith(CUT_SHORT) for line in output.split("\n"))


def consumed(heads: list[str], row: str) -> dict[str, Printed]:
    """A row's figures by head, times of day left out. Raises `TrialFailedError` if cells and heads differ in number."""
    cells = row.split(", ")  # a decimal comma has no blank behind it
    if len(cells) != len(heads):
        raise TrialFailedError(
            f"{TOOL} printed a row of {len(cells)} cells below {len(heads)} heads", "See its output in the trial's logs/."
        )
    return dict(zip(heads[2:], read_printed(cells[2:], grouped=False, tool=TOOL), strict=True))


def elapsed_s(row: str) -> float:
    """Seconds from the row's start to its end."""
    start, end, *_ = row.split(", ")
    return (datetime.strptime(end, _TIME) - datetime.strptime(start, _TIME)).total_seconds()
