"""The screen of a run that goes on: what it shows, that it fits, and that the terminal is as before when it is left."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from hydrotest.analysis.limits.posterior import Estimate
from hydrotest.cli.live import words
from hydrotest.cli.live.display import LiveProgress
from hydrotest.cli.live.forecast import ROUGH, Forecast, Left, mean_of
from hydrotest.cli.live.layout import Glyphs, Section, cropped, fitted
from hydrotest.cli.progress import takes_a_screen
from hydrotest.run.lifecycle.events import Planned, SearchState, TrialStart
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, Trial

SIZES = [(80, 24), (200, 50), (40, 10), (100, 30)]
ALT_SCREEN, MAIN_SCREEN, CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
EXPERIMENT = """\
name: live
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce}
  other: {kind: kafka-produce}
objectives:
  ingest: {p99: 50 ms}
  other: {p99: 50 ms}
tests:
  - isolated: [ingest, other]
  - combined: {workloads: [ingest, other], pairs: 5}
search: {window: 10 s, warm_up: 2 s, trials: 20}
"""
JOB = """\
name: job
hosts: {here: {connect: local}}
systems: {spark: {master: here, workers: [here]}}
workloads: {batch: {kind: spark-perf, tests: [count]}}
tests: [isolated: [batch]]
"""


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    file = tmp_path / "live.yaml"
    file.write_text(EXPERIMENT)
    return load_experiment(file)[0]


def planned(experiment: Experiment, *earlier: Trial) -> Planned:
    steps = tuple((index, step) for index, test in enumerate(experiment.tests) for step in test.steps(experiment))
    return Planned(experiment, steps, make_plan(experiment).seconds - sum(step.seconds for _, step in steps), earlier)


def trial(number: int, purpose: Purpose, workload: str, offered: float | None = None, test: int = 0) -> Trial:
    load = Load(workload=workload, kind="kafka-produce", client="native", offered=offered)
    return Trial(number=number, slug=purpose, purpose=purpose, tenancy="isolated", warm_up_s=2, window_s=10, prepared_wall_s=0,
                 ended_wall_s=1, status="done", test=test, loads=[load])  # fmt: skip


def state(name: str = "ingest", windows: int = 3, low: float = 28_000, high: float = 34_000, **more: bool) -> SearchState:
    return SearchState(0, name, windows, 20, 44_000.0, 0.05, Estimate(31_000.0, low, high) if windows else None, **more)


def start(number: int, purpose: Purpose, *workloads: str, rate: float | None = 30_000.0) -> TrialStart:
    return TrialStart(number, purpose, 0, f"{purpose} {workloads[0]}", 12.0, dict.fromkeys(workloads, rate))


def screen_of(width: int, height: int) -> tuple[LiveProgress, Console, Clock]:
    clock = Clock()
    console = Console(file=StringIO(), record=True, width=width, height=height, force_terminal=True)
    return LiveProgress(console, clock), console, clock


def lines_of(live: LiveProgress, console: Console) -> list[str]:
    console.print(live)
    return [line.rstrip() for line in console.export_text().splitlines()]


def feed(live: LiveProgress, clock: Clock, experiment: Experiment, hosts: int = 1, workloads: int = 1) -> None:
    """A run in the middle of a search."""
    live.planned(planned(experiment))
    live.phase("ingest: limit search, trial 4 of at most 20")
    live.search(state(windows=0))
    for number in (1, 2, 3):
        live.trial_started(start(number, Purpose.SEARCH, "ingest"))
        clock.now += 20
        live.trial_recorded(trial(number, Purpose.SEARCH, "ingest", 30_000.0))
        live.search(state(windows=number))
        live.trial_ended(
            trial(number, Purpose.SEARCH, "ingest", 30_000.0), number != 2, "sustained" if number != 2 else "p99 response 63 ms"
        )
    live.say("a line worth keeping")
    live.warn("the disk is slow", "Take another.")
    names = ["ingest", *(f"workload-{number}" for number in range(1, workloads))]
    live.trial_started(start(4, Purpose.SEARCH, *names))
    clock.now += 5
    for name in names:
        live.second(name, 29_970.0, 2.5)
    for number in range(hosts):
        live.host(f"host-{number}", {"cpu": 0.50 + number / 100, "memory": 0.25, "disk": 0.0, "network": 0.125})


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(("hosts", "workloads"), [(0, 1), (1, 2), (14, 20)])
def test_the_screen_fits(width: int, height: int, hosts: int, workloads: int, experiment: Experiment) -> None:
    live, console, clock = screen_of(width, height)
    feed(live, clock, experiment, hosts, workloads)
    lines = lines_of(live, console)
    assert len(lines) <= height
    assert max(cell_len(line) for line in lines) <= width


@pytest.mark.parametrize("width", [80, 200])
def test_the_screen_shows_the_figures(width: int, experiment: Experiment) -> None:
    live, console, clock = screen_of(width, 24)
    feed(live, clock, experiment)
    shown = "\n".join(lines_of(live, console))
    left = live.forecast.left_s(clock.now) if live.forecast is not None else None
    assert left is not None
    assert 0 < left.low < left.high
    for fact in ("live", "limit search, trial 4 of at most 20", "trial 4 of about", words.span(left.low, left.high), "no. 4 search", "5 of 12 s",
                 "30,000/s", "2.5 ms", "p99 ≤ 50 ms", "✓ held", "31,000/s", "28,000 to 34,000/s", "±10%, asked ±5%", "3 of at most 20",
                 "host-0", "50%", "25%", "12%", "✗ 2 ingest", "a line worth keeping", "warning: the disk is slow", "help: Take another."):  # fmt: skip
        assert fact in shown, shown


def test_an_objective_that_is_missed_comes_first_and_says_so_without_colour(experiment: Experiment) -> None:
    live, console, clock = screen_of(80, 24)
    live.planned(planned(experiment))
    live.trial_started(start(1, Purpose.TOGETHER, "ingest", "other"))
    live.second("ingest", 30_000.0, 2.5)
    live.second("other", 30_000.0, 63.0)
    clock.now += 1
    rows = [line for line in lines_of(live, console) if line.startswith(("ingest", "other"))]
    assert [row.split()[0] for row in rows] == ["other", "ingest"]
    assert "✗ MISSED" in rows[0]
    assert "✓ held" in rows[1]


def test_what_does_not_fit_is_counted_and_the_fullest_are_shown(experiment: Experiment) -> None:
    live, console, clock = screen_of(80, 24)
    feed(live, clock, experiment, hosts=14, workloads=9)
    lines = lines_of(live, console)
    shown = [line for line in lines if line.startswith("host-")]
    assert [line.split()[0] for line in shown] == [f"host-{13 - at}" for at in range(len(shown))]
    assert 1 <= len(shown) < 14
    assert any(line == f"and {14 - len(shown)} more hosts, with nothing above {0.50 + (13 - len(shown)) / 100:.0%}" for line in lines)
    named = sum(line.startswith(("ingest", "workload-")) and "ms" in line for line in lines)
    assert f"and {9 - named} more workloads" in lines


def test_searches_that_are_done_come_last(experiment: Experiment) -> None:
    live, console, _ = screen_of(120, 24)
    live.planned(planned(experiment))
    live.search(state("ingest", is_over=True))
    live.search(state("other", windows=0))
    rows = [line for line in lines_of(live, console) if line.startswith(("ingest", "other"))]
    assert [row.split()[0] for row in rows] == ["other", "ingest"]
    assert "no window held yet" in rows[0]
    assert "done" in rows[1]


def test_the_interval_narrows_on_its_scale() -> None:
    glyphs = Glyphs()
    wide, narrow = glyphs.interval(0.2, 0.5, 0.8, 20), glyphs.interval(0.45, 0.5, 0.55, 20)
    assert (len(wide), len(narrow)) == (20, 20)
    assert wide.count(glyphs.inside) > narrow.count(glyphs.inside) > 0
    assert wide.index(glyphs.middle) == narrow.index(glyphs.middle)
    assert glyphs.interval(0.9, 1.0, 1.5, 20)[-1] == glyphs.middle


@pytest.mark.parametrize(("p99_ms", "objective", "met"), [
    (2.0, {"p99": 50.0}, True), (51.0, {"p99": 50.0}, False), (None, {"p99": 50.0}, None), (2.0, {}, None),
    (2.0, {"p999": 50.0}, None), (51.0, {"p999": 50.0}, False), (2.0, {"p50": 5.0}, True), (6.0, {"p50": 5.0}, None),
    (6.0, {"p50": 5.0, "p99": 50.0}, None), (60.0, {"p50": 5.0, "p99": 50.0}, False), (4.0, {"p50": 5.0, "p99": 50.0}, True),
])  # fmt: skip
def test_a_p99_shows_only_what_it_can_of_an_objective(p99_ms: float | None, objective: dict[str, float], met: bool | None) -> None:
    assert words.is_met(p99_ms, objective) is met


def test_a_message_cannot_move_the_cursor(experiment: Experiment) -> None:
    live, console, _ = screen_of(80, 24)
    live.planned(planned(experiment))
    live.say("one\x1b[2Jtwo\tthree\rfour\nnext line")
    lines = lines_of(live, console)
    assert lines[-3:] == ["one [2Jtwo three", "four", "next line"]


def test_sections_give_way_from_the_last_and_the_newest_lines_stay() -> None:
    sections = [Section([[(f"head {at}", "")]], [[(f"row {at}.{row}", "")] for row in range(5)]) for at in range(3)]
    tail = [[(f"line {number}", "")] for number in range(9)]
    for height in range(4, 40):
        texts = ["".join(text for text, _ in line) for line in fitted([[("top", "")]], sections, tail, height)]
        assert len(texts) <= height
        assert texts[0] == "top"
        assert texts[-1] == "line 8"
        heads = [text for text in texts if text.startswith("head")]
        assert heads == [f"head {at}" for at in range(len(heads))]
    assert sum(text.startswith("row") for text in texts) == 15


def test_wide_letters_are_cropped_by_cells() -> None:
    assert cell_len("".join(text for text, _ in cropped([("データ" * 9, ""), ("more", "")], 10, "…"))) <= 10


# The time that is left.


def search_trials(forecast: Forecast, clock: Clock, name: str, count: int, seconds: float) -> None:
    forecast.searched(state(name, windows=0), clock.now)
    for number in range(1, count + 1):
        forecast.started(start(number, Purpose.SEARCH, name), clock.now)
        clock.now += seconds
        forecast.recorded(trial(number, Purpose.SEARCH, name, 30_000.0), clock.now)
        forecast.searched(state(name, windows=number), clock.now)


def test_before_anything_is_known_the_range_is_that_of_the_plan(experiment: Experiment) -> None:
    plan = planned(experiment)
    left = Forecast(plan, 0.0).left_s(0.0)
    fewest = sum(
        step.seconds / step.trials * (step.trials - (u.expected - u.least if (u := step.undecided) else 0)) for _, step in plan.steps
    )
    most = [(step.seconds / step.trials, step.trials + (u.most - u.expected if (u := step.undecided) else 0)) for _, step in plan.steps]
    assert left.low == pytest.approx(plan.prepare_s + fewest)
    warm_ups = 2 * (experiment.warm_up.most - experiment.warm_up.least)
    longer_s = experiment.search.window + experiment.search.warm_up + OVERHEAD_S
    assert left.high == pytest.approx(plan.prepare_s + warm_ups + sum(trials * (trial_s + longer_s) for trial_s, trials in most))
    assert left.low < make_plan(experiment).seconds < left.high


def test_the_range_narrows_as_trials_show_their_pace(experiment: Experiment) -> None:
    clock = Clock()
    forecast = Forecast(planned(experiment), 0.0)
    before = forecast.left_s(0.0)
    search_trials(forecast, clock, "ingest", 8, 15.0)
    search_trials(forecast, clock, "other", 8, 15.0)
    after = forecast.left_s(clock.now)
    assert after.high - after.low < before.high - before.low
    slow = Forecast(planned(experiment), 0.0)
    late = Clock()
    search_trials(slow, late, "ingest", 8, 45.0)
    search_trials(slow, late, "other", 8, 45.0)
    assert slow.left_s(late.now).expected > 2 * after.expected
    assert slow.left_s(late.now).low > after.low


def test_a_search_that_is_over_leaves_nothing_and_a_budget_bounds_the_rest(experiment: Experiment) -> None:
    clock = Clock()
    forecast = Forecast(planned(experiment), 0.0)
    search_trials(forecast, clock, "ingest", 10, 15.0)
    open_ = forecast.left_s(clock.now)
    forecast.searched(state("ingest", windows=10, is_over=True), clock.now)
    over = forecast.left_s(clock.now)
    longer = mean_of([0.0] * 10, (0.0, 15.0))
    # Ten more are possible up to the budget of 20, and one at least comes.
    assert open_.high - over.high == pytest.approx(10 * (15 + longer.high))
    assert open_.low - over.low == pytest.approx(1 * (15 + longer.low))
    for test in (0, 1):
        forecast.test_ended(test)
    assert forecast.left_s(clock.now).high == 0
    assert forecast.trials()[0] == forecast.trials()[1]


def test_a_repeated_trial_does_not_count_but_its_time_does(experiment: Experiment) -> None:
    clock = Clock()
    forecast = Forecast(planned(experiment), 0.0)
    search_trials(forecast, clock, "ingest", 3, 15.0)
    number, _ = forecast.trials()
    forecast.started(start(4, Purpose.SEARCH, "ingest"), clock.now)
    clock.now += 15
    forecast.recorded(trial(4, Purpose.SEARCH, "ingest", 30_000.0), clock.now)
    forecast.searched(state("ingest", windows=3), clock.now)
    assert forecast.trials()[0] == number
    before = forecast.left_s(clock.now).expected
    forecast.started(start(5, Purpose.SEARCH, "ingest"), clock.now)
    clock.now += 15
    forecast.recorded(trial(5, Purpose.SEARCH, "ingest", 30_000.0), clock.now)
    forecast.searched(state("ingest", windows=4), clock.now)
    assert forecast.left_s(clock.now).expected > before - 15  # the pace of two trials for one


def test_a_resumed_run_counts_what_is_done(experiment: Experiment) -> None:
    done = [trial(1, Purpose.SATURATED, "ingest"), *(trial(number, Purpose.SEARCH, "ingest", 1e4) for number in range(2, 7)),
            trial(7, Purpose.WARM_UP, "ingest")]  # fmt: skip
    new, resumed = Forecast(planned(experiment), 0.0), Forecast(planned(experiment, *done), 0.0)
    assert resumed.trials()[0] == 6
    assert resumed.trials()[1] == new.trials()[1]
    assert resumed.left_s(0.0).high < new.left_s(0.0).high


def test_the_range_of_a_mean_narrows() -> None:
    widths = [(found := mean_of([1.1] * number, ROUGH)).high - found.low for number in (0, 1, 4, 16, 64)]
    assert widths[1:] == sorted(widths[1:], reverse=True)
    assert mean_of([1.1] * 64, ROUGH).expected == pytest.approx(1.1, abs=0.02)


def one_step(experiment: Experiment, **fields: Any) -> Planned:
    return Planned(experiment, ((0, Step(workload="ingest", trials=1, detail="", **fields)),), 0.0, ())


def test_a_long_soak_is_known_to_the_length_of_a_trial(experiment: Experiment) -> None:
    warmed = experiment.model_copy(update={"warm_up": experiment.warm_up.model_copy(update={"most": experiment.warm_up.least})})
    forecast = Forecast(one_step(warmed, test="soak", seconds=86_400.0), 0.0)
    assert forecast.left_s(0.0) == Left(86_400.0, 86_400.0 + 7.5, 86_400.0 + 15.0)
    forecast.started(start(1, Purpose.SOAK, "ingest"), 0.0)
    assert forecast.left_s(3_600.0).low == 82_800.0


def test_the_length_of_a_job_is_a_rough_estimate(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    job = load_experiment(file)[0]
    plan = planned(job)
    ((_, step),) = plan.steps
    left = Forecast(replace(plan, prepare_s=0.0), 0.0).left_s(0.0)
    assert left.low == step.seconds * ROUGH[0]
    assert left.high >= step.seconds * ROUGH[1]


# The terminal.


@pytest.mark.parametrize("error", [None, KeyError("a fault"), KeyboardInterrupt()])
def test_whatever_ends_the_run_the_terminal_is_as_before_and_has_the_kept_lines(
    error: BaseException | None, experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    out = StringIO()
    streams = sys.stdout, sys.stderr
    live = LiveProgress(Console(file=out, width=80, height=24, force_terminal=True), Clock())

    def block() -> None:
        with live:
            live.planned(planned(experiment))
            live.say("worth keeping")
            live.trial_ended(trial(1, Purpose.SEARCH, "ingest", 30_000.0), False, "too slow")
            print("written by something else", file=sys.stderr)
            print("cut", end="")
            if error is not None:
                raise error

    if error is None:
        block()
    else:
        with pytest.raises(type(error)):
            block()
    assert (sys.stdout, sys.stderr) == streams
    assert capsys.readouterr() == ("", "")
    shown = out.getvalue()
    assert shown.count(ALT_SCREEN) == shown.count(MAIN_SCREEN) == 1
    _, _, after = shown.partition(MAIN_SCREEN)
    assert shown.rindex(CURSOR) > shown.rindex("\x1b[?25l")
    left = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", after).splitlines()
    assert [line[9:] for line in left if line] == ["worth keeping", "✗ 1 ingest 30,000/s: too slow", "written by something else", "cut"]


DRAWN = """
import sys
from rich.console import Console
from hydrotest.cli.progress import progress_on
with progress_on(Console(stderr=True)) as listener:
    print(type(listener).__name__, file=sys.__stdout__, flush=True)
    listener.say("worth keeping")
