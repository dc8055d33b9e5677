"""What does not answer is named, with how long was waited, and killed; what was only slow is not."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hydrotest.errors import MissingToolError, OverdueError, TrialFailedError
from hydrotest.hosts import node as nodes
from hydrotest.hosts.base import ask
from hydrotest.hosts.command import run_command, run_here, while_it_speaks
from hydrotest.hosts.deadlines import Patience, until, until_here, within
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.node import Event, Node
from tests.processes import processes_with

SHORT = Patience.of(a_test=0.3)
LONG = Patience.of(a_slow_machine=60.0)
FakeNode = Callable[[str], None]


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    return LocalHost("here", tmp_path)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are waited for as shortly as tests can afford."""
    monkeypatch.setattr(nodes, "ANSWER", SHORT)
    monkeypatch.setattr(nodes, "KILL", Patience.of(a_test=5.0))
    monkeypatch.setattr(nodes, "END_S_MAX", 0.3)


SLEEP = "exec sleep 1000.{number}"


def sleeping(number: int) -> list[str]:
    """Processes of `SLEEP` that live: there is one at most."""
    return processes_with(f"sleep 1000.{number} ")


def is_gone(node: Node) -> bool:
    return not node.is_running and not Path(f"/proc/{node.pid}").exists()


async def test_what_comes_in_time_is_brought_and_what_fails_is_raised() -> None:
    async def work() -> int:
        return 7

    async def fault() -> int:
        raise OSError(28, "full")

    assert await within(work(), LONG, "it", "end") == 7
    with pytest.raises(OSError, match="full"):
        await within(fault(), LONG, "it", "end")


async def test_what_does_not_come_is_cancelled_and_named() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(OverdueError) as caught:
        await within(work(), Patience.of(a_load=0.1, an_account=0.05), "a generator", "end")
    assert (caught.value.who, caught.value.why) == ("a generator", "0.1 s for a load, 0.05 s for an account")
    assert caught.value.seconds == pytest.approx(0.15)
    assert ended.is_set()


async def test_who_waits_and_is_cancelled_cancels_what_is_waited_for() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(within(work(), LONG, "it", "end"))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_what_came_while_the_machine_stood_still_counts() -> None:
    """Timers are due at once then, and so is what lies in the pipes."""
    reads, writes = os.pipe()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reads))
    waiting = asyncio.create_task(within(reader.readline(), Patience.of(a_test=0.05), "it", "say anything"))
    await asyncio.sleep(0)
    writer = threading.Timer(0.1, os.write, (writes, b"here\n"))
    writer.start()
    time.sleep(0.3)  # the complete loop is paused, past the deadline
    assert await waiting == b"here\n"
    os.close(writes)


async def test_a_condition_is_waited_for_and_its_failure_is_raised() -> None:
    seen = iter([None, 0, "", "there"])

    async def look() -> Any:
        return next(seen)

    async def fault() -> bool:
        raise TrialFailedError("it died")

    async def never() -> bool:
        return False

    assert await until(look, LONG, "it", "come", 0.001) == "there"
    with pytest.raises(TrialFailedError, match="it died"):
        await until(fault, LONG, "it", "come")
    with pytest.raises(OverdueError):
        await until(never, SHORT, "it", "come")
    with pytest.raises(OverdueError):
        until_here(lambda: False, SHORT, "it", "come", 0.01)
    assert until_here(lambda: 3, SHORT, "it", "come") == 3


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "body", ["hang()", 'sys.stdout.write(\'{"event": "do\'); sys.stdout.flush(); hang()', "os.kill(os.getpid(), signal.SIGSTOP)"]
)
async def test_a_node_that_does_not_answer_is_named_and_killed(body: str, host: LocalHost, fake_node: FakeNode) -> None:
    fake_node(body)
    node = await host.node("query", {})
    with pytest.raises(OverdueError) as caught:
        await node.expect("done", SHORT)
    assert (caught.value.who, caught.value.seconds) == ("query on here", 0.3)
    assert is_gone(node)
    assert await node.close() is None
    with pytest.raises(OverdueError):
        await ask(host, "query", {}, SHORT)


@pytest.mark.usefixtures("short")
async def test_a_node_that_takes_nothing_in_is_killed(host: LocalHost, fake_node: FakeNode) -> None:
    fake_node("hang()")
    node = await host.node("query", {})
    with pytest.raises(OverdueError):
        await node.send({"more": "x" * (4 << 20)})
    assert is_gone(node)


