"""Retries of what fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.run.lifecycle.events import Listener
from hydrotest.store.records import Trial

VOID_MAX = 3
"""So many failed trials in a row, or void ones in a search, end it: something is broken."""

GO_ON = "When its cause is gone, `--resume` goes on after the last finished trial."
"""Hint where trials fail."""

T = TypeVar("T")


class Told(Protocol):
    """A bench, as far as its listener goes."""

    @property
    def listener(self) -> Listener:
        """The listener."""
        ...


class TrialsFailedError(RunFailedError):
    """A measurement failed several times in a row."""


async def until_done(bench: Told, attempt: Callable[[], Awaitable[Trial]]) -> Trial:
    """Repeats a trial while it fails, a few times: a generator that died costs its trial, not the run.

    Raises `TrialsFailedError` then.
    """

    async def once() -> Trial:
        trial = await attempt()
        if trial.status != "done":
            bench.listener.trial_ended(trial, None, trial.reason or "")
            raise _VoidError(trial.reason or "")
        return trial

    return await until_through(bench, "the trial", once)


async def until_through(bench: Told, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeats something while it raises `TrialFailedError`, a few times; also work before and between trials.

    Raises `TrialsFailedError` then.
    """
    reason = ""
    for number in range(1, VOID_MAX + 1):
        try:
            return await attempt()
        except TrialFailedError as error:
            reason = error.message
            if not isinstance(error, _VoidError):
                bench.listener.warn(f"{what} failed, {number} of {VOID_MAX} times: {reason}")
    raise TrialsFailedError(f"{what} failed {VOID_MAX} times in a row; the last time: {reason}", GO_ON)


class _VoidError(TrialFailedError):
    """A trial failed, and that was reported."""
