"""Errors and warnings of the command line: what is wrong, where, and what to write instead."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from hydrotest.cli import main
from hydrotest.cli.commands import fetch as fetching
from hydrotest.errors import BadInputError, HydrotestError, MissingToolError, RunFailedError, shaped
from hydrotest.hosts.extras import Extra
from hydrotest.hosts.java import find_java
from hydrotest.spec.load import load_experiment
from hydrotest.store.folder import RunFolder
from hydrotest.systems.spark.home import find_spark
from tests.synthetic import EXPERIMENT, SyntheticRun

GOLDEN = Path(__file__).parent / "golden" / "errors.txt"
SHAPED = (
    BadInputError("unknown key 'systms'", "Did you mean 'systems'?", file="experiment.yaml", line=3),
    BadInputError("the run folder is not there", "Name a folder that `hydrotest run` made.", file=Path("runs/one")),
    RunFailedError("interrupted", "What was measured is kept.\n`hydrotest run --resume --out runs/one` goes on."),
    RunFailedError("ingest ended; its log says:\n    out of memory"),
)
LAB = """\
name: lab
hosts: {one: {connect: netns, cores: 1, memory: 6 GiB}}
systems: {kafka: {hosts: [one]}}
workloads: {ingest: {kind: kafka-produce}}
tests: [isolated: [ingest]]
"""


def test_the_shape_of_errors_and_warnings(request: pytest.FixtureRequest) -> None:
    texts = [*(error.shaped() for error in SHAPED), shaped("warning", "one: cpu_cores is 80% of what was asked for", "Ask for less.")]
    found = "\n\n".join(texts) + "\n"
    if request.config.getoption("--golden"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


def test_logs_get_the_place_in_the_same_line() -> None:
    error = SHAPED[0]
    assert (error.what, error.file, error.line) == ("unknown key 'systms'", "experiment.yaml", 3)
    assert error.message == "experiment.yaml:3: unknown key 'systms'"
    assert str(error).splitlines()[0] == error.message


def test_bad_input_is_printed_in_this_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(EXPERIMENT.replace("kafka-produce", "kafka-prodce"))
    with pytest.raises(BadInputError) as caught:
        load_experiment(file)
    assert (caught.value.file, caught.value.line) == (file, 7)
    assert str(file) not in caught.value.what
    assert main(["check", str(file)]) == 2
    assert capsys.readouterr() == ("", caught.value.shaped() + "\n")
    assert caught.value.shaped().splitlines()[1:] == [f"  --> {file}:7", f"help: {caught.value.hint}"]


def test_with_json_errors_are_on_stderr_and_stdout_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["check", str(tmp_path / "none.yaml")], ["show", str(tmp_path)], ["run", str(tmp_path / "none.yaml")]):
        assert main([*argv, "--json"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert [line.partition(" ")[0] for line in err.splitlines()] == ["error:", "", "help:"]


def test_a_quantity_s_forms_are_a_help(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(EXPERIMENT.replace("window: 4 s", "window: 4"))
    with pytest.raises(BadInputError) as caught:
        load_experiment(file)
    assert caught.value.line == 12
    assert "write" not in caught.value.what
    assert (caught.value.hint or "").startswith("Write a number with one of")


@pytest.mark.parametrize("argv", [["frobnicate"], ["run"], ["check", "a", "b"], ["show"], ["compare", "a", "b", "--"],
                                  ["run", "experiments/quickstart.yaml", "--resume"], ["fetch", "mysql"]])  # fmt: skip
def test_each_wrong_call_has_a_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: ")
    assert lines[-1].startswith("help: ")


def test_a_damaged_file_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = SyntheticRun(tmp_path)
    file = made.folder.folder_of(made.trial("saturated", None)) / "trial.json"
    file.write_text("{}")
    with pytest.raises(BadInputError) as caught:
        made.folder.trials()
    assert caught.value.file == file
    assert main(["show", str(made.folder.path)]) == 2
    assert capsys.readouterr().err.count(str(file)) == 1


def test_folders_of_distributions_are_the_file_of_their_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInputError) as caught:
        find_spark(str(tmp_path), "4", print)
    assert (caught.value.file, str(tmp_path) in caught.value.what) == (tmp_path, False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingToolError) as lacking:
        find_java()
    assert (lacking.value.file, str(tmp_path) in lacking.value.what) == (str(tmp_path), False)


@pytest.mark.parametrize(("number", "has_help"), [(errno.EACCES, True), (errno.ENOSPC, True), (errno.EIO, False)])
def test_what_the_operating_system_refuses_names_the_file(
    number: int, has_help: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise OSError(number, "no", "/somewhere/file")

    monkeypatch.setattr(fetching, "bundles", refuse)
    assert main(["fetch"]) == HydrotestError.exit_code
    first, place, *helps = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert place == "  --> /somewhere/file"
    assert [line.partition(" ")[0] for line in helps] == ["help:"] * has_help


def test_a_defect_is_an_error_below_its_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise KeyError("ours")

    monkeypatch.setattr(fetching, "bundles", fail)
    assert main(["fetch"]) == HydrotestError.exit_code
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert [line.partition(" ")[0] for line in lines[-2:]] == ["error:", "help:"]


def test_a_missing_extra_is_a_warning_of_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Extra, "folder", None)
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    assert main(["check", str(file)]) == 0
    assert [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()] == ["warning:", "help:"]
    assert main(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_extras"] == ["lab"]


def test_a_taken_folder_has_its_place_and_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(BadInputError) as caught:
        RunFolder(tmp_path).create(b"x")
    assert (caught.value.file, caught.value.line) == (tmp_path, None)
    assert caught.value.hint
