"""Cores of this machine are taken from what runs on it, and given back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import ask
from hydrotest.hosts.command import run_command
from hydrotest.hosts.local import LocalHost

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="real-time scheduling needs root")]

SPIN = "import time\nend = time.time() + 2\nwhile time.time() < end: pass\nprint(time.process_time())"
LEFT = 0.5


async def spun(host: LocalHost, folder: Path) -> float:
    """CPU seconds that a busy program gets in two."""
    output, _ = await run_command("spin", [sys.executable, "-c", SPIN], host, folder / "spin.log")
    return float(output)


async def test_what_is_taken_is_missed_by_others_and_given_back(tmp_path: Path) -> None:
    host = LocalHost("here", tmp_path, may_squeeze=True)
    assert host.squeezable == ["cpu"]
    try:
        await host.give("cpu", LEFT)
        # Others on the machine can only take more of it.
        assert await spun(host, tmp_path) < 1.15 * LEFT * 2
    finally:
        await host.give("cpu", 1.0)
    # Nothing of it runs any more.
    assert not [line for line in Path("/proc").glob("[0-9]*/cmdline") if line.exists() and b"\0cpu-hog\0" in line.read_bytes()]


async def test_a_share_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrialFailedError, match="must be above 0 and below 1"):
        await ask(LocalHost("here", tmp_path), "cpu-hog", {"left": 1.5})


def test_a_host_is_not_squeezed_unless_that_is_written(tmp_path: Path) -> None:
    assert LocalHost("here", tmp_path).squeezable == []


async def test_a_refusal_without_root_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's own reason stays in it."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    host = LocalHost("here", tmp_path, may_squeeze=True)
    with pytest.raises(TrialFailedError, match=r"needs root.*sudo.*must be above 0"):
        await host.give("cpu", -1.0)
