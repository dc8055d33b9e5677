"""Generators, services and samplers that hang, die or talk nonsense: who waits for them hears of it, and nothing is left of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyroute2.netlink.exceptions import NetlinkError

from hydrotest.errors import OverdueError, RunFailedError
from hydrotest.hosts import node as nodes
from hydrotest.hosts.base import Service
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.local import LocalHost
from hydrotest.load import native
from hydrotest.load.flow import FlowDriver
from hydrotest.load.native import Generator, run_generators
from hydrotest.load.spark import Application
from hydrotest.run.lifecycle import sampling as samplings
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.systems.service import RunningService
from tests.processes import processes_with

LONG = Patience.of(a_slow_machine=60.0)
FakeNode = Callable[[str], None]

SECOND = "say('second', wall_s=time.time(), counts={'completed': 1}, p99_ms=None)"
OUTCOME = "say('done', result={'counts': {}, 'started_wall_s': 1.0, 'ended_wall_s': 2.0})"
GOES = "say('ready', nice=0)\nsys.stdin.readline()\n"


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    return LocalHost("here", tmp_path)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is waited for as shortly as tests can afford."""
    monkeypatch.setattr(nodes, "END_S_MAX", 0.3)
    monkeypatch.setattr(native, "SILENT_S_MAX", 0.5)
    monkeypatch.setattr(native, "DRAIN_S", 0.5)
    monkeypatch.setattr(samplings, "SILENCE", Patience.of(a_reading=0.5))


def generator(host: LocalHost, seconds: float, follows: bool = False) -> Generator:
    return Generator(
        "ingest", "kafka-produce", host, "consume" if follows else "produce", {"seconds": seconds, "follows": follows}, follows=follows
    )


async def pressed(generators: list[Generator], folder: Path, patience_s: float = 0.0) -> Any:
    seen: list[Any] = []
    loads = await run_generators(generators, folder, lambda: None, lambda _, event: seen.append(event), (), patience_s)
    return loads, seen


def nodes_left(tmp_path: Path) -> list[str]:
    """Living nodes of this test's script."""
    return processes_with(str(tmp_path / "fake-node"))


@pytest.mark.parametrize("hangs", ["hang()", "os.kill(os.getpid(), signal.SIGSTOP)"])
async def test_a_generator_that_falls_silent_while_it_presses_is_named_and_killed(
    hangs: str, host: LocalHost, tmp_path: Path, fake_node: FakeNode
) -> None:
    fake_node(f"{GOES}{SECOND}\n{hangs}")
    with pytest.raises(OverdueError) as caught:
        await pressed([generator(host, 1000.0)], tmp_path)
    assert (caught.value.who, caught.value.seconds) == ("produce on here", 0.5)
    assert nodes_left(tmp_path) == []


async def test_a_generator_that_does_not_end_after_its_load_is_named_and_killed(
    host: LocalHost, tmp_path: Path, fake_node: FakeNode
) -> None:
    fake_node(f"{GOES}{SECOND}\nhang()")
    with pytest.raises(OverdueError) as caught:
        await pressed([generator(host, 0.2)], tmp_path)
    assert caught.value.who == "produce on here"
    assert caught.value.seconds == pytest.approx(0.7)
    assert nodes_left(tmp_path) == []


