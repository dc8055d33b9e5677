"""What the command line says of run folders with damaged files, and of an output that nobody reads."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli import main
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_BROKEN_PIPE, EXIT_DONE, EXIT_FAILED
from hydrotest.store import layout
from hydrotest.verdicts.problem import FilesMissing
from tests.test_recorded_runs import RUNS, unpacked

CALL = "import sys; from hydrotest.cli import main; sys.exit(main())"
RECORDED = Path(__file__).parent / "data" / "runs" / "squeeze.tar.xz"


def _journal_with(line: bytes) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        journal = run / layout.JOURNAL
        journal.write_bytes(journal.read_bytes() + line + b"\n")

    return damage


def _cut(name: str | Path) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        file = next((run / layout.TRIALS).glob(f"*/{name}"))
        file.write_bytes(file.read_bytes()[:50])

    return damage


def _cut_logs(share: float) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        for file in (run / layout.TRIALS).glob("**/*.hlog"):
            file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])

    return damage


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_journal_with(b"[1, 2]"), "journal.jsonl:"),
        (_journal_with(b"{}"), "journal.jsonl:"),
        (_journal_with(b"\xff\xfe"), "journal.jsonl:"),
        (_cut(layout.HOST_SAMPLES), layout.HOST_SAMPLES),
        (_cut(layout.seconds("ingest")), "ingest.jsonl:1\n"),
        (_cut_logs(0.6), ".hlog"),
        (_cut_logs(0.0), ".hlog"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(
    damage: Callable[[Path], None], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unpacked(RECORDED, tmp_path)
    damage(run)
    assert main(["report", str(run)]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", '{"hosts": 3}', '{"hosts": [{}]}', '{"hosts": [{"name": "a", "cores": 2, "ceilings": {}}]}', "{"])
def test_a_damaged_environment_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(RECORDED, tmp_path)
    (run / layout.ENVIRONMENT).write_text(text)
    assert main(["report", str(run)]) == 2
    assert layout.ENVIRONMENT in capsys.readouterr().err


def test_an_empty_environment_is_unknown(tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    (run / layout.ENVIRONMENT).write_text("{}")
    _, _, summary = read_run(run)
    assert (summary.hosts, summary.systems) == ([], [])
    assert len(summary.limits) == 1


@pytest.mark.parametrize(
    "name",
    [layout.ENVIRONMENT, layout.JOURNAL, layout.HOST_SAMPLES, layout.SERVICE_SAMPLES, layout.GAUGE_SAMPLES, str(layout.seconds("ingest"))],
)
def test_a_missing_file_is_said(name: str, tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    file = next(path for path in [run / name, *sorted((run / layout.TRIALS).glob(f"*/{name}"))] if path.exists())
    file.unlink()
    _, _, summary = read_run(run)
    assert [cause.files for cause in summary.problem_causes if isinstance(cause, FilesMissing)] == [(str(file.relative_to(run)),)]


@pytest.mark.parametrize("count", [1, 1000])
def test_missing_trials_are_said(count: int, tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    gone = sorted((run / layout.TRIALS).iterdir())[-count:]
    for folder in gone:
        shutil.rmtree(folder)
    _, _, summary = read_run(run)
    [missing] = [cause.files for cause in summary.problem_causes if isinstance(cause, FilesMissing)]
    assert set(missing) == {str(folder.relative_to(run)) for folder in gone}


def test_an_experiment_of_another_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(RECORDED, tmp_path)
    file = run / layout.EXPERIMENT
    file.write_text(file.read_text().replace("ingest", "others"))
    assert main(["show", str(run)]) == 2
    assert layout.EXPERIMENT in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["0", "-5", "abc", "00"])
def test_an_odd_width_hides_nothing(
    columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["show", str(unpacked(RECORDED, tmp_path)), "limits"]) == 0
    assert "6,670" in "".join(capsys.readouterr().out.split())


def test_of_a_whole_run_nothing_is_missing(tmp_path: Path) -> None:
    for recorded in RUNS:
        _, _, summary = read_run(unpacked(recorded, tmp_path))
        assert [cause for cause in summary.problem_causes if isinstance(cause, FilesMissing)] == []


def test_a_binary_trial_json_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(RECORDED, tmp_path)
    next((run / layout.TRIALS).glob(f"*/{layout.TRIAL}")).write_bytes(b"\xff\xfe")
    assert main(["show", str(run)]) == 2
    assert layout.TRIAL in capsys.readouterr().err


def test_a_defect_does_not_exit_as_a_missed_objective(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def flawed(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("hydrotest.cli.commands.compare.compare", flawed)
    assert main(["compare", "one", "another"]) == EXIT_FAILED
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["show"], ["show", "--json"], ["report"]])
def test_a_closed_pipe_is_no_failure_that_is_spoken_of(argv: list[str], tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-c", CALL, *argv, str(run)],
            stdout=writes,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (EXIT_BROKEN_PIPE, b"")


@pytest.mark.parametrize("argv", [["show"], ["show", "--json"], ["report"]])
def test_a_closed_output_is_none(argv: list[str], tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", CALL, *argv, str(run)], stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("argv", [["show"], ["show", "--json"], ["report"]])
def test_a_full_output_has_a_remedy(argv: list[str], tmp_path: Path) -> None:
    run = unpacked(RECORDED, tmp_path)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", CALL, *argv, str(run)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == EXIT_FAILED
    problem, remedy = done.stderr.splitlines()
    assert "output" in problem
    assert "Errno" not in problem
    assert "space" in remedy


def test_a_full_disk_names_the_file_that_was_not_written(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/one/journal.jsonl")

    monkeypatch.setattr("hydrotest.cli.commands.compare.compare", full)
    assert main(["compare", "one", "another"]) == EXIT_FAILED
    assert "runs/one/journal.jsonl" in capfd.readouterr().err


def test_a_pipe_that_broke_elsewhere_is_a_failure(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("hydrotest.cli.commands.compare.compare", broken)
    assert main(["compare", "one", "another"]) == EXIT_FAILED
    assert "error:" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["[]", "3", '{"limits": 3}', '{"limits": [{}]}', '{"limits": [{"workload": "ingest", "tenancy": "isolated", "limit": "much"}]}',
                                  '{"safe_working_point": {"fraction": "x"}}'])  # fmt: skip
@pytest.mark.parametrize("command", [["cost", "--type", "kafka=aws/m7i.large"], ["predict"], ["size", "--need", "ingest=1K"]])
def test_a_damaged_summary_is_named(command: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(RECORDED, tmp_path)
    (run / layout.SUMMARY).write_text(text)
    assert main([command[0], str(run), *command[1:]]) == EXIT_BAD_INPUT
    said = capsys.readouterr().err
    assert layout.SUMMARY in said
    assert "Traceback" not in said


def test_what_is_not_counted_in_a_cost_is_named_by_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(RECORDED, tmp_path)

    def costs(*more: str) -> dict[str, Any]:
        assert main(["cost", str(run), "--type", "kafka=aws/m7i.large", *more, "--json"]) == EXIT_DONE
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    never = ["people", "licences", "support", "backups", "egress"]
    assert costs()["not_in_it"] == never
    assert costs("--zones", "3")["not_in_it"] == ["zone_traffic_sum", *never]
    assert costs("--zones", "3", "--load", "ingest=1K")["not_in_it"] == never
    assert costs("--load", "ingest=1G")["beyond"].keys() == {"ingest"}


def test_all_that_is_wrong_with_the_systems_of_a_cost_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(unpacked(RECORDED, tmp_path)), "--type", "kafk=aws/m7i.large"]) == EXIT_BAD_INPUT
    said = capsys.readouterr().err
    assert "kafk" in said
    assert "of kafka no type" in said
