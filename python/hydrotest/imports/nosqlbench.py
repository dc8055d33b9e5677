"""NoSQLBench's CQL workloads (`cql-keyvalue`, `cql-timeseries`, `cql-iot` and alike): tables of their schema, statements of their rampup and
main phases, and their bindings as far as `nosqlbench_bindings` knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.nosqlbench_bindings import columns_of, fits, made_of
from hydrotest.imports.nosqlbench_blocks import NAMES, OPERATIONS, STATEMENT, Part, blocks_of, operations_of
from hydrotest.imports.note import Aim, Imported, Why, check_tables_may_be_made, make_views, short, shown, system
from hydrotest.imports.stress import LEVELS, STORE, THREADS
from hydrotest.imports.stress_rows import ROWS_MAX
from hydrotest.imports.stress_table import VIEW, is_type, read_table, without_comments
from hydrotest.imports.yaml_lines import Lined, read_lined
from hydrotest.spec.lines import Path_

TEMPLATE = re.compile(r"TEMPLATE\(\s*([\w-]+)\s*[,:]?\s*((?:[^()]|\([^()]*\))*)\)|<<\s*([\w-]+)\s*:\s*(.*?)>>|<<\s*([\w-]+)\s*>>")
DEPTH = 5
"""Templates stand in the defaults of others."""
_MARK = re.compile(r"\{\{.*?\}\}|\{\w+\}|\?\w+")
_TABLE = re.compile(r"create\s+table\s+(?:if\s+not\s+exists\s+)?", re.IGNORECASE)
_MORE = re.compile(r"create\s+(?:type|materialized\s+view|(?:custom\s+)?index)\b", re.IGNORECASE)
"""What is made in addition to tables."""
_DRAWN_KEYS = re.compile(r"(?P<shape>uniform|zipf)\(0, (?P<high>[0-9]+)(?P<extras>[^)]*)\)")
_OPTION = re.compile(r"\b(cycles|threads|cyclerate|rate)={1,3}(\S+)")
_NUMBER = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)([kKmMgGbB]?)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
ROWS = 1_000_000
"""Where no scenario says how many are written beforehand."""
MAIN = ("main", "rampup", "write", "read")
RAMPUP, VERIFY = "rampup", "verify"
LEVEL_KEYS = ("cl", "consistency_level")


def number_of(text: str) -> float | None:
    """`1000`, `1_000`, `10M`, `0.5`; None for anything else."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else float(found[1].replace("_", "")) * _FACTORS[found[2].lower()]


def import_nosqlbench(path: Path, aim: Aim) -> Imported:
    """The experiment of a workload file. Raises `BadInputError`."""
    check_tables_may_be_made(aim, path)
    lined = read_lined(path, "workload", _filled)
    store: dict[str, Any] = {"kind": "cassandra", "keys": f"uniform(0, {ROWS})", "table": [], "statements": {}}
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:40] or "nosqlbench"
    out = Imported("NoSQLBench", {
        "name": name, "hosts": {"here": {"connect": "local"}}, "systems": dict(system("cassandra", aim, "2 GiB")), "workloads": {STORE: store},
        "tests": [{"concurrency": {"workload": STORE, "counts": THREADS}}],
    })  # fmt: skip
    out.files.append(path)
    columns: dict[str, dict[str, Path_]] = {}
    levels = _Levels()
    whole = Part(lined, given=lined.values)
    for block in blocks_of(lined):
        _block(whole, block, out, store, columns, levels)
    if not store["table"] or not store["statements"]:
        raise BadInputError("the workload has no CREATE TABLE, or no statement of a main or rampup phase",
                            "Name a CQL workload, with its blocks `schema`, `rampup` and `main`.", file=path)  # fmt: skip
    rows = _scenarios(lined, out, store, aim)
    for key in lined.values:
        match key:
            case "blocks" | "scenarios" | "bindings":
                pass
            case "params":
                _params(whole, whole.mapping(key), out, levels, is_main=True)
            case _:
                out.left_out(str(key), Why.NAME_ONLY if key in NAMES else Why.NO_COUNTERPART, **lined.where(str(key)))
    levels.settle(out, store)
    _bindings(rows, columns, lined, out, store)
    out.notes.sort(key=lambda note: (note.line is None, note.line or 0))
    return out


