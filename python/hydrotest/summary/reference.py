"""The reference of summary.json, from the models: docs/reference/summary.md."""

from __future__ import annotations

import textwrap
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hydrotest.store.records import RecordAccounting
from hydrotest.summary.base import Latency
from hydrotest.summary.model import Summary

UNITS = {
    "bytes_per_s": "bytes/s", "bytes_per_hour": "bytes/hour", "per_core_s": "1/s per core", "cpu_s_per_million": "s", "per_s": "1/s",
    "bytes": "bytes", "cores": "cores", "pct": "%", "ms": "ms", "us": "µs", "s": "s",
}  # fmt: skip
"""By the end of a field's name, the longest first."""
STATISTICS = ("_mean", "_peak", "_max", "_median", "_error", "_low", "_high", "_sd")
SECONDS = ("seconds", "fixed")
SHARED: tuple[type[BaseModel], ...] = (Latency, RecordAccounting)
"""Shown once, at the end."""


def reference() -> str:
    """The whole page as Markdown."""
    out = ["# summary.json", "", *_lines(Summary.__doc__),
           "", "The JSON Schema is [contract/summary.schema.json](../../contract/summary.schema.json).",
           "Fields marked ○ came later or are present only where they have a meaning: a reader supplies",
           "null, an empty list or the default. `hydrotest show --json RUN` prints the same.",
           "This page is generated from the models (`make docs`).", "", "## The file", "", *_table(Summary)]  # fmt: skip
    shown: set[type[BaseModel]] = {Summary, *SHARED}
    for name, field in Summary.model_fields.items():
        for path, model in _models(field.alias or name, field.annotation):
            if model not in shown:
                shown.add(model)
                out += [f"{'##' if '.' not in path else '###'} {path}", "", *_lines(model.__doc__), "", *_table(model)]
    for model in SHARED:
        out += [f"## {model.__name__}", "", *_lines(model.__doc__), "", *_table(model)]
    return "\n".join(out).rstrip("\n") + "\n"


def _lines(text: str | None) -> list[str]:
    """A paragraph."""
    return textwrap.wrap(" ".join((text or "").split()), 98)


def _models(path: str, annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models of a field, followed by those of their fields, each with its path."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield path, annotation
        for name, field in annotation.model_fields.items():
            yield from _models(f"{path}.{field.alias or name}", field.annotation)
        return
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield from _models(path, part)


def _table(model: type[BaseModel]) -> list[str]:
    out = ["| field | type | unit | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        shown = field.alias or name
        if field.exclude:
            continue
        mark = "" if field.is_required() else " ○"
        out.append(f"| `{shown}`{mark} | {_type(field.annotation)} | {_unit(model, shown)} | {_meaning(field)} |")
    return [*out, ""]


def _meaning(field: FieldInfo) -> str:
    return (field.description or "").replace("|", "\\|")


def _unit(model: type[BaseModel], name: str) -> str:
    """By the field's name; percentiles are milliseconds."""
    if model is Latency:
        return "ms"
    for end in STATISTICS:
        name = name.removesuffix(end)
    if name in SECONDS:
        return "s"
    found = (unit for end, unit in UNITS.items() if name == end or name.endswith(f"_{end}"))
    return next(found, "")


def _type(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(part) for part in (parts if set(parts) != {int, float} else (float,))))
    if origin is list:
        return f"list of {_type(parts[0])}"
    if origin is tuple:
        return f"[{', '.join(_type(part) for part in parts)}]"
    if origin is dict:
        return f"{_type(parts[1])} by name"
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if annotation is type(None):
        return "null"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})" if annotation in SHARED else "object"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(annotation, "object")


if __name__ == "__main__":
    print(reference(), end="")
