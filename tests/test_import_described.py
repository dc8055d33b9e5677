"""The definitions that docs/reference/definitions.md describes: what each becomes is what stands there."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hydrotest.imports.note import Fate, Imported
from hydrotest.imports.omb import import_omb
from hydrotest.imports.stress import import_stress
from hydrotest.report.wording.imported import WORDS
from tests.imported import HERE, written
from tests.test_import_omb import OMB
from tests.test_import_stress import OPS, PROFILES

PAGE = Path("docs/reference/definitions.md")
_TABLE = re.compile(r"(<!-- {name}: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def said(made: Imported, fate: Fate) -> str:
    return "; ".join(f"`{note.said}`" for note in made.notes if note.fate is fate) or "–"


def row(name: str, shape: str, made: Imported) -> str:
    cells = [
        f"`{name}`",
        shape,
        str(sum(note.fate is Fate.KEPT for note in made.notes)),
        said(made, Fate.CHANGED),
        said(made, Fate.LEFT_OUT),
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def reasons(made: Iterable[Imported]) -> list[str]:
    """Why something is changed or left out, each once."""
    whys = {note.why for one in made for note in one.notes if note.why is not None}
    return [textwrap.fill(f"- {WORDS[why]}.", 100, subsequent_indent="  ", break_long_words=False) for why in sorted(whys)]


def omb_shape(given: dict[str, Any]) -> str:
    rate = f"{given['producerRate']:,}/s" if given["producerRate"] else "the highest rate"
    parts = [f"{given['topics']:,} × {given['partitionsPerTopic']} partitions", f"{given['messageSize']:,} B", rate]
    parts += [f"{given['subscriptionsPerTopic']} subscriptions"] if given["subscriptionsPerTopic"] > 1 else []
    parts += [f"a backlog of {given['consumerBacklogSizeGB']} GB"] if given.get("consumerBacklogSizeGB") else []
    return ", ".join(parts)


def stress_shape(given: dict[str, Any]) -> str:
    key = re.search(r"PRIMARY KEY\s*(\(.*?\))\s*\)", given["table_definition"], re.IGNORECASE | re.DOTALL)
    columns = given["table_definition"].partition("(")[2].count(",") + 1
    return f"key `{key[1]}`" if key else f"{columns} columns, a key of one"


def tables(folder: Path) -> dict[str, str]:
    """The page's tables, by name."""
    head = "| definition | shape | lines kept | changed | left out |\n|---|---|---|---|---|"
    omb = {name: import_omb(written(folder, f"{name}.yaml", given), None, HERE) for name, given in OMB.items()}
    stress = {
        name: import_stress(f"user profile={written(folder, f'{name}.yaml', given)} 'ops({OPS[name]})' n=1M -rate threads=32", HERE)
        for name, given in PROFILES.items()
    }
    return {
        "omb": "\n".join([head, *(row(name, omb_shape(OMB[name]), made) for name, made in omb.items())]),
        "omb-why": "\n".join(reasons(omb.values())),
        "cassandra-stress": "\n".join([head, *(row(name, stress_shape(PROFILES[name]), made) for name, made in stress.items())]),
        "cassandra-stress-why": "\n".join(reasons(stress.values())),
    }


def test_what_each_definition_becomes_stands_in_the_docs(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`pytest tests/test_import_described.py --golden` writes the tables anew."""
    assert (len(OMB), len(PROFILES)) == (16, 14)
    page = PAGE.read_text(encoding="utf-8")
    filled = page
    for name, table in tables(tmp_path).items():
        pattern = re.compile(_TABLE.pattern.format(name=name), re.DOTALL)
        assert pattern.search(filled), name
        filled = pattern.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", filled)  # type: ignore[misc]
    if request.config.getoption("--golden"):
        PAGE.write_text(filled, encoding="utf-8")
    assert filled == PAGE.read_text(encoding="utf-8"), "look at the difference, and write it by --golden"
