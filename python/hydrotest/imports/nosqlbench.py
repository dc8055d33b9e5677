"""NoSQLBench's CQL workloads (`cql-keyvalue`, `cql-timeseries`, `cql-iot` and alike): tables of their schema, statements of their rampup and
main phases, and their bindings as far as `nosqlbench_bindings` knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.nosqlbench_bindings import columns_of, fits, made_of
from hydrotest.imports.note import Aim, Imported, Why, short, shown, system
from hydrotest.imports.stress import LEVELS, STORE, THREADS
from hydrotest.imports.stress_rows import ROWS_MAX
from hydrotest.imports.stress_table import read_table, without_comments
from hydrotest.imports.yaml_lines import Lined, read_lined

TEMPLATE = re.compile(r"TEMPLATE\(\s*([\w-]+)\s*[,:]?\s*((?:[^()]|\([^()]*\))*)\)|<<\s*([\w-]+)\s*:\s*([^>]*)>>|<<\s*([\w-]+)\s*>>")
DEPTH = 5
"""Templates stand in the defaults of others."""
_MARK = re.compile(r"\{\{.*?\}\}|\{\w+\}|\?\w+")
_TABLE = re.compile(r"create\s+table\s+(?:if\s+not\s+exists\s+)?", re.IGNORECASE)
_DRAWN_KEYS = re.compile(r"(?P<shape>uniform|zipf)\(0, (?P<high>[0-9]+)(?P<extras>[^)]*)\)")
_OPTION = re.compile(r"\b(cycles|threads|cyclerate|rate)={1,3}(\S+)")
ROWS = 1_000_000
"""Where no scenario says how many are written beforehand."""
MAIN = ("main", "rampup", "write", "read")
RAMPUP, VERIFY = "rampup", "verify"


def import_nosqlbench(path: Path, aim: Aim) -> Imported:
    """The experiment of a workload file. Raises `BadInputError`."""
    if aim.attach:
        raise BadInputError(
            "on a ring that is there already only the default table is written: its size is known", "Leave --attach out.", file=path
        )
    lined = read_lined(path, "workload", _filled)
    store: dict[str, Any] = {"kind": "cassandra", "keys": f"uniform(0, {ROWS})", "table": [], "statements": {}}
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:40] or "nosqlbench"
    out = Imported("NoSQLBench", {
        "name": name, "hosts": {"here": {"connect": "local"}}, "systems": dict(system("cassandra", aim, "2 GiB")), "workloads": {STORE: store},
        "tests": [{"concurrency": {"workload": STORE, "counts": THREADS}}],
    })  # fmt: skip
    out.files.append(path)
    texts: dict[str, str] = {}
    for block, statements in _blocks(lined):
        _block(block, statements, lined, out, store, texts)
    if not store["table"] or not store["statements"]:
        raise BadInputError("the workload has no CREATE TABLE, or no statement of a main or rampup phase",
                            "Name a CQL workload, with its blocks `schema`, `rampup` and `main`.", file=path)  # fmt: skip
    rows = _scenarios(lined, out, store, aim)
    for key in lined.values:
        match key:
            case "blocks" | "scenarios":
                pass
            case "params":
                _params(lined.values[key] or {}, lined.where(key), out, store)
            case "bindings":
                _bindings(lined.values[key] or {}, rows, texts, lined.where(key), out, store)
            case "description" | "min_version" | "tags":
                out.left_out(key, Why.NAME_ONLY, **lined.where(key))
            case _:
                out.left_out(key, Why.NO_COUNTERPART, **lined.where(key))
    return out


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
    where, scenarios = lined.where("scenarios"), lined.values.get("scenarios") or {}
    chosen: Any = scenarios.get("default") or next(iter(scenarios.values()), {})
    steps = chosen if isinstance(chosen, dict) else {}
    rows = ROWS
    for name, step in steps.items():
        given = dict(_OPTION.findall(str(step)))
        cycles = given.pop("cycles", "")
        if RAMPUP in name and cycles.isdecimal() and int(cycles) > 0:
            rows = min(int(cycles), ROWS_MAX)
            said, ours = f"scenarios: {name}: cycles={cycles}", f"keys: uniform(0, {rows})"
            (out.kept(said, ours, **where) if rows == int(cycles) else out.changed(said, ours, Why.ALL_ROWS, **where))
        elif cycles:
            out.left_out(f"scenarios: {name}: cycles={cycles}", Why.COUNT_AS_TIME, **where)
        _phase(name, given, where, out, aim)
    for name in scenarios:
        if scenarios[name] is not chosen:
            out.left_out(f"scenarios: {name}", Why.ONE_SCENARIO, **where)
    store["keys"] = f"uniform(0, {rows})"
    return rows


def _phase(name: str, given: dict[str, str], where: dict[str, Any], out: Imported, aim: Aim) -> None:
    """Threads and rate of a phase; those of the main one count."""
    rate = given.pop("cyclerate", given.pop("rate", "")).partition(",")[0]
    threads = given.pop("threads", "")
    is_main = "main" in name
    if rate and is_main and rate.isdecimal():
        out.experiment["tests"] = [{"levels": {"workload": STORE, "rates": [int(rate)]}}]
        out.experiment["objectives"] = {STORE: {"p99": aim.p99}}
        out.kept(f"scenarios: {name}: cyclerate={rate}", f"levels, rates: [{rate}]", **where)
    elif rate:
        out.left_out(f"scenarios: {name}: cyclerate={rate}", Why.CLIENT_SETTING, **where)
    if threads and is_main and threads.isdecimal() and not rate:
        out.experiment["tests"] = [{"concurrency": {"workload": STORE, "counts": [int(threads)]}}]
        out.kept(f"scenarios: {name}: threads={threads}", f"concurrency, counts: [{threads}]", **where)
    elif threads:
        out.left_out(f"scenarios: {name}: threads={threads}", Why.OPEN_LOOP if rate and is_main else Why.CLIENT_SETTING, **where)


def _bindings(given: dict[str, Any], rows: int, texts: dict[str, str], where: dict[str, Any], out: Imported, store: dict[str, Any]) -> None:
    """How the columns of the tables are made: by the statement that fills them, and by the others."""
    used: dict[str, str] = {}
    for statement in sorted(texts, key=lambda name: name != store.get("populate")):
        for column, binding in columns_of(texts[statement]).items():
            used.setdefault(column, binding)
    try:
        tables = [read_table(one, ()) for one in store["table"]]
    except ValueError:
        tables = []
    values: dict[str, Any] = {}
    first = [table.partition[0] for table in tables]
    keys = {name for text in texts.values() for column, name in columns_of(text).items() if column in first and used[column] != name}
    for binding, recipe in given.items():
        columns = [column for column, name in used.items() if name == binding]
        made = made_of(str(recipe), rows)
        fitting = [column for column in columns if made is not None and any(fits(made, column, table, rows) for table in tables)]
        said = f"bindings: {binding}: {short(recipe)}"
        if made is not None and binding in keys and (drawn := _DRAWN_KEYS.match(str(made.value))) is not None:
            store["keys"] = f"{drawn['shape']}(0, {rows}{drawn['extras']})"
            is_kept = int(drawn["high"]) == rows
            ours = f"keys: {store['keys']}"
            (out.kept(said, ours, **where) if is_kept else out.changed(said, ours, Why.KEYS_FILLED, **where))
        elif made is None or not fitting:
            why = Why.BINDING if columns else Why.FILLED_SO
            out.changed(said, "values that follow from the row", why, **where)
        else:
            is_number = made.value == "row"  # which a column of the partition key has anyway
            values |= {column: made.value for column in fitting if not (is_number and any(column in table.partition for table in tables))}
            ours = f"values: {shown(dict.fromkeys(fitting, made.value))}"
            (out.kept(said, ours, **where) if made.is_exact else out.changed(said, ours, Why.NEAREST, **where))
    if values:
        store["values"] = values


def _blocks(lined: Lined) -> Iterator[tuple[str, dict[str, Any]]]:
    blocks = lined.values.get("blocks")
    named = (
        blocks.items()
        if isinstance(blocks, dict)
        else ((one.get("name") or str(one.get("tags", {}).get("phase", "")), one) for one in blocks or ())
    )
    for name, block in named:
        if isinstance(block, dict):
            yield str(name), block


def _statements(block: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Name, CQL and ratio of each operation: a text, or an object with its kind of operation as key."""
    given = block.get("ops") or block.get("statements") or block.get("op") or {}
    pairs = (
        given.items()
        if isinstance(given, dict)
        else (pair for one in given for pair in (one.items() if isinstance(one, dict) else [("statement", one)]))
    )
    ratio = float((block.get("params") or {}).get("ratio", block.get("ratio", 1)) or 1)
    for name, op in pairs:
        if isinstance(op, dict):
            text = next((str(op[key]) for key in ("prepared", "simple", "raw", "stmt", "statement", "conditional") if key in op), "")
            own = float((op.get("params") or {}).get("ratio", op.get("ratio", ratio)) or ratio)
            yield str(name), text, own
        else:
            yield str(name), str(op), ratio