async def test_a_follower_that_does_not_end_when_all_is_written_is_named(host: LocalHost, tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(f"{GOES}{SECOND}\nhang() if settings['follows'] else {OUTCOME}")
    with pytest.raises(OverdueError) as caught:
        await pressed([generator(host, 0.2), generator(host, 0.2, follows=True)], tmp_path)
    assert caught.value.who == "consume on here"
    assert nodes_left(tmp_path) == []


async def test_a_generator_that_is_held_still_on_purpose_is_waited_for(host: LocalHost, tmp_path: Path, fake_node: FakeNode) -> None:
    """A fault that pauses a host pauses the generators on it, too."""
    fake_node(f"{GOES}{SECOND}\ntime.sleep(1.5)\n{SECOND}\n{OUTCOME}\nsys.stdin.read()")
    (load,), seen = await pressed([generator(host, 100.0)], tmp_path, patience_s=60.0)
    assert load.outcome.ended_wall_s == 2.0
    assert len(seen) == 2


async def test_a_generator_that_is_not_ready_in_time_is_killed(
    host: LocalHost, tmp_path: Path, fake_node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "CONNECT_S", 0.3)
    fake_node("hang()")
    with pytest.raises(OverdueError) as caught:
        await pressed([generator(host, 1.0)], tmp_path)
    assert caught.value.who == "produce on here"
    assert nodes_left(tmp_path) == []


def service(tmp_path: Path) -> Service:
    return Service("kafka-0", ["java"], tmp_path, tmp_path / "kafka-0.log")


@pytest.mark.parametrize(
    "says",
    ['sys.stdout.write(\'{"event": "exi\'); sys.stdout.flush(); sys.exit(1)', "print('no JSON', flush=True); hang()", "say('exited')"],
)
async def test_a_supervisor_whose_words_are_cut_off_is_a_death_that_is_told(
    says: str, host: LocalHost, tmp_path: Path, fake_node: FakeNode
) -> None:
    fake_node(f"say('spawned', pid=1)\n{says}")
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = await RunningService.start(host, service(tmp_path), None, told.set_result)
    assert "kafka-0 on here" in await asyncio.wait_for(told, 60)
    assert running.death == told.result()
    await running.stop()
    assert nodes_left(tmp_path) == []


async def test_a_supervisor_that_does_not_end_is_killed_and_reported(host: LocalHost, tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node("say('spawned', pid=1)\nhang()")
    quick = Service("kafka-0", ["java"], tmp_path, tmp_path / "kafka-0.log", grace_s=0.1)
    running = await RunningService.start(host, quick, None, lambda how: None)
    with pytest.raises(RunFailedError, match="kafka-0 on here"):
        await running.stop()
    assert nodes_left(tmp_path) == []


async def test_a_driver_whose_supervisor_talks_nonsense_counts_as_dead(host: LocalHost, tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node("print('no JSON', flush=True); hang()")
    node = await host.node("supervise", {})
    driver = FlowDriver("batch", node, host, tmp_path, tmp_path / "driver.log", Application([], {}, {}))

    async def look() -> bool:
        return not driver.is_alive

    await until(look, LONG, "the driver", "die")
    await driver.stop()
    assert driver.death is not None
    assert "batch" in driver.death


SAMPLE = """say('sample', wall_s=time.time(), host={}, services={}, gauges={}, gauge_errors={}, speed_ns=[], sampler_cpu_us=0)"""


async def lost(sampling: Sampling) -> str:
    return await asyncio.wait_for(asyncio.shield(sampling.lost), 60)


@pytest.mark.parametrize(
    "says",
    ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "hang()", "os.kill(os.getpid(), signal.SIGSTOP)", "print('no JSON', flush=True); hang()",
     "say('failed', error='/proc is gone'); hang()", "say('sample'); hang()"],
)  # fmt: skip
async def test_a_lost_sampler_is_told_at_once_and_costs_no_teardown(
    says: str, host: LocalHost, tmp_path: Path, fake_node: FakeNode
) -> None:
    fake_node(f"say('ready')\n{says}")
    sampling = Sampling({"here": host}, Silent())
    await sampling.start()
    assert "here" in await lost(sampling)
    await sampling.stop()
    assert nodes_left(tmp_path) == []


class Drops:
    """Counts of a namespace that has vanished."""

    closed = 0

    async def read(self) -> dict[str, int]:
        raise NetlinkError(19, "No such device")

    def close(self) -> None:
        Drops.closed += 1
        raise OSError(9, "Bad file descriptor")


class Vanished(LocalHost):
    """A host whose namespace is gone."""

    def queue_drops(self) -> Any:
        return Drops()


async def test_a_namespace_that_vanishes_costs_its_samples_and_no_teardown(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(f"say('ready')\n{SAMPLE}\nsys.stdin.read()")
    sampling = Sampling({"one": Vanished("one", tmp_path), "two": Vanished("two", tmp_path)}, Silent())
    await sampling.start()
    assert "No such device" in await lost(sampling)
    problems = await sampling.stop()
    assert [name for name in ("one", "two") if any(name in problem for problem in problems)] == ["one", "two"]
    assert Drops.closed == 2
    assert nodes_left(tmp_path) == []


async def test_samplers_that_are_ended_are_not_lost(host: LocalHost, fake_node: FakeNode) -> None:
    fake_node("say('ready')\nsys.stdin.read()")
    sampling = Sampling({"here": host}, Silent())
    await sampling.start()
    assert await sampling.stop() == []
    assert not sampling.lost.done()
