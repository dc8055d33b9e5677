"""The command line's contract: data on stdout, messages on stderr, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrotest.cli import main
from hydrotest.errors import BadInputError
from hydrotest.run.lifecycle.scratch import Scratch, abandoned, clear_abandoned
from hydrotest.store.folder import RunFolder
from tests.synthetic import SyntheticRun


def test_check_prints_the_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "experiments/quickstart.yaml", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["experiment"] == "quickstart"
    assert plan["memory_bytes"]["here"] > 0


def test_bad_input_exits_2_with_the_line_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: x\nhosts: {here: {connect: local}}\nsystms: {}\n")
    assert main(["check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "bad.yaml:" in captured.err.replace("\n", "")


@pytest.mark.parametrize("argv", [["frobnicate"], ["run"], ["check", "nothing.yaml"], ["show", "/nonexistent"], ["fetch", "mysql"]])
def test_wrong_calls_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "error:" in capsys.readouterr().err


def test_show_and_report_rebuild_everything_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    assert main(["show", str(made.folder.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["limits"][0]["workload"] == "ingest"
    assert main(["report", str(made.folder.path)]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()


def test_a_second_run_in_one_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = RunFolder(tmp_path / "run")
    first.create(b"x")
    with pytest.raises(BadInputError, match="another run is writing to this folder"):
        RunFolder(tmp_path / "run").create(b"x")
    assert main(["run", "experiments/quickstart.yaml", "--out", str(tmp_path / "run")]) == 2
    assert "another run" in capsys.readouterr().err.replace("\n", " ")
    first.unlock()
    with pytest.raises(BadInputError, match="is not empty"):
        RunFolder(tmp_path / "run").create(b"x")


def test_resume_refuses_another_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunFolder(tmp_path / "run").create(b"something else")
    assert main(["run", "experiments/quickstart.yaml", "--out", str(tmp_path / "run"), "--resume"]) == 2
    assert "another experiment" in capsys.readouterr().err.replace("\n", " ")


def test_what_presses_fractions_of_limits_is_refused_where_there_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "experiments/quickstart.yaml", "--out", str(tmp_path / "run"), "--only", "combined"]) == 2
    assert "--only isolated --out DIR" in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "run").exists()


def test_a_damaged_summary_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = SyntheticRun(tmp_path)
    trial = made.trial("saturated", None)
    (made.folder.folder_of(trial) / "trial.json").write_text("{}")
    assert main(["show", str(made.folder.path)]) == 2
    assert "is damaged" in capsys.readouterr().err


def test_doctor_reports_each_thing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) in (0, 2)
    names = {finding["name"] for finding in json.loads(capsys.readouterr().out)}
    assert {
        "Python",
        "Java",
        "Maven",
        "Rust",
        "memory",
        "disk",
        "open files",
        "swap",
        "transparent huge pages",
        "clock source",
        "emulated hosts",
        "emulated disks",
        "ports",
        "CPU steal",
    } <= names


def test_only_abandoned_scratch_directories_of_ours_are_cleared(tmp_path: Path) -> None:
    living, other = Scratch(tmp_path, "living"), tmp_path / "somebody-elses"
    living.claim()
    other.mkdir()
    dead = Scratch(tmp_path, "dead")
    dead.claim()
    assert dead._lock is not None
    dead._lock.release()
    assert clear_abandoned(tmp_path) == [dead.path]
    assert living.path.exists()
    assert other.exists()
    living.remove()


def test_what_cannot_be_removed_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = Scratch(tmp_path, "busy")
    scratch.claim()
    (scratch.path / "lab").mkdir()
    (scratch.path / "state.json").write_text("{}")

    def busy(path: Path) -> None:
        raise OSError(16, f"{path} is mounted")

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", busy)
        with pytest.raises(OSError, match="is mounted"):
            scratch.remove()
    assert abandoned(tmp_path) == [scratch.path]
    assert clear_abandoned(tmp_path) == [scratch.path]
    assert not scratch.path.exists()


def test_the_journal_survives_a_cut_line(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create(b"x")
    folder.journal("one", value=1)
    with (tmp_path / "run" / "journal.jsonl").open("a") as handle:
        handle.write('{"at": "2026')
    assert [entry["what"] for entry in folder.read_journal()] == ["one"]


def test_a_run_that_measured_nothing_says_why_and_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No report of nothing is made: that takes longer than all the rest."""
    file = tmp_path / "unreached.yaml"
    file.write_text("""\
name: unreached
hosts: {a: {connect: command, command: ["false"], address: 10.0.0.1}}
systems: {kafka: {hosts: [a]}}
workloads: {ingest: {kind: kafka-produce}}
tests: [levels: {workload: ingest, rates: [100]}]
""")
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "a: " in said.err
    assert not (tmp_path / "out/report.html").exists()


def test_a_value_that_begins_with_a_dash_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "x.yaml", "--for", "-5d"]) == 2
    assert "--for=-" in capsys.readouterr().err.replace("\n", "")