"""


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


@pytest.mark.parametrize(("more", "kind"), [
    ({"TERM": "xterm"}, "LiveProgress"), ({"TERM": "dumb"}, "PlainProgress"), ({"TERM": "xterm", "CI": "true"}, "PlainProgress"),
])  # fmt: skip
def test_only_a_terminal_that_can_be_drawn_on_gets_a_screen(more: dict[str, str], kind: str, terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "TERM", "NO_COLOR", "FORCE_COLOR")} | more
    done = subprocess.run([sys.executable, "-c", DRAWN], stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True, check=True)
    assert done.stdout.split() == [kind]
    shown = os.read(ours, 1 << 16).decode()
    assert (ALT_SCREEN in shown, MAIN_SCREEN in shown) == (kind == "LiveProgress",) * 2
    assert "worth keeping" in shown.rpartition(MAIN_SCREEN)[2]


def test_a_pipe_gets_lines_even_where_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert not takes_a_screen(Console(file=StringIO(), force_terminal=True))


def test_a_search_that_found_nothing_is_above_or_open_is_written_as_such() -> None:
    assert words.limit_so_far(state(windows=0)) == "no limit yet"
    assert "above 28,000/s" in words.limit_so_far(replace(state(), is_above=True))
    of = replace(state(), is_fraction=True, estimate=Estimate(0.52, 0.48, 0.57))
    assert "52%" in words.limit_so_far(of)
    assert "48% to 57%" in words.limit_so_far(of)
