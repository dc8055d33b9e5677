"""The experiment file's reference, generated from the models: docs/reference/experiment.md."""

from __future__ import annotations

import textwrap
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from hydrotest.kinds.registry import HOSTS, SYSTEMS, TESTS, WORKLOADS
from hydrotest.spec import base, fields, kafka_produce, models, monitored, scale
from hydrotest.spec.arrivals import Arrivals, ArrivalsField, show_arrivals
from hydrotest.spec.choice import Kind
from hydrotest.spec.distribution import Distribution, KeysField, SizesField, show_sizes
from hydrotest.spec.maker import MakerField
from hydrotest.spec.parts import models_in, type_of

COLUMNS = 100
"""Of prose; table rows are not wrapped."""

_QUANTITIES = {
    fields.SizeBytes: "size, e.g. `100 B`, `16 KiB`", fields.DurationS: "duration, e.g. `50 ms`, `5 min`",
    fields.Count: "count, e.g. `6`, `100K`", fields.RatePerS: "rate per second, e.g. `100K`",
    fields.BitsPerS: "speed, e.g. `1 Gbit/s`, `200 MB/s`", fields.Fraction: "fraction, e.g. `5 %`",
    fields.Share: "share, `0` to `1` or `100 %`",
    fields.Multiple: "multiple, e.g. `0.5`, `50 %`", fields.SpanS: "duration, e.g. `40 min`, `30 d`",
    fields.TimeOfDay: "time of day, e.g. `20:00`",
    fields.Moment: "moment, e.g. `3d 20:05`, `90 s`",
    fields.Name: "name", fields.NamesField: "name, or list of names",
    fields.TextsField: "text, or list of texts", fields.Port: "port",
    KeysField: "`sequential(a, b)`, `uniform(a, b)`, `gaussian(a, b)`, `zipf(a, b)`, `exp(a, b)`, `weibull(a, b, k)` or `{file: …}`",
    ArrivalsField: "`even`, `poisson` or `bursts(n)`",
    MakerField: "`row`, a distribution of numbers, a size, `row % n`, `{rows: …}`, or `{count: …, each: …}`",
    kafka_produce.Acks: "`all`, `1` or `0`",
    SizesField: "size with its unit, `uniform(a, b)`, `gaussian(a, b)`, `exp(a, b)`, `weibull(a, b, k)`, `{weights: {…}}` or `{file: …}`",
    monitored.SeriesField: 'series, e.g. `broker_idle{pool="requests"}`',
}  # fmt: skip


def _sections() -> list[tuple[str, str, list[type[base.Model]]]]:
    """Title, usage and models of each part of the page."""
    systems = {name: kind.model.load() for name, kind in SYSTEMS.items()}
    given = ", ".join(f"{name}: {{…}}" for name in systems)
    return [
        ("The file", "", [models.Experiment]),
        ("Hosts", "`hosts: {NAME: {connect: …}}`", _with_parts(HOSTS)),
        (
            "Lab",
            "`lab: {types: {NAME: {…}}, scale: {…}}`, the machines that emulated hosts are modelled on",
            [scale.Lab, *_parts_of(scale.Lab)],
        ),
        ("Systems", f"`systems: {{{given}}}`", _with_parts(SYSTEMS)),
        ("Workloads", "`workloads: {NAME: {kind: …}}`", _with_parts(WORKLOADS)),
        ("Objectives", "`objectives: {WORKLOAD: {p99: 50 ms}}`", [models.Objective]),
        ("Tests", "`tests: [isolated: […], …]`, carried out in this order", _with_parts(TESTS)),
        ("Search", "`search: {…}`", [models.Search]),
        ("Warm-up", "`warm_up: {…}`", [models.WarmUp]),
    ]


def _with_parts(kinds: Mapping[str, Kind]) -> list[type[base.Model]]:
    """The model of each kind, each followed by the models of its settings."""
    return [model for kind in kinds.values() for model in (kind.model.load(), *_parts_of(kind.model.load()))]


def _parts_of(model: type[base.Model]) -> list[type[base.Model]]:
    own = [part for field in model.model_fields.values() for part in models_in(type_of(field))]
    return [model for part in own for model in (part, *_parts_of(part))]


@cache
def _under() -> dict[type[base.Model], str]:
    """Where the settings belong that are part of other settings."""
    owners = [("lab", scale.Lab), *((name, kind.model.load()) for kinds in (SYSTEMS, WORKLOADS, TESTS) for name, kind in kinds.items())]
    found: dict[type[base.Model], str] = {}
    for owner, model in owners:
        for part, path in _paths(owner, model):
            # What several have is known by its own name.
            found[part] = path if found.get(part, path) == path else part.__name__.lower()
    return found


