"""The plain lines of a run, where there is no terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from hydrotest.analysis.limits.posterior import Estimate
from hydrotest.cli.progress import PlainProgress
from hydrotest.run.lifecycle.events import SearchState, TrialStart
from hydrotest.store.purposes import Purpose
from tests.synthetic import SyntheticRun

INTERVAL = "limit 9,000/s (90 %: 8,000 to 10,000/s)"


def plain() -> tuple[PlainProgress, StringIO]:
    out = StringIO()
    return PlainProgress(Console(file=out, width=160)), out


def test_each_event_is_a_line() -> None:
    listener, out = plain()
    for _ in range(2):
        listener.phase("ingest: limit search")
    listener.trial_started(TrialStart(3, Purpose.SEARCH, 0, "search ingest at 8,000/s", 5, {"ingest": 8_000.0}))
    listener.second("ingest", 7_990.0, 2.5)
    listener.host("here", {"cpu": 0.5})
    listener.say("a line worth keeping")
    listener.warn("the disk is slow", "Take another.")
    lines = out.getvalue().splitlines()
    assert [line[9:] for line in lines] == [
        "ingest: limit search", "trial 3: search ingest at 8,000/s", "a line worth keeping", "warning: the disk is slow", "help: Take another.",
    ]  # fmt: skip
    assert "\x1b" not in out.getvalue()


def test_the_line_of_a_search_s_trial_ends_with_its_interval(tmp_path: Path) -> None:
    listener, out = plain()
    run = SyntheticRun(tmp_path)
    listener.search(SearchState(0, "ingest", 4, 40, 12_000.0, 0.05, Estimate(9_000.0, 8_000.0, 10_000.0)))
    listener.trial_ended(run.trial("search", 12_000), False, "p99 response 400 ms")
    listener.trial_ended(run.trial("search", 8_000), True, "sustained")
    listener.trial_ended(run.trial("squeeze", None), None, "measured")
    listener.trial_ended(run.trial("search", 8_000).model_copy(update={"status": "failed"}), None, "it died")
    assert [line[9:] for line in out.getvalue().splitlines()] == [
        f"trial 1: rejected: p99 response 400 ms; {INTERVAL}", f"trial 2: sustained; {INTERVAL}", "trial 3: done: measured", "trial 4: void: it died",
    ]  # fmt: skip
