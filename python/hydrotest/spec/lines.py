"""YAML with line numbers: a plain value, and the line of each of its parts.

Safe by construction: no tags but the plain ones, no aliases (so no YAML bomb), no duplicate keys, bounded
depth and size. Scalars follow YAML 1.2's core schema, so `no` is a word and `1:30` a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hydrotest.errors import BadInputError

SIZE_BYTES_MAX = 1 << 20
DEPTH_MAX = 20
NUMBER_CHARS_MAX = 30
SHOWN_CHARS_MAX = 60
"""Of a value that a message repeats."""
NOT_YAML = "Look at this line and the one before: indent by spaces, close brackets, and put text with `:`, `{` or `[` into quotes."

Path_ = tuple[str | int, ...]

_INT = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True)
class Document:
    """A parsed file: its value, and the line (from 1) of every key and item by path."""

    file: Path
    value: Any
    lines: dict[Path_, int]
    text: str = ""
    hosts_file: Path | None = None
    """Another file that its hosts are from, where they are."""

    def line(self, path: Path_) -> int:
        """The line of `path`, or of its nearest ancestor that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def file_of(self, path: Path_) -> Path:
        """The file in which `path` stands."""
        return self.hosts_file if self.hosts_file is not None and path[:1] == ("hosts",) else self.file


def read_document(file: Path) -> Document:
    """Reads a YAML file. Raises `BadInputError` with file, line and remedy."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", "Name a file that is there.", file=file) from error
    if len(raw) > SIZE_BYTES_MAX:
        raise BadInputError(
            f"the file has {len(raw):,} bytes; at most {SIZE_BYTES_MAX:,} are read",
            "Name an experiment, or what else is asked for.",
            file=file,
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInputError("the file is not text in UTF-8", "Name a file in YAML, or save it in UTF-8.", file=file, line=line) from error
    return parse_document(text, file)


def parse_document(text: str, file: Path) -> Document:
    """Parses YAML text; `file` is only for messages."""
    try:
        _check_events(text, file)
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise BadInputError(f"the file is not YAML: {error.problem}" + (f", {error.context}" if error.context else ""), NOT_YAML,
                            file=file, line=line) from error  # fmt: skip
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadInputError(f"the file is not YAML text: it holds the character U+{error.character:04X}, which YAML forbids", "Remove it.",
                            file=file, line=line) from error  # fmt: skip
    if node is None:
        raise BadInputError("the file is empty", "`hydrotest init --list` shows files to begin with.", file=file)
    lines: dict[Path_, int] = {}
    value = _Builder(file, lines).build(node, ())
    return Document(file, value, lines, text)


def _check_events(text: str, file: Path) -> None:
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise BadInputError("aliases (*name) are not supported", "Write the value out.", file=file, line=line)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise BadInputError(f"the tag {tag} is not taken", "Write a plain value.", file=file, line=line)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if depth > DEPTH_MAX:
            raise BadInputError(
                f"the file is nested deeper than {DEPTH_MAX} levels", "Look for brackets that are not closed.", file=file, line=line
            )


class _Builder:
    def __init__(self, file: Path, lines: dict[Path_, int]) -> None:
        self.file = file
        self.lines = lines

    def build(self, node: Node, path: Path_) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return _scalar(node)

    def _mapping(self, node: MappingNode, path: Path_) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                raise BadInputError(
                    "a key must be a word", "Put a text into quotes where it holds brackets, braces or a colon.", file=self.file, line=line
                )
            key = str(key_node.value)
            if key in out:
                first = self.lines[(*path, key)]
                message = f"the key {key!r} stands here a second time (first in line {first})"
                raise BadInputError(message, "Remove one of the two.", file=self.file, line=line)
            self.lines[(*path, key)] = line
            out[key] = self.build(value_node, (*path, key))
        return out


def _scalar(node: ScalarNode) -> Any:
    text = str(node.value)
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > NUMBER_CHARS_MAX:
        return text
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def shown(value: Any) -> str:
    """A value of the file as messages repeat it: not longer than helps to find it."""
    if value is None:
        return "nothing"
    text = repr(value)
    if len(text) <= SHOWN_CHARS_MAX:
        return text
    return f"{text[: SHOWN_CHARS_MAX - 1]}…" if not isinstance(value, str) else f"{text[: SHOWN_CHARS_MAX - 2]}…{text[0]}"
