"""The experiment file's reference, written from the models themselves: docs/reference/experiment.md."""

from __future__ import annotations

import textwrap
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from hydrotest.spec import base, fields, hosts, models, scale, tests, workloads
from hydrotest.spec.arrivals import Arrivals, ArrivalsField, show_arrivals
from hydrotest.spec.distribution import Distribution, KeysField, MakerField, SizesField, show_sizes

COLUMNS = 100
"""Of prose; rows of tables are as long as they are."""

_QUANTITIES = {
    fields.SizeBytes: "size, e.g. `100 B`, `16 KiB`", fields.DurationS: "duration, e.g. `50 ms`, `5 min`",
    fields.Count: "count, e.g. `6`, `100K`", fields.RatePerS: "rate per second, e.g. `100K`",
    fields.BitsPerS: "speed, e.g. `1 Gbit/s`, `200 MB/s`", fields.Fraction: "fraction, e.g. `5 %`",
    fields.Share: "share, `0` to `1` or `100 %`",
    fields.Name: "name", fields.NamesField: "name, or list of names",
    fields.TextsField: "text, or list of texts", fields.Port: "port", KeysField: "`sequential(a, b)`, `uniform(a, b)`, `gaussian(a, b)` or `zipf(a, b)`",
    ArrivalsField: "`even`, `poisson` or `bursts(n)`",
    MakerField: "`row`, a distribution of numbers, or a size",
    workloads.Acks: "`all`, `1` or `0`",
    SizesField: "size with its unit, `uniform(a, b)` or `gaussian(a, b)`",
}  # fmt: skip
_UNDER = {
    scale.Lab: "lab", scale.MachineType: "lab → types → NAME", scale.Scale: "lab → scale", models.KafkaSecurity: "kafka → security",
    models.CassandraSecurity: "cassandra → security", workloads.Headers: "kafka-produce → headers", workloads.Transactions: "kafka-produce → transactions",
    workloads.Mix: "cassandra → mix", workloads.Statement: "cassandra → statements → NAME", tests.Stretch: "profile → stretches → each",
}  # fmt: skip
"""Where settings stand that belong to others."""
_SECTIONS: list[tuple[str, str, list[type[base.Model]]]] = [
    ("The file", "", [models.Experiment]),
    ("Hosts", "`hosts: {NAME: {connect: …}}`", [hosts.LocalHost, hosts.NetnsHost]),
    ("Lab", "`lab: {types: {NAME: {…}}, scale: {…}}`, what emulated hosts are made after", [scale.Lab, scale.MachineType, scale.Scale]),
    ("Systems", "`systems: {kafka: {…}, cassandra: {…}, hdfs: {…}, spark: {…}}`",
     [models.Kafka, models.KafkaSecurity, models.Cassandra, models.CassandraSecurity, models.Hdfs, models.Spark]),
    ("Workloads", "`workloads: {NAME: {kind: …}}`", [workloads.KafkaProduce, workloads.Headers, workloads.Transactions, workloads.KafkaConsume, workloads.Dataflow,
     workloads.CassandraLoad, workloads.Mix, workloads.Statement,
     workloads.HdfsWrite, workloads.HdfsRead, workloads.SparkPerf, workloads.Command]),
    ("Objectives", "`objectives: {WORKLOAD: {p99: 50 ms}}`", [models.Objective]),
    ("Tests", "`tests: [isolated: […], …]`, carried out in this order",
     [tests.Isolated, tests.Combined, tests.Soak, tests.Fault, tests.Levels, tests.Concurrency, tests.Saturated, tests.Doubling,
      tests.Profile, tests.Stretch]),
    ("Search", "`search: {…}`", [models.Search]),
    ("Warm-up", "`warm_up: {…}`", [models.WarmUp]),
]  # fmt: skip


def reference() -> str:
    """The whole page as Markdown."""
    out = ["# The experiment file", "", _paragraph("YAML without anchors, aliases and tags. Unknown keys, wrong units and unknown names are errors, "
           "with their line. This page is written from the models (`make docs`)."), ""]  # fmt: skip
    for title, usage, parts in _SECTIONS:
        out += [f"## {title}", *([usage, ""] if usage else [""])]
        for part in parts:
            out += _table(part, named=len(parts) > 1)
    return "\n".join(out)


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_on_hyphens=False)


def _table(model: type[base.Model], named: bool) -> list[str]:
    head = [*([f"### {_title(model)}"] if named else []), _paragraph(model.__doc__ or ""), ""]
    rows = [
        f"| `{name}` | {_type(field)} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
        if name not in ("kind", "test", "connect")
    ]
    return [*head, "| key | what | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else [*head, ""]


def _title(model: type[base.Model]) -> str:
    for tag in ("kind", "test", "connect"):
        if tag in model.model_fields:
            return f"`{get_args(model.model_fields[tag].annotation)[0]}`"
    return f"`{_UNDER.get(model, model.__name__.lower())}`"


def _type(field: FieldInfo) -> str:
    return _words(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)


def _words(kind: Any) -> str:
    for quantity, words in _QUANTITIES.items():
        if kind == quantity:
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
        return "settings, see below"
    return {bool: "true or false", int: "number", float: "number", str: "text", Any: "any"}.get(kind, "see below")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    # None of ours takes the values of other fields.
    value = field.get_default(call_default_factory=True, validated_data={})
    if value in (None, "", [], {}) or isinstance(value, base.Model):
        return "–"
    if isinstance(value, list):
        return f"`[{', '.join(value)}]`"
    if isinstance(value, Arrivals):
        return f"`{show_arrivals(value)}`"
    if isinstance(value, Distribution):
        return f"`{show_sizes(value)} B`"
    kind = _type(field)
    if kind == _QUANTITIES[fields.SizeBytes]:
        power, unit = next((p, u) for p, u in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")) if value % (1 << p) == 0)
        return f"`{value >> power} {unit}`"
    if kind == _QUANTITIES[fields.DurationS]:
        size, unit = next(
            (size, unit) for size, unit in ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value % size < size * 1e-9
        )
        return f"`{value / size:g} {unit}`"
    if kind == _QUANTITIES[workloads.Acks]:
        return "`all`"
    return f"`{value:.0%}`" if kind == _QUANTITIES[fields.Fraction] else f"`{value}`"
