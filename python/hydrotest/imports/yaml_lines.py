"""YAML of others: values with the lines that they stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.spec.lines import Path_

NUMBER_MAX = 1e12


@dataclass(frozen=True)
class Lined:
    """The keys of a file's top level, and the line of each and of those below it."""

    file: Path
    values: dict[str, Any]
    lines: dict[Path_, int]
    blocks: frozenset[Path_] = frozenset()
    """Texts whose lines stand below their keys (`|`)."""

    def line(self, *keys: str | int) -> int | None:
        """Of what stands under these keys, or numbers of a list's entries; of the last of them that is there."""
        return next((self.lines[keys[:end]] for end in range(len(keys), 0, -1) if keys[:end] in self.lines), None)

    def where(self, *keys: str | int) -> dict[str, Any]:
        """For a note."""
        return {"line": self.line(*keys), "file": self.file.name}

    def inside(self, number: int, *keys: str | int) -> dict[str, Any]:
        """The same of a line, by its number from 0, of a text that stands below its key."""
        place, line = self.where(*keys), self.line(*keys)
        return place | {"line": line + 1 + number} if line is not None and keys in self.blocks else place

    def flag(self, key: str) -> bool:
        """True or false, also as a text, as Java's readers take it. Raises `BadInputError`."""
        value = self.values.get(key)
        if isinstance(value, str) and value.strip().lower() in ("true", "false", ""):
            return value.strip().lower() == "true"
        if value is not None and not isinstance(value, bool):
            raise BadInputError(f"{key} is {value!r}", "Write true or false.", file=self.file, line=self.line(key))
        return bool(value)

    def whole(self, key: str) -> int:
        """A whole number; 0 where it is not given. Raises `BadInputError`."""
        value = self.values.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadInputError(f"{key} is {value!r}", "Write a whole number.", file=self.file, line=self.line(key))
        return value

    def number(self, key: str, without: float | None) -> float | None:
        """A number, also where YAML makes a text of it (`1e6`); `without`: where it is not given. Raises `BadInputError`."""
        value = self.values.get(key)
        if value is None:
            return without
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise BadInputError(f"{key} is {value!r}", "Write a number.", file=self.file, line=self.line(key)) from error
        if not 0 <= number < NUMBER_MAX:
            raise BadInputError(f"{key} is {value!r}", "Write a number of at least 0.", file=self.file, line=self.line(key))
        return int(number) if number.is_integer() else number


def read_lined(path: Path, what: str, prepare: Callable[[str], str] = str) -> Lined:
    """`prepare`: what is done to its text before it is YAML. Raises `BadInputError` where the file is not there, no YAML, or has no keys."""
    try:
        text = prepare(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"the {what} cannot be read: {error}", "Name its YAML file.", file=path) from error
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise BadInputError(f"the {what} is not YAML: {getattr(error, 'problem', error)}", "Name its YAML file.", file=path,
                            line=mark.line + 1 if mark else None) from error  # fmt: skip
    if not isinstance(node, yaml.MappingNode) or not isinstance(values, dict):
        raise BadInputError(f"the {what} has no keys", "Name its YAML file.", file=path)
    return Lined(path, values, dict(_lines(node, ())), frozenset(_blocks(node, ())))


def _blocks(node: yaml.Node, place: Path_) -> Iterator[Path_]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(value, yaml.ScalarNode) and value.style == "|":
            yield (*place, str(key.value))
        yield from _blocks(value, (*place, str(key.value)))


def _lines(node: yaml.Node, place: Path_) -> Iterator[tuple[Path_, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            own = (*place, str(key.value))
            yield own, key.start_mark.line + 1
            yield from _lines(value, own)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1
            yield from _lines(value, (*place, number))
