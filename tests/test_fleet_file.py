"""The same experiment with the hosts of another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.errors import BadInputError
from hydrotest.spec.fleet_file import read_fleet
from hydrotest.spec.hosts import NetnsHost, SshHost
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of, load_experiment

EXPERIMENT = """\
# What it asks.
name: pair
hosts:
  kafka-a: {connect: netns, cores: 0.5}
  # The generators'.
  clients: {connect: netns}

# Under test.
systems:
  kafka: {hosts: [kafka-a], heap: 512 MiB}
workloads:
  ingest: {kind: kafka-produce, on: clients}
tests:
  - levels: {workload: ingest, rates: [1K]}
"""
FLEET = """\
hosts:
  other:   {connect: ssh, to: other, address: 10.0.1.9}
  clients: {connect: ssh, to: load.bench, address: 10.0.1.12}
  kafka-a:
    connect: ssh
    to: kafka-a.bench
    address: 10.0.1.11
"""


def files(tmp_path: Path, experiment: str = EXPERIMENT, fleet: str = FLEET) -> tuple[Path, Path]:
    made = tmp_path / "experiment.yaml", tmp_path / "fleet.yaml"
    made[0].write_text(experiment)
    made[1].write_text(fleet)
    return made


def test_what_is_proven_in_the_lab_does_not_keep_a_file_from_a_fleet(tmp_path: Path) -> None:
    squeezed = EXPERIMENT.replace("levels: {workload: ingest, rates: [1K]}", "isolated: {workloads: [ingest], squeeze: 60 s}")
    file, fleet = files(tmp_path, squeezed)
    run, document = load_experiment(file, fleet)
    assert experiment_of(parse_document(document.text, file)) == run
    file.write_text(squeezed.replace("cores: 0.5", "rack: r1"))
    with pytest.raises(BadInputError):
        load_experiment(file)


def test_an_experiment_is_rehearsed_and_run_on_a_fleet_by_one_file(tmp_path: Path) -> None:
    file, fleet = files(tmp_path)
    rehearsed, _ = load_experiment(file)
    run, document = load_experiment(file, fleet)
    assert list(rehearsed.hosts_of(NetnsHost)) == list(run.hosts_of(SshHost)) == ["kafka-a", "clients"]
    assert run.model_copy(update={"hosts": rehearsed.hosts}) == rehearsed
    # The run folder has one whole file, as it was but for the hosts.
    assert experiment_of(parse_document(document.text, file)) == run
    before, _, after = document.text.partition("hosts:\n")
    assert before == "# What it asks.\nname: pair\n"
    assert after.endswith(EXPERIMENT[EXPERIMENT.index("# Under test.") :])
    assert "netns" not in document.text


@pytest.mark.parametrize(
    "experiment",
    [
        "{name: pair, hosts: {kafka-a: {connect: netns}, clients: {connect: netns}}, systems: {kafka: {hosts: [kafka-a]}},"
        " workloads: {ingest: {kind: kafka-produce}}, tests: [{levels: {workload: ingest, rates: [1K]}}]}",
        EXPERIMENT[EXPERIMENT.index("# Under") :] + "name: pair\nhosts: {kafka-a: {connect: netns}, clients: {connect: netns}}",
    ],
    ids=["in one line", "hosts last"],
)
def test_wherever_the_hosts_stand(tmp_path: Path, experiment: str) -> None:
    file, fleet = files(tmp_path, experiment)
    run, document = load_experiment(file, fleet)
    assert experiment_of(parse_document(document.text, file)) == run
    assert len(run.hosts_of(SshHost)) == 2


@pytest.mark.parametrize(
    ("fleet", "line", "words"),
    [
        (FLEET.replace("10.0.1.11", "10.0.1"), 7, "10.0.1"),
        (FLEET + "    leese: 3 s\n", 8, "leese"),
        (FLEET.replace("kafka-a:", "kafka-b:"), 1, "kafka-a"),
        (FLEET.replace("10.0.1.11", "8.8.8.8"), 7, "public"),
        ("name: x\n" + FLEET, 1, "no fleet"),
        ("hosts: [a]\n", 1, "no fleet"),
    ],
)
def test_what_is_wrong_with_a_host_is_said_of_its_file(tmp_path: Path, fleet: str, line: int, words: str) -> None:
    file, made = files(tmp_path, fleet=fleet)
    with pytest.raises(BadInputError) as caught:
        load_experiment(file, made)
    assert (caught.value.file, caught.value.line) == (made, line)
    assert words in caught.value.what


def test_a_fleet_is_read_without_an_experiment(tmp_path: Path) -> None:
    _, fleet = files(tmp_path)
    assert read_fleet(fleet)
    fleet.write_text("hosts:\n  a: {connect: local}\n")
    with pytest.raises(BadInputError) as caught:
        read_fleet(fleet)
    assert (caught.value.file, caught.value.line) == (fleet, 2)
    fleet.write_text("hosts:\n  a: {connect: ssh, to: a}\n")
    with pytest.raises(BadInputError) as caught:
        read_fleet(fleet)
    assert caught.value.line == 2


def test_what_is_wrong_elsewhere_is_said_of_the_experiment(tmp_path: Path) -> None:
    file, made = files(tmp_path, EXPERIMENT.replace("heap: 512 MiB", "heaps: 512 MiB"))
    with pytest.raises(BadInputError) as caught:
        load_experiment(file, made)
    assert (caught.value.file, caught.value.line) == (file, 10)
