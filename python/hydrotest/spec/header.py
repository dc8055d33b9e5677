"""The header of an experiment file: comment lines with the question that it answers, its time and its needs.

It is optional. It begins the file, after the editors' `# yaml-language-server:` line, if there is one::

    # question: What does a crash cost, and is anything lost?
    # time: 6 min
    # needs: root, 4.9 GB of memory, kafka, cassandra

Further comments may follow. `time` is about how long a run takes on two cores. `needs` names root, memory, disk and systems.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hydrotest import units
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.plan import Plan
from hydrotest.units import show_bytes, show_duration

KEYS = ("question", "time", "needs")
EDITOR = "# yaml-language-server: $schema="
"""What editors find the schema of a file by."""
_LINE = re.compile(r"# (\w+): *(.*?) *")
_AMOUNT = re.compile(r"(.+) of (memory|disk)")
EXAMPLE = "root, 4.9 GB of memory, 8 GB of disk, kafka"

TIME_FACTOR = 1.5
"""A plan assumes what trials take in addition to their windows; pipelines have taken twice as long."""
MEMORY_FACTOR = 1.1


@dataclass(frozen=True)
class Header:
    """What a file says of itself."""

    question: str
    seconds: float
    root: bool
    memory_bytes: int | None
    disk_bytes: int | None
    systems: tuple[str, ...]

    def lines(self) -> list[str]:
        """The comment lines."""
        return [f"# question: {self.question}", f"# time: {self.time}", f"# needs: {self.needs}"]

    @property
    def time(self) -> str:
        """About how long it takes, in words."""
        return show_duration(self.seconds)

    @property
    def needs(self) -> str:
        """Its needs in words, as in the file."""
        amounts = [
            f"{show_bytes(size)} of {what}" for what, size in (("memory", self.memory_bytes), ("disk", self.disk_bytes)) if size is not None
        ]
        return ", ".join([*(["root"] if self.root else []), *amounts, *self.systems])

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "systems": list(self.systems)}


@dataclass(frozen=True)
class Difference:
    """Where a header says something else than the plan. The plan counts, since it follows from the file."""

    what: Literal["time", "memory", "root", "systems"]
    header: Any
    """Seconds, bytes, true or false, or names."""
    plan: Any


def read_header(file: Path) -> Header | None:
    """The header of a file in UTF-8; None if it has none. Raises `BadInputError`, with the line, for one that is not whole."""
    return parse_header(file.read_text(encoding="utf-8"), file)


def parse_header(text: str, file: Path) -> Header | None:
    """The header of a text; `file` is only for messages."""
    comments = _comments(text)
    first = 1 if comments and comments[0].startswith(EDITOR) else 0
    begins = [number for number, line in enumerate(comments) if (found := _LINE.fullmatch(line)) and found[1] == KEYS[0]]
    if not begins:
        return None
    if begins[0] != first:
        raise BadInputError(
            "the header is not at the beginning", "Move `# question: …` and the lines after it to the top.", file=file, line=begins[0] + 1
        )
    given = {}
    for number, key in enumerate(KEYS, first):
        found = _LINE.fullmatch(comments[number]) if number < len(comments) else None
        if found is None or found[1] != key or not found[2]:
            raise BadInputError(f"the header has no `{key}` here", f"Write e.g. `# {key}: {_examples()[key]}`.", file=file, line=number + 1)
        given[key] = found[2]
    try:
        seconds = _shown_s(given["time"])
    except ValueError as error:
        raise BadInputError(f"time: {error}", f"Write e.g. `# time: {_examples()['time']}`.", file=file, line=first + 2) from error
    return Header(given["question"], seconds, **_needs(given["needs"], file, first + 3))


def _shown_s(text: str) -> float:
    """Seconds of a duration as `show_duration` writes it: `12 min`, `1 h 2 min`. Raises `ValueError`."""
    parts = re.findall(r"[^ ]+ ?[^ ]+", text)
    return sum(units.duration_s(part) for part in parts) if parts else units.duration_s(text)


def _examples() -> Mapping[str, str]:
    return {"question": "How much do they take?", "time": "12 min", "needs": EXAMPLE}


def _comments(text: str) -> list[str]:
    """The lines before the first that is no comment."""
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return lines[:end]


def _needs(text: str, file: Path, line: int) -> dict[str, Any]:
    amounts: dict[str, int] = {}
    root, systems = False, []
    for item in (part.strip() for part in text.split(",")):
        amount = _AMOUNT.fullmatch(item)
        if item == "root" and not root:
            root = True
        elif amount is not None and amount[2] not in amounts:
            try:
                amounts[amount[2]] = units.size_bytes(amount[1])
            except ValueError as error:
                raise BadInputError(f"needs: {error}", f"Write e.g. `# needs: {EXAMPLE}`.", file=file, line=line) from error
        elif item in SYSTEMS and item not in systems:
            systems.append(item)
        else:
            close = difflib.get_close_matches(item, ["root", *SYSTEMS], n=1)
            hint = f"Did you mean {close[0]!r}?" if close and close[0] != item else f"Write each need once, e.g. `# needs: {EXAMPLE}`."
            raise BadInputError(f"needs: {item!r} is not known here", hint, file=file, line=line)
    return {"root": root, "memory_bytes": amounts.get("memory"), "disk_bytes": amounts.get("disk"), "systems": tuple(systems)}


def header_of(plan: Plan, question: str) -> Header:
    """A header with the figures of a plan, in whole minutes, since they are estimates."""
    seconds = max(1, round(plan.seconds / 60)) * 60.0
    return Header(question, seconds, plan.needs_root, plan.machine_memory_bytes, None, tuple(plan.systems))


def differences(header: Header, plan: Plan) -> list[Difference]:
    """Where the two differ by more than an estimate may be wrong."""
    found = []
    if not 1 / TIME_FACTOR <= header.seconds / plan.seconds <= TIME_FACTOR:
        found.append(Difference("time", header.seconds, plan.seconds))
    needed = plan.machine_memory_bytes
    if header.memory_bytes is not None and not 1 / MEMORY_FACTOR <= header.memory_bytes / needed <= MEMORY_FACTOR:
        found.append(Difference("memory", header.memory_bytes, needed))
    if header.root != plan.needs_root:
        found.append(Difference("root", header.root, plan.needs_root))
    if set(header.systems) != set(plan.systems):
        found.append(Difference("systems", list(header.systems), list(plan.systems)))
    return found
