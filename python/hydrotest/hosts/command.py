"""Commands that run to their end under a supervisor, so that none outlives hydrotest."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.deadlines import SLOW, Patience, cancelled, until
from hydrotest.hosts.files import Files
from hydrotest.hosts.locales import PLAIN_LOCALE
from hydrotest.hosts.node import Event, Node, how_it_ended
from hydrotest.hosts.protocol import GREETING, check_hello, understood
from hydrotest.places import node_binary

GRACE_S = 5.0
SHORT = Patience.of(a_tool_that_takes_seconds=SLOW * 100.0)
HERE = Patience.of(a_compiler_or_a_download=3600.0)
LOOK_S = 0.25
"""Interval between checks whether a log has grown."""
ERROR_WORDS = ("ERROR", "FATAL", "Exception", "Error:", "error:")
LOG_BYTES_READ = 16 << 20
"""Length of the end of a log that is searched for the reason of a failure."""
LINE_SHOWN = 400
"""Characters of a log line in a message: exceptions of the JVM systems carry their reason at their end."""


def _settings(
    name: str, argv: Sequence[str], log: PurePath, grace_s: float = GRACE_S, env: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    return Service(name, argv, log.parent, log, {**PLAIN_LOCALE, **env}, grace_s).settings()


async def run_command(
    name: str, argv: Sequence[str], host: Host, log: PurePath, patience: Patience = SHORT, silence: Patience | None = None,
    grace_s: float = GRACE_S, env: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, float]:  # fmt: skip
    """Runs a command in its log's folder; returns its output and the CPU-seconds that it used. `grace_s`: between asking it to end, where
    nobody waits for it any more, and killing it. `env`: of its environment, which may hold secrets: it is sent by stdin.

    Raises `TrialFailedError` with the end of its log if it fails. Raises `OverdueError` if it takes longer
    than `patience`, or writes nothing to its log for as long as `silence`; it is ended then.
    """
    await host.make_folder(log.parent)
    node = await host.node("supervise", _settings(name, argv, log, grace_s, env))
    try:
        await node.expect("spawned")
        work = _exited(node, name, patience)
        ended = await (work if silence is None else while_it_speaks(work, name, host, log, silence))
    finally:
        await node.close()
    output = (await host.get(log)).decode(errors="replace")
    if ended["code"] != 0:
        raise TrialFailedError(f"{name} ended {how_it_ended(ended)}: {last_lines(output)}")
    return output, float(ended["cpu_s"])


async def _exited(node: Node, name: str, patience: Patience) -> Event:
    """The supervisor's report that the command has ended.

    The supervisor is not killed, so that it can end the command.
    """

    async def exited() -> Event | None:
        event = await node.next_event()
        if event is None:
            raise TrialFailedError(await node.exit_status_text())
        if event["event"] == "failed":
            raise TrialFailedError(f"{name}: {event['error']}")
        return event if event["event"] == "exited" else None

    return await until(exited, patience, name, "end")


async def while_it_speaks(work: Coroutine[Any, Any, Event], name: str, files: Files, log: PurePath, silence: Patience) -> Event:
    """The result of `work`, for as long as the log grows."""
    task = asyncio.create_task(work)
    try:
        size = -1
        while not task.done():
            size = await until(lambda: _grown(files, log, size, task), silence, name, "say anything in its log", LOOK_S)  # noqa: B023 - awaited here
        return task.result()
    finally:
        await cancelled(task)


async def _grown(files: Files, log: PurePath, before: int, task: asyncio.Task[Event]) -> int | None:
    """A log's size plus one, where it has grown beyond `before` or its writer has ended."""
    now = (await files.size(log) or 0) + 1
    return now if now > before or task.done() else None


def run_here(argv: Sequence[str], log: Path, patience: Patience = HERE) -> tuple[int | None, str]:
    """Runs a command on this machine, without an event loop; returns its exit code and output.

    The exit code is None if a signal ended it. Raises `OverdueError` if it takes longer.
    """
    supervisor = subprocess.Popen([node_binary(), "supervise"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  bufsize=0, start_new_session=True)  # fmt: skip
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    code: int | None = None
    overdue = threading.Event()

    def end() -> None:
        overdue.set()
        supervisor.kill()

    timer = threading.Timer(patience.seconds, end)
    timer.start()
    try:
        with supervisor:  # its stdin is closed on the way out, whatever happens, and that ends the command
            with contextlib.suppress(BrokenPipeError):  # a supervisor that is gone already reports nothing below
                supervisor.stdin.write(json.dumps(GREETING) + "\n" + json.dumps(_settings(argv[0], argv, log)) + "\n")
            events = (understood(argv[0], line) for line in supervisor.stdout)
            first = next(events, None)
            if not overdue.is_set():
                check_hello(argv[0], first if first is not None and first["event"] == "hello" else None)
            for event in events:
                if event["event"] == "exited":
                    code = event["code"]
    finally:
        timer.cancel()
    if overdue.is_set():
        raise patience.overdue(argv[0], "end")
    return code, log.read_text(encoding="utf-8", errors="replace")


async def log_text(files: Files, log: PurePath) -> str:
    """A log's text, or the end of it if it is long; empty if nothing was written yet."""
    return (await files.tail(log, LOG_BYTES_READ)).decode(errors="replace")


def error_lines(output: str) -> list[str]:
    """The lines of a log that name an error; all lines but stack frames if none does."""
    said = [line for line in output.splitlines() if line.strip() and not line.startswith("\tat ")]
    return [line for line in said if any(word in line for word in ERROR_WORDS)] or said


def last_lines(output: str) -> str:
    """The end of a failed command's log, for a message in one line."""
    return " ".join(line[:LINE_SHOWN] for line in error_lines(output)[-2:])
