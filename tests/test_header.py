"""The header of an experiment file: what it says, how it is refused, and that `check` holds it against the plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli import main
from hydrotest.errors import BadInputError
from hydrotest.spec.header import EDITOR, MEMORY_FACTOR, TIME_FACTOR, Header, differences, header_of, parse_header
from hydrotest.spec.load import load_experiment
from hydrotest.spec.plan import Plan, make_plan

EXPERIMENTS = sorted(Path("experiments").glob("*.yaml"))
MEASURED_FACTOR = 3.0
"""A time in a header may be a measured one; pipelines take more than twice the plan's."""
WHOLE = """\
# question: How much?
# time: 12 min
# needs: root, 11.3 GB of memory, 8 GiB of disk, kafka, spark
# More prose.
name: x
"""
HEADER = Header("How much?", 720.0, True, 11_300_000_000, 8 << 30, ("kafka", "spark"))
FILE = Path("x.yaml")


@pytest.fixture
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this one has: the largest experiment needs 23.5 GB."""
    monkeypatch.setattr("hydrotest.cli.experiment.memory_bytes", lambda: 64 << 30)
    monkeypatch.setattr("hydrotest.cli.experiment.free_bytes", lambda folder: 1 << 40)
    monkeypatch.setattr("hydrotest.cli.experiment.cores", lambda: 8)


def plan_of(file: str) -> Plan:
    return make_plan(load_experiment(Path("experiments", file))[0])


@pytest.mark.usefixtures("large_machine")
@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_each_experiment_says_what_it_answers_and_needs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = file.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    assert first.startswith(EDITOR)
    assert (file.parent / first.removeprefix(EDITOR)).is_file()
    header = parse_header(text, file)
    assert header is not None
    assert header.question.endswith("?")
    assert main(["check", str(file), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["header"] == header.data()
    assert [one for one in plan["differences"] if one["what"] != "time"] == []
    assert 1 / MEASURED_FACTOR <= header.seconds / plan["seconds"] <= MEASURED_FACTOR


def test_a_header_is_read_after_the_editors_line_too() -> None:
    assert parse_header(WHOLE, FILE) == HEADER
    assert parse_header(f"{EDITOR}experiment.schema.json\n{WHOLE}", FILE) == HEADER


def test_what_is_written_is_read_again() -> None:
    assert parse_header("\n".join(HEADER.lines()), FILE) == replace(HEADER, disk_bytes=8_590_000_000)


@pytest.mark.parametrize("text", ["name: x\n", "# An experiment of mine.\n# time: whenever\nname: x\n", "name: x\n# question: none\n", ""])
def test_a_file_without_a_question_has_no_header(text: str) -> None:
    assert parse_header(text, FILE) is None


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("# question: How much?", "# question:", 1),
        ("# question: How much?", "# Mine.\n# question: How much?", 2),
        ("# time: 12 min\n", "", 2),
        ("# time: 12 min", "# time: 12", 2),
        ("# time: 12 min", "# time: 12 minutes", 2),
        ("# time: 12 min", "#", 2),
        ("# time: 12 min", "# Time: 12 min", 2),
        ("# needs: ", "# Needs: ", 3),
        ("root, ", "rot, ", 3),
        ("root, ", "root, root, ", 3),
        ("root, ", "root,, ", 3),
        ("11.3 GB of memory", "11.3 of memory", 3),
        ("11.3 GB of memory", "11.3 GB of memory, 1 GB of memory", 3),
        ("11.3 GB of memory", "11.3 GB", 3),
        ("kafka, spark", "kafka, kafka", 3),
        ("kafka, spark", "kafka, mysql", 3),
    ],
)
def test_a_flawed_header_is_refused_with_its_line(old: str, new: str, line: int) -> None:
    assert old in WHOLE
    with pytest.raises(BadInputError) as caught:
        parse_header(WHOLE.replace(old, new, 1), FILE)
    assert (caught.value.file, caught.value.line) == (FILE, line)
    assert caught.value.hint


def test_check_refuses_a_flawed_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(Path("experiments/kafka-levels.yaml").read_text().replace("# time: 2 min", "# time: soon"))
    assert main(["check", str(file)]) == 2
    assert f"{file}:3" in capsys.readouterr().err.replace("\n", "")


def changed(plan: Plan, **values: Any) -> list[str]:
    """What differs from a header with other values."""
    header = replace(header_of(plan, "How much?"), seconds=plan.seconds)
    return [one.what for one in differences(replace(header, **values), plan)]


def test_only_what_differs_a_lot_is_reported() -> None:
    plan = plan_of("kafka-levels.yaml")
    memory = plan.machine_memory_bytes
    assert changed(plan) == []
    assert changed(plan, seconds=plan.seconds * TIME_FACTOR * 0.99, memory_bytes=round(memory * MEMORY_FACTOR * 0.99)) == []
    assert changed(plan, memory_bytes=None) == []
    assert changed(plan, seconds=plan.seconds * TIME_FACTOR * 1.01) == ["time"]
    assert changed(plan, seconds=plan.seconds / TIME_FACTOR * 0.99) == ["time"]
    assert changed(plan, memory_bytes=round(memory / MEMORY_FACTOR * 0.99)) == ["memory"]
    assert changed(plan, root=True, systems=("kafka", "hdfs")) == ["root", "systems"]


def test_check_says_what_differs_with_both_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.yaml"
    text = Path("experiments/kafka-levels.yaml").read_text()
    file.write_text(text.replace("# time: 2 min", "# time: 1 h").replace("# needs: 2.15 GB", "# needs: root, 2.15 GB"))
    assert main(["check", str(file), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["differences"] == [
        {"what": "time", "header": 3600.0, "plan": plan["seconds"]},
        {"what": "root", "header": True, "plan": False},
    ]
    assert main(["check", str(file)]) == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()].count("differs") == 2


@pytest.mark.parametrize(
    ("file", "root"),
    [("quickstart.yaml", False), ("quickstart-squeezed.yaml", True), ("lab-faults.yaml", True), ("cassandra-ring.yaml", False)],
)
def test_root_is_needed_to_emulate_and_to_squeeze(file: str, root: bool) -> None:
    assert plan_of(file).needs_root is root


def test_a_machine_must_have_what_its_hosts_are_given() -> None:
    given = plan_of("dataflow-faults-lab.yaml")
    assert given.machine_memory_bytes == 19 << 30
    assert given.machine_memory_bytes > sum(given.memory_bytes.values())
    local = plan_of("quickstart.yaml")
    assert local.machine_memory_bytes == sum(local.memory_bytes.values())
