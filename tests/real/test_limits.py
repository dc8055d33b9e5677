"""hydrotest inside a control group, as in a container: what it takes for the machine is the group's part of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.lab.groups import Group, Trees

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")]

CORES = 0.8
MEMORY_BYTES = 3 << 29

SEEN = """
import asyncio, json, sys
from pathlib import Path
from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle.sampling import SETTINGS
from hydrotest.run.lifecycle.survey import survey
from hydrotest.spec.hosts import LocalHost as Settings

async def main(folder):
    host = LocalHost("here", folder)
    (found,) = await survey({"here": Settings(connect="local")}, {"here": host}, "t", print)
    sampler = await host.node("sample", SETTINGS | {"directory": str(host.data_directory), "emulated": host.emulated(), "speed_ms": None})
    samples = []
    busy = await asyncio.create_subprocess_exec(sys.executable, "-c", "while True: pass")
    while len(samples) < 2 or samples[-1]["cpu_throttled_periods"] == samples[0]["cpu_throttled_periods"]:
        samples.append((await sampler.expect("sample"))["host"])
    busy.kill()
    await busy.wait()
    await sampler.close()
    return {"host": found, "first": samples[0], "last": samples[-1]}

print(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
"""


@pytest.fixture
def group() -> Iterator[Group]:
    """A group with a quota and a bound of memory, next to all others."""
    try:
        made = Group(f"hydrotest-t-{os.getpid()}", Trees.find())
        made.make()
    except (SystemFailedError, OSError) as error:
        pytest.skip(f"no control groups can be made here: {error}")
    try:
        made.limit_cores(CORES)
        made.limit_memory(MEMORY_BYTES)
        yield made
    finally:
        made.remove()


def test_cores_memory_ceilings_and_throttled_periods_are_the_groups(group: Group, tmp_path: Path) -> None:
    def enter() -> None:
        for directory in group.directories:
            (directory / "cgroup.procs").write_text(str(os.getpid()))

    done = subprocess.run(
        [sys.executable, "-c", SEEN, str(tmp_path)], preexec_fn=enter, stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    host, first, last = seen["host"], seen["first"], seen["last"]
    assert (host["cores"], host["memory_bytes"], host["ceilings"]["memory_bytes"]) == (1, MEMORY_BYTES, MEMORY_BYTES)
    # It may get less while others run, but never much more.
    assert host["ceilings"]["cpu_cores"] < 1.1 * CORES
    assert last["memory_total_bytes"] == MEMORY_BYTES
    assert 0 < last["memory_available_bytes"] < MEMORY_BYTES
    assert last["cpu_throttled_periods"] > first["cpu_throttled_periods"]
    assert last["cpu_period_us"] == 100_000
