"""NoSQLBench's CQL workloads (`cql-keyvalue`, `cql-timeseries`, `cql-iot` and alike): tables of their schema, statements of their rampup and
main phases. Values are made by hydrotest: bindings are virtual functions of their own language, and are named, not run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Aim, Imported, Why, system
from hydrotest.imports.stress import LEVELS, STORE, THREADS
from hydrotest.imports.stress_table import without_comments
from hydrotest.imports.yaml_lines import Lined, read_lined

TEMPLATE = re.compile(r"TEMPLATE\(\s*([\w-]+)\s*,\s*([^)]*)\)|<<\s*([\w-]+)\s*:\s*([^>]*)>>|<<\s*([\w-]+)\s*>>")
_MARK = re.compile(r"\{\{.*?\}\}|\{\w+\}|\?\w+")
_TABLE = re.compile(r"create\s+table\s+(?:if\s+not\s+exists\s+)?", re.IGNORECASE)
ROWS = 1_000_000
MAIN = ("main", "rampup", "write", "read")


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
    for block, statements in _blocks(lined):
        _block(block, statements, lined, out, store)
    if not store["table"] or not store["statements"]:
        raise BadInputError("the workload has no CREATE TABLE, or no statement of a main or rampup phase",
                            "Name a CQL workload, with its blocks `schema`, `rampup` and `main`.", file=path)  # fmt: skip
    for key in lined.values:
        match key:
            case "blocks":
                pass
            case "params":
                _params(lined.values[key] or {}, lined.where(key), out, store)
            case "scenarios":
                out.left_out("scenarios", Why.COUNT_AS_TIME, **lined.where(key))
            case "bindings":
                for binding, recipe in (lined.values[key] or {}).items():
                    out.changed(f"bindings: {binding}: {recipe}", "values that follow from the row", Why.BINDING, **lined.where(key))
            case "description" | "min_version" | "tags":
                out.left_out(key, Why.NAME_ONLY, **lined.where(key))
            case _:
                out.left_out(key, Why.NO_COUNTERPART, **lined.where(key))
    return out


def _filled(text: str) -> str:
    """Its templates are filled in before it is YAML: with what they have by default."""
    return TEMPLATE.sub(lambda found: (found[2] or found[4] or found[1] or found[3] or found[5]).strip(), text)


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
        else:
            text, own = str(op), ratio
        if text:
            yield str(name), text, own


def _block(name: str, block: dict[str, Any], lined: Lined, out: Imported, store: dict[str, Any]) -> None:
    where = lined.where("blocks")
    _params(block.get("params") or {}, where, out, store)
    for op, text, ratio in _statements(block):
        cql = " ".join(without_comments(text).split()).rstrip("; ")
        said = f"{name}.{op}"
        lowered = cql.lower()
        if lowered.startswith("create table"):
            table = _TABLE.sub("CREATE TABLE ", _unqualified(cql, _TABLE))
            if table in store["table"]:
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
            out.kept(f"{said} (ratio {ratio:g})", f"statements.{ours}", **where)
            if "rampup" in name.lower() and lowered.startswith("insert") and "populate" not in store:
                store["populate"] = ours
        else:
            out.left_out(f"{said}: {cql[:40]}", Why.NO_COUNTERPART, **where)


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
