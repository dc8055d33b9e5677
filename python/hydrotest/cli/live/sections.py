"""The parts of the screen, each from what is known: head, trial, searches, hosts, kept lines."""

from __future__ import annotations

import math

from hydrotest.cli.live import words
from hydrotest.cli.live.layout import GAP, Cell, Glyphs, Line, Section, cropped, fitted, in_columns
from hydrotest.cli.live.state import Kept, LiveState
from hydrotest.run.lifecycle.events import SearchState
from hydrotest.units import show_duration, show_rate

HEAD = "dim"
NAME_CELLS_MAX = 24
TIMED_WIDTH = 100
BAR_CELLS_MIN, BAR_CELLS_MAX = 12, 60


def screen(state: LiveState, width: int, height: int, glyphs: Glyphs) -> list[Line]:
    """The whole of it, for a terminal of this size."""
    sections = [trial(state, width, glyphs), searches(state, width, glyphs), hosts(state, width, glyphs)]
    tail = [row for line in list(state.kept)[-height:] for row in kept(line, glyphs, width)]
    return [cropped(line, width, glyphs.cut) for line in fitted(head(state, width, glyphs), sections, tail, height)]


def head(state: LiveState, width: int, glyphs: Glyphs) -> list[Line]:
    """The experiment, the phase, and how much is left."""
    name = "" if state.plan is None else f" {state.plan.experiment.name}"
    lines: list[Line] = [
        [("hydrotest", "bold"), (name, "bold"), (f", {show_duration(state.elapsed_s)} so far; Ctrl-C keeps what was measured", HEAD)],
        [(words.plain(state.phase_text), "bold cyan")],
    ]
    if state.forecast is not None:
        left, (number, of) = state.forecast.left_s(state.clock()), state.forecast.trials()
        share = state.elapsed_s / max(1e-9, state.elapsed_s + left.expected)
        text = f"trial {number} of about {of}, {words.span(left.low, left.high)} left"
        lines.append([(f"{text}{GAP}", ""), (glyphs.bar(share, _bar(width - len(text) - len(GAP))), "cyan")])
    return lines


def trial(state: LiveState, width: int, glyphs: Glyphs) -> Section:
    """The trial that runs: each workload's last second against its objective, those first that miss theirs."""
    running = state.running
    if running is None:
        return Section([], [])
    start, ran_s = running.start, state.clock() - running.since_s
    text = f"no. {start.number} {start.purpose}"
    title: Line = [(text, "bold")]
    if start.seconds > 0:
        shown = f", {min(ran_s, start.seconds):.0f} of {start.seconds:.0f} s{GAP}"
        title += [(shown, ""), (glyphs.bar(ran_s / start.seconds, _bar(width - len(text) - len(shown))), "cyan")]
    rows: list[tuple[int, list[Cell]]] = []
    for name in dict.fromkeys([*start.offered, *running.seconds]):
        objective = {} if state.plan is None else state.plan.experiment.objective(name).latencies_ms()
        offered, (rate, p99_ms) = start.offered.get(name), running.seconds.get(name, (None, None))
        met = words.is_met(p99_ms, objective)
        rows.append((
            -2 if met is False else -1 if name == start.subject else 0,
            [_name(name, glyphs), (_rate(offered), ""), (_rate(rate), "bold"), ("" if p99_ms is None else f"{p99_ms:,.1f} ms", "bold"),
             _verdict(met, glyphs), (words.bounds(objective), "")],
        ))  # fmt: skip
    rows.sort(key=lambda row: row[0])
    top: list[Cell] = [(text, HEAD) for text in ("workload", "offered", "now", "p99", "", "objective")]
    lines = in_columns([top, *(cells for _, cells in rows)], right=(1, 2, 3))
    return Section([title, lines[0]], lines[1:], lambda number: f"and {number} more workloads")


def searches(state: LiveState, width: int, glyphs: Glyphs) -> Section:
    """The limits so far, the newest first; those that are known last."""
    newest = list(reversed(state.searches.values()))
    found = sorted(newest, key=lambda one: one.is_over)
    if not found:
        return Section([], [])
    top: list[Cell] = [(text, HEAD) for text in ("limit of", "so far", "90 % interval", "precision", "trials")]
    lines = in_columns([top, *(_search(one, glyphs) for one in found)], right=(1,))
    bar = width - sum(len(text) for text, _ in lines[0]) - len(GAP)
    if bar >= BAR_CELLS_MIN:
        for line, one in zip(lines[1:], found, strict=True):
            line.append((GAP + _interval(one, glyphs, min(bar, BAR_CELLS_MAX)), "cyan"))
    over = sum(one.is_over for one in found)
    return Section([lines[0]], lines[1:], lambda number: f"and {number} more searches; {over} of {len(found)} are done")


