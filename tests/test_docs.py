"""The documents: short lines, links and paths that lead somewhere, and no words that the glossary does not use."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hydrotest.analysis.bottleneck.use import FAR_FROM_CEILING, FULL_MIN, HELD_BACK_MIN, NEAR_CEILING
from hydrotest.predict.simulation.scenario import read_scenario
from hydrotest.spec.load import load_experiment

COLUMNS_MAX = 100
GLOSSARY = Path("docs/reference/glossary.md")
NOT_USED = "## Words that are not used"


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := Path(name)).exists()]


PAGES = [*tracked("docs/*.md"), Path("README.md"), Path("CONTRIBUTING.md")]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines outside of blocks of code."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def without_code(line: str) -> str:
    return re.sub(r"`[^`]*`", "", line)


def anchor(heading: str) -> str:
    """As GitHub makes it: lower case, no signs but hyphens, a hyphen for each blank."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip()).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    seen: dict[str, int] = {}
    out = set()
    for _, line in prose(page.read_text()):
        if re.match(r"#{1,6} ", line):
            name = anchor(line)
            out.add(name if name not in seen else f"{name}-{seen[name]}")
            seen[name] = seen.get(name, 0) + 1
    return out


def problem_of(page: Path, target: str) -> str | None:
    """Why a relative link leads nowhere; None if it leads somewhere."""
    name, _, fragment = target.partition("#")
    led = (page.parent / name).resolve() if name else page.resolve()
    if not led.exists():
        return f"there is no {name}"
    if fragment and fragment not in anchors(led):
        return f"{led.name} has no heading #{fragment}"
    return None


def not_used() -> list[str]:
    table = GLOSSARY.read_text().partition(NOT_USED)[2]
    return [word for row in table.splitlines() if row.startswith("| `") for word in re.findall(r"`([^`]+)`", row.split("|")[1])]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_line_of_prose_is_too_long(page: Path) -> None:
    """Rows of tables are as long as they are; a link counts without its address."""
    lines = [(number, re.sub(r"\]\([^)]*\)", "]", line)) for number, line in prose(page.read_text()) if not line.startswith("|")]
    assert [f"{page}:{number}" for number, line in lines if len(line) > COLUMNS_MAX] == []


@pytest.mark.parametrize("page", tracked("*.md"), ids=str)
def test_each_link_leads_somewhere(page: Path) -> None:
    found = [
        f"{page}:{number}: {problem}"
        for number, line in prose(page.read_text())
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(line))
        if not re.match(r"[a-z]+:", target) and (problem := problem_of(page, target)) is not None
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_words_that_the_glossary_does_not_use_do_not_occur(page: Path) -> None:
    unwanted = re.compile(rf"\b({'|'.join(map(re.escape, not_used()))})\b", re.IGNORECASE)
    found = [
        f"{page}:{number}: {hit[0]!r}"
        for number, line in prose(page.read_text())
        for hit in unwanted.finditer(re.sub(r"\]\([^)]*\)", "]", without_code(line)))
    ]
    assert found == []


def test_each_page_stands_in_the_index() -> None:
    index = Path("docs/README.md")
    linked = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", index.read_text())}
    assert [str(page) for page in tracked("docs/*.md") if page != index and page.resolve() not in linked] == []


def test_each_whole_experiment_is_a_valid_one(tmp_path: Path) -> None:
    found = [block for page in PAGES for block in re.findall(r"^```yaml\n(name: .*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)]
    assert found
    for block in found:
        file = tmp_path / "experiment.yaml"
        file.write_text(block)
        if re.search(r"^model:", block, re.MULTILINE):
            read_scenario(file)
        else:
            load_experiment(file)


@pytest.mark.parametrize(
    ("page", "quoted", "figure"),
    [
        ("docs/reference/rules.md", r"is at (\d+) % of its measured ceiling", NEAR_CEILING),
        ("docs/explanation/verdict.md", r"At (\d+) % or more the resource is a suspect", NEAR_CEILING),
        ("docs/explanation/verdict.md", r"is at (\d+) % of its ceiling", NEAR_CEILING),
        ("docs/explanation/verdict.md", r"were not used to (\d+) %", NEAR_CEILING),
        ("docs/explanation/method.md", r"at least (\d+) % of its ceiling", NEAR_CEILING),
        ("docs/reference/squeeze.md", r"near its ceiling \((\d+) %", NEAR_CEILING),
        ("docs/reference/rules.md", r"ruled out \| below (\d+) %", FAR_FROM_CEILING),
        ("docs/explanation/verdict.md", r"Below (\d+) % it is ruled out", FAR_FROM_CEILING),
        ("docs/explanation/verdict.md", r"Less than (\d+) % of what binds", FAR_FROM_CEILING),
        ("docs/how-to/read-a-verdict.md", r"more than (\d+) % of what binds", FAR_FROM_CEILING),
        ("docs/explanation/verdict.md", r"full: (\d+) % used", FULL_MIN),
        ("docs/reference/squeeze.md", r"full \((\d+) % used", FULL_MIN),
        ("docs/explanation/verdict.md", r"throttled in (\d+) % of the periods", HELD_BACK_MIN),
        ("docs/reference/squeeze.md", r"throttled in (\d+) % of the periods", HELD_BACK_MIN),
    ],
)
def test_quoted_thresholds_are_those_of_the_code(page: str, quoted: str, figure: float) -> None:
    found = re.findall(quoted, re.sub(r"\s+", " ", Path(page).read_text()))
    assert found, f"{page} no longer quotes it in these words: change the pattern"
    assert {int(one) for one in found} == {round(figure * 100)}


def test_files_of_commands_are_there() -> None:
    """Files of this repository that a command reads; a run's folder or a file of the reader's own has no folder of ours."""
    called = re.compile(r"hydrotest (?:check|run|up) (\S+\.yaml)")
    named = {
        (page, file) for page in PAGES for file in called.findall(page.read_text()) if "/" in file and not file.startswith(("/", "~", "."))
    }
    assert ("docs/how-to/extend.md", "tests/extension/echo.yaml") in {(str(page), file) for page, file in named}
    assert [f"{page}: {file}" for page, file in named if not Path(file).exists()] == []


def test_the_places_to_change_something_are_there() -> None:
    table = Path("CONTRIBUTING.md").read_text().partition("## Where to change what")[2].partition("\n## ")[0]
    named = [name for name in re.findall(r"`([^`\s]+/[^`\s]*)`", table) if not re.search("[A-Z{*]", name)]
    assert named
    assert [name for name in named if not (Path(name).exists() or Path("python/hydrotest", name).exists())] == []


def test_the_checks_find_what_they_look_for(tmp_path: Path) -> None:
    """A check that finds nothing anywhere would pass, too."""
    page = tmp_path / "page.md"
    page.write_text("# A heading, with `code`\n\n```\n# not one\n```\n")
    assert anchors(page) == {"a-heading-with-code"}
    assert problem_of(page, "#a-heading-with-code") is None
    assert problem_of(page, "#not-one") is not None
    assert problem_of(page, "other.md") is not None
    assert {"beside", "told"} <= set(not_used())
