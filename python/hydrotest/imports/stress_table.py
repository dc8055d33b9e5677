"""The table of a profile of cassandra-stress: its columns, their types, and its key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

TYPES = frozenset({"ascii", "bigint", "blob", "boolean", "counter", "date", "decimal", "double", "float", "inet", "int", "smallint", "text", "time",
                   "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint"})  # fmt: skip
"""Types of columns that hydrotest makes values of, …"""
PARTED = frozenset({"frozen", "list", "map", "set", "tuple", "vector"})
"""… and those that are made of them."""
COLLECTIONS = ("list", "map", "set")
SIZED = ("ascii", "blob", "text", "varchar")
NUMBERS = {"boolean": 2, "tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "date": 1 << 31, "inet": 1 << 24, "float": 1 << 24, "double": 1 << 53,
           "time": 86_400 * 10**9, "timestamp": 1000 * 365 * 86_400_000, "timeuuid": 1000 * 365 * 86_400_000}  # fmt: skip
"""How many rows' numbers a type tells apart, where they may be fewer than there are rows: `ColumnType::number_max` of
rust/cassandra/src/value_generator.rs."""
_CREATE_TYPE = re.compile(r"create\s+type\s+(?:if\s+not\s+exists\s+)?(?:[\w\"]+\.)?\"?(\w+)", re.IGNORECASE)
_CREATE_TABLE = re.compile(r"(create\s+table\s+(?:if\s+not\s+exists\s+)?)(?:[\w\"]+\.)?([\w\"]+)", re.IGNORECASE)
_NAME = re.compile(r'"[^"]+"|\w+')


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    written: str
    """Its name in CQL."""
    kind: str
    """Its type, in small letters."""
    is_static: bool
    is_made: bool
    """True if values are made of it."""

    @property
    def base(self) -> str:
        """The outermost word of its type."""
        return re.split(r"\W", re.sub(r"^frozen\s*<\s*", "", self.kind), maxsplit=1)[0]

    @property
    def is_collection(self) -> bool:
        return self.base in COLLECTIONS

    @property
    def is_plain(self) -> bool:
        """True if it has no parts."""
        return self.base in TYPES

    @property
    def numbers(self) -> int | None:
        """How many rows' numbers it tells apart; None: all."""
        return NUMBERS.get(self.base)

    @property
    def elements(self) -> str:
        """The type of a collection's elements, or of a map's values."""
        inside = re.sub(r"^frozen\s*<\s*", "", self.kind).partition("<")[2]
        return re.split(r"[,>\s]+", inside.replace("frozen<", ""))[1 if self.base == "map" else 0]


@dataclass(frozen=True)
class Table:
    """A table of one's own."""

    text: str
    """Its CREATE TABLE, without a keyspace, on one line."""
    name: str
    columns: dict[str, Column]
    """By name."""
    partition: tuple[str, ...]
    """The names of the columns of the partition key."""
    clustering: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.partition, *self.clustering)

    @property
    def written(self) -> list[str]:
        """The columns that an insert writes: those that values are made of."""
        return [name for name, column in self.columns.items() if name in self.key or column.is_made]

    @property
    def has_counters(self) -> bool:
        return any(column.base == "counter" for column in self.columns.values())


def read_table(definition: str, extras: Sequence[str]) -> Table:
    """The table of a CREATE TABLE. `extras`: further definitions, among them its types. Raises `ValueError` where it is none."""
    text = " ".join(without_comments(definition).split()).rstrip("; ")
    found = _CREATE_TABLE.match(text)
    if found is None or "(" not in text:
        raise ValueError("it does not begin with CREATE TABLE")
    own = {made[1].lower() for one in extras if (made := _CREATE_TYPE.match(one))}
    columns: dict[str, Column] = {}
    partition: list[str] = []
    clustering: list[str] = []
    for part in _parts(text[text.index("(") + 1 :]):
        written = _NAME.match(part)
        if part.lower().startswith("primary key"):
            inside = part[part.index("(") + 1 : part.rindex(")")]
            first, *rest = _parts(f"{inside})")
            partition, clustering = [plain(name) for name in _NAME.findall(first)], [plain(one) for one in rest]
        elif written is not None:
            kind = part[written.end() :].strip().lower()
            described = re.split(r"\b(?:static|primary)\b", kind)[0].strip()
            is_static = re.search(r"\bstatic\b", kind) is not None
            columns[plain(written[0])] = Column(written[0], described, is_static, _is_made(described, own))
            if "primary key" in kind:
                partition = [plain(written[0])]
    if not partition:
        raise ValueError("it has no primary key")
    return Table(_CREATE_TABLE.sub(r"\1\2", text, count=1), found[2], columns, tuple(partition), tuple(clustering))


VIEW = re.compile(r"create\s+materialized\s+view\b", re.IGNORECASE)


def is_type(definition: str) -> bool:
    """True for a CREATE TYPE."""
    return _CREATE_TYPE.match(definition) is not None


def plain(name: str) -> str:
    """A name as Cassandra knows it."""
    name = name.strip()
    return name[1:-1] if name.startswith('"') else name.lower()


def without_comments(cql: str) -> str:
    """CQL without `-- …`, `// …` and `/* … */`: it is written on one line here, which they would end."""
    return re.sub(r"/\*.*?\*/|(?:--|//)[^\n]*", " ", cql, flags=re.DOTALL)


def _parts(inside: str) -> list[str]:
    """What stands between commas, up to the bracket that closes it."""
    depth, parts, part = 0, [], ""
    for letter in inside:
        if letter == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [one.strip() for one in (*parts, part) if one.strip()]


def _is_made(kind: str, own: set[str]) -> bool:
    """True if values are made of a type, and of all that it is made of."""
    return all(word in TYPES or word in PARTED or word in own or word.isdecimal() for word in re.findall(r"\w+", kind))
