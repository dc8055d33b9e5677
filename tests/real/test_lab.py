"""Emulated hosts on this machine's kernel: they reach each other, get what was asked for, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.catalogue import HostPool, lab_of, make_host_pool
from hydrotest.hosts.command import run_command
from hydrotest.hosts.deadlines import until
from hydrotest.hosts.lab.netns import HostAway, NetnsHost
from hydrotest.hosts.lab.network import Network
from hydrotest.run.lifecycle.sampling import SETTINGS
from hydrotest.run.lifecycle.scratch import Scratch
from hydrotest.run.lifecycle.survey import survey
from hydrotest.spec.choice import expected
from hydrotest.spec.load import load_experiment
from hydrotest.systems.base import shared_port
from tests.real.conftest import SOON, own_processes

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")]

HYDROTEST = Path(sys.executable).parent / "hydrotest"

EXPERIMENT = """\
name: lab
hosts:
  one:   {connect: netns, cores: 0.5, memory: 1 GiB, disk: 40 MB/s, network: 100 Mbit/s}
  two:   {connect: netns, cores: 0.3, memory: 1 GiB, disk: 20 MB/s, network: 400 Mbit/s}
  three: {connect: netns, memory: 1 GiB, network: 600 Mbit/s}
systems: {kafka: {hosts: [three], heap: 256 MiB}}
workloads: {press: {kind: kafka-produce}}
tests: [levels: {workload: press, rates: [20K]}]
"""


def traces(run: str) -> list[str]:
    """Everything on this machine that carries a run's name."""
    found = [str(path) for path in Path("/run/netns").glob(f"{run}*")] if Path("/run/netns").exists() else []
    found += [str(path) for path in Path("/sys/fs/cgroup").rglob(f"{run}*")]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if run in line]
    found += [
        line
        for line in subprocess.run(["losetup", "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
        if run in line
    ]
    found += [path.name for path in Path("/sys/class/net").glob(f"{Network(run).bridge[:-2]}*")]
    return found


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    """A run's folder; its lab is removed whatever the test did."""
    made = Scratch(tmp_path, "0a1b2c3d")
    made.claim()
    yield made
    lab_of(made.path).remove()
    assert traces(made.path.name) == []


async def site_of(tmp_path: Path, scratch: Scratch, text: str = EXPERIMENT) -> HostPool:
    file = tmp_path / "lab.yaml"
    file.write_text(text)
    experiment, _ = load_experiment(file)
    return await make_host_pool(experiment, scratch.path)


async def test_hosts_get_what_was_asked_for(tmp_path: Path, scratch: Scratch) -> None:
    site = await site_of(tmp_path, scratch)
    said: list[str] = []
    given = {("one", "cpu_cores"): (0.5, 0.15), ("two", "cpu_cores"): (0.3, 0.15), ("one", "network_bytes_per_s"): (100e6 / 8, 0.1),
             # The third's is its own, though the host that it is measured to has a tenth of it.
             ("two", "network_bytes_per_s"): (400e6 / 8, 0.1), ("three", "network_bytes_per_s"): (600e6 / 8, 0.15),
             ("one", "disk_write_bytes_per_s"): (40e6, 0.15), ("two", "disk_read_bytes_per_s"): (20e6, 0.15)}  # fmt: skip
    surveyed = {
        one["name"]: one["ceilings"] for one in await survey(load_experiment(tmp_path / "lab.yaml")[0].hosts, site.hosts, "t", said.append)
    }
    got = {(host, what): surveyed[host][what] for host, what in given}
    assert got == {key: pytest.approx(share, rel=near) for key, (share, near) in given.items()}
    assert any(line.startswith("one gives") for line in said)
    assert await site.clear() == []


async def test_hosts_know_each_other_by_name_and_are_samples_of_their_own(tmp_path: Path, scratch: Scratch) -> None:
    site = await site_of(tmp_path, scratch)
    one, two = site.hosts["one"], site.hosts["two"]
    assert isinstance(one, NetnsHost)
    code = "import os, socket; print(socket.gethostbyname('two'), os.uname().nodename, len(socket.if_nameindex()))"
    output, _ = await run_command("look", [sys.executable, "-c", code], one, tmp_path / "look.log")
    assert output.split() == [two.address, "one", "2"]
    own = {"interval_ms": 100, "speed_ms": None, "directory": str(one.data_directory), "emulated": one.emulated()}
    sampler = await one.node("sample", SETTINGS | own)
    try:
        await sampler.expect("ready")
        before = (await sampler.expect("sample"))["host"]
        busy, _ = await run_command("spin", [sys.executable, "-c", "import time\nend = time.time() + 1\nwhile time.time() < end: pass"], one,
                                    tmp_path / "spin.log")  # fmt: skip
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up:
            after = (await sampler.expect("sample"))["host"]
            if after["cpu_throttled_periods"] > before["cpu_throttled_periods"]:
                break
    finally:
        await sampler.close()
    assert busy == ""
    assert after["cpu_throttled_periods"] > before["cpu_throttled_periods"]
    assert after["memory_total_bytes"] == 1 << 30
    assert "pressure_cpu_some_us" in after


async def _scratch(host: Host) -> str:
    folder = host.scratch("t")
    await host.make_folder(folder)
    return str(folder)


async def test_a_link_changes_speed_under_a_connection(tmp_path: Path, scratch: Scratch) -> None:
    site = await site_of(tmp_path, scratch)
    one, two = site.hosts["one"], site.hosts["two"]
    assert site.lab is not None
    await asyncio.to_thread(site.lab.network.limit, 0, 20e6, 32_000)
    listen = f"{two.address}:{await two.free_port()}"
    sink = await two.node("sink", {"listen": listen})
    try:
        await sink.expect("ready")
        await ask(
            one, "ceiling", {"directory": await _scratch(one), "disk_bytes": 1 << 20, "null_s": 0.0, "has_quota": True, "sink": listen}
        )
        assert (await sink.expect("done"))["result"]["bytes_per_s"] == pytest.approx(20e6 / 8, rel=0.15)
    finally:
        await sink.close()


async def test_what_a_link_drops_is_counted_on_its_host_alone(tmp_path: Path, scratch: Scratch) -> None:
    site = await site_of(tmp_path, scratch)
    one, two = site.hosts["one"], site.hosts["two"]
    assert site.lab is not None
    counts = [await asyncio.to_thread(host.queue_drops) for host in (one, two)]
    listen = f"{two.address}:{await two.free_port()}"
    sink = await two.node("sink", {"listen": listen})
    try:
        # What comes at 100 Mbit/s waits for the slower link of who receives it.
        await asyncio.to_thread(site.lab.network.limit, 1, 20e6, 128_000)
        await sink.expect("ready")
        await ask(
            one, "ceiling", {"directory": await _scratch(one), "disk_bytes": 1 << 20, "null_s": 0.0, "has_quota": True, "sink": listen}
        )
        assert (await sink.expect("done"))["result"]["bytes_per_s"] == pytest.approx(20e6 / 8, rel=0.15)
        sent, received = [(await count.read())["queue_drops"] for count in counts if count is not None]
        assert (sent, received > 0) == (0, True)
        # The counter goes on where a queue of another kind has its own.
        await asyncio.to_thread(site.lab.network.silence, 1, False)
        assert [(await count.read())["queue_drops"] >= received for count in counts[1:] if count is not None] == [True]
    finally:
        await sink.close()
        for count in counts:
            if count is not None:
                count.close()


WHOLE = EXPERIMENT.replace("rates: [20K]", "rates: [2K], duration: 8 s") + "warm_up: {least: 4 s, most: 4 s}\n"


@pytest.mark.parametrize("end", ["kill -9", *(pytest.param(end, marks=pytest.mark.long) for end in ("by itself", "Ctrl-C"))])
def test_a_run_leaves_nothing_however_it_ends(tmp_path: Path, end: str) -> None:
    """Its data lie behind a link, in a place with a blank and a letter beyond ASCII: mounts and devices are known by other names than the experiment gives."""
    (tmp_path / "Größe Ω").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "Größe Ω")
    file = tmp_path / "lab.yaml"
    file.write_text(WHOLE.replace("one:   {connect: netns,", f"one: {{connect: netns, data: {tmp_path / 'data'},"))
    run = subprocess.Popen([HYDROTEST, "run", file, "--out", tmp_path / "run"], stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    try:
        told = next((line for line in run.stderr if "trial 1:" in line), None)
        assert told is not None
        (name,) = [path.name for path in (tmp_path / "data").glob("hydrotest-run-*")]
        assert traces(name) != []
        if end != "by itself":
            run.send_signal(signal.SIGINT if end == "Ctrl-C" else signal.SIGKILL)
        run.stderr.read()
        code = run.wait()
    finally:
        run.kill()
    if end == "kill -9":
        assert name in told_by("status", file)
        assert "removed 1 folders" in told_by("down", file)
    else:
        assert code == (0 if end == "by itself" else 3)
    assert "nothing of lab is up" in told_by("status", file)
    assert name not in told_by("status", file)
    assert traces(name) == []
    assert own_processes(str(tmp_path)) == []


def told_by(command: str, file: Path) -> str:
    return subprocess.run([HYDROTEST, command, file], capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_a_standing_lab_is_told_of_and_taken_down(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(EXPERIMENT.replace("one:   {connect: netns,", f"one: {{connect: netns, data: {tmp_path / 'data'},"))
    up = subprocess.Popen([HYDROTEST, "up", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert up.stdout is not None
        assert up.stdout.readline().startswith("kafka: 10.")
        (name,) = [path.name for path in (tmp_path / "data").glob("hydrotest-run-*")]
        told = told_by("status", file)
        assert f"lab (pid {up.pid}): kafka at 10." in told
        assert ", 0.5 cores, 1.07 GB, disk 40 MB/s: no services" in told
        assert told.rstrip().endswith(", 1.07 GB: kafka-0")
        assert "ended 1" in told_by("down", file)
        assert up.wait(timeout=30) == 0
    finally:
        up.kill()
    assert traces(name) == []


async def test_an_interrupted_lab_leaves_nothing(tmp_path: Path, scratch: Scratch) -> None:
    making = asyncio.create_task(site_of(tmp_path, scratch))

    async def begins() -> bool:
        assert not making.done()
        return bool(traces(scratch.path.name))

    await until(begins, SOON, "the lab", "begin to be", 0.005)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert traces(scratch.path.name) == []


async def test_a_port_of_all_hosts_is_free_on_each(tmp_path: Path, scratch: Scratch) -> None:
    hosts = list((await site_of(tmp_path, scratch)).hosts.values())
    for _ in range(3):
        given = {await hosts[1].free_port() for _ in range(5)}
        assert await shared_port(hosts, None, "test") not in given


HEAR = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 7000)); s.settimeout(2.5); heard = 0
open('{flag}', 'w').close()
try:
    while True:
        s.recv(100); heard += 1
except TimeoutError:
    print(heard)
"""
SAY = """
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
give_up = time.monotonic() + 20
while not os.path.exists('{flag}') and time.monotonic() < give_up:
    time.sleep(0.02)
for _ in range(20):
    try:
        s.sendto(b'word', ('{to}', 7000))
    except OSError:
        pass
    time.sleep(0.02)
"""


async def heard(source: NetnsHost, at: NetnsHost, logs: Path) -> int:
    """How many of twenty datagrams arrive."""
    flag = logs / f"hears-{time.monotonic_ns()}"
    (told, _), _ = await asyncio.gather(
        run_command("hear", [sys.executable, "-c", HEAR.format(flag=flag)], at, flag.with_suffix(".hear.log")),
        run_command("say", [sys.executable, "-c", SAY.format(to=at.address, flag=flag)], source, flag.with_suffix(".say.log")),
    )
    return int(told)


@pytest.mark.parametrize(
    ("action", "out", "back"),
    [
        ("cut", 0, 0),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("mute", 0, 20), ("deafen", 20, 0), ("slow", 20, 20))),
    ],
)
async def test_a_host_is_taken_from_the_others_and_given_back(
    tmp_path: Path, scratch: Scratch, action: HostAway, out: int, back: int
) -> None:
    site = await site_of(tmp_path, scratch)
    one, three = site.hosts["one"], site.hosts["three"]
    assert isinstance(one, NetnsHost)
    assert isinstance(three, NetnsHost)
    assert await heard(one, three, tmp_path) == 20
    await one.inject(action)
    assert (await heard(one, three, tmp_path), await heard(three, one, tmp_path)) == (out, back)
    await one.heal(action)
    assert (await heard(one, three, tmp_path), await heard(three, one, tmp_path)) == (20, 20)


async def test_a_paused_host_goes_on(tmp_path: Path, scratch: Scratch) -> None:
    site = await site_of(tmp_path, scratch)
    one = site.hosts["one"]
    assert isinstance(one, NetnsHost)
    ticked = tmp_path / "ticked"
    code = (
        f"import time\nfor _ in range(30):\n    print(time.time(), flush=True)\n    open({str(ticked)!r}, 'w').close()\n    time.sleep(0.1)"
    )
    ticking = asyncio.create_task(run_command("tick", [sys.executable, "-c", code], one, tmp_path / "tick.log"))

    async def ticks() -> bool:
        assert not ticking.done()
        return ticked.exists()

    await until(ticks, SOON, "it", "tick")
    await one.inject("pause")

    async def stands_still() -> bool:
        return set(states_of(str(ticked))) == {"T"}

    await until(stands_still, SOON, "it", "stand still")
    written = (tmp_path / "tick.log").read_text()
    # Nothing of the host goes on while as much is done on another.
    await run_command("beside", ["sleep", "0.5"], site.hosts["two"], tmp_path / "beside.log")
    assert (tmp_path / "tick.log").read_text() == written
    await one.heal("pause")
    assert len((await ticking)[0].split()) == 30


def states_of(marker: str) -> list[str]:
    """States of the processes that mention `marker`, but for who supervises them."""
    found = []
    for line in own_processes(marker):
        with contextlib.suppress(OSError):
            found.append((Path("/proc") / line.split()[0] / "stat").read_text().rpartition(")")[2].split()[0])
    return found


@pytest.mark.long
def test_a_namespace_that_vanishes_in_mid_run_costs_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    """What is in it goes on, and nothing new can be started there: trials fail, and after some of them the run ends."""
    file = tmp_path / "lab.yaml"
    file.write_text(WHOLE.replace("one:   {connect: netns,", f"one: {{connect: netns, data: {tmp_path / 'data'},"))
    run = subprocess.Popen(
        [HYDROTEST, "run", file, "--out", tmp_path / "run"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert run.stderr is not None
    try:
        assert any("trial 1:" in line for line in run.stderr)
        (name,) = [path.name for path in (tmp_path / "data").glob("hydrotest-run-*")]
        for namespace in Path("/run/netns").glob(f"{name}*"):
            subprocess.run(["ip", "netns", "delete", namespace.name], check=True)
        run.stderr.read()
        code = run.wait()
    finally:
        run.kill()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (code, summary["status"]) == (3, "partial")
    assert summary["error"]
    assert (tmp_path / "run" / "report.html").exists()
    assert traces(name) == []
    assert own_processes(str(tmp_path)) == []
    assert list((tmp_path / "data").iterdir()) == []


WHOLE_CORES = """\
name: whole
hosts:
  one: {connect: netns, cores: whole, memory: 1 GiB}
  two: {connect: netns, memory: 1 GiB}
systems: {kafka: {hosts: [one], heap: 256 MiB}}
workloads: {press: {kind: kafka-produce, on: two}}
tests: [levels: {workload: press, rates: [20K]}]
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor must be left")
async def test_whole_cores_are_a_host_s_alone_and_given_back(tmp_path: Path, scratch: Scratch) -> None:
    """What runs there runs on its processor, all else on the others; afterwards hydrotest may run anywhere again."""
    before = os.sched_getaffinity(0)
    file = tmp_path / "whole.yaml"
    file.write_text(WHOLE_CORES)
    site = await make_host_pool(load_experiment(file)[0], scratch.path)
    try:
        processors = {}
        for name, host in site.hosts.items():
            look = [sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]
            found, _ = await run_command("look", look, host, tmp_path / f"{name}.log")
            processors[name] = {int(number) for number in found.split()}
        assert len(processors["one"]) == 1
        assert processors["two"] == before - processors["one"]
        assert os.sched_getaffinity(0) == before - processors["one"]
        assert [expected(host, NetnsHost).cores for host in site.hosts.values()] == [1.0, float(len(processors["two"]))]
    finally:
        assert await site.clear() == []
    assert os.sched_getaffinity(0) == before
    assert traces(scratch.path.name) == []


SEND = """
import socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as link:
    data, sent, marks, begin = b"x" * 65536, 0, [], time.monotonic()
    while (at := time.monotonic() - begin) < 6:
        sent += link.send(data)
        marks.append((at, sent))
early, late = (next(sent for at, sent in marks if at >= moment) for moment in (3.9, 5.9))
print(early, late)
"""


async def test_a_link_carries_more_until_its_burst_is_spent(tmp_path: Path, scratch: Scratch) -> None:
    """40 Mbit/s, and 20 MB beyond that at 200 Mbit/s: spent after a second."""
    text = EXPERIMENT.replace("network: 100 Mbit/s", "network: 40 Mbit/s, burst: {network: 200 Mbit/s, size: 20 MB}")
    assert text != EXPERIMENT
    site = await site_of(tmp_path, scratch, text)
    one, two = site.hosts["one"], site.hosts["two"]
    assert isinstance(one, NetnsHost)
    await asyncio.to_thread(one.start_burst)
    port = await two.free_port()
    sink = await two.node("sink", {"listen": f"{two.address}:{port}"})
    try:
        await sink.expect("ready")
        output, _ = await run_command("send", [sys.executable, "-c", SEND, two.address, str(port)], one, tmp_path / "send.log")
    finally:
        await sink.close()
    early, late = map(int, output.split())
    assert early == pytest.approx(20e6 + 3.9 * 40e6 / 8, rel=0.1)
    assert late - early == pytest.approx(2 * 40e6 / 8, rel=0.1)
