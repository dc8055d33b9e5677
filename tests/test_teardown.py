"""Whatever goes wrong, all of a run is undone, and its summary is written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.teardown import Teardown, each


class Hearing(Silent):
    """Keeps the messages that it receives."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def warn(self, what: str, hint: str | None = None) -> None:
        self.said.append(what)


class Gone(Silent):
    """A terminal that was closed."""

    def warn(self, what: str, hint: str | None = None) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    def phase(self, text: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")


def stack(listener: Silent, faults: dict[str, BaseException]) -> tuple[Teardown, list[str]]:
    """Three steps, of which some fail; which were taken."""
    teardown, taken = Teardown(listener), []

    def add(name: str) -> None:
        async def undo() -> Sequence[str]:
            taken.append(name)
            if name in faults:
                raise faults[name]
            return [f"{name} resists"]

        teardown.add(name, undo)

    for name in ("data", "lab", "system"):
        add(name)
    return teardown, taken


@pytest.mark.parametrize(
    "fault",
    [
        TrialFailedError("it hangs"),
        OSError(19, "No such device"),
        KeyError("event"),
        asyncio.CancelledError(),
        ExceptionGroup("two", [OSError()]),
    ],
)
async def test_every_step_is_taken_whatever_became_of_the_others(fault: BaseException) -> None:
    listener = Hearing()
    teardown, taken = stack(listener, {"system": fault, "lab": fault})
    async with teardown:
        pass
    assert taken == ["system", "lab", "data"]
    assert len(teardown.problems) == 3
    assert listener.said == teardown.problems
    assert type(fault).__name__ in teardown.problems[0]


async def test_a_terminal_that_is_gone_stops_no_teardown() -> None:
    teardown, taken = stack(Gone(), {"lab": OSError(16, "busy")})
    await teardown.carry_out()
    assert taken == ["system", "lab", "data"]
    assert any("busy" in problem for problem in teardown.problems)


async def test_the_failure_of_the_block_is_what_is_raised() -> None:
    teardown, taken = stack(Hearing(), {"lab": OSError(16, "busy")})
    with pytest.raises(RunFailedError, match="the run"):
        async with teardown:
            raise RunFailedError("the run")
    assert taken == ["system", "lab", "data"]


async def test_a_teardown_that_is_interrupted_goes_on_to_its_end() -> None:
    teardown = Teardown(Hearing())
    begun, goes_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def undo() -> Sequence[str]:
        begun.set()
        await goes_on.wait()
        ended.set()
        return []

    teardown.add("data", undo)
    running = asyncio.create_task(teardown.carry_out())
    await begun.wait()
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0)
    goes_on.set()
    await running
    assert ended.is_set()
    assert teardown.problems == []


async def test_each_is_done_and_all_failures_are_told() -> None:
    done: list[int] = []

    def work(number: int, fault: Exception | None) -> Any:
        async def body() -> None:
            done.append(number)
            if fault is not None:
                raise fault

        return body

    await each("what", [work(1, None), work(2, None)])
    with pytest.raises(KeyError):
        await each("what", [work(3, KeyError("x")), work(4, None)])
    with pytest.raises(TrialFailedError, match="what: one; two"):
        await each("what", [work(5, TrialFailedError("one")), work(6, TrialFailedError("two"))])
    with pytest.raises(RunFailedError, match="one"):
        await each("what", [work(7, TrialFailedError("one")), work(8, OSError(28, "full"))])
    assert done == [1, 2, 3, 4, 5, 6, 7, 8]
