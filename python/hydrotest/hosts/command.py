"""Commands that run to their end under a supervisor, so that none outlives hydrotest."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import PLAIN_LOCALE, Host, Service
from hydrotest.hosts.local import node_binary
from hydrotest.hosts.node import how_it_ended
from hydrotest.hosts.protocol import GREETING, check_hello, understood

GRACE_S = 5.0
ERROR_WORDS = ("ERROR", "FATAL", "Exception", "Error:", "error:")
LINE_SHOWN = 400
"""Characters of a log's line in a message: exceptions of the JVM systems carry their reason at their end."""


def _settings(name: str, argv: Sequence[str], log: Path) -> dict[str, Any]:
    return Service(name, argv, log.parent, log, PLAIN_LOCALE, GRACE_S).settings()


async def run_command(name: str, argv: Sequence[str], host: Host, log: Path) -> tuple[str, float]:
    """Runs a command in its log's folder; its output and the CPU-seconds that it used.

    Raises `TrialFailedError` with its last words if it fails.
    """
    node = await host.node("supervise", _settings(name, argv, log))
    try:
        await node.expect("spawned")
        ended = await node.expect("exited")
    finally:
        await node.close()
    output = log.read_text(encoding="utf-8", errors="replace")
    if ended["code"] != 0:
        raise TrialFailedError(f"{name} ended {how_it_ended(ended)}: {last_lines(output)}")
    return output, float(ended["cpu_s"])


def run_here(argv: Sequence[str], log: Path) -> tuple[int | None, str]:
    """Runs a command on this machine, without an event loop; its exit code (None: ended by a signal) and output."""
    supervisor = subprocess.Popen([node_binary(), "supervise"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  bufsize=0, start_new_session=True)  # fmt: skip
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    code: int | None = None
    with supervisor:  # its stdin is closed on the way out, whatever happens, and that ends the command
        with contextlib.suppress(BrokenPipeError):  # one that is gone already says nothing below
            supervisor.stdin.write(json.dumps(GREETING) + "\n" + json.dumps(_settings(argv[0], argv, log)) + "\n")
        events = (understood(argv[0], line) for line in supervisor.stdout)
        first = next(events, None)
        check_hello(argv[0], first if first is not None and first["event"] == "hello" else None)
        for event in events:
            if event["event"] == "exited":
                code = event["code"]
    return code, log.read_text(encoding="utf-8", errors="replace")


def telling_lines(output: str) -> list[str]:
    """The lines of a log that name an error; all lines but stack frames if none does."""
    said = [line for line in output.splitlines() if line.strip() and not line.startswith("\tat ")]
    return [line for line in said if any(word in line for word in ERROR_WORDS)] or said


def last_lines(output: str) -> str:
    """What a failed command said last, for a message in one line."""
    return " ".join(line[:LINE_SHOWN] for line in telling_lines(output)[-2:])
