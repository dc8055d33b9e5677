"""NoSQLBench: timers of its log (`type=TIMER, name=…`), of `--report-csv-to`, or of its summary (`--report-summary-to`, and on the console).
`servicetime` counts from the send, `responsetime` from the schedule, where a rate was asked for."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.printed.figures import Printed

_TIMER = re.compile(r"type=TIMER, name=(?P<name>[^,\s]+), (?P<rest>[^\n]*)")
_FIELD = re.compile(r"([a-z]+[0-9_a-z]*)=([^,\s]+)")
_SUMMARY = re.compile(r"^-- (?P<kind>Gauges|Counters|Histograms|Meters|Timers) -{8,}\s*$|^\S.* ={8,}\s*$", re.MULTILINE)
"""Heads of `ConsoleReporter.java`: of a kind of metric, or the time of a report."""
_ATTRIBUTE = re.compile(r"\s+(?P<key>[a-z0-9][a-z0-9.%-]*(?: rate)?) <?= (?P<value>\S+)(?: (?P<unit>\S+))?\s*")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
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
    return (
        _TIMER.search(text) is not None or text.startswith(_CSV_HEAD) or any(head["kind"] == "Timers" for head in _SUMMARY.finditer(text))
    )


def claims(text: str) -> list[Claim]:
    """A claim for each timer of whole operations; of a CSV, its last row."""
    if text.startswith(_CSV_HEAD):
        return [_of_csv(text)]
    found = [
        (match["name"], dict(_FIELD.findall(match["rest"])), text.count("\n", 0, match.start()) + 1) for match in _TIMER.finditer(text)
    ] or list(_of_summary(text))
    last = {name: (fields, line) for name, fields, line in found if _CYCLES.search(name)}
    return [_claim(fields, f"line {line}", name, ()) for name, (fields, line) in last.items()]


def _of_summary(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Name, figures and line of each timer; where there are several reports, of each."""
    is_timers, name, fields, at = False, "", dict[str, str](), 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        attribute = _ATTRIBUTE.fullmatch(line)
        if is_timers and attribute is not None:
            _add(fields, attribute)
            continue
        if is_timers and fields:
            yield name, fields, at
        name, fields, at = _name(line), {}, number
        if (head := _SUMMARY.fullmatch(line)) is not None:
            is_timers = head["kind"] == "Timers"


def _name(line: str) -> str:
    """`{activity="rampup",…,name="result"}` is `rampup.result`, as older ones have it."""
    labels = dict(_LABEL.findall(line))
    return ".".join(labels[key] for key in ("activity", "name") if key in labels) if labels else line.strip()


def _add(fields: dict[str, str], attribute: re.Match[str]) -> None:
    """A figure under the name that logs have for it. Rates are printed with two digits: a small one in a small unit is none."""
    key, value, unit = attribute["key"], attribute["value"], attribute["unit"] or ""
    if key.endswith("rate"):
        per_s = float(value) / (_TO_MS.get(unit.rpartition("/")[2], 1e3) / 1e3)
        if key == "mean rate" and per_s > 0:
            fields["mean_rate"] = repr(per_s)
        return
    fields["p" + key.rstrip("%").replace(".", "") if key.endswith("%") else key] = value
    if unit:
        fields["duration_unit"] = unit


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
