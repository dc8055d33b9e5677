"""A cluster whose machine is seen by Debian's node_exporter and Prometheus only: their figures beside our own sampler's."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import pytest_asyncio
import yaml

from hydrotest.hosts.deadlines import until
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.spec.choice import expected
from hydrotest.store import layout
from hydrotest.store.samples import read_samples
from hydrotest.systems.kafka.system import KafkaSystem
from tests.real.conftest import HYDROTEST, SOON

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

PACKAGES = {"node_exporter": "prometheus-node-exporter", "prometheus": "prometheus"}
SCRAPE_S = 2
THERE = """\
name: there
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here], heap: 512 MiB}}
workloads: {ingest: {kind: kafka-produce}}
tests: [levels: {workload: ingest, rates: [100]}]
"""


def unpacked(package: str, base: Path) -> Path:
    """A program of a Debian package, unpacked: installing it would start it, on all addresses."""
    base.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get") is None:
        pytest.skip("needs Debian's packages")
    for argv in (["apt-get", "download", package], ["apt-get", "update"], ["apt-get", "download", package]):
        done = subprocess.run(argv, cwd=base, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode == 0 and argv[1] == "download":
            break
    found = next(iter(base.glob(f"{package}_*.deb")), None)
    if found is None:
        pytest.skip(f"Debian's package {package} cannot be had")
    subprocess.run(["dpkg", "-x", str(found), str(base)], check=True)
    return base / "usr/bin" / package


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(argv: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


@dataclass
class There:
    """The cluster, and what monitors it."""

    kafka: KafkaSystem
    exporter: str
    prometheus: str
    slow_prometheus: str
    folder: Path

    def experiment(self, hosts: dict[str, Any], window: str) -> dict[str, Any]:
        gauges = self.kafka.services[0].gauges_url
        assert gauges is not None
        return {
            "name": "monitored",
            "hosts": {"here": {"connect": "local"}, **hosts},
            "systems": {"kafka": {
                "attach": self.kafka.cluster.addresses, "hosts": list(hosts), "most": {"rate": "5K", "bytes": "5 MB/s", "disk": "500 MB"},
                "guard": {"baseline": "5 s", "free": 0.01, "p99": "3 s"},
            }},
            "workloads": {"ingest": {"kind": "kafka-produce", "partitions": 3, "record_size": "100 B"}},
            "objectives": {"ingest": {"p99": "2 s"}},
            "tests": [{"levels": {"workload": "ingest", "rates": [2000], "duration": window}}],
            "search": {"window": "3 s", "warm_up": "1 s"},
        }  # fmt: skip

    def run(self, base: Path, hosts: dict[str, Any], window: str) -> Path:
        file, out = base / "experiment.yaml", base / "out"
        file.write_text(yaml.safe_dump(self.experiment(hosts, window), sort_keys=False))
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}

        def hydrotest(*arguments: object) -> str:
            done = subprocess.run([str(HYDROTEST), *map(str, arguments)], capture_output=True, text=True, check=False, env=environment)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        agreed = json.loads(hydrotest("check", file, "--contact", "--json"))["hash"]
        hydrotest("run", file, "--out", out, "--yes", agreed)
        return out

    @property
    def seen_by_exporter(self) -> dict[str, Any]:
        return {"connect": "exporter", "metrics": f"http://{self.exporter}/metrics", "services": [self.kafka.services[0].gauges_url]}

    @property
    def seen_by_prometheus(self) -> dict[str, Any]:
        return {"connect": "prometheus", "server": f"http://{self.prometheus}", "instance": self.exporter}


@asynccontextmanager
async def cluster_that_is_monitored(base: Path, slow_scrape_s: int = 15, cluster: str = "") -> AsyncIterator[There]:
    """A Kafka on this machine, a node_exporter, and two Prometheus that scrape it, the second one as seldom as usual.

    `cluster`: the experiment that describes the Kafka, if not `THERE`.
    """
    programs = {name: unpacked(package, base / name) for name, package in PACKAGES.items()}
    exporter = f"127.0.0.1:{free_port()}"
    servers = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    with ExitStack() as running_there:
        running_there.enter_context(running([str(programs["node_exporter"]), f"--web.listen-address={exporter}"], base / "exporter.log"))
        for server, every_s in zip(servers, (SCRAPE_S, slow_scrape_s), strict=True):
            configuration = base / f"prometheus-{every_s}.yml"
            scraped = {"job_name": "node", "scrape_interval": f"{every_s}s", "static_configs": [{"targets": [exporter]}]}
            configuration.write_text(yaml.safe_dump({"scrape_configs": [scraped]}))
            argv = [str(programs["prometheus"]), f"--config.file={configuration}", f"--web.listen-address={server}",
                    f"--storage.tsdb.path={base / f'tsdb-{every_s}'}"]  # fmt: skip
            running_there.enter_context(running(argv, base / f"prometheus-{every_s}.log"))
        async with open_testbed(cluster or THERE, base / "bed", Silent()) as bench:
            yield There(expected(bench.systems["kafka"], KafkaSystem), exporter, servers[0], servers[1], base)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[There]:
    async with cluster_that_is_monitored(tmp_path_factory.mktemp("monitored")) as made:
        yield made


def rates(out: Path, host: str) -> dict[str, float]:
    """Growth a second of each counter of a host over a trial; sizes as they were at its end."""
    (trial,) = (out / "trials").iterdir()
    samples = read_samples(trial, layout.HOST_SAMPLES).filter(pl.col("host") == host).sort("wall_s")
    first, last = samples.row(0, named=True), samples.row(-1, named=True)
    names = [name for name, value in first.items() if isinstance(value, int) and name not in ("sampler_cpu_us",) and last[name] is not None]
    return {name: (last[name] - first[name]) / (last["wall_s"] - first["wall_s"]) for name in names}


async def test_an_exporter_shows_what_our_own_sampler_does(there: There, tmp_path: Path) -> None:
    out = there.run(tmp_path, {"k1": there.seen_by_exporter}, "20 s")
    own, theirs = rates(out, "here"), rates(out, "k1")
    assert {"cpu_user_us", "net_in_bytes", "lo_in_bytes", "memory_total_bytes"} <= theirs.keys() & own.keys()
    for name in ("cpu_user_us", "cpu_system_us", "cpu_idle_us", "tcp_out_segments", "context_switches"):
        assert theirs[name] == pytest.approx(own[name], rel=0.1), name
    environment = json.loads((out / "environment.json").read_text())
    (host,) = (one for one in environment["hosts"] if one["name"] == "k1")
    assert (host["connect"], host["cores"], host["every_s"]) == ("exporter", os.cpu_count(), 1.0)
    summary = json.loads((out / "summary.json").read_text())
    assert {row["host"] for row in summary["usage"]} >= {"k1"}
    assert (summary["baseline"]["system"], [row["host"] for row in summary["baseline"]["hosts"]]) == ("kafka", ["k1"])
    assert summary["baseline"]["hosts"][0]["cpu_cores_mean"] > 0
    (trial,) = (out / "trials").iterdir()
    gauges = read_samples(trial, layout.GAUGE_SAMPLES)
    assert gauges.filter((pl.col("host") == "k1") & pl.col("gauge").str.starts_with("kafka_broker_request_handler_idle")).height > 3


async def test_prometheus_is_asked_after_each_trial(there: There, tmp_path: Path) -> None:
    async def is_scraped() -> bool:
        return time.monotonic() - begun > 3 * SCRAPE_S

    begun = time.monotonic()
    await until(is_scraped, SOON, "Prometheus", "scrape")
    out = there.run(tmp_path, {"k1": there.seen_by_prometheus}, "20 s")
    summary = json.loads((out / "summary.json").read_text())
    (used,) = (row for row in summary["usage"] if row["host"] == "k1" and row["workload"] == "ingest")
    (here,) = (row for row in summary["usage"] if row["host"] == "here" and row["workload"] == "ingest")
    assert used["cpu_cores_mean"] == pytest.approx(here["cpu_cores_mean"], rel=0.3)
    environment = json.loads((out / "environment.json").read_text())
    (host,) = (one for one in environment["hosts"] if one["name"] == "k1")
    assert host["every_s"] == pytest.approx(SCRAPE_S, abs=0.2)


async def test_what_does_not_answer_is_bad_input(there: There, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    for broken in (
        {**there.seen_by_exporter, "metrics": f"http://127.0.0.1:{free_port()}/metrics"},
        {**there.seen_by_exporter, "metrics": f"http://{there.prometheus}/metrics"},
        {**there.seen_by_prometheus, "instance": "b9:9100"},
    ):
        file.write_text(yaml.safe_dump(there.experiment({"k1": broken}, "5 s")))
        done = await asyncio.to_thread(
            subprocess.run, [str(HYDROTEST), "check", str(file), "--contact"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stdout
        assert "k1" in done.stderr
        assert "help:" in done.stderr