def hosts(state: LiveState, width: int, glyphs: Glyphs) -> Section:
    """How much of each host is used, the fullest first."""
    resources = list(dict.fromkeys(resource for shares in state.hosts.values() for resource in shares))
    if not resources:
        return Section([], [])
    fullest = sorted(state.hosts.items(), key=lambda item: -max(item[1].values(), default=0.0))
    names = max(len(_name(name, glyphs)[0]) for name in ("host", *state.hosts))
    cells = (width - names - len(GAP)) // len(resources) - len(GAP) - len(" 100%")
    bar = max(1, min(cells, BAR_CELLS_MAX // 2))
    rows: list[list[Cell]] = [[("host", HEAD), *((resource, HEAD) for resource in resources)]]
    rows += [[_name(name, glyphs), *(_share(shares.get(resource), glyphs, bar) for resource in resources)] for name, shares in fullest]
    lines = in_columns(rows)

    def left_out(number: int) -> str:
        most = max(max(shares.values(), default=0.0) for _, shares in fullest[-number:])
        return f"and {number} more hosts, with nothing above {most:.0%}"

    return Section([lines[0]], lines[1:], left_out)


def kept(line: Kept, glyphs: Glyphs, width: int) -> list[Line]:
    """What was kept; where there is space, with its time."""
    at = f"{line.at_s:6.0f}s  " if width >= TIMED_WIDTH else ""
    style = {True: "green", False: "red", None: "yellow" if line.is_warning else ""}[line.is_held]
    first, *more = [words.plain(text) for text in line.text.splitlines()] or [""]
    return [
        [(at, HEAD), (mark(line, glyphs), style), (first, "yellow" if line.is_warning else "")],
        *([(" " * len(at), ""), (text, "")] for text in more),
    ]


def mark(line: Kept, glyphs: Glyphs) -> str:
    """Of a trial: whether it held."""
    return {True: glyphs.held, False: glyphs.missed, None: glyphs.neither}[line.is_held] + " " if line.is_trial else ""


def _search(one: SearchState, glyphs: Glyphs) -> list[Cell]:
    budget = f"{one.windows}, done" if one.is_over else f"{one.windows} of at most {one.budget}"
    if one.estimate is None:
        return [_name(one.name, glyphs), ("-", ""), ("no window held yet", ""), ("", ""), (budget, "")]
    reached = math.sqrt(one.estimate.high / one.estimate.low) - 1
    precision = "" if one.is_above else f"±{reached:.0%}, asked ±{one.precision:.0%}"
    return [
        _name(one.name, glyphs),
        (words.amount(one, one.estimate.value), "bold"),
        (words.interval(one), ""),
        (precision, ""),
        (budget, ""),
    ]


def _interval(one: SearchState, glyphs: Glyphs, width: int) -> str:
    """From nothing to the rate that it was saturated at, or beyond where the interval reaches there."""
    if one.estimate is None:
        return glyphs.outside * width
    top = max(one.saturated, one.estimate.value)
    return glyphs.interval(one.estimate.low / top, one.estimate.value / top, one.estimate.high / top, width)


def _name(name: str, glyphs: Glyphs) -> Cell:
    return (name if len(name) <= NAME_CELLS_MAX else name[: NAME_CELLS_MAX - 1] + glyphs.cut, "")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{show_rate(rate)}/s"


def _verdict(met: bool | None, glyphs: Glyphs) -> Cell:
    return {True: (f"{glyphs.held} held", "green"), False: (f"{glyphs.missed} MISSED", "bold red"), None: ("", "")}[met]


def _share(share: float | None, glyphs: Glyphs, width: int) -> Cell:
    return ("", "") if share is None else (f"{glyphs.bar(share, width)} {share:4.0%}", "")


def _bar(room: int) -> int:
    return max(0, min(room, BAR_CELLS_MAX))
