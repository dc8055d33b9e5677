"""A profile of cassandra-stress, for `user profile=…`: a table of one's own, and statements. (`StressProfile`.)"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Imported, Why, make_views, shown
from hydrotest.imports.stress_insert import FILL, INSERT, batch_of, note_insert, statements_of
from hydrotest.imports.stress_rows import Rows, rows_of
from hydrotest.imports.stress_table import SIZED, VIEW, Column, is_type, read_table, without_comments
from hydrotest.imports.stress_words import Drawn, distribution, weight_of
from hydrotest.imports.yaml_lines import Lined, read_lined

PARTITIONS = 1_000_000
"""Where the profile does not say how many; there, as many as are written."""
USUAL_SIZE = Drawn("uniform", is_exact=True, low=4, high=8)
"""Of a text, a blob and a collection (`Generator.defaultSizeDistribution`)."""


@dataclass
class Options:
    """What a command line says beside the profile."""

    population: Drawn | None = None
    """`-pop`: partitions by their numbers."""
    said: str = ""
    """As it stands there."""
    insert: dict[str, str] = field(default_factory=dict)
    """`-insert`, in the profile's words."""


def read_user(text: str, out: Imported, store: dict[str, Any], options: Options) -> None:
    """The statements of a profile. Raises `BadInputError`."""
    profile = re.search(r"profile=(\S+)", text)
    if profile is None:
        raise BadInputError("`user` has no profile", "Write `user profile=FILE.yaml ops(insert=1)`.")
    ops = re.search(r"ops\(([^()]*)\)", text)
    weights = (
        {name.strip(): weight_of(value) for name, _, value in (pair.partition("=") for pair in ops[1].split(",")) if name.strip()}
        if ops
        else {INSERT: 1.0}
    )
    out.kept(f"ops({', '.join(f'{name}={value:g}' for name, value in weights.items())})", "weights of the statements")
    _Profile(read_lined(Path(profile[1]), "profile"), out, store, weights, options).read()


_QUALIFIED = re.compile(r"create\s+table\s+(?:if\s+not\s+exists\s+)?(\"?\w+\"?)\s*\.", re.IGNORECASE)


def _keyspace(values: Mapping[str, Any]) -> str:
    """The names of the profile's keyspace, as a pattern: what it says, and what stands before its table."""
    qualified = _QUALIFIED.search(str(values.get("table_definition", "")))
    names = {str(values.get("keyspace") or ""), qualified[1] if qualified else ""} - {""}
    return "(?:" + "|".join(sorted({re.escape(form) for name in names for form in (name, f'"{name}"')})) + ")" if names else "(?!)"