def _block(name: str, block: dict[str, Any], lined: Lined, out: Imported, store: dict[str, Any], texts: dict[str, str]) -> None:
    where = lined.where("blocks")
    _params(block.get("params") or {}, where, out, store)
    for op, text, ratio in _statements(block):
        cql = " ".join(without_comments(text).split()).rstrip("; ")
        said = f"{name}.{op}"
        lowered = cql.lower()
        if lowered.startswith("create table"):
            table = _TABLE.sub("CREATE TABLE ", _unqualified(cql, _TABLE))
            if _table_name(table) in map(_table_name, store["table"]):
                out.left_out(said, Why.ONE_TABLE, **where)
            else:
                store["table"].append(table)
                out.kept(said, "table", **where)
        elif lowered.startswith(("create", "drop", "truncate", "alter")):
            out.left_out(f"{said}: {cql[:40]}", Why.NAME_ONLY, **where)
        elif lowered.startswith(("insert", "select", "update", "delete")) and any(part in name.lower() for part in MAIN):
            ours = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{name}-{op}")
            store["statements"][ours] = {"cql": _unqualified(_MARK.sub("?", cql), re.compile(r"\b(?:from|into|update)\s+", re.IGNORECASE)),
                                         "weight": 0 if "rampup" in name.lower() else ratio}  # fmt: skip
            texts[ours] = cql
            out.kept(f"{said} (ratio {ratio:g})", f"statements.{ours}", **where)
            if "rampup" in name.lower() and lowered.startswith("insert") and "populate" not in store:
                store["populate"] = ours
        else:
            out.left_out(f"{said}: {cql[:40]}".rstrip(": "), Why.VERIFIED if VERIFY in name.lower() else Why.NO_COUNTERPART, **where)


def _table_name(create: str) -> str:
    return _TABLE.sub("", create, count=1).split("(")[0].strip().lower()


def _params(given: dict[str, Any], where: dict[str, Any], out: Imported, store: dict[str, Any]) -> None:
    """Parameters of a block, or of all."""
    for name, value in given.items():
        if name in ("cl", "consistency_level") and str(value).upper() in LEVELS:
            store["consistency"] = str(value).upper()
            out.kept(f"params: {name}: {value}", f"consistency: {store['consistency']}", **where)
        elif name not in ("ratio", "prepared"):
            out.left_out(f"params: {name}: {value}", Why.CLIENT_SETTING, **where)


def _unqualified(cql: str, before: re.Pattern[str]) -> str:
    """Without a keyspace before the table's name: hydrotest uses a keyspace of its own."""
    return re.sub(rf"({before.pattern})[\w\"]+\.([\w\"]+)", r"\1\2", cql, count=1, flags=re.IGNORECASE)