@pytest.mark.parametrize(
    ("line", "error"),
    [("no JSON", TrialFailedError), ("[1]", TrialFailedError), ("7", TrialFailedError), ('{"event": "of later"}', MissingToolError)],
)
async def test_what_is_no_event_is_told_and_ends_the_node(line: str, error: type[Exception], host: LocalHost, fake_node: FakeNode) -> None:
    fake_node(f"print({line!r}, flush=True); hang()")
    node = await host.node("query", {})
    with pytest.raises(error, match="query on here"):
        await node.expect("done", LONG)
    assert is_gone(node)


async def test_a_line_cut_by_a_death_tells_of_the_death(host: LocalHost, fake_node: FakeNode) -> None:
    fake_node("sys.stdout.write('{\"event\": \"do'); sys.stdout.flush(); print('out of luck', file=sys.stderr); sys.exit(7)")
    node = await host.node("query", {})
    with pytest.raises(TrialFailedError, match="exit code 7: out of luck"):
        await node.expect("done", LONG)


@pytest.mark.usefixtures("short")
async def test_a_node_that_ignores_the_end_of_its_stdin_is_killed(host: LocalHost, fake_node: FakeNode) -> None:
    fake_node("signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready'); hang()")
    node = await host.node("sample", {})
    await node.expect("ready", LONG)
    problem = await node.close()
    assert problem is not None
    assert "sample on here" in problem
    assert is_gone(node)


async def test_a_node_that_ends_when_it_is_told_is_no_problem(host: LocalHost, fake_node: FakeNode) -> None:
    fake_node("say('ready'); sys.stdin.read()")
    node = await host.node("sample", {})
    await node.expect("ready", LONG)
    assert await node.close() is None
    assert is_gone(node)


class InTheKernel:
    """A process that hangs where no signal reaches it."""

    stderr = b""
    pid = 4711
    returncode: int | None = None
    lost: str | None = None

    def __init__(self) -> None:
        self.stdout = asyncio.StreamReader()
        self.stderr_ended = asyncio.Event()
        self.stderr_ended.set()
        self.kills = 0

    async def write(self, data: bytes) -> None: ...

    def end_input(self) -> None: ...

    def kill(self) -> None:
        self.kills += 1

    async def ended(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.usefixtures("short")
async def test_a_node_that_hangs_in_the_kernel_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "KILL", SHORT)
    process = InTheKernel()
    problem = await Node("sample on here", process).close()
    assert process.kills == 1
    assert problem is not None
    assert "stays" in problem


async def test_a_command_that_takes_too_long_is_ended(host: LocalHost, tmp_path: Path) -> None:
    number = os.getpid()
    running = asyncio.create_task(
        run_command("tool", ["/bin/sh", "-c", SLEEP.format(number=number)], host, tmp_path / "log", Patience.of(a_test=3.0))
    )

    async def look() -> bool:
        return bool(sleeping(number))

    await until(look, LONG, "the command", "begin")
    with pytest.raises(OverdueError) as caught:
        await running
    assert caught.value.who == "tool"
    assert sleeping(number) == []


async def test_a_command_that_falls_silent_is_ended_and_one_that_speaks_is_not(host: LocalHost, tmp_path: Path) -> None:
    number = os.getpid()
    with pytest.raises(OverdueError) as caught:
        await run_command("tool", ["/bin/sh", "-c", SLEEP.format(number=number)], host, tmp_path / "log", LONG, Patience.of(a_word=0.5))
    assert (caught.value.who, caught.value.seconds) == ("tool", 0.5)
    assert sleeping(number) == []
    speaking = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done"
    output, _ = await run_command("tool", ["/bin/sh", "-c", speaking], host, tmp_path / "speaking.log", LONG, LONG)
    assert output.split() == list("123456")
    with pytest.raises(TrialFailedError, match="exit code 3"):
        await run_command("tool", ["/bin/sh", "-c", "exit 3"], host, tmp_path / "failed.log", LONG, LONG)


async def test_a_log_that_grows_is_no_silence(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work() -> Event:
        for _ in range(8):
            with log.open("a") as handle:
                handle.write("here\n")
            await asyncio.sleep(0.25)
        return {"event": "exited"}

    # Each word comes before the patience for it is over; all together take longer.
    assert await while_it_speaks(work(), "tool", LocalHost("here", tmp_path), log, Patience.of(a_word=1.0)) == {"event": "exited"}


def test_a_command_here_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    number = os.getpid()
    with pytest.raises(OverdueError):
        run_here(["/bin/sh", "-c", SLEEP.format(number=number)], tmp_path / "log", Patience.of(a_test=1.0))
    until_here(lambda: not sleeping(number), LONG, "the command", "end")
