"""Real systems, started once for all tests that only apply load, and small experiments for complete runs."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.analysis.measured import Measured
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.scratch import PREFIX
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.store.records import Trial

LISTEN = "0A"
"""A port's state in /proc/net/tcp."""
SOON = Patience.of(a_slow_machine=90.0)
"""For what comes within seconds."""
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
  readers: {kind: kafka-group, reads: ingest}
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
    """A trial by its complete window, and by one that ends a second sooner.

    Events that come late at the end are missing in the first; those that are missing altogether, in both.
    """
    shorter = trial.model_copy(update={"window_s": trial.window_s - 1.0})
    return [Measured.read(bench.runner.folder, one, workload) for one in (trial, shorter)]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Kafka and Cassandra, running, with everything that a trial needs."""
    async with open_testbed(SMALL, tmp_path_factory.mktemp("bench"), Silent()) as bench:
        yield bench


@pytest.fixture
def load_workloads(bench: Bench) -> dict[str, Rated]:
    """The small experiment's workloads."""
    return {name: one for name, one in make_workloads(bench).items() if isinstance(one, Rated)}


def tables_of(run: Path) -> str:
    """All that `show` prints of a run."""
    return subprocess.run([str(HYDROTEST), "show", str(run), "all"], capture_output=True, text=True, check=True).stdout


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


def files_with(secret: str, base: Path) -> list[Path]:
    """Files below a folder that hold a secret, whatever their format. Systems at work add and remove some meanwhile."""
    found = []
    for folder, _, names in os.walk(base):
        for path in (Path(folder) / name for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and secret.encode() in path.read_bytes():
                    found.append(path)
    return found


def private_files_with(secret: str, base: Path) -> list[Path]:
    """Files that only their owner can read, in a folder of a run that no other user can enter."""
    return [path for path in files_with(secret, base) if is_private(path)]


def readable_with(secret: str, base: Path) -> list[Path]:
    """The others."""
    return [path for path in files_with(secret, base) if not is_private(path)]


def is_private(path: Path) -> bool:
    """True for a file of mode 0600 within the scratch directory of a run, itself of mode 0700."""
    scratch = next((folder for folder in path.parents if folder.name.startswith(PREFIX)), None)
    return scratch is not None and stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(scratch.stat().st_mode) == 0o700


def listening(root: int) -> list[tuple[int, IPv4Address | IPv6Address]]:
    """(process, address) of each TCP port that a process below `root` listens on, in the network that it is in."""
    found: list[tuple[int, IPv4Address | IPv6Address]] = []
    for pid in below(root):
        try:
            links = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
            tables = [(Path(f"/proc/{pid}/net") / table).read_text() for table in ("tcp", "tcp6")]
        except OSError:  # it has just ended
            continue
        for fields in (line.split() for table in tables for line in table.splitlines()[1:]):
            if fields[3] == LISTEN and f"socket:[{fields[9]}]" in links:
                found.append((pid, _address(fields[1].partition(":")[0])))
    return found


def _address(text: str) -> IPv4Address | IPv6Address:
    """As the kernel prints it: words of four bytes, each with the last byte first; IPv4 within IPv6 as what it is."""
    packed = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    address = ip_address(packed)
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def below(root: int) -> list[int]:
    """The living descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found, left = [], [root]
    while left:
        own = children.get(left.pop(), [])
        found += own
        left += own
    return found


def nodes_of(controller: int, subcommand: str) -> list[int]:
    """Nodes that a process has started by its hubs; those of another run on this machine are not ours to harm."""
    nodes: dict[int, tuple[int, bytes]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        if text[0].endswith(b"hydrotest-node"):
            nodes[int(entry.name)] = parent, text[-2]
    hubs = {pid for pid, (parent, what) in nodes.items() if parent == controller and what == b"hub"}
    return [pid for pid, (parent, what) in nodes.items() if parent in hubs and what == subcommand.encode()]


class Pressed(Silent):
    """Hears how trials go on."""

    def __init__(self) -> None:
        self.rates: list[float] = []

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None:
        self.rates.append(rate)

    async def goes_on(self, seconds: int = 1) -> None:
        """Waits until a generator has reported so many more seconds."""
        wanted = len(self.rates) + seconds

        async def look() -> bool:
            return len(self.rates) >= wanted

        await until(look, SOON, "the generator", "press")


@pytest.fixture
def pressed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Bench], Pressed]:
    """Has the trials of a bench heard, until the test ends."""

    def hear(bench: Bench) -> Pressed:
        hearing = Pressed()
        monkeypatch.setattr(bench.runner, "listener", hearing)
        return hearing

    return hear


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
