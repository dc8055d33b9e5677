"""cassandra-stress: a block of results for each number of threads, with what it printed on its way."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from hydrotest.audit.claim import Claim, Interval, Loop, Pair, Tool
from hydrotest.errors import TrialFailedError
from hydrotest.printed.figures import Printed, read_printed
from hydrotest.printed.stress import RESULTS, TOOL, stress_cells

_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")
_THREADS = re.compile(r"^Running (?:[A-Z_]+ |mixed )?with ([0-9]+) threads?", re.MULTILINE | re.IGNORECASE)
_SETTING = re.compile(r"^\s*Thread Count: ([0-9]+)\s*$", re.MULTILINE)
_LIMIT = re.compile(r"^\s*OpsPer Sec: ([0-9]+)\s*$", re.MULTILINE)
_OPTION = re.compile(r"-rate\b[^\n]*?\bthreads=([0-9]+)")
_FIXED = re.compile(r"-rate\b[^\n]*?\b(fixed|throttle|limit)=([0-9]+)")
_HEAD = re.compile(r"^(?:type,\s+)?total ops", re.MULTILINE)
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
        found += _block(text[start:end], before, text, f"line {text.count(chr(10), 0, start) + 1}")
    return found


def _block(block: str, before: str, text: str, where: str) -> list[Claim]:
    cells = [cell for line in block.split("\n")[1:] for cell in stress_cells(line)]
    if not cells:
        raise TrialFailedError(f"{TOOL} printed no figures below `Results:`", "Name its whole output.")
    values = read_printed([cell.text for cell in cells], grouped=True, tool=TOOL)
    figures: dict[str | None, dict[str, Printed]] = {}
    for cell, value in zip(cells, values, strict=True):
        figures.setdefault(cell.op, {})[cell.key] = value
    ops = [op for op in figures if op is not None]
    threads, target, is_open = _rate(before, text)
    took = _TIME.search(block)
    seconds = Printed(sum(int(part) * unit for part, unit in zip(took.groups(), (3600, 60, 1), strict=True)), 1.0) if took else None
    total = _claim(figures[None], where, "")
    sums = [Pair(name, figures[None][key], Printed(sum(parts))) for key, name in (("count", "partitions"), ("errors", "errors"))
            if key in figures[None] and (parts := [figures[op][key].value for op in ops if key in figures[op]])]  # fmt: skip
    # Errors of the whole are named once, not by kind again.
    whole = replace(
        total, seconds=seconds, threads=threads, target=target, loop=Loop.OPEN if is_open else Loop.CLOSED, intervals=_intervals(before),
        collections=_plain(_GC_COUNT.search(block)), collection_mean_ms=_plain(_GC_MEAN.search(block)), pairs=tuple(sums),
    )  # fmt: skip
    return [whole, *([_claim(figures[op], where, op.upper()) for op in ops] if len(ops) > 1 else [])]


def _claim(figures: dict[str, Printed], where: str, what: str) -> Claim:
    return Claim(
        Tool.STRESS, where, what, rate=figures.get("partitions_per_s") or figures.get("rate_per_s"), count=figures.get("count"),
        errors=figures.get("errors") if not what else None, latency_ms={name: figures[name] for name in _LATENCIES if name in figures},
    )  # fmt: skip


def _rate(before: str, text: str) -> tuple[float | None, Printed | None, bool]:
    """Threads, the rate that was asked for, and whether times count from a schedule (`fixed=`)."""
    running = [int(one) for one in _THREADS.findall(before)]
    known = running[-1:] or [int(one) for one in (*_SETTING.findall(text), *_OPTION.findall(text))][:1]
    fixed = _FIXED.search(text)
    limit = next((float(one) for one in _LIMIT.findall(text) if float(one) > 0), None)
    target = float(fixed[2]) if fixed else limit
    return (float(known[0]) if known else None), (Printed(target) if target else None), fixed is not None and fixed[1] == "fixed"


def _intervals(before: str) -> tuple[Interval, ...]:
    """The lines below the last head: a rate and a highest latency a second."""
    heads = list(_HEAD.finditer(before))
    if not heads:
        return ()
    table = before[heads[-1].start() :].split("\n")
    names = [name.strip() for name in table[0].split(",")]
    found = []
    for line in table[1:]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(names) or (names[0] == "type" and cells[0] != "total"):
            continue
        try:
            found.append(Interval(float(cells[names.index("op/s")]), float(cells[names.index("max")])))
        except ValueError:  # a line of a log among them
            continue
    return tuple(found)


def _plain(match: re.Match[str] | None) -> Printed | None:
    if match is None:
        return None
    return Printed(math.nan) if match[1] == "NaN" else Printed(float(match[1].replace(",", "")))
