"""What all systems together listen on, who is let in, and where the secrets of a run are."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.batch import Batch
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.run.workloads.files import Files
from hydrotest.store import layout
from hydrotest.systems.hdfs.system import HdfsSystem
from hydrotest.systems.spark.system import SparkSystem
from tests.real.conftest import listening, own_processes, private_files_with, readable_with

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

EVERYTHING = """\
name: everything
hosts: {here: {connect: local}}
systems:
  kafka:     {hosts: [here], heap: 512 MiB}
  cassandra: {hosts: [here], heap: 1 GiB}
  hdfs:      {namenode: here, datanodes: [here], heap: 256 MiB, datanode_heap: 256 MiB}
  spark:     {master: here, workers: [here], memory: 512 MiB}
workloads:
  batch: {kind: spark-perf, tests: [count], scale_factor: 0.02, data_scale: 0.02}
  write: {kind: hdfs-write, files: 1, file_size: 1 MiB}
tests: [isolated: [batch]]
warm_up: {least: 1 s, most: 1 s}
"""


LAB = """\
name: lab
hosts:
  one: {{connect: netns, data: {data}}}
  two: {{connect: netns}}
systems:
  kafka:     {{hosts: [one, two], heap: 256 MiB}}
  cassandra: {{hosts: [two], heap: 1 GiB}}
  hdfs:      {{namenode: one, datanodes: [one, two], heap: 256 MiB, datanode_heap: 256 MiB}}
  spark:     {{master: one, workers: [two], memory: 512 MiB}}
workloads:
  batch: {{kind: spark-perf, tests: [count], scale_factor: 0.02, data_scale: 0.02, on: one}}
tests: [isolated: [batch]]
warm_up: {{least: 1 s, most: 1 s}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def everything(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Bench, Path]]:
    """All four systems with a driver that has an executor, and a file in HDFS."""
    base = tmp_path_factory.mktemp("everything")
    async with open_testbed(EVERYTHING, base, Silent()) as bench:
        workloads = make_workloads(bench)
        batch, files = workloads["batch"], workloads["write"]
        assert isinstance(batch, Batch)
        assert isinstance(files, Files)
        await batch.prepare()
        await files._press("write", 1)
        yield bench, base
        await batch.finish()


def spark_of(bench: Bench) -> SparkSystem:
    system = bench.systems["spark"]
    assert isinstance(system, SparkSystem)
    return system


@pytest.mark.usefixtures("everything")
async def test_everything_listens_on_loopback_only() -> None:
    found = listening(os.getpid())
    # Broker, node, NameNode, DataNode, master, worker, driver and executor.
    assert len({pid for pid, _ in found}) >= 8
    assert [(pid, address) for pid, address in found if not address.is_loopback] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")
async def test_in_a_lab_everything_listens_inside_it(tmp_path: Path) -> None:
    """On its hosts' own addresses, and nowhere on the machine that the lab is on."""
    async with open_testbed(LAB.format(data=tmp_path / "data"), tmp_path, Silent()) as bench:
        batch = make_workloads(bench)["batch"]
        assert isinstance(batch, Batch)
        await batch.prepare()
        found = listening(os.getpid())
        outside = Path("/proc/self/ns/net").stat().st_ino
        inside = {pid for pid, _ in found if Path(f"/proc/{pid}/ns/net").stat().st_ino != outside}
        await batch.finish()
    known = {ip_address(host.address) for host in bench.hosts.values()}
    # Two brokers, a node, NameNode, two DataNodes, master, worker, driver and executor.
    assert len(inside) >= 10
    assert [(pid, address) for pid, address in found if not (address.is_loopback or (pid in inside and address in known))] == []


async def test_a_submission_without_the_secret_is_refused(everything: tuple[Bench, Path], tmp_path: Path) -> None:
    """As any user of the machine could send it: the worker would run the program as the user who started it."""
    spark = spark_of(everything[0])
    jar = next((Path(spark.client.home) / "jars").glob("spark-core_*.jar"))

    def submit(*options: str) -> int:
        argv = [str(spark.client.home / "bin" / "spark-submit"), "--master", spark.client.url, "--deploy-mode", "cluster", *options,
                "--class", "org.apache.spark.deploy.SparkSubmit", str(jar)]  # fmt: skip
        env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(tmp_path)}
        return subprocess.run(argv, env=env, capture_output=True, timeout=120, check=False).returncode

    def submitted() -> int:
        told = status(spark)
        return len(told["activedrivers"]) + len(told["completeddrivers"])

    for wrong in ([], ["--conf", "spark.authenticate=true", "--conf", "spark.authenticate.secret=guessed"]):
        assert submit(*wrong) != 0
        assert submitted() == 0
    # The same with the secret is taken: it is the secret that counts.
    assert submit("--properties-file", str(spark.folder_of(spark.master, "spark-master") / "conf/spark-defaults.conf")) == 0
    assert submitted() == 1


def status(spark: SparkSystem) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(page(spark._question["http"]["url"]))
    return told


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


async def test_the_secret_of_spark_is_in_private_files_only(everything: tuple[Bench, Path]) -> None:
    bench, base = everything
    spark = spark_of(bench)
    secret = str(spark.client.authentication["spark.authenticate.secret"])
    assert len(bytes.fromhex(secret)) == 32
    # Master, worker and driver.
    assert len(private_files_with(secret, base)) == 3
    assert readable_with(secret, base) == []
    assert own_processes(secret) == []
    # The event log contains all properties; of this one, only that it is set.
    (log,) = (bench.runner.folder.path / layout.SPARK_EVENTS).iterdir()
    assert "spark.authenticate.secret" in log.read_text()
    for path in ("", "json/", "environment/"):
        assert secret not in page(spark._question["http"]["url"].removesuffix("json/") + path)


async def test_each_cluster_has_a_secret_of_its_own(everything: tuple[Bench, Path], tmp_path: Path) -> None:
    one = spark_of(everything[0])
    other = SparkSystem(one.spec, one.master, one.workers, "other", tmp_path, lambda how: None)
    assert one.client.authentication["spark.authenticate.secret"] != other.client.authentication["spark.authenticate.secret"]


async def test_who_is_not_the_runs_user_has_no_business_in_hdfs(everything: tuple[Bench, Path]) -> None:
    """Written data belong to the run's user alone. HDFS believes any user name: this is against accidents."""
    bench, _ = everything
    hdfs = bench.systems["hdfs"]
    assert isinstance(hdfs, HdfsSystem)
    own = f"/hydrotest-{bench.run}-write/file-0"
    address = f"{hdfs.name_node.address}:{hdfs._status_port}"

    def asked(method: str, path: str, what: str, user: str) -> int:
        request = urllib.request.Request(f"http://{address}/webhdfs/v1{path}?op={what}&user.name={user}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    for method, path, what in (("GET", own, "OPEN"), ("DELETE", own, "DELETE"), ("PUT", "/mine", "MKDIRS")):
        assert asked(method, path, what, "nobody") == 403, what
    assert asked("GET", own, "OPEN", getpass.getuser()) == 200
