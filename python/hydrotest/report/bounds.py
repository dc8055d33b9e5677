"""What binds a limit or a batch workload, in words."""

from __future__ import annotations

from typing import Any

from hydrotest.analysis.internal import inside, inside_words


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
    shares = {(entry["host"], entry["what"].partition(" ")[0]): entry["value"] for entry in bound["evidence"] if "used" in entry}
    parts = []
    for row in own:
        cost = [(1 - row["left"] ** row[key]) * 100 for key in ("low", "value", "high")]
        share = shares.get((row["host"], row["resource"]))
        used = f"{share:.0%} of its ceiling used; " if share is not None else ""
        parts.append(f"the {NAMES[row['resource']]} of {row['host']} ({used}with {1 - row['left']:.0%} of it taken away the rate fell by "
                     f"{cost[1]:.0f} % [{cost[0]:.0f}, {cost[2]:.0f}], {row['n']} times)")  # fmt: skip
    whose = "the generator, by " if bound["kind"] == "generator" else ""
    out = f"Proven by squeezing: bound by {whose}{' and '.join(parts)}."
    full = full_inside(limit)
    out += f" Full inside it: {inside_words(full)}." if full else ""
    more = bound["next"]
    if more is not None:
        out += (f" With {more['given']:g} × as much of it the rate changes by {more['change_pct']:+.0f} % "
                f"[{more['low_pct']:+.0f}, {more['high_pct']:+.0f}]")  # fmt: skip
        is_same = more["resource"] == bound["resource"] and more["host"] in bound["binds"]
        then = (
            "it would still be the fullest"
            if is_same
            else f"next would be the {NAMES[more['resource']]} of {more['host']}"
            if more["host"]
            else ""
        )
        out += f"; {then} ({more['share']:.0%} then)." if then else "."
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


def full_inside(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What was full inside the services on the hosts whose CPU is proven to bind, and may be what their CPU is spent on; what is told of all executors
    is told of the workers. Where a link or a disk binds, threads and slots only wait for it."""
    bound = row["bound_by"]
    if bound["resource"] != "cpu":
        return []
    is_worker = not set(bound["binds"]).isdisjoint(row.get("workers", []))
    return [entry for entry in inside(bound["evidence"]) if (entry["host"] in bound["binds"] if entry["host"] else is_worker)]


def _others(rows: list[dict[str, Any]], grouped: set[tuple[str, str]], head: str) -> str:
    """What else was squeezed, with its elasticities; empty without any. `grouped`: what binds as one of a group."""
    alone = [" alone" if (row["resource"], row["host"]) in grouped else "" for row in rows]
    told = "; ".join(
        f"{NAMES[row['resource']]} of {row['host']}{word} (elasticity {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}])"
        for row, word in zip(rows, alone, strict=True)
    )
    return f"{head} {told}." if told else ""


NAMES = {"cpu": "CPU", "disk": "disk", "network": "link"}
