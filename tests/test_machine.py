"""Emulated hosts that a machine cannot hold are refused, with the line; all experiments of the project fit the machine that they are made for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from hydrotest.spec.check import check_memory
from hydrotest.spec.check_machine import Machine, check_machine
from hydrotest.spec.load import load_experiment

SMALL = Machine(cores=2, memory_bytes=24 << 30, disk_bytes=70 << 30)
EXPERIMENT = """\
name: lab
hosts:
  a: {{connect: netns{a}}}
  b: {{connect: netns{b}}}
systems: {{kafka: {{hosts: [a], heap: 256 MiB}}}}
workloads: {{press: {{kind: kafka-produce}}}}
tests: [levels: {{workload: press, rates: [20K]}}]
"""


def written(tmp_path: Path, a: str = "", b: str = "") -> Path:
    file = tmp_path / "lab.yaml"
    file.write_text(EXPERIMENT.format(a=a, b=b))
    return file


@pytest.mark.parametrize(
    ("a", "b", "line"),
    [
        (", memory: 999 TiB", "", 3),
        ("", ", cores: 5", 4),
        (", cores: 2.1", "", 3),
        (", disk: 40 MB/s, disk_size: 71 GiB", "", 3),
        # Each fits, both do not: the larger one's line.
        (", memory: 10 GiB", ", memory: 15 GiB", 4),
        (", memory: 23.9 GiB", "", 3),
        (", disk: 40 MB/s, disk_size: 40 GiB", ", disk: 40 MB/s, disk_size: 31 GiB", 3),
    ],
)
def test_more_than_there_is_is_refused(tmp_path: Path, a: str, b: str, line: int) -> None:
    experiment, document = load_experiment(written(tmp_path, a, b))
    with pytest.raises(BadInputError) as caught:
        check_machine(experiment, document, SMALL)
    assert caught.value.line == line
    assert caught.value.hint


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("", ""),
        (", memory: 12 GiB, cores: 2", ", memory: 11 GiB, cores: 2"),
        # Without `disk` there is none, and one of the default size grows with its content.
        (", disk_size: 999 TiB", ""),
        (", disk: 40 MB/s, disk_size: 60 GiB", ", disk: 40 MB/s"),
    ],
)
def test_what_fits_is_taken(tmp_path: Path, a: str, b: str) -> None:
    check_machine(*load_experiment(written(tmp_path, a, b)), SMALL)


def test_a_default_disk_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    experiment, document = load_experiment(written(tmp_path, b=", disk: 40 MB/s"))
    with pytest.raises(BadInputError) as caught:
        check_machine(experiment, document, Machine(cores=2, memory_bytes=24 << 30, disk_bytes=10 << 30))
    assert caught.value.line == 4


@pytest.mark.parametrize("name", sorted(path.name for path in Path("experiments").glob("*.yaml")))
def test_every_experiment_of_the_project_fits_a_small_machine(name: str) -> None:
    # 24 GiB, less what the firmware keeps.
    machine = Machine(cores=2, memory_bytes=int(23.5 * 2**30), disk_bytes=70 << 30)
    experiment, document = load_experiment(Path("experiments") / name)
    check_machine(experiment, document, machine)
    check_memory(experiment, document, dict.fromkeys(experiment.hosts, machine.memory_bytes))


@pytest.mark.parametrize("a", [", memory: 999 TiB", f", cores: {(os.cpu_count() or 1) + 1}", ", disk: 40 MB/s, disk_size: 9999 TiB"])
def test_check_knows_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str], a: str) -> None:
    file = written(tmp_path, a)
    assert main(["check", str(file)]) == 2
    assert f"  --> {file}:3" in capsys.readouterr().err.splitlines()
