"""Archives of classes: of which jars and which JVM, and how services are started with them and for them."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle.class_archives import ARCHIVED, STARTED, archive_classes
from hydrotest.run.lifecycle.events import Silent
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.systems.base import Programs
from hydrotest.systems.class_archive import archive_of
from hydrotest.systems.kafka.system import KafkaSystem


def jvm(root: Path, release: str = "17") -> Path:
    (root / "bin").mkdir(parents=True, exist_ok=True)
    (root / "release").write_text(release)
    return root / "bin" / "java"


def test_an_archive_is_of_one_jvm_and_of_these_jars(tmp_path: Path) -> None:
    java, jars = jvm(tmp_path / "jdk"), tmp_path / "kafka-1"
    jars.mkdir()
    jar = jars / "a.jar"
    jar.write_bytes(b"1")
    first = archive_of(java, jars)
    assert archive_of(java, jars) == first
    assert archive_of(jvm(tmp_path / "other"), jars) != first
    os.utime(jar, ns=(1, 1))
    fetched_again = archive_of(java, jars)
    assert fetched_again != first
    (jars / "b.jar").touch()
    more = archive_of(java, jars)
    assert more != fetched_again
    jvm(tmp_path / "jdk", release="17.0.1")
    assert len({archive_of(java, jars), more, fetched_again, first}) == 4


def test_a_service_starts_with_its_archive_and_makes_one_without_agents(tmp_path: Path) -> None:
    host = LocalHost("here", tmp_path)
    system = KafkaSystem(Kafka(hosts=["here"]), [host], "run", tmp_path, lambda how: None)
    agents = ["-javaagent:a.jar"]
    system._programs[""] = Programs(PurePath("java"), PurePath("jars"), PurePath("a.jar"))
    assert system.jvm_options(host, agents) == agents
    system._programs[""] = Programs(PurePath("java"), PurePath("jars"), PurePath("a.jar"), PurePath("classes.jsa"))
    assert system.jvm_options(host, agents) == [*agents, "-XX:SharedArchiveFile=classes.jsa"]
    system.recorded = Path("new.jsa")
    assert system.jvm_options(host, agents) == ["-XX:ArchiveClassesAtExit=new.jsa"]


def test_what_is_started_for_an_archive_is_an_experiment() -> None:
    experiment = experiment_of(parse_document(STARTED, Path("classes.yaml")), opens_files=False)
    assert experiment.systems.present().keys() == ARCHIVED.keys()


async def test_without_a_jvm_there_is_no_archive_and_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fetched may be for other machines."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    listener, warned = Silent(), list[str]()
    monkeypatch.setattr(listener, "warn", lambda what, hint=None: warned.append(what))
    for name in ARCHIVED:
        await archive_classes(name, listener)
    assert len(warned) == len(ARCHIVED)
