"""How a driver of Spark is steered and heard: by files of its host, here in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.node import Node
from hydrotest.load import flow as flows
from hydrotest.load.flow import FlowDriver
from hydrotest.load.spark import Application, Driver
from hydrotest.spec.spark import SparkPerf
from tests.fake_host import FakeHost

FOLDER, LOG = PurePath("/data/r/here/batch-driver-1"), PurePath("/run/logs/batch-driver-1.log")
APPLICATION = Application(["spark-class", "x.jar"], {"SPARK_HOME": "/opt/spark"}, {})
ITERATION = {"event": "iteration", "test": "count", "group": "iteration-0", "started_wall_s": 1.0, "ended_wall_s": 2.0, "seconds": 1.0,
             "finished": True, "correct": True, "cut": False}  # fmt: skip


class Speaking(FakeHost):
    """The driver that is started on it writes these lines at once, and ends when its control file is gone."""

    def __init__(self, out: str, *lines: object) -> None:
        super().__init__()
        self.out = FOLDER / out
        self.lines = lines
        self.driver: Node | None = None

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        self.driver = await super().node(subcommand, settings)
        for line in self.lines:
            await self.say(line)
        return self.driver

    async def remove(self, path: PurePath) -> None:
        await super().remove(path)
        if path == FOLDER / "control" and self.driver is not None:
            await self.driver.close()

    async def say(self, line: object) -> None:
        await self.append(self.out, json.dumps(line).encode() + b"\n")


async def driver_on(host: FakeHost) -> Driver:
    spec = SparkPerf.model_validate({"kind": "spark-perf", "tests": ["scheduling-throughput"]})
    return await Driver.start("batch", spec, APPLICATION, host, FOLDER, LOG)


async def test_a_driver_does_what_its_control_file_says() -> None:
    host = Speaking(Driver.OUT, {"event": "ready", "application": "app-1"}, {"event": "resting"})
    # What one of before has left is not taken for its own.
    await host.put(FOLDER / Driver.OUT, b'{"event": "ready", "application": "app-0"}\n')
    await host.put(FOLDER / "beats.jsonl", b"no beat\n")
    driver = await driver_on(host)
    assert driver.application == "app-1"
    settings = json.loads(await host.get(FOLDER / "settings.json"))
    assert [PurePath(settings[name]) for name in ("control", "out", "beats")] == [
        FOLDER / name for name in ("control", Driver.OUT, "beats.jsonl")
    ]
    (started,) = host.started
    assert started["argv"] == ["spark-class", "x.jar", str(FOLDER / "settings.json")]
    assert (started["directory"], started["log"]) == (str(FOLDER), str(LOG))
    assert await host.get(FOLDER / "control") == b"pause"
    await driver.press()
    assert await host.get(FOLDER / "control") == b"run"
    await driver.rest()
    assert await host.get(FOLDER / "control") == b"pause"
    await driver.stop()
    assert await host.size(FOLDER / "control") is None


async def test_a_line_counts_when_it_is_whole() -> None:
    host = Speaking(Driver.OUT, {"event": "ready", "application": "app-1"}, {"event": "resting"})
    driver = await driver_on(host)
    whole = json.dumps(ITERATION).encode() + b"\n"
    await host.append(host.out, whole + whole[:20])
    await driver.press()
    assert (await driver.next_iteration(60.0)).test == "count"
    assert await driver._next_line() is None
    await host.append(host.out, whole[20:])
    assert (await driver.next_iteration(60.0)).seconds == 1.0
    assert driver.iterations == 2
    await driver.stop()


async def test_a_line_that_a_full_disk_has_cut_is_told_of() -> None:
    host = Speaking(Driver.OUT, {"event": "ready", "application": "app-1"}, {"event": "resting"})
    driver = await driver_on(host)
    await host.append(host.out, b'{"event": "iter\n')
    with pytest.raises(TrialFailedError, match=Driver.OUT):
        await driver._next_line()
    await driver.stop()


async def test_a_death_is_told_in_the_words_of_its_log() -> None:
    host = Speaking(Driver.OUT, {"event": "ready", "application": "app-1"}, {"event": "resting"})
    driver = await driver_on(host)
    await host.append(LOG, b"INFO fine\nERROR no room left for this\n")
    await driver._node.close()
    await driver._watch
    assert driver.death is not None
    assert "no room left for this" in driver.death
    with pytest.raises(TrialFailedError, match="no room left for this"):
        await driver.next_iteration(60.0)
    await driver.stop()


async def test_a_dataflow_s_driver_is_asked_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "POLL_S", 0.001)
    progress = {"event": "progress", "query": "splitter", "wall_s": 1.0, "rows": 5}
    host = Speaking(FlowDriver.OUT, {"event": "ready", "application": "app-2", "number": 0}, progress,
                    {"event": "done", "number": 1, "result": {"drained": True}})  # fmt: skip
    driver = await FlowDriver.start("flow", APPLICATION, host, FOLDER, LOG)
    assert await driver.ask("drain", 60.0, seconds=5) == {"drained": True}
    assert json.loads(await host.get(FOLDER / "control")) == {"number": 1, "do": "drain", "seconds": 5}
    await host.say({**progress, "rows": 7})
    await driver.take_in()
    assert [one["rows"] for one in driver.progress] == [5, 7]
    await host.say({"event": "failed", "number": 2, "error": "no such query"})
    with pytest.raises(TrialFailedError, match="no such query"):
        await driver.ask("halt", 60.0, query="x")
    await driver.stop()
