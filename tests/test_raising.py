"""Systems that wait for each other: they are started and stopped at once, by real supervisors, and none is left behind."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.base import Service
from hydrotest.hosts.catalogue import HostPool
from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.startup import start_systems
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.systems.base import Ready, System
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.java import writes_at_end
from tests.processes import processes_with

DEADLINE_S = 30.0
# It leaves a mark that it was asked to end, and ends in good order once all the others' marks are there.
POLITE = """\
import pathlib, signal, sys, time
own, *others = map(pathlib.Path, sys.argv[1:])
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(own.touch()))
own.with_suffix(".up").touch()
while not asked or not all(other.exists() for other in others):
    time.sleep(0.01)
own.with_suffix(".ended").touch()
"""


async def until(path: Path) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not path.exists():
            await asyncio.sleep(0.01)


class Waiting(System):
    """Two services that end together; it starts when `needs` are there."""

    def __init__(self, folder: Path, name: str, needs: list[Path]) -> None:
        super().__init__([LocalHost("here", folder)], "r", folder, lambda how: None)
        self.name = name
        self.needs = needs
        self.folder = folder
        self.marks = [folder / f"{name}-{index}" for index in range(2)]

    @property
    def endpoints(self) -> list[str]:
        return []

    async def start(self, say: ProgressCallback) -> None:
        for own, other in (self.marks, reversed(self.marks)):
            argv = [sys.executable, "-c", POLITE, str(own), str(other)]
            await self._launch(self.hosts[0], Service(own.name, argv, self.folder, self.folder / f"{own.name}.log", grace_s=10.0), None)
        for path in (*(mark.with_suffix(".up") for mark in self.marks), *self.needs):
            await until(path)

    def ready(self) -> list[Ready]:
        return []


class Failing(Waiting):
    """It does not come up, once `needs` are there."""

    async def start(self, say: ProgressCallback) -> None:
        for path in self.needs:
            await until(path)
        raise SystemFailedError(f"{self.name} did not start")


@pytest.mark.parametrize("ends_in_order", [False, True])
async def test_systems_are_started_at_once_and_their_services_ended_at_once(ends_in_order: bool, tmp_path: Path) -> None:
    one, two = tmp_path / "one-0.up", tmp_path / "two-0.up"
    systems: dict[str, System] = {"one": Waiting(tmp_path, "one", [two]), "two": Waiting(tmp_path, "two", [one])}
    for system in systems.values():
        system.ends_in_order = ends_in_order
    started: list[str] = []
    try:
        await start_systems(HostPool({}), systems, Silent(), lambda system, seconds: started.append(system.name), Teardown(Silent()))
    finally:
        problems = [problem for system in systems.values() for problem in await system.stop()]
    assert sorted(started) == ["one", "two"]
    assert problems == []
    # In good order where they may write something at their end. One after the other, the first would have been killed for waiting.
    assert [(tmp_path / f"{name}-{index}.ended").exists() for name in systems for index in range(2)] == [ends_in_order] * 4
    assert processes_with(str(tmp_path)) == []
    assert all(system.services == [] for system in systems.values())


class Headed(Waiting):
    """One of its services comes first."""

    async def start_head(self, say: ProgressCallback) -> None:
        await asyncio.sleep(0.05)
        assert not list(self.folder.glob("*.log"))
        (self.folder / "head.up").touch()


async def test_what_other_services_of_a_system_wait_for_is_there_before_any_other_system_starts(tmp_path: Path) -> None:
    first, second = Waiting(tmp_path, "first", [tmp_path / "head.up"]), Headed(tmp_path, "second", [])
    spent: dict[str, float] = {}
    systems: dict[str, System] = {"first": first, "second": second}
    try:
        await start_systems(
            HostPool({}), systems, Silent(), lambda system, seconds: spent.update({system.name: seconds}), Teardown(Silent())
        )
    finally:
        problems = [problem for system in systems.values() for problem in await system.stop()]
    assert problems == []
    assert spent.keys() == systems.keys()


async def test_when_one_does_not_start_no_other_is_being_started_any_more(tmp_path: Path) -> None:
    never = tmp_path / "never"
    other = Waiting(tmp_path, "other", [never])
    systems: dict[str, System] = {"other": other, "bad": Failing(tmp_path, "bad", [tmp_path / "other-1.up"])}
    started: list[str] = []
    try:
        with pytest.raises(SystemFailedError, match="bad did not start"):
            await start_systems(HostPool({}), systems, Silent(), lambda system, seconds: started.append(system.name), Teardown(Silent()))
        assert [service.death for service in other.services] == [None, None]
    finally:
        assert await other.stop() == []
    assert started == []


@pytest.mark.parametrize(
    ("options", "environment", "writes"),
    [
        ([], "", False),
        (["-Xmx1g"], "-XX:TieredStopAtLevel=1 -Xss4m", False),
        (["-XX:StartFlightRecording=filename=a.jfr"], "", True),
        (["-Xmx1g"], "-Xss4m -Xlog:gc:gc.log", True),
    ],
)
def test_a_jvm_that_may_write_something_at_its_end_is_given_the_time(
    options: list[str], environment: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JDK_JAVA_OPTIONS", raising=False)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", environment)
    assert writes_at_end(options) is writes
