"""Tables written down by hand: YAML with a list of rows for each kind of load, units in the keys, as hydrotest keeps published results
(`catalogue/published.yaml`). Figures keep the digits that they were written with: rounding is what most agreements depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from hydrotest.audit.claim import Audited, Claim, Loop, Pair, Tool
from hydrotest.errors import BadInputError
from hydrotest.printed.figures import Printed
from hydrotest.units import SIZES

_NUMBER = re.compile(r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?")
_CLOCK = re.compile(r"([0-9]+):([0-9]{2}):([0-9]{2})")
RATES = ("records_per_s", "ops_per_s", "messages_per_s", "rows_per_s")
TARGETS = ("target_records_per_s", "target_ops_per_s", "target_messages_per_s")
COUNTS = ("records", "ops", "operations", "messages", "partitions", "count")
LATENCIES = {"mean": "mean", "avg": "mean", "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p98": "p98", "p99": "p99",
             "p999": "p999", "p9999": "p9999", "max": "max"}  # fmt: skip
SIZE_KEYS = ("message_bytes", "record_bytes")
ELSEWHERE = "_elsewhere"
"""`total_s_elsewhere`: the same quantity, as another place of the source has it."""
WHAT = ("op", "scale_factor", "test", "sink", "clients", "threads", "producers")
GROUP = ("source", "op", "scale_factor", "test")
NOT_CLAIMS = {"sources", "node_types", "topologies", "settings"}
FACTS = {
    "source", "tenancy", "note", "finished", "threads", "clients", "producers", "acks", "errors", "seconds", "duration", "total_s", "mb", "mb_per_s", "bytes",
    "bytes_per_s", "loop", *RATES, *TARGETS, *COUNTS, *SIZE_KEYS, *WHAT, "usd_per_hour", "usd_per_month", "hours_per_month",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One row as it was written: texts by key."""

    kind: str
    number: int
    line: int
    cells: dict[str, str]

    def figure(self, *keys: str) -> Printed | None:
        """The first of these keys that is there, as a number."""
        return next((figure for key in keys if key in self.cells and (figure := printed(self.cells[key])) is not None), None)


def printed(text: str) -> Printed | None:
    """A number with half a unit of its last digit. A whole number that ends in zeros may have been rounded to the last other digit; it is
    taken as exact, since a slack that is too wide hides what does not fit."""
    if not _NUMBER.fullmatch(text):
        return None
    mantissa, _, exponent = text.replace("_", "").replace(",", "").lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return Printed(float(f"{mantissa}e{exponent or 0}"), 0.5 * unit)


def read_tables(path: Path, text: str) -> Audited:
    """The claims of all rows. Keys that nothing is known of are named, not passed over."""
    try:
        rows = list(_rows(path, yaml.compose(text, yaml.SafeLoader)))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise BadInputError(f"not YAML: {getattr(error, 'problem', error)}", "Write a list of rows below each kind of load.", file=path,
                            line=mark.line + 1 if mark else None) from error  # fmt: skip
    if not rows:
        raise BadInputError(
            "the file has no table", "Write a list of rows below each kind of load: `kafka_produce: [{records_per_s: 1000, …}]`.", file=path
        )
    unknown = sorted({key for row in rows for key, value in row.cells.items() if not _is_known(key) and printed(value) is not None})
    unread = [f"{key}: {value} (line {row.line})" for row in rows for key, value in row.cells.items() if _is_unread(key, value)]
    # Also one that is written in a way that is not read: it is named then. Many rows that are none of a result have a duration.
    figures = [key for row in rows for key, value in row.cells.items() if key not in (*WHAT, "duration") and (
        (_is_known(key) and printed(value) is not None) or _is_unread(key, value))]  # fmt: skip
    if not figures:
        hint = f"A rate is e.g. {RATES[0]}, a latency p99_ms. Of an experiment name the folder of its run."
        raise BadInputError("no row has a figure that audit knows", hint, file=path, line=rows[0].line)
    for row in rows:
        if (said := row.cells.get("loop")) is not None and said not in set(Loop):
            raise BadInputError(f"{said!r} is no loop", f"Write one of {', '.join(Loop)}.", file=path, line=row.line)
    return Audited(str(path), Tool.TABLE, tuple(map(_claim, rows)), (*unknown, *unread))


