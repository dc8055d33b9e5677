"""Programs whose output is read run in a locale of ours, whatever the user's is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hydrotest.hosts import command
from hydrotest.hosts.java import java_major
from hydrotest.hosts.lab import disk
from hydrotest.hosts.locales import PLAIN_LOCALE
from hydrotest.load import stock
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.load import load_experiment

EXPERIMENT = """\
name: locale
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}, cassandra: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce, record_size: 100 B}
  store: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 5K)"}
tests: [{levels: {workload: ingest, rates: [1K]}}]
"""


@pytest.fixture(autouse=True)
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LANG": "de_DE.UTF-8"}.items():
        monkeypatch.setenv(name, value)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_supervised_command_gets_it(tmp_path: Path) -> None:
    assert command._settings("x", ["x"], tmp_path / "x.log")["env"] == PLAIN_LOCALE


def test_a_command_that_a_disk_is_made_with_gets_it() -> None:
    lines = disk._run("env").splitlines()
    assert {f"{name}={value}" for name, value in PLAIN_LOCALE.items()} <= set(lines)
    assert any(line.startswith("PATH=") for line in lines)


def test_the_java_command_gets_it(tmp_path: Path) -> None:
    java = script(tmp_path / "java", "test \"$LC_ALL\" = C.UTF-8 && echo 'openjdk version \"17.0.1\"' || echo 'openjdk Version »17.0.1«'")
    assert java_major(java) == 17


COMMANDS: dict[str, Callable[[KafkaProduce, CassandraLoad], stock.Command]] = {
    "producer": lambda ingest, _: stock.producer_command(Path("java"), "cp", ["a:1"], None, "t", ingest, 10, None, 0),
    "consumer": lambda _, __: stock.consumer_command(Path("java"), "cp", ["a:1"], None, "t", 10, "g"),
    "stress": lambda _, store: stock.stress_command(Path("java"), "cp", "a:1", "k", store, 5, 4, None, Path("/x")),
    "populate": lambda _, store: stock.stress_populate_command(Path("java"), "cp", "a:1", "k", store, 4, Path("/x")),
}


@pytest.mark.parametrize("make", COMMANDS.values(), ids=COMMANDS)
def test_a_stock_tools_jvm_is_english(make: Callable[[KafkaProduce, CassandraLoad], stock.Command], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(EXPERIMENT)
    workloads = load_experiment(file)[0].workloads
    ingest, store = workloads["ingest"], workloads["store"]
    assert isinstance(ingest, KafkaProduce)
    assert isinstance(store, CassandraLoad)
    argv = make(ingest, store).argv
    # Options of the JVM stand before its class path.
    assert set(stock.ENGLISH) <= set(argv[: argv.index("-cp")])
