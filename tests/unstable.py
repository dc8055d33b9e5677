"""Real tests that fail are run once more, each by itself, when all others are over. One that passes then is *unstable*: the run goes on, and its end
names it with its first failure. More than two of them fail the run: no suite passes by being tried until it does.

It is no `--reruns`: that repeats a test at once, among the same systems that its first failure may have upset, any number of times.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

UNSTABLE_MAX = 2
AGAIN_MAX = 5
"""More failures than this are no mood of the machine's: something is broken, and nothing is run again."""
AGAIN_S_MAX = 900.0
AGAIN = "HYDROTEST_TEST_AGAIN"
"""Set in the process in which a test is run again: there nothing is run a third time."""


@dataclass(frozen=True)
class Outcome:
    """What became of the failures: those that passed by themselves (with their first failure), those that failed again, and whether the run fails."""

    unstable: dict[str, str]
    failed: list[str]
    not_tried: list[str]

    @property
    def fails(self) -> bool:
        """True unless all that failed passed by itself, and hardly any did fail."""
        return bool(self.failed or self.not_tried) or len(self.unstable) > UNSTABLE_MAX


def decide(failures: dict[str, str], is_real: Callable[[str], bool], passes: Callable[[str], bool]) -> Outcome:
    """`failures`: names of tests with the first line of their failure. `passes`: runs one by itself."""
    again = [name for name in failures if is_real(name)]
    others = [name for name in failures if not is_real(name)]
    if others or len(again) > AGAIN_MAX:
        return Outcome({}, [], list(failures))
    results = {name: passes(name) for name in again}
    return Outcome({name: failures[name] for name in again if results[name]}, [name for name in again if not results[name]], [])


def _passes(nodeid: str) -> bool:
    command = [sys.executable, "-m", "pytest", nodeid, "-q", "--tb=short"]
    try:
        again = subprocess.run(command, env={**os.environ, AGAIN: "1"}, timeout=AGAIN_S_MAX, check=False)
    except subprocess.TimeoutExpired:
        return False
    return again.returncode == 0


def first_failure(reports: Sequence[pytest.TestReport]) -> str:
    """The line with the error."""
    crash = getattr(reports[0].longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(reports[0].longrepr)
    return next((line for line in text.splitlines() if line.strip()), "no message")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Runs again what failed. By now all fixtures are gone, systems included."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get(AGAIN) or reporter is None or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    of: dict[str, list[pytest.TestReport]] = {}
    for key in ("failed", "error"):
        for report in reporter.stats.get(key, []):
            of.setdefault(report.nodeid, []).append(report)
    real = {item.nodeid for item in session.items if item.get_closest_marker("real")}
    outcome = decide({name: first_failure(reports) for name, reports in of.items()}, real.__contains__, _passes)
    reporter.stats["unstable"] = [outcome]
    for name in outcome.unstable:
        for key in ("failed", "error"):
            reporter.stats[key] = [report for report in reporter.stats.get(key, []) if report.nodeid != name]
    if not outcome.fails:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was unstable, and what was skipped for which reason."""
    for outcome in terminalreporter.stats.pop("unstable", []):
        for name, first in outcome.unstable.items():
            terminalreporter.write_line(f"unstable: {name}, first failure: {first}", yellow=True)
        if len(outcome.unstable) > UNSTABLE_MAX:
            terminalreporter.write_line(f"{len(outcome.unstable)} unstable tests fail the run (at most {UNSTABLE_MAX})", red=True)
        for name in outcome.failed:
            terminalreporter.write_line(f"failed twice: {name}", red=True)
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"skipped, {count} tests: {reason}", yellow=True)
