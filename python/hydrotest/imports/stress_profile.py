"""A profile of cassandra-stress, for `user profile=…`: a table of one's own, and statements. (`StressProfile`.)"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Imported, Why
from hydrotest.imports.stress_words import Drawn, distribution, weight_of
from hydrotest.imports.yaml_lines import Lined, read_lined

TYPES = frozenset({"ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "float", "inet", "int", "smallint", "text", "time", "timestamp",
                   "timeuuid", "tinyint", "uuid", "varchar", "varint"})  # fmt: skip
"""Types of columns that hydrotest makes values of, …"""
PARTED = frozenset({"frozen", "list", "map", "set", "tuple", "vector"})
"""… and those that are made of them."""
COLLECTIONS = ("list", "map", "set")


def read_user(text: str, out: Imported, store: dict[str, Any]) -> None:
    """The statements of a profile. Raises `BadInputError`."""
    profile = re.search(r"profile=(\S+)", text)
    if profile is None:
        raise BadInputError("`user` has no profile", "Write `user profile=FILE.yaml ops(insert=1)`.")
    ops = re.search(r"ops\(([^()]*)\)", text)
    weights = (
        {name.strip(): weight_of(value) for name, _, value in (pair.partition("=") for pair in ops[1].split(",")) if name.strip()}
        if ops
        else {"insert": 1.0}
    )
    out.kept(f"ops({', '.join(f'{name}={value:g}' for name, value in weights.items())})", "weights of the statements")
    _Profile(read_lined(Path(profile[1]), "profile"), out, store, weights).read()


class _Profile:
    """A profile: table, columns, insert, queries."""

    def __init__(self, lined: Lined, out: Imported, store: dict[str, Any], weights: dict[str, float]) -> None:
        self.lined = lined
        self.out = out
        self.store = store
        self.weights = weights
        definition = without_comments(str(lined.values.get("table_definition", "")))
        if "create table" not in definition.lower():
            raise BadInputError(
                "the profile has no `table_definition`", "Add its CREATE TABLE: hydrotest makes the table anew.", file=lined.file
            )
        self.table = _without_keyspace(" ".join(definition.split()).rstrip("; "))
        self.extras = [" ".join(without_comments(str(one)).split()).rstrip("; ") for one in lined.values.get("extra_definitions") or ()]
        types, self.keys = _columns_of(self.table)
        own = {match[1].lower() for one in self.extras if (match := _CREATE_TYPE.match(one))}
        self.collections = {name for name, kind in types.items() if re.sub(r"^frozen\s*<\s*", "", kind).startswith(COLLECTIONS)}
        if any(kind.startswith("counter") for kind in types.values()):
            raise BadInputError("a table of counters is not written by INSERT, and cassandra-stress's own counters have no counterpart",
                                "Write the updates as `statements` of your own.", file=lined.file, line=lined.lines.get("table_definition"))  # fmt: skip
        self.tuples = {name for name, kind in types.items() if re.split(r"\W", re.sub(r"^frozen\s*<\s*", "", kind))[0] in {"tuple", *own}}
        self.columns = [name for name, kind in types.items() if name in self.keys or _is_made(kind, own)]
        for name, kind in types.items():
            if name not in self.columns:
                out.left_out(f"{name} {kind}", Why.COLUMN_TYPE, **lined.where("table_definition"))

    def read(self) -> None:
        self.out.experiment["name"] = re.sub(r"[^a-z0-9]+", "-", self.lined.file.stem.lower()).strip("-")[:40] or "profile"
        types = [one for one in self.extras if _CREATE_TYPE.match(one)]
        others = [one for one in self.extras if one not in types]
        self.store["table"] = [*types, self.table, *others] if self.extras else self.table
        self.out.kept("table_definition", "table", **self.lined.where("table_definition"))
        if self.extras:
            self.out.kept("extra_definitions", "table", **self.lined.where("extra_definitions"))
        self._statements()
        self._values()
        for key in self.lined.values:
            match key:
                case "keyspace" | "table" | "specname":
                    self.out.left_out(key, Why.NAME_ONLY, **self.lined.where(key))
                case "keyspace_definition":
                    self.out.changed(key, "strategy, replication", Why.ONE_NODE, **self.lined.where(key))
                case "insert":
                    self._insert(self.lined.values[key] or {})
                case "token_range_queries":
                    self.out.left_out(key, Why.NO_COUNTERPART, **self.lined.where(key))
                case "table_definition" | "extra_definitions" | "columnspec" | "queries":
                    pass
                case _:
                    self.out.left_out(key, Why.NO_COUNTERPART, **self.lined.where(key))

    def _statements(self) -> None:
        name = _table_name(self.table)
        statements: dict[str, Any] = {}
        queries = self.lined.values.get("queries") or {}
        if "insert" in self.weights or any(verb_is_read(one) for one in queries.values()):
            marks = ", ".join("?" for _ in self.columns)
            statements["insert"] = {
                "cql": f"INSERT INTO {name} ({', '.join(self.columns)}) VALUES ({marks})",
                "weight": self.weights.get("insert", 0),
            }
            self.out.kept(f"insert={self.weights.get('insert', 0):g}", "statements.insert", **self.lined.where("insert"))
        for query, weight in self.weights.items():
            if query == "insert":
                continue
            given = queries.get(query)
            if given is None:
                raise BadInputError(f"the profile has no query {query!r}", f"It has {', '.join(queries) or 'none'}.", file=self.lined.file)
            cql = " ".join(str(given["cql"]).split()).rstrip("; ")
            statements[_name(query)] = {"cql": cql, "weight": weight}
            fields = given.get("fields", "samerow")
            if fields == "multirow":
                self.out.changed(
                    f"queries.{query}: fields: multirow",
                    f"statements.{_name(query)}",
                    Why.ROWS_PER_PARTITION,
                    **self.lined.where("queries"),
                )
            else:
                self.out.kept(f"queries.{query}", f"statements.{_name(query)}", **self.lined.where("queries"))
        for query in queries:
            if query not in self.weights:
                self.out.left_out(f"queries.{query} (not in ops)", Why.NAME_ONLY, **self.lined.where("queries"))
        self.store["statements"] = statements

    def _values(self) -> None:
        values: dict[str, Any] = {}
        keys = None
        for spec in self.lined.values.get("columnspec") or ():
            name, where = str(spec.get("name")), self.lined.where("columnspec")
            if name not in self.columns or name in self.tuples:
                self.out.left_out(f"columnspec {name}", Why.COLUMN_TYPE, **where)
                continue
            if "population" in spec:
                drawn = distribution(str(spec["population"]))
                if name in self.keys[:1] and keys is None:
                    keys = drawn
                    text = f"keys: {drawn.text}"
                else:
                    # Values follow from their row, and have no sequence of their own.
                    drawn = replace(drawn, shape="uniform", is_exact=False) if drawn.shape == "sequential" else drawn
                    values[name] = {"each": drawn.text} if name in self.collections else drawn.text
                    text = f"values: {{{name}: {drawn.text}}}"
                self._told(f"columnspec {name}: population: {spec['population']}", text, drawn, where)
            if "size" in spec and name in self.collections:
                # Of a collection it is how many elements there are (`Lists`, `Sets`).
                drawn = distribution(str(spec["size"]))
                drawn = replace(drawn, shape="uniform", is_exact=False) if drawn.shape == "sequential" else drawn
                values[name] = {"count": drawn.text, **values.get(name, {})}
                self._told(f"columnspec {name}: size: {spec['size']}", f"values: {{{name}: {{count: {drawn.text}}}}}", drawn, where)
            elif "size" in spec and (name in values or name in self.keys):
                self.out.left_out(f"columnspec {name}: size: {spec['size']}", Why.FROM_POPULATION, **where)
            elif "size" in spec:
                drawn = distribution(str(spec["size"]))
                drawn = replace(drawn, is_exact=drawn.is_exact and drawn.shape != "sequential" and drawn.low > 0)
                values[name] = drawn.sizes
                self._told(f"columnspec {name}: size: {spec['size']}", f"values: {{{name}: {values[name]}}}", drawn, where)
            if "cluster" in spec:
                drawn = distribution(str(spec["cluster"]))
                if name in values:
                    self.out.left_out(f"columnspec {name}: cluster: {spec['cluster']}", Why.ROWS_PER_PARTITION, **where)
                    continue
                values[name] = f"uniform(0, {max(drawn.high, 1)})"
                self.out.changed(
                    f"columnspec {name}: cluster: {spec['cluster']}", f"values: {{{name}: {values[name]}}}", Why.ROWS_PER_PARTITION, **where
                )
        self.store["keys"] = keys.text if keys is not None else self.store["keys"]
        if values:
            self.store["values"] = values

    def _told(self, said: str, ours: str, drawn: Drawn, where: dict[str, Any]) -> None:
        if drawn.is_exact:
            self.out.kept(said, ours, **where)
        else:
            self.out.changed(said, ours, Why.DISTRIBUTION, **where)

    def _insert(self, given: dict[str, Any]) -> None:
        insert = self.store["statements"].get("insert")
        for key, value in given.items():
            said = f"insert: {key}: {value}"
            is_one = str(value).lower().replace(" ", "") in ("fixed(1)", "fixed(1)/1", "unlogged")
            if is_one:
                self.out.kept(said, "one row a statement", **self.lined.where("insert"))
            elif key == "condition" and str(value).strip() and insert is not None:
                insert["cql"] = f"{insert['cql']} {' '.join(str(value).split())}"
                self.out.kept(said, f"statements.insert: {insert['cql']}", **self.lined.where("insert"))
            elif key == "partitions" and insert is not None and (rows := _fixed(value)) is not None and rows > 1:
                kind = str(given.get("batchtype", "logged")).lower()
                insert["batch"] = {"rows": rows, "kind": kind if kind in ("logged", "unlogged", "counter") else "logged"}
                self.out.kept(said, f"statements.insert.batch: {insert['batch']}", **self.lined.where("insert"))
            elif key == "batchtype" and insert is not None and (_fixed(given.get("partitions")) or 1) > 1:
                self.out.kept(said, "statements.insert.batch", **self.lined.where("insert"))
            else:
                self.out.left_out(said, Why.BATCHES, **self.lined.where("insert"))


def _fixed(value: Any) -> int | None:
    """The number of `fixed(n)`; None of anything else."""
    match = re.fullmatch(r"fixed\(([0-9]+)\)", str(value).strip().lower())
    return int(match[1]) if match else None


_CREATE_TYPE = re.compile(r"create\s+type\s+(?:if\s+not\s+exists\s+)?(?:[\w\"]+\.)?\"?(\w+)", re.IGNORECASE)


def _is_made(kind: str, own: set[str]) -> bool:
    """True if values are made of a type, and of all that it is made of."""
    described = re.split(r"\b(?:static|primary)\b", kind)[0]
    return all(word in TYPES or word in PARTED or word in own or word.isdecimal() for word in re.findall(r"\w+", described))


def without_comments(cql: str) -> str:
    """CQL without `-- …`, `// …` and `/* … */`: it is written on one line here, which they would end."""
    return re.sub(r"/\*.*?\*/|(?:--|//)[^\n]*", " ", cql, flags=re.DOTALL)


def verb_is_read(query: Any) -> bool:
    """True for a SELECT."""
    return str(query.get("cql", "") if isinstance(query, dict) else query).lstrip().lower().startswith("select")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _without_keyspace(table: str) -> str:
    return re.sub(r"(create\s+table\s+(?:if\s+not\s+exists\s+)?)[\w\"]+\.([\w\"]+)", r"\1\2", table, count=1, flags=re.IGNORECASE)


def _table_name(table: str) -> str:
    match = re.search(r"create\s+table\s+(?:if\s+not\s+exists\s+)?([\w.\"]+)", table, re.IGNORECASE)
    assert match is not None
    return match[1].rpartition(".")[2]


def _columns_of(table: str) -> tuple[dict[str, str], list[str]]:
    """The types of its columns by name, and the names of its primary key."""
    inside = table[table.index("(") + 1 :]
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
    columns: dict[str, str] = {}
    keys: list[str] = []
    for one in [*parts, part]:
        text = one.strip()
        if text.lower().startswith("primary key"):
            keys = re.findall(r"\w+", text[len("primary key") :])
        elif text:
            columns[text.split()[0]] = text.split(None, 1)[1].lower() if " " in text else ""
            if "primary key" in text.lower():
                keys = [text.split()[0]]
    return columns, keys
