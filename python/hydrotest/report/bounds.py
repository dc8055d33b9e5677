"""What binds a limit or a batch workload, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydrotest.analysis.bound_by import machine_words
from hydrotest.analysis.evidence import Line, inside, inside_words, used
from hydrotest.analysis.resource_use import IN, MACHINE, OUT
from hydrotest.units import show_bytes


def bound_sentence(row: dict[str, Any]) -> str:
    """What sets the limit, and how sure that is."""
    bound = row["bound_by"]
    if bound["confirmed"]:
        return _proven_sentence(row)
    head = {
        "resource": "A resource seems to bind it:",
        "system": "Bound by the system itself:",
        "generator": "Bound by the generator:",
        "undecided": "What binds it is undecided:",
        "unknown": "What binds it is unknown:",
    }[bound["kind"]]
    return f"{head} {bound['detail']}."


def _proven_sentence(limit: dict[str, Any]) -> str:
    """A verdict that squeezes proved, what was ruled out by them, and what comes next."""
    bound = limit["bound_by"]
    own = [row for row in bound["squeezed"] if row["binds"]]
    parts = []
    for row in own:
        cost = [(1 - row["left"] ** row[key]) * 100 for key in ("low", "value", "high")]
        there = used(bound["evidence"], row["resource"], row["hosts"])
        parts.append(f"the {named(row['resource'], there)} of {row['host']} ({_shares(there)}with {1 - row['left']:.0%} of it taken away the rate fell by "
                     f"{cost[1]:.0f} % [{cost[0]:.0f}, {cost[2]:.0f}], {row['n']} times)")  # fmt: skip
    whose = "the generator, by " if bound["kind"] == "generator" else ""
    out = f"Proven by squeezing: bound by {whose}{' and '.join(parts)}."
    full = full_inside(limit)
    out += f" Full inside it: {inside_words(full)}." if full else ""
    machine = machine_words(bound["evidence"])
    out += f" But {machine}." if machine else ""
    more = bound["next"]
    if more is not None:
        out += (f" With {more['given']:g} × as much of it the rate changes by {more['change_pct']:+.0f} % "
                f"[{more['low_pct']:+.0f}, {more['high_pct']:+.0f}]")  # fmt: skip
        out += "; it would still bind" if more["is_still"] else ""
        if more["resource"] is not None:
            whose = f"the {NAMES[more['resource']]} of {more['host'] or MACHINE}"
            out += f"; next would be {whose} at about {more['at']:.2g} × the rate ({more['share']:.0%} used then)"
        out += "."
    # A group with one that binds in it falls with that one.
    others = [row for row in bound["squeezed"] if row not in own
              and not any(row["resource"] == bind["resource"] and set(bind["hosts"]) < set(row["hosts"]) for bind in own)]  # fmt: skip
    grouped = {(bind["resource"], host) for bind in own if len(bind["hosts"]) > 1 for host in bind["hosts"]}
    out += _others([row for row in others if row["out"]], grouped, " Not the")
    # What a host of the group does by itself is a part of what the group does.
    rest = [row for row in others if not row["out"] and (row["resource"], row["host"]) not in grouped]
    out += _others([row for row in rest if row["low"] > 0], grouped, " It shares this with the")
    return out + _others([row for row in rest if row["low"] <= 0], grouped, " Nothing can be told of the")


def named(resource: str, there: Sequence[Line]) -> str:
    """A resource, of a link with the direction that is the busier one on all its hosts; `there`: its use on them."""
    units = {line["used_unit"] for line in there}
    direction = DIRECTIONS.get(next(iter(units)), "") if len(units) == 1 else ""
    return f"{direction}{NAMES[resource]}"


def _shares(there: Sequence[Line]) -> str:
    """How much of their ceilings, which are told, too; empty without any."""
    if not there:
        return ""
    shares = sorted(line["value"] for line in there)
    ceilings = list(dict.fromkeys(map(ceiling_words, there)))
    told = f"{shares[0]:.0%}" if len(there) == 1 else f"{shares[0]:.0%} to {shares[-1]:.0%}"
    return f"{told} of {' and '.join(ceilings)}{' each' if len(there) > 1 and len(ceilings) == 1 else ''} used; "


def ceiling_words(line: Line) -> str:
    """The ceiling of what was used, in its field's unit."""
    resource, ceiling = line["resource"], line["ceiling"]
    if ceiling is None:
        return "its ceiling"
    if resource == "cpu":
        return f"{ceiling:.3g} cores"
    if resource == "network":
        mbit = ceiling * 8 / 1e6
        return f"{mbit:,.0f} Mbit/s" if mbit >= 1000 else f"{mbit:.4g} Mbit/s"
    return show_bytes(ceiling) if resource == "memory" else f"{show_bytes(ceiling)}/s"


def full_inside(row: dict[str, Any]) -> list[Line]:
    """What was full inside the services on the hosts whose CPU is proven to bind, and spends it; what is told of all executors
    is told of the workers. Threads and slots only wait for what binds."""
    bound = row["bound_by"]
    if bound["resource"] != "cpu":
        return []
    is_worker = not set(bound["binds"]).isdisjoint(row.get("workers", []))
    full = [line for line in inside(bound["evidence"]) if line["spends"]]
    return [line for line in full if (line["host"] in bound["binds"] if line["host"] else is_worker)]


def _others(rows: list[dict[str, Any]], grouped: set[tuple[str, str]], head: str) -> str:
    """What else was squeezed, with its elasticities; empty without any. `grouped`: what binds as one of a group."""
    alone = [" alone" if (row["resource"], row["host"]) in grouped else "" for row in rows]
    told = "; ".join(
        f"{NAMES[row['resource']]} of {row['host']}{word} (elasticity {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}])"
        for row, word in zip(rows, alone, strict=True)
    )
    return f"{head} {told}." if told else ""


NAMES = {"cpu": "CPU", "disk": "disk", "network": "link", "memory": "memory"}
DIRECTIONS = {OUT: "outbound ", IN: "inbound "}
