"""Undoes what a run made, however the run ends: every step runs, even if earlier ones fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.run.lifecycle.events import Listener

LEFT = "`hydrotest down EXPERIMENT` removes what is left, as root where hosts are emulated."
Undo = Callable[[], Awaitable[Sequence[str]]]
"""Undoes something; returns the problems, in words."""


class Teardown:
    """A stack of undo steps, the last made first. As a block it is carried out at the block's end."""

    def __init__(self, listener: Listener) -> None:
        self.problems: list[str] = []
        """Its problems, once it is carried out."""
        self._listener = listener
        self._steps: list[tuple[str, Undo]] = []

    def add(self, what: str, undo: Undo) -> None:
        """Call it before `undo`'s subject is made, or as soon as a part exists. `what`: “stopping kafka”."""
        self._steps.append((what, undo))

    async def carry_out(self) -> None:
        """Undoes everything, however often the task is cancelled meanwhile.

        Reports problems, and raises nothing.
        """
        await _to_the_end(self._carry_out())

    async def _carry_out(self) -> None:
        self._show(self._listener.phase, "tearing down")
        while self._steps:
            what, undo = self._steps.pop()
            try:
                found = list(await undo())
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - any error is reported, and the other steps are taken
                found = [f"{type(error).__name__}: {error}"]
            for problem in found:
                self._report(f"while {what}: {problem}")

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        self._show(partial(self._listener.warn, hint=LEFT), problem)

    def _show(self, show: Callable[[str], None], text: str) -> None:
        try:
            show(text)
        except Exception as error:  # noqa: BLE001 - a terminal that is gone must not keep a lab alive
            self.problems.append(f"{text!r} could not be shown: {error}")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.carry_out()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Waits until `work` is over, however often it is interrupted meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue


async def each(what: str, works: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Does all of them, even if earlier ones fail.

    Raises a single failure as it is, and several as one error that names all. That error is a trial's if
    all of them are.
    """
    failures: list[Exception] = []
    for work in works:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        kind = TrialFailedError if all(isinstance(error, TrialFailedError) for error in failures) else RunFailedError
        raise kind(f"{what}: {'; '.join(map(str, failures))}") from failures[0]
