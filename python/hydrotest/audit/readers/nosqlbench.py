"""NoSQLBench: timers of its log (`type=TIMER, name=…`) or of `--report-csv-to`. `servicetime` counts from the send, `responsetime`
from the schedule, where a rate was asked for."""

from __future__ import annotations

import csv
import io
import itertools
import re

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.printed.figures import Printed

_TIMER = re.compile(r"type=TIMER, name=(?P<name>[^,\s]+), (?P<rest>[^\n]*)")
_FIELD = re.compile(r"([a-z]+[0-9_a-z]*)=([^,\s]+)")
_CSV_HEAD = "t,count,max,mean,min,stddev,p50,p75,p95,p98,p99,p999,mean_rate,"
_TO_MS = {"nanosecond": 1e-6, "microsecond": 1e-3, "millisecond": 1.0, "second": 1e3}
_LATENCIES = {
    "mean": "mean",
    "median": "p50",
    "p50": "p50",
    "p75": "p75",
    "p95": "p95",
    "p98": "p98",
    "p99": "p99",
    "p999": "p999",
    "max": "max",
}
_CYCLES = re.compile(r"(?:^|[._])(?:result|cycles[._]servicetime|cycles[._]responsetime|cycles)$")
"""Other timers are of parts of an operation."""


def is_it(text: str) -> bool:
    """True if it has a timer."""
    return _TIMER.search(text) is not None or text.startswith(_CSV_HEAD)


def claims(text: str) -> list[Claim]:
    """A claim for each timer of whole operations; of a CSV, its last row."""
    if text.startswith(_CSV_HEAD):
        return [_of_csv(text)]
    found = [
        (match["name"], dict(_FIELD.findall(match["rest"])), text.count("\n", 0, match.start()) + 1) for match in _TIMER.finditer(text)
    ]
    last = {name: (fields, line) for name, fields, line in found if _CYCLES.search(name)}
    return [_claim(fields, f"line {line}", name, ()) for name, (fields, line) in last.items()]


def _of_csv(text: str) -> Claim:
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row.get("duration_unit")]
    intervals = []
    for before, after in itertools.pairwise(rows):
        if (seconds := float(after["t"]) - float(before["t"])) > 0:
            intervals.append((seconds, Interval((float(after["count"]) - float(before["count"])) / seconds)))
    every = intervals[0][0] if intervals else 1.0
    last = {key: value for key, value in rows[-1].items() if value} if rows else {"count": "0"}
    return _claim(last, "its last row", "", tuple(one for _, one in intervals), every)


def _claim(fields: dict[str, str], where: str, name: str, intervals: tuple[Interval, ...], every_s: float = 1.0) -> Claim:
    unit = fields.get("duration_unit", "nanoseconds").lower().removesuffix("s")
    to_ms = _TO_MS.get(unit, 1e-6)
    # Its histograms hold four digits.
    latency = {
        ours: Printed(float(fields[key]) * to_ms, float(fields[key]) * to_ms * 1e-3) for key, ours in _LATENCIES.items() if key in fields
    }
    return Claim(
        Tool.NOSQLBENCH, where, name, rate=Printed(float(fields["mean_rate"])) if "mean_rate" in fields else None, count=Printed(float(fields["count"])),
        latency_ms=latency, loop=Loop.OPEN if name.endswith("responsetime") else Loop.CLOSED, intervals=intervals, interval_s=every_s,
    )  # fmt: skip
