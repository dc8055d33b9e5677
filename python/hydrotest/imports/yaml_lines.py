"""YAML of others: values with the lines that they stand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError

NUMBER_MAX = 1e12


@dataclass(frozen=True)
class Lined:
    """The keys of a file's top level: values, and the line of each."""

    file: Path
    values: dict[str, Any]
    lines: dict[str, int]

    def where(self, key: str) -> dict[str, Any]:
        """For a note."""
        return {"line": self.lines.get(key), "file": self.file.name}

    def whole(self, key: str) -> int:
        """A whole number; 0 where it is not given. Raises `BadInputError`."""
        value = self.values.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadInputError(f"{key} is {value!r}", "Write a whole number.", file=self.file, line=self.lines.get(key))
        return value

    def number(self, key: str, without: float | None) -> float | None:
        """A number, also where YAML makes a text of it (`1e6`); `without`: where it is not given. Raises `BadInputError`."""
        value = self.values.get(key)
        if value is None:
            return without
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise BadInputError(f"{key} is {value!r}", "Write a number.", file=self.file, line=self.lines.get(key)) from error
        if not 0 <= number < NUMBER_MAX:
            raise BadInputError(f"{key} is {value!r}", "Write a number of at least 0.", file=self.file, line=self.lines.get(key))
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
    return Lined(path, values, {str(key.value): key.start_mark.line + 1 for key, _ in node.value})
