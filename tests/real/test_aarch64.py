"""The build for aarch64, under an emulator of that processor (`make node-aarch64`; Debian: apt-get install qemu-user)."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

import pytest

from hydrotest.errors import MissingToolError
from hydrotest.hosts.protocol import GREETING
from hydrotest.hosts.remote.bootstrap import binary_for
from hydrotest.places import node_binary

pytestmark = [pytest.mark.real, pytest.mark.long]
MACHINE = "aarch64"


def test_it_runs_there_and_speaks_the_same_protocol() -> None:
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    try:
        binary = binary_for(MACHINE)
    except MissingToolError:  # not built: it needs a compiler for another processor
        binary = None
    if emulator is None or binary is None:
        pytest.skip("needs `make node-aarch64` and qemu-user")
    assert binary.path != node_binary()

    def said(*arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [emulator, str(binary.path), *arguments], input=text, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    own = subprocess.run([str(node_binary()), "--version"], capture_output=True, text=True, check=True).stdout
    assert said("--version") == own
    lines = [GREETING, {"listen": None}, {"command": "report"}]
    hello, clock = map(json.loads, said("clock", text="".join(json.dumps(line) + "\n" for line in lines)).splitlines())
    assert hello == {"event": "hello", **GREETING}
    assert clock["wall_s"] == pytest.approx(time.time(), abs=60)
