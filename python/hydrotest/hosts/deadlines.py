"""Deadlines: every wait has one. Each follows from what is planned, and its error shows how."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from hydrotest.errors import OverdueError

SLOW = 3.0
"""A machine may be this many times slower than those of the reference figures, without missing a deadline."""
POLL_S = 0.05
LAST_LOOK_S = 0.2
"""After a pause of the machine past a deadline, timers are due and pipes full at once: the pipes' content
counts."""

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How long something may take, and why."""

    seconds: float
    why: str

    @classmethod
    def of(cls, **parts_s: float) -> Patience:
        """The sum of some parts, by what each is for: `Patience.of(load=8, drain=180)`."""
        why = ", ".join(f"{seconds:.4g} s for {what.replace('_', ' ')}" for what, seconds in parts_s.items() if seconds)
        return cls(sum(parts_s.values()), why)

    def overdue(self, who: str, what: str) -> OverdueError:
        """The error that names who did not do what in this time."""
        return OverdueError(who, what, self.seconds, self.why)


async def within(work: Awaitable[T], patience: Patience, who: str, what: str) -> T:
    """The result of `work`.

    If it takes longer, cancels it and raises `OverdueError` (“`who` did not `what` within …”).
    """
    task = asyncio.ensure_future(work)
    try:
        for seconds in (patience.seconds, LAST_LOOK_S):
            done, _ = await asyncio.wait([task], timeout=seconds)
            if done:
                return task.result()
        raise patience.overdue(who, what)
    finally:
        await cancelled(task)


async def until(look: Callable[[], Awaitable[T | None]], patience: Patience, who: str, what: str, every_s: float = POLL_S) -> T:
    """Calls `look` repeatedly until it returns something other than None or False.

    Raises `OverdueError` after that time; errors of `look` pass at once.
    """

    async def found() -> T:
        while not (seen := await look()):
            await asyncio.sleep(every_s)
        return seen

    return await within(found(), patience, who, what)


def until_here(look: Callable[[], T | None], patience: Patience, who: str, what: str, every_s: float = POLL_S) -> T:
    """`until` for code outside an event loop."""
    give_up = time.monotonic() + patience.seconds
    while not (seen := look()):
        if time.monotonic() > give_up:
            raise patience.overdue(who, what)
        time.sleep(every_s)
    return seen


async def cancelled(task: asyncio.Future[T], seconds: float = 0.0) -> BaseException | None:
    """Waits so long for a background task, then cancels it, and waits until it is over; returns its error.

    For tasks whose failure is reported elsewhere, or by the caller.
    """
    if not task.done():
        await asyncio.wait([task], timeout=seconds)
    task.cancel()  # has no effect on a task that is over
    await asyncio.wait([task])
    return None if task.cancelled() else task.exception()


async def at_once(works: Iterable[Awaitable[None]]) -> None:
    """Does all of them at the same time, each to its end: what still goes on would disturb what comes next. Raises the first failure."""
    for failure in filter(None, await asyncio.gather(*works, return_exceptions=True)):
        raise failure
