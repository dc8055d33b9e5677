"""Trials that are made again while they fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hydrotest.errors import RunFailedError
from hydrotest.run.workloads.base import Bench
from hydrotest.store.records import Trial

VOID_MAX = 3
"""So many failed trials in a row, or void ones in a search, end it: something is broken."""


class TrialsFailedError(RunFailedError):
    """What was to be measured failed several times in a row."""


async def until_done(bench: Bench, attempt: Callable[[], Awaitable[Trial]]) -> Trial:
    """Runs a trial again while it fails, a few times: a generator that died costs its trial, not the run. Raises `TrialsFailedError` then."""
    for _ in range(VOID_MAX):
        trial = await attempt()
        if trial.status == "done":
            return trial
        bench.listener.trial_ended(trial, None, trial.reason or "")
    raise TrialsFailedError(f"{VOID_MAX} trials in a row failed; the last one: {trial.reason}")
