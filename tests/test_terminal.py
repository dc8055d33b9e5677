"""What users and other systems wrote is printed as it is: no markup of ours, no emojis."""

from __future__ import annotations

import io
import types
from pathlib import Path

import pytest
from rich.console import Console

from hydrotest.cli import main
from hydrotest.cli.commands import doctor
from hydrotest.report.table import Table
from hydrotest.report.terminal import print_head, print_sheet, print_text
from tests.synthetic import SyntheticRun

NAME = "etl [prod] [/daily] [bold]:fire:[red] \\[x]"


def test_tables_and_lines_are_as_they_were_written() -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    print_sheet(Table(NAME, [NAME, "n"], [[NAME, "1"], [NAME, "2"]]), console)
    print_text(NAME, console)
    print_head(NAME, NAME, console)
    assert out.getvalue().count(NAME) == 7


def test_no_column_is_left_out_on_a_narrow_terminal() -> None:
    out = io.StringIO()
    cells = [str(number) * 8 for number in range(10)]
    print_sheet(Table("narrow", cells, [cells]), Console(file=out, width=30))
    assert {digit: out.getvalue().count(digit) for digit in "0123456789"} == dict.fromkeys("0123456789", 16)


def test_a_runs_name_is_printed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    folder = made.folder.path.rename(tmp_path / "run :fire:")
    assert main(["show", str(folder)]) == 0
    assert folder.name in capsys.readouterr().out
    assert main(["compare", str(folder), str(folder)]) == 0
    assert f"{folder.name} and {folder.name}" in capsys.readouterr().out


def test_what_doctor_found_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    finding = types.SimpleNamespace(state="missing", name="java", found="/opt/[/jdk]", remedy="set [JAVA_HOME] :fire:")
    monkeypatch.setattr(doctor, "examine", lambda: [finding])
    assert main(["doctor"]) == 2
    out = capsys.readouterr().out
    assert finding.found in out
    assert finding.remedy in out
