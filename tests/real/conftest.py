"""Real systems, started once for all tests that only press on them, and small experiments for whole runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.analysis.measured import Measured
from hydrotest.run.events import Silent
from hydrotest.run.opened import opened
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.store.records import Trial

HYDROTEST = Path(sys.executable).parent / "hydrotest"
# Systems live for a minute or two here, and nothing that is tested is a speed: what C2 compiles would cost more than it brings.
# C1's frames are larger: Spark's long lineages (`als`) are read by recursion.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -Xss4m")

SMALL = """\
name: small
hosts:
  here: {connect: local}
systems:
  kafka:     {hosts: [here], heap: 512 MiB}
  cassandra: {hosts: [here], heap: 1 GiB}
workloads:
  ingest: {kind: kafka-produce}
  drain:  {kind: kafka-consume, reads: ingest}
  store:  {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 5K)"}
objectives:
  ingest: {p99: 200 ms}
  store:  {p99: 200 ms}
tests:
  - isolated: [ingest, drain, store]
search: {precision: 30 %, window: 3 s, warm_up: 1 s, saturated: 3 s}
warm_up: {least: 8 s, most: 8 s}
"""


def windows_of(bench: Bench, trial: Trial, workload: str) -> list[Measured]:
    """A trial by its whole window, and by one that ends a second sooner: what comes late at the end of one is missing there, what is missing altogether in both."""
    shorter = trial.model_copy(update={"window_s": trial.window_s - 1.0})
    return [Measured.read(bench.runner.folder, one, workload) for one in (trial, shorter)]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Kafka and Cassandra, running, with everything that a trial needs."""
    async with opened(SMALL, tmp_path_factory.mktemp("bench"), Silent()) as bench:
        yield bench


@pytest.fixture
def pressables(bench: Bench) -> dict[str, Rated]:
    """The small experiment's workloads."""
    return {name: one for name, one in make_workloads(bench).items() if isinstance(one, Rated)}


def own_processes(marker: str) -> list[str]:
    """Command lines of living processes that mention `marker`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker in text and state != "Z" and int(entry.name) != os.getpid():
            found.append(f"{entry.name} {text}")
    return found


@pytest.fixture
def start_run(tmp_path: Path) -> Iterator[Any]:
    """Starts `hydrotest run` in the background on an experiment text; ended with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, *options: str, out: str = "run", env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        file = tmp_path / "experiment.yaml"
        file.write_text(text)
        process = subprocess.Popen(
            [str(HYDROTEST), "run", str(file), "--out", str(tmp_path / out), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env or dict(os.environ),
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