def _rows(path: Path, root: yaml.Node | None) -> Iterator[Row]:
    if not isinstance(root, yaml.MappingNode):
        raise BadInputError(
            "the file is no table", "Write a list of rows below each kind of load: `kafka_produce: [{records_per_s: 1000, …}]`.", file=path
        )
    for key, value in root.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in NOT_CLAIMS or not isinstance(value, yaml.SequenceNode):
            continue
        for number, node in enumerate(value.value, 1):
            line = node.start_mark.line + 1
            if not isinstance(node, yaml.MappingNode):
                raise BadInputError(
                    f"row {number} of {key.value} has no keys", "Write it as `{records_per_s: 1000, mean_ms: 2.0}`.", file=path, line=line
                )
            yield Row(
                key.value,
                number,
                line,
                {
                    str(cell.value): text.value if isinstance(text, yaml.ScalarNode) else "…"
                    for cell, text in node.value
                    if isinstance(cell, yaml.ScalarNode)
                },
            )


def _latency_key(key: str) -> str | None:
    match = re.fullmatch(r"(?:latency_)?([a-z]+[0-9]*)_ms", key)
    return LATENCIES.get(match[1]) if match else None


def _is_known(key: str) -> bool:
    return (
        key in FACTS
        or key.endswith((ELSEWHERE, "_s"))
        or _latency_key(key) is not None
        or key.startswith("slower_pct_")
        or "network_gbps" in key
    )


TEXTS = frozenset({"source", "tenancy", "note", "finished", "acks", "loop", *WHAT}) - {"threads", "clients", "producers", "scale_factor"}


def _is_unread(key: str, value: str) -> bool:
    """True for a figure that is no number as it is written, and for what another row is merged into."""
    if key == "<<":
        return True
    return _is_known(key) and key not in TEXTS and printed(value) is None and not (key == "duration" and _CLOCK.fullmatch(value))


def _seconds(row: Row) -> Printed | None:
    clock = _CLOCK.fullmatch(row.cells.get("duration", ""))
    if clock:
        return Printed(float(sum(int(part) * unit for part, unit in zip(clock.groups(), (3600, 60, 1), strict=True))), 1.0)
    return row.figure("seconds")


def _megabytes(row: Row) -> tuple[Printed | None, Printed | None]:
    """Bytes a second and bytes in all. A table that says MB may mean MiB: between two of its own figures that cancels out."""
    per_s, in_all = row.figure("mb_per_s"), row.figure("mb")
    return (per_s.times(SIZES["MB"]) if per_s else row.figure("bytes_per_s")), (
        in_all.times(SIZES["MB"]) if in_all else row.figure("bytes")
    )


def _pairs(row: Row) -> Iterator[Pair]:
    for name in sorted(set(LATENCIES.values())):
        same = [key for key in row.cells if _latency_key(key) == name]
        figures = [figure for key in same if (figure := row.figure(key)) is not None]
        yield from (Pair(" and ".join(same), figures[0], other) for other in figures[1:])
    for key in row.cells:
        if key.endswith(ELSEWHERE):
            first, second = row.figure(key.removesuffix(ELSEWHERE)), row.figure(key)
            if first is not None and second is not None:
                yield Pair(key.removesuffix(ELSEWHERE), first, second)
    hour, month, hours = row.figure("usd_per_hour"), row.figure("usd_per_month"), row.figure("hours_per_month")
    if hour and month and hours:
        yield Pair("usd_per_month", month, hour.times(hours.value))


def _claim(row: Row) -> Claim:
    """One row. A client with threads is a closed loop, unless the row says `loop: open`."""
    latency = {name: figure for key in row.cells if (name := _latency_key(key)) and (figure := row.figure(key))}
    per_s, in_all = _megabytes(row)
    threads, errors = row.figure("threads"), row.figure("errors")
    size = row.figure(*SIZE_KEYS)
    said = row.cells.get("loop") or ("closed" if threads else "unknown")
    link = row.figure(*(key for key in row.cells if "network_gbps" in key))
    tenancy = row.cells.get("tenancy")
    return Claim(
        Tool.TABLE, f"{row.kind}, row {row.number} (line {row.line})", ", ".join(f"{key} {row.cells[key]}" for key in WHAT if key in row.cells),
        rate=row.figure(*RATES), target=row.figure(*TARGETS), count=row.figure(*COUNTS), seconds=_seconds(row), bytes_per_s=per_s, bytes_in_all=in_all,
        mb_may_be_mib="mb_per_s" in row.cells,
        record_bytes=size.value if size else None, latency_ms=latency, loop=Loop(said),
        threads=threads.value if threads else None, errors=errors, link_bits_per_s=link.times(1e9) if link else None,
        is_finished=row.cells.get("finished") != "false", together=None if tenancy is None else tenancy != "isolated",
        group=(row.kind, *(row.cells.get(key, "") for key in GROUP)),
        times={key.removesuffix("_s"): figure for key in row.cells if key.endswith("_s") and not key.endswith("per_s") and (figure := row.figure(key))},
        said_slower={key.removeprefix("slower_pct_"): figure for key in row.cells if key.startswith("slower_pct_") and (figure := row.figure(key))},
        pairs=tuple(_pairs(row)),
    )  # fmt: skip
