"""An HDFS and a Spark that are there already: with folders and applications of others, and what hydrotest leaves of them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.hosts.deadlines import Patience, until
from hydrotest.run.attached.guard import BAD_SECONDS
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.hadoop import Folders
from hydrotest.spec.choice import expected
from hydrotest.systems.hdfs.system import HdfsSystem
from hydrotest.systems.spark.system import SparkSystem
from tests.real.attaching import User
from tests.real.conftest import SOON, files_with, own_processes

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

FILES = """\
name: files
hosts: {here: {connect: local}}
systems: {hdfs: {namenode: here, datanodes: [here], heap: 256 MiB, datanode_heap: 256 MiB}}
workloads: {put: {kind: hdfs-write, files: 1, file_size: 1 MiB, replication: 1}}
tests: [isolated: [put]]
"""
FOREIGN = ("/there/orders", "/there/hydrotest-old")
"""Folders of others; one has a name as ours."""


class There:
    """The file system, as its owner sees it."""

    def __init__(self, bench: Bench) -> None:
        self.hdfs = expected(bench.systems["hdfs"], HdfsSystem)
        self.folders = Folders(self.hdfs.client, bench.hosts["here"], lambda _: None)

    async def foreign(self) -> dict[str, str | None]:
        return await self.folders.ids(FOREIGN)

    def experiment(self, **workload: Any) -> dict[str, Any]:
        put = {"kind": "hdfs-write", "files": 4, "file_size": "1 MiB", "replication": 1, "at_once": 2, **workload}
        return {
            "name": "attached",
            "hosts": {"here": {"connect": "local"}},
            "systems": {"hdfs": {
                "attach": self.hdfs.endpoints, "status": f"127.0.0.1:{self.hdfs._status_port}", "folder": "/there",
                "most": {"bytes": "4 MB/s", "disk": "400 MB", "at_once": 2}, "guard": {"baseline": "5 s", "free": 0.01, "p99": "5 s"},
            }},
            "workloads": {"put": put, "get": {"kind": "hdfs-read", "reads": "put", "at_once": 2}},
            "tests": [{"isolated": ["put", "get"]}],
        }  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[There]:
    async with open_testbed(FILES, tmp_path_factory.mktemp("files"), Silent()) as bench:
        found = There(bench)
        for folder in ("/there", *FOREIGN):
            await found.folders.make(folder)
        yield found


async def test_files_are_written_within_what_is_allowed_and_nothing_stays(there: There, tmp_path: Path) -> None:
    before, user = await there.foreign(), User(tmp_path)
    file = user.written(there.experiment())
    assert user.hydrotest("run", file, "--out", tmp_path / "no").returncode == 2
    elsewhere = there.experiment()
    elsewhere["systems"]["hdfs"]["folder"] = "/nowhere/at-all"
    refused = user.hydrotest("check", user.written(elsewhere), "--contact")
    assert (refused.returncode, "/nowhere/at-all" in refused.stderr) == (2, True)
    assert await there.folders.ids(["/nowhere"]) == {"/nowhere": None}
    file = user.written(there.experiment())
    done = user.run(file, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    passes = [json.loads(one.read_text())["loads"][0]["files"] for one in sorted((tmp_path / "out/trials").glob("*/trial.json"))]
    assert {one["files"][0]["correct"] for one in passes} == {True}
    rates = [sum(one["bytes"] for one in done["files"]) / done["seconds"] for done in passes]
    assert max(rates) <= 4e6 * 1.01
    assert max(rates) >= 4e6 * 0.8
    assert user.noted == []
    assert await there.foreign() == before
    assert None not in before.values()
    assert await there.folders.canaries("/there/*") == []


async def test_what_a_killed_run_left_is_removed_by_its_inode(there: There, tmp_path: Path) -> None:
    before, user = await there.foreign(), User(tmp_path)
    # 40 MB at 4 MB/s: it is killed in the middle.
    file = user.written(there.experiment(files=10, file_size="4 MiB"))
    process = user.begun(file, tmp_path / "out")

    async def made() -> list[str]:
        entries = [json.loads(line) for path in user.noted for line in path.read_text().splitlines()]
        names = [entry["name"] for entry in entries if entry.get("event") == "made"]
        return names if len(names) == 2 else []

    def is_begun() -> bool:
        return (tmp_path / "cache/hydrotest/attached").exists()

    async def begun() -> bool:
        return is_begun()

    await until(begun, SOON, "the run", "begin")
    ours = await until(made, SOON, "the run", "make its folders")
    second = user.hydrotest("check", file, "--contact")
    assert second.returncode == 2
    assert "canary" in second.stderr
    process.kill()
    process.wait()
    assert None not in (await there.folders.ids(ours)).values()
    done = user.hydrotest("down", file, "--json")
    assert set(json.loads(done.stdout)["removed"]) >= set(ours), done.stderr
    assert set((await there.folders.ids(ours)).values()) == {None}
    assert await there.foreign() == before


JOBS = """\
name: jobs
hosts: {here: {connect: local}}
systems: {spark: {master: here, workers: [here], cores: 2, memory: 512 MiB}}
workloads: {batch: {kind: spark-perf, tests: [count], scale_factor: 0.01, data_scale: 0.01}}
tests: [isolated: [batch]]
"""
SECRET = "TEST_SPARK_SECRET"


def state(spark: SparkSystem) -> dict[str, Any]:
    with urllib.request.urlopen(spark._status_url, timeout=10) as page:
        found: dict[str, Any] = json.load(page)
    return found


async def test_an_application_takes_what_is_allowed_and_leaves(tmp_path: Path) -> None:
    async with open_testbed(JOBS, tmp_path / "jobs", Silent()) as bench:
        spark = expected(bench.systems["spark"], SparkSystem)
        secret = str(spark.client.authentication["spark.authenticate.secret"])
        user = User(tmp_path, {SECRET: secret})
        batch = {"kind": "spark-perf", "tests": ["count"], "scale_factor": 0.01, "data_scale": 0.01}
        experiment: dict[str, Any] = {
            "name": "attached",
            "hosts": {"here": {"connect": "local"}},
            "systems": {"spark": {
                "attach": spark.endpoints, "status": spark._status_url.split("/")[2], "security": {"secret": {"env": SECRET}}, "memory": "512 MiB",
                "most": {"cores": 1, "memory": "1 GiB"}, "guard": {"baseline": "5 s"},
            }},
            "workloads": {"batch": batch},
            "tests": [{"isolated": ["batch"]}],
            "warm_up": {"least": "1 s", "most": "2 s"},
        }  # fmt: skip
        file = user.written(experiment)
        assert user.hydrotest("run", file, "--out", tmp_path / "no").returncode == 2
        done = user.run(file, tmp_path / "out")
        assert done.returncode == 0, done.stdout + done.stderr
        (ended,) = state(spark)["completedapps"]
        assert (ended["cores"], ended["name"].startswith("hydrotest-")) == (1, True)
        assert state(spark)["activeapps"] == []
        (system,) = json.loads((tmp_path / "out/environment.json").read_text())["systems"]
        assert system["version"] == spark.version
        assert files_with(secret, tmp_path / "out") == []
        assert own_processes(secret) == []

        # While somebody else waits for cores, nothing of ours goes on.
        file = user.written({**experiment, "warm_up": {"least": "200 s", "most": "200 s"}})
        process = user.begun(file, tmp_path / "stopped")

        async def is_running() -> bool:
            return any(one["name"].startswith("hydrotest-") for one in await asyncio.to_thread(lambda: state(spark)["activeapps"]))

        await until(is_running, SOON, "the run", "start its application")
        other = await _application(bench, spark, tmp_path)
        try:

            async def theirs() -> str | None:
                there = (await asyncio.to_thread(lambda: state(spark)))["activeapps"]
                return next((one["state"] for one in there if not one["name"].startswith("hydrotest-")), None)

            async def is_waiting() -> bool:
                return await theirs() == "WAITING"

            async def has_cores() -> bool:
                return await theirs() == "RUNNING"

            await until(is_waiting, SOON, "their application", "wait")
            # Three bad seconds, and two to end all; a slow machine asks late.
            await until(
                has_cores, Patience.of(a_breach=BAD_SECONDS, the_end_of_all_load=2.0, a_slow_machine=5.0), "their application", "get cores"
            )
            assert await asyncio.to_thread(process.wait, 240) == 4, (tmp_path / "said").read_text()
        finally:
            other.kill()
            other.wait()


async def _application(bench: Bench, spark: SparkSystem, folder: Path) -> subprocess.Popen[bytes]:
    """An application of somebody else's that wants both cores."""
    host, where = bench.hosts["here"], folder / "other"
    where.mkdir()
    events = where / "events"
    events.mkdir()
    for name, text in spark.client.render_application(host, events, {}).items():
        (where / name).parent.mkdir(exist_ok=True, parents=True)
        (where / name).write_text(text)
    argv = [str(spark.client.home_on(host) / "bin/spark-shell"), "--properties-file", str(where / "spark.conf")]
    return subprocess.Popen(argv, env=spark.client.environment(host, where / "conf", where), stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