class _Profile:
    """A profile: table, columns, insert, queries."""

    def __init__(self, lined: Lined, out: Imported, store: dict[str, Any], weights: dict[str, float], options: Options) -> None:
        self.lined = lined
        self.out = out
        out.files.append(lined.file)
        self.store = store
        self.weights = weights
        self.options = options
        self.keyspace = _keyspace(lined.values)
        self.extras = [self._unqualified(without_comments(str(one))) for one in lined.values.get("extra_definitions") or ()]
        self.queries: Mapping[str, Any] = lined.values.get("queries") or {}
        try:
            self.table = read_table(str(lined.values.get("table_definition", "")), self.extras)
        except ValueError as error:
            raise BadInputError(
                "the profile has no `table_definition`", "Add its CREATE TABLE: hydrotest makes the table anew.", file=lined.file
            ) from error
        self.specs: list[Mapping[str, Any]] = list(lined.values.get("columnspec") or ())
        self.rows = self._rows()

    @property
    def reads(self) -> bool:
        """True if a query that is executed reads: the table is filled then."""
        return any(verb_is_read(self.queries.get(name)) for name in self.weights)

    def read(self) -> None:
        self.out.experiment["name"] = re.sub(r"[^a-z0-9]+", "-", self.lined.file.stem.lower()).strip("-")[:40] or "profile"
        types = [one for one in self.extras if is_type(one)]
        others = [one for one in self.extras if one not in types]
        self.store["table"] = [*types, self.table.text, *others] if self.extras else self.table.text
        self.out.kept("table_definition", "table", **self.lined.where("table_definition"))
        for name, column in self.table.columns.items():
            if name not in self.table.written:
                self.out.left_out(f"{name} {column.kind}", Why.COLUMN_TYPE, **self.lined.where("table_definition"))
        if self.extras:
            views = make_views(self.out) if any(VIEW.match(one) for one in self.extras) else ""
            self.out.kept("extra_definitions", f"table{views}", **self.lined.where("extra_definitions"))
        self._statements()
        self._values()
        for key in self.lined.values:
            match key:
                case "keyspace" | "table" | "specname":
                    self.out.left_out(key, Why.NAME_ONLY, **self.lined.where(key))
                case "keyspace_definition":
                    self.out.changed(key, "strategy, replication", Why.OWN_KEYSPACE, **self.lined.where(key))
                case "table_definition" | "extra_definitions" | "columnspec" | "queries" | "insert":
                    pass
                case _:
                    self.out.left_out(key, Why.NO_COUNTERPART, **self.lined.where(key))

    def _statements(self) -> None:
        given = {**{str(key).lower(): value for key, value in (self.lined.values.get("insert") or {}).items()}, **self.options.insert}
        condition = " ".join(str(given.get("condition") or "").split())
        batch = batch_of(given, self.rows, self.table, is_conditional=bool(condition))
        statements: dict[str, Any] = {}
        if INSERT in self.weights or self.reads:
            cql = statements_of(self.table, condition)
            if self.reads and FILL in cql:
                statements[FILL] = {"cql": cql[FILL], "weight": 0}
                self.store["populate"] = FILL
            elif self.reads and self.table.has_counters:
                self.store["populate"] = INSERT
            if INSERT in cql:
                statements[INSERT] = {"cql": cql[INSERT], "weight": self.weights.get(INSERT, 0)}
                if batch.rows > 1:
                    statements[INSERT]["batch"] = {"rows": batch.rows, "kind": batch.kind}
            self.out.kept(f"insert={self.weights.get(INSERT, 0):g}", "statements.insert", **self.lined.where("insert"))
            self._appended()
        note_insert(given, batch, statements.get(INSERT), self.out, self._of_insert)
        for query, weight in self.weights.items():
            if query != INSERT:
                statements[_name(query)] = {"cql": self._query(query), "weight": weight}
        for query in self.queries:
            if query not in self.weights:
                self.out.left_out(f"queries.{query} (not in ops)", Why.NAME_ONLY, **self.lined.where("queries", query))
        self.store["statements"] = statements

    def _of_insert(self, key: str) -> dict[str, Any]:
        """Where a key of the section stands; one of the command line nowhere."""
        return {} if key in self.options.insert else self.lined.where("insert", key)

    def _appended(self) -> None:
        """Collections that grow there."""
        grown = [name for name in self.table.written if self.table.columns[name].base in ("list", "set") and name not in self.table.key]
        if grown:
            self.out.changed(f"insert: {', '.join(grown)}", f"statements.{INSERT}", Why.WHOLE, **self.lined.where("table_definition"))

    def _query(self, query: str) -> str:
        given = self.queries.get(query)
        if given is None:
            raise BadInputError(f"the profile has no query {query!r}", f"It has {', '.join(self.queries) or 'none'}.", file=self.lined.file)
        where = self.lined.where("queries", query)
        if given.get("fields", "multirow" if self.rows.is_several else "samerow") == "multirow":
            self.out.changed(f"queries.{query}: fields: multirow", f"statements.{_name(query)}", Why.MULTIROW, **where)
        else:
            self.out.kept(f"queries.{query}", f"statements.{_name(query)}", **where)
        return self._unqualified(str(given["cql"]))

    def _unqualified(self, cql: str) -> str:
        """On one line, without the profile's keyspace: hydrotest uses one of its own."""
        return re.sub(rf"(?<![\w.\"]){self.keyspace}\s*\.\s*", "", " ".join(cql.split()).rstrip("; "), flags=re.IGNORECASE)

    def _rows(self) -> Rows:
        """Rows of partitions, by `cluster` of the columns, and the population of the partition key."""
        clusters = {self._named(one): distribution(str(one["cluster"])) for one in self.specs if "cluster" in one}
        given = self._population()
        population = self.options.population
        if given is not None and (population is None or given.high - given.low < population.high - population.low):
            population = given
        return rows_of(self.table, clusters, population, PARTITIONS)

    def _population(self) -> Drawn | None:
        """Of the first column of the partition key that has one."""
        found = (str(one["population"]) for one in self.specs if "population" in one and self._named(one) == self.table.partition[0])
        text = next(found, None)
        return None if text is None else distribution(text)

    def _named(self, spec: Mapping[str, Any]) -> str:
        """The column that a specification is of."""
        name = str(spec.get("name"))
        return name if name in self.table.columns else name.lower()

    def _values(self) -> None:
        self.store["keys"] = self.rows.keys
        values = dict(self.rows.values)
        if self.options.population is not None:
            self._tell_population(self.options.said, self.options.population, {})
        for number, spec in enumerate(self.specs):
            name = self._named(spec)
            column = self.table.columns.get(name)
            if column is None or not column.is_made or not (column.is_plain or column.is_collection or column.base == "vector"):
                self.out.left_out(f"columnspec {name}", Why.COLUMN_TYPE, **self.lined.where("columnspec", number))
                continue
            self._column(name, column, spec, values, self.lined.where("columnspec", number))
        self._usual(values)
        for name in sorted(self.rows.narrow):
            self.out.changed(f"{name} {self.table.columns[name].kind}", f"values: {shown({name: values[name]})}", Why.NARROW,
                             **self.lined.where("table_definition"))  # fmt: skip
        if values:
            self.store["values"] = values

    def _tell_population(self, said: str, drawn: Drawn, where: dict[str, Any]) -> None:
        """What became of how partitions are drawn."""
        ours = f"keys: {self.rows.keys}"
        if drawn.high - drawn.low + 1 != self.rows.asked:
            self.out.changed(said, ours, Why.NARROWER, **where)
        elif self.rows.is_cut:
            self.out.changed(said, ours, Why.ROWS, **where)
        else:
            self._told(said, ours, drawn, where)

    def _column(self, name: str, column: Column, spec: Mapping[str, Any], values: dict[str, Any], where: dict[str, Any]) -> None:
        """Takes over what the profile says of a column."""
        is_by_row = name in self.rows.values
        if "cluster" in spec:
            self._cluster(name, f"columnspec {name}: cluster: {spec['cluster']}", where)
        if "population" in spec:
            said, drawn = f"columnspec {name}: population: {spec['population']}", distribution(str(spec["population"]))
            if name == self.table.partition[0]:
                self._tell_population(said, drawn, where)
            elif is_by_row:
                self.out.changed(said, f"values: {shown({name: values[name]})}", Why.BY_ROW, **where)
            else:
                # Values follow from their row, and have no sequence of their own.
                drawn = _fitting(replace(drawn, shape="uniform", is_exact=False) if drawn.shape == "sequential" else drawn, column)
                values[name] = {"each": drawn.text} if column.is_collection else drawn.text
                self._told(said, f"values: {shown({name: values[name]})}", drawn, where)
        if "size" in spec:
            said, drawn = f"columnspec {name}: size: {spec['size']}", distribution(str(spec["size"]))
            if column.is_collection:
                self._elements(name, column, said, drawn, values, where)
            elif name in values or name in self.table.key:
                self.out.left_out(said, Why.FROM_POPULATION, **where)
            elif column.base in SIZED:
                drawn = replace(drawn, is_exact=drawn.is_exact and drawn.shape != "sequential" and drawn.low > 0)
                values[name] = drawn.sizes
                self._told(said, f"values: {shown({name: values[name]})}", drawn, where)
            else:
                self.out.left_out(said, Why.NOT_IN_FORCE, **where)

    def _elements(self, name: str, column: Column, said: str, drawn: Drawn, values: dict[str, Any], where: dict[str, Any]) -> None:
        """Of a collection, `size` is how many elements there are, and how long each is (`Lists`, `Sets`)."""
        drawn = replace(drawn, shape="uniform", is_exact=False) if drawn.shape == "sequential" else drawn
        each = {"each": drawn.sizes} if column.elements in SIZED and name not in values else {}
        values[name] = {"count": drawn.text, **each, **values.get(name, {})}
        self._told(said, f"values: {shown({name: values[name]})}", drawn, where)

    def _cluster(self, name: str, said: str, where: dict[str, Any]) -> None:
        """Rows of a partition."""
        if name not in self.table.clustering:
            self.out.left_out(said, Why.NOT_IN_FORCE, **where)
        elif not self.rows.is_several:
            is_one = distribution(said.rpartition(": ")[2]).high <= 1
            (self.out.kept(said, "a row a partition", **where) if is_one else self.out.left_out(said, Why.ROWS_PER_PARTITION, **where))
        else:
            first = self.table.partition[0]
            ours = f"values: {shown({one: self.rows.values[one] for one in (first, name) if one in self.rows.values})}"
            (self.out.kept(said, ours, **where) if self.rows.each.is_exact else self.out.changed(said, ours, Why.DISTRIBUTION, **where))

    def _usual(self, values: dict[str, Any]) -> None:
        """Sizes of columns that the profile does not speak of."""
        found = []
        for name in self.table.written:
            column = self.table.columns[name]
            if name in values or name in self.table.key:
                continue
            if column.base in SIZED:
                values[name] = USUAL_SIZE.sizes
            elif column.is_collection:
                values[name] = {"count": USUAL_SIZE.text} | ({"each": USUAL_SIZE.sizes} if column.elements in SIZED else {})
            else:
                continue
            found.append(name)
        if found:
            self.out.kept(f"no size of {', '.join(found)}", f"{USUAL_SIZE.sizes}, as there")

    def _told(self, said: str, ours: str, drawn: Drawn, where: dict[str, Any]) -> None:
        if drawn.is_exact:
            self.out.kept(said, ours, **where)
        else:
            self.out.changed(said, ours, Why.DISTRIBUTION, **where)


def _fitting(drawn: Drawn, column: Column) -> Drawn:
    """Numbers that the column's type holds."""
    most = (column.numbers or drawn.high + 1) - 1
    return drawn if drawn.high <= most else Drawn("uniform", is_exact=False, low=min(drawn.low, most), high=most)


def verb_is_read(query: Any) -> bool:
    """True for a SELECT."""
    return str(query.get("cql", "") if isinstance(query, dict) else query).lstrip().lower().startswith("select")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)
