"""The live display and the plain lines."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from hydrotest.cli.progress import LiveProgress, PlainProgress
from hydrotest.run.lifecycle.events import Listener
from tests.synthetic import SyntheticRun


def tell(listener: Listener) -> None:
    listener.phase("ingest: main search")
    listener.progress(0, 300)
    listener.trial_started(3, "search ingest at 8,000/s", 5)
    listener.second("ingest", 7_990.0, 2.5)
    listener.host("here", {"cpu": 0.5, "memory": 0.25, "disk": 0.0})
    listener.say("a line worth keeping")


def test_the_live_display_shows_phase_trial_time_left_rate_and_hosts(tmp_path: Path) -> None:
    out = StringIO()
    live = LiveProgress(Console(file=out, force_terminal=True, width=160))
    tell(live)
    console = Console(file=out, width=160)
    console.print(live)
    shown = out.getvalue()
    for expected in (
        "ingest: main search",
        "5 min left",
        "trial 3: search ingest",
        "7,990/s, p99 2.5 ms",
        "cpu",
        "50%",
        "a line worth keeping",
    ):
        assert expected in shown
    live.trial_ended(SyntheticRun(tmp_path).trial("search", 8_000), True, "sustained")
    assert "✓" in out.getvalue()
    with live:
        pass


def test_plain_lines_elsewhere(tmp_path: Path) -> None:
    out = StringIO()
    plain = PlainProgress(Console(file=out, width=160))
    tell(plain)
    plain.trial_ended(SyntheticRun(tmp_path).trial("search", 12_000), False, "p99 response 400 ms")
    lines = out.getvalue().splitlines()
    assert any(line.endswith("trial 3: search ingest at 8,000/s") for line in lines)
    assert any("rejected: p99 response 400 ms" in line for line in lines)
    assert "\x1b" not in out.getvalue()