def _paths(owner: str, model: type[base.Model]) -> Iterator[tuple[type[base.Model], str]]:
    """The models below a model, each with the keys that lead there."""
    each: dict[Any, str] = {dict: " → NAME", list: " → each"}
    for name, field in model.model_fields.items():
        for part in models_in(type_of(field)):
            path = f"{owner} → {name}{each.get(get_origin(field.annotation), '')}"
            yield part, path
            yield from _paths(path, part)


def reference() -> str:
    """The whole page as Markdown."""
    out = ["# The experiment file", "", _paragraph("YAML without anchors, aliases and tags. Unknown keys, wrong units and unknown names are errors, "
           "with their line. This page is generated from the models (`make docs`). Editors complete and explain "
           "the keys by [a JSON Schema](../how-to/start-an-experiment.md#let-your-editor-help)."), ""]  # fmt: skip
    described: set[type[base.Model]] = set()
    for title, usage, parts in _sections():
        out += [f"## {title}", *([usage, ""] if usage else [""])]
        for part in (one for one in dict.fromkeys(parts) if one not in described):
            described.add(part)
            out += _table(part, named=len(parts) > 1)
    return "\n".join(out)


def described(model: type[base.Model], title: str | None = None) -> list[str]:
    """A model's lines: what it is, and a table of its keys."""
    return _table(model, named=title is not None, title=title)


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_on_hyphens=False)


def _table(model: type[base.Model], named: bool, title: str | None = None) -> list[str]:
    head = [*([f"### {title or _title(model)}"] if named else []), _paragraph(model.__doc__ or ""), ""]
    rows = [
        f"| `{field.alias or name}` | {_type(field)} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
        if name not in ("kind", "test", "connect") and name not in getattr(model, "refused", ())
    ]
    return [*head, "| key | what | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else [*head, ""]


def _title(model: type[base.Model]) -> str:
    for tag in ("kind", "test", "connect"):
        if tag in model.model_fields:
            return f"`{get_args(model.model_fields[tag].annotation)[0]}`"
    return f"`{_names().get(model) or _under().get(model) or model.__name__.lower()}`"


@cache
def _names() -> dict[type[base.Model], str]:
    """The names of systems."""
    return {kind.model.load(): name for name, kind in SYSTEMS.items()}


def _type(field: FieldInfo) -> str:
    return _words(type_of(field))


def _words(kind: Any) -> str:
    for quantity, words in _QUANTITIES.items():
        if kind == quantity or _is_bounded(kind, quantity):
            return words
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _words(args[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(arg) for arg in args if arg is not type(None)))
    if origin is list:
        return f"list of {_words(args[0])}"
    if origin is dict:
        return f"mapping to {_words(args[1])}"
    if isinstance(kind, type) and issubclass(kind, base.Model):
        shared = kind.__name__.lower()
        return f"a `{shared}`" if _under().get(kind) == shared else "settings, see below"
    return {bool: "true or false", int: "number", float: "number", str: "text", Any: "any"}.get(kind, "see below")


def _is_bounded(kind: Any, quantity: Any) -> bool:
    """True if a kind is that quantity, with bounds of its own."""
    if get_origin(kind) is not Annotated or get_origin(quantity) is not Annotated:
        return False
    (base_of_kind, *own), (base_of_quantity, *common) = get_args(kind), get_args(quantity)
    return base_of_kind == base_of_quantity and all(one in own for one in common)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    shown = default_of(field)
    return "–" if shown is None else f"`{shown}`"


def default_of(field: FieldInfo) -> str | None:
    """A field's default as a file would have it; None where it has none, or an empty one."""
    if field.is_required():
        return None
    # No default depends on other fields.
    value = field.get_default(call_default_factory=True, validated_data={})
    if value in (None, "", [], {}) or isinstance(value, base.Model):
        return None
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, Arrivals):
        return show_arrivals(value)
    if isinstance(value, Distribution):
        return f"{show_sizes(value)} B"
    kind = _type(field)
    if kind == _QUANTITIES[fields.SizeBytes]:
        power, unit = next((p, u) for p, u in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")) if value % (1 << p) == 0)
        return f"{value >> power} {unit}"
    if kind == _QUANTITIES[fields.DurationS]:
        size, unit = next(
            (size, unit) for size, unit in ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value % size < size * 1e-9
        )
        return f"{value / size:g} {unit}"
    if kind == _QUANTITIES[fields.SpanS]:
        return f"{value / fields.DAY_S:g} d"
    if kind == _QUANTITIES[fields.TimeOfDay]:
        return f"{value // 3600:02.0f}:{value % 3600 // 60:02.0f}"
    if kind == _QUANTITIES[kafka_produce.Acks]:
        return "all"
    return f"{value:.0%}" if kind in (_QUANTITIES[fields.Fraction], _QUANTITIES[fields.Share]) else str(value)
