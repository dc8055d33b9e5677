"""cassandra-stress: a block of results for each number of threads, with what it printed on its way."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from dataclasses import replace

from hydrotest.audit.claim import Claim, Interval, Loop, Pair, Tool
from hydrotest.errors import TrialFailedError
from hydrotest.printed.figures import Printed, read_printed
from hydrotest.printed.stress import RESULTS, TOOL, stress_cells

_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")
_RUN = re.compile(r"^\*+ ?Stress Settings|cassandra-stress[^\n]* -", re.MULTILINE)
"""Where a run begins: its head, or the command line above it."""
_THREADS = re.compile(r"^Running (?:[^\n]*? )?with ([0-9]+) thread", re.MULTILINE | re.IGNORECASE)
_SETTING = re.compile(r"^\s*Thread Count: ([0-9]+)\s*$", re.MULTILINE)
_LIMIT = re.compile(r"^\s*OpsPer Sec: ([0-9]+)\s*$", re.MULTILINE)
_OPTION = re.compile(r"-rate\b[^\n]*?\bthreads=([0-9]+)")
_FIXED = re.compile(r"-rate\b[^\n]*?\b(fixed|throttle|limit)=([0-9]+)")
_HEAD = re.compile(r"^(?:type[, ]\s*)?total ops", re.MULTILINE)
_TIME = re.compile(r"^Total operation time\s*:\s*([0-9]+):([0-9]{2}):([0-9]{2})\s*$", re.MULTILINE)
_GC_COUNT = re.compile(r"^total gc count\s*:\s*([0-9][0-9,.]*)", re.MULTILINE | re.IGNORECASE)
_GC_MEAN = re.compile(r"^avg gc time\s*(?:\(ms\))?\s*:\s*(NaN|[0-9][0-9,.]*)", re.MULTILINE | re.IGNORECASE)


def is_it(text: str) -> bool:
    """True if a block of results is there."""
    return RESULTS.search(text) is not None and "latency" in text.lower()


def claims(text: str) -> list[Claim]:
    """A claim for each block, and one for each kind of operation in it."""
    edges = [match.start() for match in RESULTS.finditer(text)]
    found: list[Claim] = []
    for number, start in enumerate(edges):
        end = edges[number + 1] if number + 1 < len(edges) else len(text)
        before = text[edges[number - 1] if number else 0 : start]
        head = max((match.start() for match in _RUN.finditer(text, 0, start)), default=0)
        found += _block(text[start:end], before, text[head:start], f"line {text.count(chr(10), 0, start) + 1}")
    return found


def _block(block: str, before: str, run: str, where: str) -> list[Claim]:
    cells = [cell for line in block.split("\n")[1:] for cell in stress_cells(line)]
    if not cells:
        raise TrialFailedError(f"{TOOL} printed no figures below `Results:`", "Name its whole output.")
    values = read_printed([cell.text for cell in cells], grouped=True, tool=TOOL)
    figures: dict[str | None, dict[str, Printed]] = {}
    for cell, value in zip(cells, values, strict=True):
        figures.setdefault(cell.op, {})[cell.key] = value
    ops = [op for op in figures if op is not None]
    threads, target, is_open = _rate(before, run)
    took = _TIME.search(block)
    seconds = Printed(sum(int(part) * unit for part, unit in zip(took.groups(), (3600, 60, 1), strict=True)), 1.0) if took else None
    total = _claim(figures[None], where, "")
    partitions = figures[None].get("partitions_per_s")
    sums = [Pair(name, figures[None][key], Printed(sum(parts))) for key, name in (("count", "partitions"), ("errors", "errors"))
            if key in figures[None] and (parts := [figures[op][key].value for op in ops if key in figures[op]])]  # fmt: skip
    if partitions is not None and seconds is not None and seconds.value > 0 and total.count is None and "count" in figures[None]:
        # An operation writes several partitions: they are counted, and operations are not.
        sums.append(Pair("partition rate", partitions, figures[None]["count"].over(seconds)))
    every = _interval_s(before)
    # Errors of the whole are named once, not by kind again.
    whole = replace(
        total, seconds=seconds, threads=threads, target=target, loop=Loop.OPEN if is_open else Loop.CLOSED, intervals=_intervals(before), interval_s=every,
        collections=_plain(_GC_COUNT.search(block)), collection_mean_ms=_plain(_GC_MEAN.search(block)), pairs=tuple(sums),
    )  # fmt: skip
    return [whole, *([_claim(figures[op], where, op.upper()) for op in ops] if len(ops) > 1 else [])]


def _claim(figures: dict[str, Printed], where: str, what: str) -> Claim:
    return Claim(
        Tool.STRESS, where, what, rate=figures.get("rate_per_s") or figures.get("partitions_per_s"), count=_operations(figures),
        errors=figures.get("errors") if not what else None, latency_ms={name: figures[name] for name in _LATENCIES if name in figures},
    )  # fmt: skip


def _operations(figures: dict[str, Printed]) -> Printed | None:
    """Partitions, where each operation is of one."""
    rate, partitions = figures.get("rate_per_s"), figures.get("partitions_per_s")
    if rate is not None and partitions is not None and abs(rate.value - partitions.value) > 0.01 * partitions.value:
        return None
    return figures.get("count")


def _rate(before: str, run: str) -> tuple[float | None, Printed | None, bool]:
    """Threads, the rate that was asked for, and whether times count from a schedule (`fixed=`)."""
    known = [int(one) for one in (_THREADS.findall(before)[-1:] or _SETTING.findall(run)[-1:] or _OPTION.findall(run)[-1:])]
    fixed = next(reversed(list(_FIXED.finditer(run))), None)
    limit = next((float(one) for one in reversed(_LIMIT.findall(run)) if float(one) > 0), None)
    target = float(fixed[2]) if fixed else limit
    return (float(known[0]) if known else None), (Printed(target) if target else None), fixed is not None and fixed[1] == "fixed"


def _table(before: str) -> list[dict[str, str]]:
    """The lines below the last head, by its names. Since 3.0 the head has no comma behind `type`."""
    heads = list(_HEAD.finditer(before))
    if not heads:
        return []
    lines = re.sub(r"^type\s+total ops", "type, total ops", before[heads[-1].start() :]).split("\n")
    names = [name.strip() for name in lines[0].split(",")]
    rows = ([cell.strip() for cell in line.split(",")] for line in lines[1:])
    whole = [dict(zip(names, cells, strict=True)) for cells in rows if len(cells) == len(names)]
    return [row for row in whole if row.get("type", "total") == "total"]


def _intervals(before: str) -> tuple[Interval, ...]:
    """What it printed on its way: a rate and a highest latency."""
    found = []
    for row in _table(before):
        try:
            found.append(Interval(float(row["op/s"]), float(row["max"])))
        except (ValueError, KeyError):  # a line of a log among them
            continue
    return tuple(found)


def _interval_s(before: str) -> float:
    """Seconds between two of these lines; one if not set otherwise."""
    times = []
    for row in _table(before):
        try:
            times.append(float(row["time"]))
        except (ValueError, KeyError):
            continue
    steps = [after - earlier for earlier, after in itertools.pairwise(times) if after > earlier]
    return statistics.median(steps) if steps else 1.0


def _plain(match: re.Match[str] | None) -> Printed | None:
    if match is None:
        return None
    return Printed(math.nan) if match[1] == "NaN" else Printed(float(match[1].replace(",", "")))