class _Levels:
    """Consistency levels: a workload has one, and the main phase's counts."""

    def __init__(self) -> None:
        self.named: list[tuple[bool, str, str, dict[str, Any]]] = []
        """Of the main phase or not; what is said; the level; where."""

    def settle(self, out: Imported, store: dict[str, Any]) -> None:
        if not self.named:
            return
        ours = next((level for is_main, _, level, _ in self.named if is_main), self.named[0][2])
        store["consistency"] = ours
        for _, said, level, where in self.named:
            (
                out.kept(said, f"consistency: {ours}", **where)
                if level == ours
                else out.changed(said, f"consistency: {ours}", Why.ONE_LEVEL, **where)
            )


def _filled(text: str) -> str:
    """Its templates are filled in before it is YAML: with what they have by default."""
    for _ in range(DEPTH):
        filled = TEMPLATE.sub(_default, text)
        if filled == text:
            break
        text = filled
    return text


def _default(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[2].strip() if found[0].rstrip(") ") != f"TEMPLATE({found[1]}" else found[1]
    return (found[4] if found[3] is not None else found[5]).strip()


def _scenarios(lined: Lined, out: Imported, store: dict[str, Any], aim: Aim) -> int:
    """How many rows are written beforehand, and how the main phase is run, by the scenario `default`."""
    scenarios = Part(lined, given=lined.values).mapping("scenarios")
    default = "default" if "default" in scenarios else next(iter(scenarios), "")
    rows, is_chosen = ROWS, False
    steps = list(_steps(("scenarios", default), scenarios.get(default)))
    if default and not steps:
        out.left_out(f"scenarios: {default}", Why.NOTHING, **lined.where("scenarios", default))
    for place, name, step in steps:
        where, given = lined.where(*place), dict(_OPTION.findall(step))
        out.kept(f"scenarios: {default}: {short(name)}", "`tests`, as far as its options say", **where)
        cycles = given.pop("cycles", "")
        asked = number_of(cycles)
        if RAMPUP in name and asked:
            rows = min(round(asked), ROWS_MAX)
            said, ours = f"scenarios: {name}: cycles={cycles}", f"keys: uniform(0, {rows})"
            (out.kept(said, ours, **where) if rows == asked else out.changed(said, ours, Why.ALL_ROWS, **where))
        elif cycles:
            out.left_out(f"scenarios: {name}: cycles={cycles}", Why.COUNT_AS_TIME, **where)
        is_chosen |= _phase(name, given, where, out, aim, is_chosen=is_chosen)
    for name in scenarios:
        if name != default:
            out.left_out(f"scenarios: {name}", Why.ONE_SCENARIO, **lined.where("scenarios", name))
    store["keys"] = f"uniform(0, {rows})"
    return rows


def _steps(place: Path_, given: Any) -> Iterator[tuple[Path_, str, str]]:
    """Place, name and command of each step of a scenario: one command, several, or several by name. The phase of one without a name stands
    in its tags."""
    if isinstance(given, dict):
        yield from (((*place, str(name)), str(name), str(step)) for name, step in given.items())
    elif isinstance(given, list):
        for number, one in enumerate(given):
            named = one if isinstance(one, dict) else {str(one): one}
            yield from (((*place, number), str(name), str(step)) for name, step in named.items())
    elif given is not None:
        yield place, str(given), str(given)


def _phase(name: str, given: dict[str, str], where: dict[str, Any], out: Imported, aim: Aim, *, is_chosen: bool) -> bool:
    """Threads and rate of a phase; those of the first main one count. True where they do; `is_chosen`: there was one."""
    said_rate, threads = given.pop("cyclerate", given.pop("rate", "")), given.pop("threads", "")
    rate, many = number_of(said_rate.partition(",")[0]), number_of(threads)
    is_main = "main" in name and not is_chosen
    why = Why.ONE_PHASE if "main" in name and is_chosen else Why.CLIENT_SETTING
    has_rate, has_threads = is_main and bool(rate), is_main and bool(many)
    if has_rate and rate:
        ours = int(rate) if rate.is_integer() else rate
        out.experiment["tests"] = [{"levels": {"workload": STORE, "rates": [ours]}}]
        out.experiment["objectives"] = {STORE: {"p99": aim.p99}}
        out.kept(f"scenarios: {name}: cyclerate={said_rate}", f"levels, rates: [{ours}]", **where)
    elif said_rate:
        out.left_out(f"scenarios: {name}: cyclerate={said_rate}", Why.NO_COUNTERPART if is_main else why, **where)
    if has_threads and many and not has_rate:
        out.experiment["tests"] = [{"concurrency": {"workload": STORE, "counts": [round(many)]}}]
        out.kept(f"scenarios: {name}: threads={threads}", f"concurrency, counts: [{round(many)}]", **where)
    elif threads:
        out.left_out(f"scenarios: {name}: threads={threads}", Why.OPEN_LOOP if has_rate else why, **where)
    return has_rate or has_threads


def _recipes(lined: Lined) -> Iterator[tuple[Path_, str, str]]:
    """All bindings: place, name and recipe."""
    parts = [Part(lined, given=lined.values)]
    for block in blocks_of(lined):
        parts += [block, *operations_of(block)]
    seen: set[Path_] = set()
    for part in parts:
        for name, place in part.bindings.items():
            if place not in seen:
                seen.add(place)
                yield place, name, str(part.mapping("bindings")[name])


def _bindings(rows: int, columns: dict[str, dict[str, Path_]], lined: Lined, out: Imported, store: dict[str, Any]) -> None:
    """How the columns of the tables are made: by the statement that fills them, and by the others. `columns`: the binding of each column, by
    statement."""
    used: dict[str, Path_] = {}
    for statement in sorted(columns, key=lambda name: name != store.get("populate")):
        for column, binding in columns[statement].items():
            used.setdefault(column, binding)
    try:
        tables = [read_table(one, ()) for one in store["table"]]
    except ValueError:
        tables = []
    values: dict[str, Any] = {}
    first = [table.partition[0] for table in tables]
    keys = {place for own in columns.values() for column, place in own.items() if column in first and used[column] != place}
    for binding, name, recipe in _recipes(lined):
        where = lined.where(*binding)
        made_so = [column for column, place in used.items() if place == binding]
        made = made_of(recipe, rows)
        fitting = [column for column in made_so if made is not None and any(fits(made, column, table, rows) for table in tables)]
        said = f"bindings: {name}: {short(recipe)}"
        if made is not None and binding in keys and (drawn := _DRAWN_KEYS.match(str(made.value))) is not None:
            store["keys"] = f"{drawn['shape']}(0, {rows}{drawn['extras']})"
            is_kept = int(drawn["high"]) == rows
            ours = f"keys: {store['keys']}"
            (out.kept(said, ours, **where) if is_kept else out.changed(said, ours, Why.KEYS_FILLED, **where))
        elif made is None or not fitting:
            why = Why.BINDING if made_so else Why.FILLED_SO
            out.changed(said, "values that follow from the row", why, **where)
        else:
            is_number = made.value == "row"  # which a column of the partition key has anyway
            values |= {column: made.value for column in fitting if not (is_number and any(column in table.partition for table in tables))}
            ours = f"values: {shown(dict.fromkeys(fitting, made.value))}"
            (out.kept(said, ours, **where) if made.is_exact else out.changed(said, ours, Why.NEAREST, **where))
    if values:
        store["values"] = values


def _block(whole: Part, block: Part, out: Imported, store: dict[str, Any], columns: dict[str, dict[str, Path_]], levels: _Levels) -> None:
    operations = list(operations_of(block))
    if not operations:
        out.left_out(f"blocks: {block.name}", Why.NOTHING, **block.where)
    is_main = RAMPUP not in block.name.lower()
    _other_keys(block, OPERATIONS, out, levels, is_main=is_main)
    for op in operations:
        _other_keys(op, STATEMENT, out, levels, is_main=is_main)
        ratio = op.ratio(block.ratio(whole.ratio(1.0)))
        ours, cql = _operation(block.name, op, ratio, out, store)
        known = whole.bindings | block.bindings | op.bindings
        if ours:
            columns[ours] = {column: known[binding] for column, binding in columns_of(cql).items() if binding in known}


def _other_keys(part: Part, known: tuple[str, ...], out: Imported, levels: _Levels, *, is_main: bool) -> None:
    """What a block or an operation has in addition to its statements; bindings are read with those of the file."""
    for key, value in part.given.items() if isinstance(part.given, dict) else ():
        where = part.at(str(key))
        if key == "params":
            _params(part, part.mapping(key), out, levels, is_main=is_main)
        elif key in LEVEL_KEYS:
            _level(f"{key}: {value}", value, where, out, levels, is_main=is_main)
        elif key == "ratio":
            _ratio(f"{part.name}: ratio: {value}", where, out, is_main=is_main)
        elif key not in (*known, "bindings"):
            out.left_out(f"{part.name}: {key}: {short(value)}", Why.NAME_ONLY if key in NAMES else Why.NO_COUNTERPART, **where)


def _ratio(said: str, where: dict[str, Any], out: Imported, *, is_main: bool) -> None:
    if is_main:
        out.kept(said, "`weight` of statements", **where)
    else:
        out.left_out(said, Why.EACH_ROW_ONCE, **where)


def _operation(name: str, op: Part, ratio: float, out: Imported, store: dict[str, Any]) -> tuple[str, str]:
    """Takes a statement over. Its name in the experiment, and its CQL; empty where it has become none."""
    kinds = [kind for kind in STATEMENT if kind in op.given] if isinstance(op.given, dict) else []
    for kind in kinds[1:]:
        out.left_out(f"{name}.{op.name}: {kind}", Why.NO_COUNTERPART, **op.at(kind))
    text = str(op.given[kinds[0]]) if kinds else "" if isinstance(op.given, dict) else str(op.given)
    cql = " ".join(without_comments(text).split()).rstrip("; ")
    said, lowered, where = f"{name}.{op.name}", cql.lower(), op.where
    if lowered.startswith("create table"):
        table = _TABLE.sub("CREATE TABLE ", _unqualified(cql))
        if _table_name(table) in map(_table_name, store["table"]):
            out.left_out(said, Why.ONE_TABLE, **where)
        else:
            store["table"].append(table)
            out.kept(said, "table", **where)
    elif _MORE.match(cql):
        _more(said, _unqualified(cql), where, out, store)
    elif lowered.startswith(("create", "drop", "truncate", "alter")):
        out.left_out(f"{said}: {cql[:40]}", Why.NAME_ONLY, **where)
    elif lowered.startswith(("insert", "select", "update", "delete")) and any(part in name.lower() for part in MAIN):
        return _statement(name, op, cql, ratio, out, store), cql
    else:
        out.left_out(f"{said}: {cql[:40]}".rstrip(": "), Why.VERIFIED if VERIFY in name.lower() else Why.NO_COUNTERPART, **where)
    return "", ""


def _more(said: str, cql: str, where: dict[str, Any], out: Imported, store: dict[str, Any]) -> None:
    """Types stand before tables, and indexes and views behind them."""
    if cql in store["table"]:
        out.left_out(said, Why.ONE_TABLE, **where)
        return
    store["table"].insert(0 if is_type(cql) else len(store["table"]), cql)
    out.kept(said, "table" + (make_views(out) if VIEW.match(cql) else ""), **where)


def _statement(name: str, op: Part, cql: str, ratio: float, out: Imported, store: dict[str, Any]) -> str:
    said, is_rampup = f"{name}.{op.name}", RAMPUP in name.lower()
    wanted = ours = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{name}-{op.name}")
    number = 1
    while ours in store["statements"]:
        number += 1
        ours = f"{wanted}-{number}"
    store["statements"][ours] = {"cql": _unqualified(_MARK.sub("?", cql)), "weight": 0 if is_rampup else ratio}
    if is_rampup and cql.lower().startswith("insert") and "populate" not in store:
        store["populate"] = ours
        out.kept(said, f"statements.{ours}, populate", **op.where)
    elif is_rampup:
        out.changed(said, f"statements.{ours}, weight: 0", Why.ONE_FILLS, **op.where)
    else:
        out.kept(f"{said} (ratio {ratio:g})", f"statements.{ours}", **op.where)
    return ours


def _table_name(create: str) -> str:
    return _TABLE.sub("", create, count=1).split("(")[0].strip().lower()


def _params(part: Part, given: dict[str, Any], out: Imported, levels: _Levels, *, is_main: bool) -> None:
    """Parameters of an operation, a block, or all."""
    for name, value in given.items():
        where = part.at("params", name)
        if name in LEVEL_KEYS:
            _level(f"params: {name}: {value}", value, where, out, levels, is_main=is_main)
        elif name == "ratio":
            _ratio(f"params: ratio: {value}", where, out, is_main=is_main)
        else:
            out.left_out(f"params: {name}: {value}", Why.CLIENT_SETTING, **where)


def _level(said: str, value: Any, where: dict[str, Any], out: Imported, levels: _Levels, *, is_main: bool) -> None:
    level = str(value).upper()
    if level in LEVELS:
        levels.named.append((is_main, said, level, where))
    else:
        out.left_out(said, Why.CONSISTENCY, **where)


def _unqualified(cql: str) -> str:
    """Without a keyspace before a table's name: hydrotest uses a keyspace of its own."""
    before = r"\b(?:from|into|update|on|table(?:\s+if\s+not\s+exists)?|type(?:\s+if\s+not\s+exists)?|view(?:\s+if\s+not\s+exists)?)\s+"
    return re.sub(rf"({before})[\w\"]+\.([\w\"]+)", r"\1\2", cql, flags=re.IGNORECASE)
