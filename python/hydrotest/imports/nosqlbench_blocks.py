"""The parts of a NoSQLBench workload: blocks with their operations, in each of the forms that they may have. (`ParsedOp`, `docs.nosqlbench.io`.)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.yaml_lines import Lined
from hydrotest.spec.lines import Path_

STATEMENT = ("prepared", "simple", "raw", "stmt", "statement", "conditional")
"""Keys of an operation with its CQL; the key says how it is sent."""
OPERATIONS = ("ops", "statements", "op")
NAMES = ("description", "min_version", "tags", "name")
"""Keys that only name or explain."""
OTHER_KEYS = (*NAMES, "params", "bindings", "ratio", "cl", "consistency_level")
"""Keys of an operation in addition to its CQL."""


@dataclass(frozen=True)
class Part:
    """The file, a block, or an operation of one."""

    lined: Lined
    place: Path_ = ()
    name: str = ""
    given: Any = field(default_factory=dict)
    outer: Path_ | None = None
    """Where keys of it may stand, too: of an entry of a list, in which it has a name."""

    def at(self, *keys: str) -> dict[str, Any]:
        """Where one of its keys stands, for a note."""
        return self.lined.where(*self._place(*keys))

    def _place(self, *keys: str) -> Path_:
        own = (*self.place, *keys)
        return own if own in self.lined.lines or self.outer is None else (*self.outer, *keys)

    @property
    def where(self) -> dict[str, Any]:
        """For a note."""
        return self.lined.where(*self.place)

    def mapping(self, key: str) -> dict[str, Any]:
        """What stands under one of its keys, by name; empty where nothing does. Raises `BadInputError`."""
        value = self.given.get(key) if isinstance(self.given, dict) else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(key, value, "Write names with their values.")
        return {str(name): one for name, one in value.items()}

    @property
    def bindings(self) -> dict[str, Path_]:
        """Places of its own bindings, by name."""
        return {name: self._place("bindings", name) for name in self.mapping("bindings")}

    def ratio(self, without: float) -> float:
        """How often it is done, in relation to others. Raises `BadInputError`."""
        own = self.mapping("params").get("ratio", self.given.get("ratio") if isinstance(self.given, dict) else None)
        if own is None:
            return without
        try:
            return float(own)
        except (TypeError, ValueError) as error:
            raise self._wrong("ratio", own, "Write a number.") from error

    def _wrong(self, key: str, value: Any, remedy: str) -> BadInputError:
        return BadInputError(f"{key} is {value!r}", remedy, file=self.lined.file, line=self.lined.line(*self._place(key)))


def blocks_of(lined: Lined) -> Iterator[Part]:
    """All blocks, by name or in a list; also those that hold nothing."""
    blocks = lined.values.get("blocks")
    if isinstance(blocks, dict):
        yield from (Part(lined, ("blocks", str(name)), str(name), one) for name, one in blocks.items())
    elif isinstance(blocks, list):
        for number, one in enumerate(blocks):
            part = Part(lined, ("blocks", number), "", one)
            tags = part.mapping("tags")
            name = part.given.get("name") if isinstance(one, dict) else None
            yield Part(lined, part.place, str(name or tags.get("phase") or tags.get("block") or f"block-{number + 1}"), one)
    elif blocks is not None:
        raise BadInputError(f"blocks is {blocks!r}", "Write blocks with their names.", file=lined.file, line=lined.line("blocks"))


def operations_of(block: Part) -> Iterator[Part]:
    """Each is a text, or an object with its kind of operation as key; by name, or in a list."""
    for key in OPERATIONS:
        given, place = block.given.get(key) if isinstance(block.given, dict) else None, (*block.place, key)
        if isinstance(given, dict):
            yield from (Part(block.lined, (*place, str(name)), str(name), op) for name, op in given.items())
        elif given is not None:
            for number, one in enumerate(given if isinstance(given, list) else [given]):
                own = (*place, number) if isinstance(given, list) else place
                yield from _listed(block.lined, own, f"op-{number + 1}", one)


def _listed(lined: Lined, place: Path_, unnamed: str, one: Any) -> Iterator[Part]:
    """An entry of a list: a text, an operation, or a name with it, to which the entry's other keys belong."""
    if not isinstance(one, dict):
        yield Part(lined, place, unnamed, one)
        return
    if any(isinstance(one.get(kind), str) for kind in STATEMENT):
        yield Part(lined, place, str(one.get("name", unnamed)), one)
        return
    others = {key: value for key, value in one.items() if key in OTHER_KEYS}
    named = [(name, op) for name, op in one.items() if name not in OTHER_KEYS]
    for name, op in named:
        own = op if isinstance(op, dict) else {"stmt": op}
        yield Part(lined, (*place, str(name)), str(name), others | own, place)
    if not named:
        yield Part(lined, place, str(one.get("name", unnamed)), one)
