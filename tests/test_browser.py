"""The report in a real browser: Chromium, driven by Playwright, looked through by axe-core. `tests/browser/` gathers facts; what they must be is here."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli.entry import main
from hydrotest.cli.run_folder import read_run
from hydrotest.report.sheets import sheets
from hydrotest.report.table import COLUMNS_MAX, NONE
from hydrotest.store import layout
from tests.large_run import HOSTS, LargeRun
from tests.test_recorded_runs import RUNS, unpacked

FOLDER = Path(__file__).parent / "browser"
INSTALLED = FOLDER / "node_modules" / ".installed"
DEADLINE_S = 400
READ = ("searched", "dataflow", "squeeze", "soak", "fault")
"""Recorded runs whose reports are read as a whole, the longest first."""
RECORDED = {run.name.partition(".")[0]: run for run in RUNS}
USED = "searched"
"""The one that is used by keyboard."""
LARGE = "large"
STEPS = ["print", "looks", "sorted", "saved", "linked", "accessible"]
MB = 1_000_000
CONTRAST_MIN = 4.5
"""Of text to what is behind it: WCAG 2.2, success criterion 1.4.3."""
FACTORS = {"": 1.0, "%": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
Facts = dict[str, Any]


def lacking() -> str:
    """What is missing for a browser test, with its remedy; empty if nothing is."""
    for program, package in (("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")):
        if shutil.which(program) is None:
            return f"{program} is missing. Install it (Debian: apt-get install {package})."
    return "" if INSTALLED.exists() else "Playwright and axe-core are missing. Call `make browser-tools`."


@dataclass(frozen=True)
class Checked:
    """Run folders by name, and what one Chromium found in their reports."""

    folders: dict[str, Path]
    facts: dict[str, Facts]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """A report is looked at while the next one is written."""
    if why := lacking():
        # Where the gate is known to have a browser, it is not left out in silence.
        (pytest.fail if os.environ.get("BROWSER_TESTS") == "required" else pytest.skip)(why)
    into = tmp_path_factory.mktemp("browser")
    answer, folders = into / "facts.json", {}
    argv = ["node", str(FOLDER / "check.mjs"), shutil.which("chromium") or "", str(answer)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        for name in (*READ, LARGE):
            folders[name] = LargeRun(into / name).folder.path if name == LARGE else unpacked(RECORDED[name], into)
            assert main(["report", str(folders[name])]) == 0
            steps = ["wide"] if name == LARGE else (["folded", "keyboard", "contents"] if name == USED else []) + STEPS
            with contextlib.suppress(BrokenPipeError):  # then it has ended, and its exit status is looked at below
                print(json.dumps({"name": name, "path": str(folders[name] / layout.REPORT), "steps": steps}), file=node.stdin, flush=True)
        try:
            _, complaints = node.communicate(timeout=DEADLINE_S)
        finally:
            node.kill()
    assert node.returncode == 0, complaints
    return Checked(folders, json.loads(answer.read_text()))


@pytest.fixture
def reports(checked: Checked) -> dict[str, Path]:
    """The run folders with their reports."""
    return checked.folders


@pytest.fixture
def facts(checked: Checked) -> dict[str, Facts]:
    """What was found in each."""
    return checked.facts


@pytest.fixture(params=READ)
def read(request: pytest.FixtureRequest, facts: dict[str, Facts]) -> Facts:
    """The facts of each recorded run."""
    return facts[request.param]


def seen_at_once(found: Facts) -> Iterator[Facts]:
    """Every layout of a report."""
    yield from (found[step] for step in ("folded", "wide") if step in found)
    yield from found.get("looks", [])
    if "print" in found:
        yield found["print"]["layout"]


@pytest.mark.parametrize("name", [*READ, LARGE])
def test_the_page_asks_no_network_and_complains_of_nothing(name: str, facts: dict[str, Facts]) -> None:
    found = facts[name]
    assert found["messages"] == []
    assert found["requests"] != []
    assert [url for url in found["requests"] if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("name", [*READ, LARGE])
def test_every_figure_is_drawn_and_none_is_cut(name: str, facts: dict[str, Facts]) -> None:
    for look in seen_at_once(facts[name]):
        assert look["charts"] != []
        wrong = [chart for chart in look["charts"] if chart["failed"] or not chart["marks"] or chart["cut"] or chart["over"]]
        assert (look["inner"], wrong) == (look["inner"], [])


@pytest.mark.parametrize("name", [*READ, LARGE])
def test_nothing_is_wider_than_the_window_or_than_its_own_box(name: str, facts: dict[str, Facts]) -> None:
    for look in seen_at_once(facts[name]):
        assert look["width"] <= look["inner"]
        assert (look["inner"], look["beyond"], look["overfull"]) == (look["inner"], [], [])


def test_at_most_seven_columns_are_seen_at_once(read: Facts) -> None:
    columns = {table["id"]: table["columns"] for look in read["looks"] if look["inner"] == 1280 for table in look["tables"]}
    assert columns
    assert {name: count for name, count in columns.items() if not 0 < count <= COLUMNS_MAX} == {}


def test_on_a_phone_each_cell_says_what_it_is(read: Facts) -> None:
    tables = [table for look in read["looks"] if look["inner"] == 390 for table in look["tables"]]
    assert tables
    assert [table for table in tables if table["columns"] or not table["cells"] or table["named"] != table["cells"]] == []


def test_axe_finds_nothing_serious(read: Facts) -> None:
    looks = read["accessible"]
    assert {(look["width"], look["mode"]) for look in looks} == {(width, mode) for width in (1280, 768, 390) for mode in ("light", "dark")}
    assert all("color-contrast" in look["passed"] for look in looks)
    assert [look for look in looks if look["violations"]] == []


def test_text_in_figures_has_contrast_in_both_modes(read: Facts) -> None:
    for look in read["looks"]:
        for mode in ("light", "dark"):
            assert look["contrast"][mode]["ratio"] >= CONTRAST_MIN
        assert look["contrast"]["light"]["ratio"] != look["contrast"]["dark"]["ratio"]


def test_all_can_be_reached_and_used_by_keyboard(facts: dict[str, Facts]) -> None:
    found = facts[USED]["keyboard"]
    stops = found["stops"]
    assert {stop["what"] for stop in stops} >= {"a", "summary", "sort", "csv"}
    assert found["missed"] == []
    assert [stop["at"] for stop in stops] == sorted(stop["at"] for stop in stops)
    assert [stop for stop in stops if not (stop["isMarked"] and stop["isSeen"] and stop["name"])] == []
    assert (found["opens"], found["sorts"]) == (True, "ascending")


def amount(text: str) -> float | None:
    """A figure in its basic unit; None if it is none, or has several parts."""
    match = re.fullmatch(r"([+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(\S*)", text.removeprefix("≥ "))
    return float(match[1].replace(",", "").replace("−", "-")) * FACTORS[match[2]] if match and match[2] in FACTORS else None


def test_a_click_on_a_head_sorts_by_it(read: Facts) -> None:
    orders, of_figures = read["sorted"], 0
    for order in orders:
        rising, falling = order["ascending"], order["descending"]
        assert sorted(rising) == sorted(falling)
        for cells, sign in ((rising, 1), (falling, -1)):
            known = [cell for cell in cells if cell != NONE]
            assert cells[: len(known)] == known
            values = [value for cell in known if (value := amount(cell)) is not None]
            if order["isFigure"] and len(values) == len(known):
                of_figures += len(set(values)) > 1
                assert values == sorted(values, key=lambda value: sign * value), order["head"]
    assert of_figures > 0


@pytest.mark.parametrize("name", READ)
def test_a_table_is_saved_whole(name: str, facts: dict[str, Facts], reports: dict[str, Path]) -> None:
    found = facts[name]["saved"]
    by_title = {}
    for table in found:
        rows = list(csv.reader(io.StringIO(table["text"])))
        assert table["file"] == f"{table['id']}.csv"
        assert [len(row) for row in rows] == [table["columns"]] * (1 + table["rows"])
        by_title[table["title"]] = rows
    _, experiment, summary = read_run(reports[name])
    expected = {sheet.title: sheet for sheet in sheets(summary, {name: workload.kind for name, workload in experiment.workloads.items()})}
    same = expected.keys() & by_title.keys()
    assert len(same) >= 3
    for title in same:
        sheet, (heads, *rows) = expected[title], by_title[title]
        # The file has what is seen first, then the rest; a unit that all have is in the head.
        order = [*sheet.shown, *(index for index in range(len(sheet.heads)) if index not in sheet.shown)]
        units = [re.fullmatch(rf"{re.escape(sheet.heads[index])}(?: \((\S+)\))?", head) for index, head in zip(order, heads, strict=True)]
        assert all(units), heads
        own = [unit[1] or "" for unit in units if unit]
        cells = [[cell if cell == NONE else bare(cell + unit) for cell, unit in zip(row, own, strict=True)] for row in rows]
        wanted = [[bare(row[index]) for index in order] for row in sheet.rows]
        # The page was sorted before.
        assert sorted(cells) == sorted(wanted)


def bare(cell: str) -> str:
    """Without what only makes it look well."""
    return cell.replace(" ", "").replace("`", "")


def test_a_link_opens_its_section(read: Facts) -> None:
    assert read["linked"] == {"isOpen": True, "isSeen": True}


def test_the_contents_mark_the_section_that_is_read(facts: dict[str, Facts]) -> None:
    links, scrolls = facts[USED]["contents"]["links"], facts[USED]["contents"]["scrolls"]
    assert {"answers", "bottlenecks", "experiment"} <= {link["id"] for link in links}
    assert [link for link in links if not (link["isOpen"] and link["marked"] == link["id"])] == []
    assert [scroll for scroll in scrolls if scroll["marked"] != scroll["id"]] == []


def test_on_paper_everything_is_unfolded_and_light(read: Facts) -> None:
    found = read["print"]
    assert found["folded"] > 0
    assert (found["before"], found["after"], found["closed"]) == (0, found["folded"], 0)
    assert found["pages"] > 1
    assert not found["hasContents"]
    assert lightness(found["body"]) > 250
    assert all(lightness(color) < 110 for color in (found["ink"], *found["labels"]))


def lightness(color: str) -> float:
    """0 to 255 of `rgb(r, g, b)`: the mean of its parts."""
    return sum(float(part) for part in re.findall(r"[\d.]+", color)[:3]) / 3


def test_reports_are_small_enough(reports: dict[str, Path]) -> None:
    sizes = {name: (folder / layout.REPORT).stat().st_size for name, folder in reports.items()}
    assert {name: size for name, size in sizes.items() if size > (5 if name == LARGE else 2) * MB} == {}


def test_a_day_on_twenty_hosts_is_drawn(facts: dict[str, Facts]) -> None:
    drawn = {chart["id"] for chart in facts[LARGE]["wide"]["charts"] if chart["marks"]}
    assert {f"host-{host}" for host in HOSTS} | {"timeline", "heat", "services"} <= drawn
