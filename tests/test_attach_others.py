"""An HDFS or a Spark that is there already: what a file may ask of them, and what is read of the pages in which they show themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli.contact import contact_lines
from hydrotest.errors import BadInputError
from hydrotest.run.attached.contact import Contact
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.hdfs import Hdfs
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import Spark
from hydrotest.systems.hdfs.attached import AttachedHdfs
from hydrotest.systems.spark.attached import AttachedSpark

FILES = """\
name: there
hosts: {here: {connect: local}}
systems:
  hdfs:
    attach: [nn1:8020]
    status: nn1:9870
    most: {bytes: 20 MB/s, disk: 2 GB}
workloads:
  put: {kind: hdfs-write, files: 4, file_size: 8 MiB, replication: 2}
  get: {kind: hdfs-read, reads: put}
tests:
  - isolated: [put, get]
"""
JOBS = """\
name: there
hosts: {here: {connect: local}}
systems:
  spark:
    attach: ["127.0.0.1:7077"]
    status: 127.0.0.1:8080
    memory: 512 MiB
    most: {cores: 2, memory: 2 GiB}
workloads:
  batch: {kind: spark-perf, tests: [count]}
tests:
  - isolated: [batch]
"""
HAD = "    attach: [nn1:8020]\n    status: nn1:9870\n    most: {bytes: 20 MB/s, disk: 2 GB}\n"
HAD_JOBS = '    attach: ["127.0.0.1:7077"]\n    status: 127.0.0.1:8080\n    memory: 512 MiB\n    most: {cores: 2, memory: 2 GiB}\n'
WRONG = {
    "files: no bounds": (FILES, ("    most: {bytes: 20 MB/s, disk: 2 GB}\n", ""), 4),
    "files: no state": (FILES, ("    status: nn1:9870\n", ""), 4),
    "files: configured": (FILES, ("    status:", "    config: {dfs.blocksize: 1}\n    status:"), 6),
    "files: too many at once": (FILES, ("replication: 2", "replication: 2, at_once: 16"), 9),
    "files: unknown copies": (FILES, (", replication: 2", ""), 9),
    "files: too much disk": (FILES, ("disk: 2 GB", "disk: 50 MB"), 7),
    "files: two NameNodes": (FILES, ("[nn1:8020]", "[nn1:8020, nn2:8020]"), 5),
    "files: a folder that is none": (FILES, ("    status:", "    folder: tmp\n    status:"), 6),
    "files: another test": (FILES, ("isolated: [put, get]", "combined: [put]"), 12),
    "files: a folder of one's own": (
        FILES, (HAD, "    namenode: here\n    datanodes: [here]\n    folder: /tmp\n"), 7),
    "files: nobody": (FILES, (HAD, "    namenode: here\n"), 4),
    "jobs: no bounds": (JOBS, ("    most: {cores: 2, memory: 2 GiB}\n", ""), 4),
    "jobs: no state": (JOBS, ("    status: 127.0.0.1:8080\n", ""), 4),
    "jobs: more cores": (JOBS, ("tests: [count]}", "tests: [count], cores: 3}"), 10),
    "jobs: bounds overruled": (JOBS, ("    status:", "    config: {spark.cores.max: 64}\n    status:"), 6),
    "jobs: a secret in the file": (JOBS, ("    status:", "    config: {spark.authenticate.secret: s}\n    status:"), 6),
    "jobs: daemons configured": (JOBS, ("    status:", "    cores: 2\n    status:"), 6),
    "jobs: out of the executors' reach": (JOBS, ('"127.0.0.1:7077"', '"m1:7077"'), 10),
    "jobs: nobody": (JOBS, (HAD_JOBS, "    master: here\n"), 4),
    "jobs: squeezed": (JOBS, ("isolated: [batch]", "isolated: {workloads: [batch], squeeze: 60 s}"), 12),
}  # fmt: skip


def read(text: str) -> Experiment:
    return experiment_of(parse_document(text, Path("experiment.yaml")))


@pytest.mark.parametrize("why", WRONG)
def test_what_they_cannot_have_is_refused_with_its_line(why: str) -> None:
    text, (old, new), line = WRONG[why]
    assert old in text
    with pytest.raises(BadInputError) as caught:
        read(text.replace(old, new))
    assert caught.value.line == line, caught.value.message


@pytest.mark.parametrize("text", [FILES, JOBS])
def test_nothing_of_them_is_started(text: str) -> None:
    experiment = read(text)
    (system,) = experiment.systems.present().values()
    assert system.is_attached
    assert system.hosts == []
    assert system.placed("it") == []
    assert system.heaps() == []
    assert not experiment.needs_java_here
    assert all(highest_rate(experiment, name) is None for name in experiment.workloads)


def page(*beans: dict[str, Any]) -> dict[str, Any]:
    return {"body": json.dumps({"beans": list(beans)})}


STATE: dict[str, Any] = {"tag.HAState": "active", "UnderReplicatedBlocks": 1, "FilesTotal": 5, "BlocksTotal": 7}
SPACE: dict[str, Any] = {"FSState": "Operational", "NumDeadDataNodes": 2, "UnderReplicatedBlocks": 1}
NODES: dict[str, Any] = {
    "ClusterId": "CID-1", "BlockPoolId": "BP-1", "SoftwareVersion": "3.4.1",
    "LiveNodes": json.dumps({"d1:9866": {"xferaddr": "10.0.0.1:9866", "capacity": 100, "remaining": 30}}),
}  # fmt: skip


class Asker:
    name, machine = "here", ""


async def test_a_name_node_shows_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    system = AttachedHdfs(
        Hdfs.model_validate({"attach": ["nn1:8020"], "status": "nn1:9870", "most": {"bytes": "1 MB/s", "disk": "1 GB"}}), []
    )
    state = dict(STATE)

    async def ask(_host: Any, _what: str, question: Any) -> dict[str, Any]:
        return page(state, SPACE) if "FSNamesystem" in question["http"]["url"] else page(NODES)

    monkeypatch.setattr("hydrotest.systems.hdfs.attached.ask", ask)
    facts = await system.contact(Asker())  # type: ignore[arg-type]
    assert (facts.identity, facts.behind, facts.offline, facts.free_share) == ("CID-1 BP-1", 3, 0, (0.3, "d1:9866"))
    assert system.version == "3.4.1"
    assert system.seen({"pages": [page(STATE, SPACE)["body"]]}).behind == 3
    for wrong in ("<html>", "[]", json.dumps({"beans": []})):

        async def other(_host: Any, _what: str, _question: Any, wrong: str = wrong) -> dict[str, Any]:
            return {"body": wrong}

        with monkeypatch.context() as there:
            there.setattr("hydrotest.systems.hdfs.attached.ask", other)
            with pytest.raises(BadInputError, match="shows its state"):
                await system.contact(Asker())  # type: ignore[arg-type]
    state["tag.HAState"] = "standby"
    with pytest.raises(BadInputError, match="standby"):
        await system.contact(Asker())  # type: ignore[arg-type]
    lines = contact_lines(read(FILES), Contact((facts,), "h", {}))
    assert any("put, get" in line for line in lines)


def master(*applications: dict[str, str], free: int = 2, state: str = "ALIVE") -> str:
    workers = [{"id": "w1", "host": "127.0.0.1", "port": 1, "state": state, "coresfree": free, "memoryfree": 600}]
    return json.dumps({"url": "spark://m1:7077", "status": "ALIVE", "cores": 2, "workers": workers, "activeapps": list(applications)})


async def test_a_master_shows_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    (spec,) = read(JOBS).systems.present().values()
    assert isinstance(spec, Spark)
    system = AttachedSpark(spec, [], run="0a1b")
    said = [master()]

    async def ask(_host: Any, _what: str, question: Any) -> dict[str, Any]:
        return {"body": said[0] if question["http"]["url"].endswith("json/") else '<span class="version" style="x">4.0.0</span>'}

    monkeypatch.setattr("hydrotest.systems.spark.attached.ask", ask)
    facts = await system.contact(Asker())  # type: ignore[arg-type]
    assert (facts.behind, facts.waiting, facts.free_share) == (0, 0, None)
    assert system.version == "4.0.0"
    system.check_room()
    said[0] = master({"name": "theirs", "state": "WAITING"}, {"name": "hydrotest-0a1b", "state": "WAITING"})
    assert (await system.contact(Asker())).waiting == 1  # type: ignore[arg-type]
    assert system.seen({"pages": [said[0]]}).waiting == 1
    said[0] = master(state="DEAD")
    assert (await system.contact(Asker())).behind == 1  # type: ignore[arg-type]
    said[0] = master(free=1)
    await system.contact(Asker())  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="free cores"):
        system.check_room()
