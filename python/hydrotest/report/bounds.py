"""What binds a limit or a batch workload, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hydrotest.analysis.bound_by import IN, MACHINE, OUT, machine_words
from hydrotest.analysis.internal import inside, inside_words
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
        # Summaries of before have a host each.
        used = used_entries(bound["evidence"], row["resource"], row.get("hosts", [row["host"]]))
        parts.append(f"the {named(row['resource'], used)} of {row['host']} ({_shares(used)}with {1 - row['left']:.0%} of it taken away the rate fell by "
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
        out += "; it would still bind" if more.get("is_still") else ""
        if more["resource"] is not None:
            whose = f"the {NAMES[more['resource']]} of {more['host'] or MACHINE}"
            # Summaries of before do not tell at what rate.
            at = f" at about {more['at']:.2g} × the rate" if more.get("at") is not None else ""
            out += f"; next would be {whose}{at} ({more['share']:.0%} used then)"
        out += "."
    # A group with one that binds in it falls with that one.
    others = [row for row in bound["squeezed"] if row not in own
              and not any(row["resource"] == bind["resource"] and set(bind["hosts"]) < set(row["hosts"]) for bind in own)]  # fmt: skip
    grouped = {(bind["resource"], host) for bind in own if len(bind["hosts"]) > 1 for host in bind["hosts"]}
    # Summaries of before told of none that it shares.
    out += _others([row for row in others if row.get("out", True)], grouped, " Not the")
    # What a host of the group does by itself is a part of what the group does.
    rest = [row for row in others if not row.get("out", True) and (row["resource"], row["host"]) not in grouped]
    out += _others([row for row in rest if row["low"] > 0], grouped, " It shares this with the")
    return out + _others([row for row in rest if row["low"] <= 0], grouped, " Nothing can be told of the")


def used_entries(evidence: Sequence[dict[str, Any]], resource: str, hosts: Collection[str]) -> list[dict[str, Any]]:
    """Of a verdict's evidence what was used of a resource of these hosts; those without a ceiling are left out."""
    return [
        entry for entry in evidence
        if "used" in entry and entry["host"] in hosts and entry["what"].partition(" ")[0] == resource and entry["value"] is not None
    ]  # fmt: skip


def named(resource: str, used: Sequence[dict[str, Any]]) -> str:
    """A resource, of a link with the direction that is the busier one on all its hosts."""
    units = {entry.get("used_unit") for entry in used}
    direction = DIRECTIONS.get(next(iter(units)) or "", "") if len(units) == 1 else ""
    return f"{direction}{NAMES[resource]}"


def _shares(used: Sequence[dict[str, Any]]) -> str:
    """How much of their ceilings, which are told, too; empty without any."""
    if not used:
        return ""
    shares = sorted(entry["value"] for entry in used)
    ceilings = list(dict.fromkeys(ceiling_words(entry) for entry in used))
    told = f"{shares[0]:.0%}" if len(used) == 1 else f"{shares[0]:.0%} to {shares[-1]:.0%}"
    return f"{told} of {' and '.join(ceilings)}{' each' if len(used) > 1 and len(ceilings) == 1 else ''} used; "


def ceiling_words(entry: dict[str, Any]) -> str:
    """The ceiling of what was used, by a line of evidence, in its field's unit."""
    unit, ceiling = entry.get("used_unit") or "", entry.get("ceiling")
    if ceiling is None:
        return "its ceiling"
    if unit == "cores":
        return f"{ceiling:.3g} cores"
    if entry["what"].startswith("network"):
        mbit = ceiling * 8 / 1e6
        return f"{mbit:,.0f} Mbit/s" if mbit >= 1000 else f"{mbit:.4g} Mbit/s"
    return show_bytes(ceiling) if entry["what"].startswith("memory") else f"{show_bytes(ceiling)}/s"


def full_inside(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What was full inside the services on the hosts whose CPU is proven to bind, and spends it; what is told of all executors
    is told of the workers. Threads and slots only wait for what binds."""
    bound = row["bound_by"]
    if bound["resource"] != "cpu":
        return []
    is_worker = not set(bound["binds"]).isdisjoint(row.get("workers", []))
    full = [entry for entry in inside(bound["evidence"]) if entry.get("spends")]
    return [entry for entry in full if (entry["host"] in bound["binds"] if entry["host"] else is_worker)]


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
