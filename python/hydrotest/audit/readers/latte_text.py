"""latte's report as it stands in the terminal: of `latte run`, with what it printed on its way, and of `latte show`, which may hold two runs
against each other. (`src/report/mod.rs` of latte.) With a rate, cycles count from the schedule."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.audit.readers.latte import ROUNDED
from hydrotest.printed.figures import Printed

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SECTION = re.compile(r"(?P<name>[A-Z].*?) *═{8,}\s*")
_COMPARED = re.compile(r"\s*─{5,} A ─{5,}\s+─{5,} B ─{5,}.*")
_FIGURE = re.compile(r"-?[0-9]+(?:\.(?P<decimals>[0-9]+))?|NaN|-?inf")
_LOG_LINE = re.compile(r"\s*(?:-?[0-9]+(?:\.[0-9]+)?\s*){6,}")
_FUNCTION = re.compile(r"CYCLE LATENCY for (?P<name>.+?) \[ms\]")
_PARTS = ("├─", "└─")
LABEL, UNIT, FIRST, SECOND = slice(0, 16), slice(17, 26), slice(28, 58), slice(59, 89)
"""The columns of a line: its label, its unit, and one value or two."""
SUMMARY, CONFIG, LOG = "SUMMARY STATS", "CONFIG", "LOG"
RESPONSES = ("RESPONSE LATENCY [ms]", "RESPONSE TIMES [ms]")
PERCENTILES = {"50": "p50", "75": "p75", "90": "p90", "95": "p95", "98": "p98", "99": "p99", "99.9": "p999", "99.99": "p9999", "Max": "max"}


@dataclass
class _Run:
    """A report: the figures of each section, by label and unit; one of each, or two."""

    line: int = 1
    compares: bool = False
    sections: dict[str, dict[str, list[Printed | None]]] = field(default_factory=dict)
    log: list[list[float]] = field(default_factory=list)

    def value(self, section: str, key: str, at: int) -> Printed | None:
        return self.sections.get(section, {}).get(key, [None, None])[at]


def is_it(text: str) -> bool:
    """True if it has a summary in latte's form."""
    return re.search(rf"{SUMMARY}(?:\x1b\[[0-9;]*m)* (?:\x1b\[[0-9;]*m)*═{{8,}}", text) is not None


def claims(text: str) -> list[Claim]:
    """Of each report a claim of all its cycles, and where it has several functions one of each; of two that are compared both."""
    return [claim for run in _runs(text) for at in ((0, 1) if run.compares else (0,)) for claim in _claims(run, at)]


def _runs(text: str) -> Iterator[_Run]:
    run, section, parent = _Run(), "", ""
    for number, line in enumerate(_COLOUR.sub("", text).split("\n"), 1):
        head = _SECTION.fullmatch(line)
        if head is not None:
            section = head["name"].strip()
            if SUMMARY in run.sections and section in (CONFIG, LOG, SUMMARY):
                yield run
                run = _Run()
            run.sections.setdefault(section, {})
            run.line = number if section == SUMMARY else run.line
        elif _COMPARED.fullmatch(line):
            run.compares = True
        elif section == LOG and _LOG_LINE.fullmatch(line):
            run.log.append([float(one) for one in line.split()])
        elif section and section != LOG:
            label, unit = line[LABEL].strip(), line[UNIT].strip(" []")
            parent = parent if label.startswith(_PARTS) else label
            if label:
                run.sections[section][f"{parent} {unit}".strip()] = [_figure(line[FIRST]), _figure(line[SECOND])]
    if SUMMARY in run.sections:
        yield run


def _figure(cell: str) -> Printed | None:
    found = _FIGURE.match(cell.strip())
    return None if found is None else Printed(float(found[0]), 0.5 * 10.0 ** -len(found["decimals"] or ""))


def _claims(run: _Run, at: int) -> list[Claim]:
    def summed(key: str) -> Printed | None:
        return run.value(SUMMARY, key, at)

    functions = {match["name"]: section for section in run.sections if (match := _FUNCTION.fullmatch(section))}
    target, threads, limit = (run.value(CONFIG, key, at) for key in ("Max rate op/s", "Threads", "Concurrency req"))
    mean = summed("Cycle latency ms") or summed("Mean cycle time ms")
    latency = _latency(run, next(iter(functions.values())), at) if len(functions) == 1 else {}
    if not functions:  # older ones have those of requests alone
        latency = next((found for name in RESPONSES if (found := _latency(run, name, at))), {})
        mean = summed("Request latency ms") or summed("Mean resp. time ms") or mean
    # A log is of the run that has just ended, which stands on the right.
    log = run.log if at == int(run.compares) else []
    steps = [after[0] - before[0] for before, after in itertools.pairwise(log) if after[0] > before[0]]
    whole = Claim(
        Tool.LATTE, f"line {run.line}", "AB"[at] if run.compares else "", rate=summed("Throughput op/s"), target=target, count=summed("Cycles op"),
        seconds=summed("Elapsed time s"), errors=summed("Errors op"), latency_ms=latency | ({"mean": _of_histogram(mean)} if mean else {}),
        loop=Loop.OPEN if target else Loop.CLOSED, threads=threads.value * limit.value if threads and limit else None,
        intervals=tuple(Interval(one[3], one[-1]) for one in log), interval_s=statistics.median(steps) if steps else 1.0,
    )  # fmt: skip
    several = functions.items() if len(functions) > 1 else ()
    parts = (replace(whole, what=f"{whole.what} {name}".strip(), latency_ms=_latency(run, section, at)) for name, section in several)
    return [whole, *(_part(one) for one in parts)]


def _part(claim: Claim) -> Claim:
    """A function of several: how often it was called is not printed."""
    return replace(claim, rate=None, target=None, count=None, seconds=None, errors=None, threads=None, intervals=(), is_part=True)


def _latency(run: _Run, section: str, at: int) -> dict[str, Printed]:
    found = ((ours, run.value(section, label, at)) for label, ours in PERCENTILES.items())
    return {name: _of_histogram(value) for name, value in found if value is not None}


def _of_histogram(figure: Printed) -> Printed:
    """Of two to three digits, beside what is printed."""
    return Printed(figure.value, figure.slack + ROUNDED * abs(figure.value))
