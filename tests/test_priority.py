"""Who goes first where generators and systems share cores."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hydrotest.hosts.base import Service
from hydrotest.hosts.protocol import GREETING
from hydrotest.places import node_binary

WITHOUT_ROOT = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]


def niceness(before: list[str], folder: Path) -> int:
    """Of what is supervised."""
    log = folder / "log"
    service = Service("nice", ["nice"], folder, log)
    lines = json.dumps(GREETING) + "\n" + json.dumps(service.settings()) + "\n"
    with subprocess.Popen([*before, str(node_binary()), "supervise"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write(lines)
        node.stdin.flush()
        events = [json.loads(line)["event"] for line in node.stdout]
    assert events[-1] == "exited"
    return int(log.read_text())


def may_be_real_time(before: list[str]) -> bool:
    return subprocess.run([*before, "chrt", "--rr", "1", "true"], capture_output=True, check=False).returncode == 0


def test_systems_yield_where_generators_may_not_be_real_time(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*WITHOUT_ROOT, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs user namespaces")
    assert not may_be_real_time(WITHOUT_ROOT)
    assert niceness(WITHOUT_ROOT, tmp_path) == 19


def test_they_keep_their_priority_elsewhere(tmp_path: Path) -> None:
    assert niceness([], tmp_path) == (0 if may_be_real_time([]) else 19)
