"""What each verdict stands on: of each host's resources what was used, what waited for it, and what a squeeze or the use says of it."""

from __future__ import annotations

from typing import Any

from hydrotest.analysis.bound_by import held_back_words
from hydrotest.analysis.internal import inside
from hydrotest.report.bounds import ceiling_words, named
from hydrotest.report.sheet import NONE, Sheet
from hydrotest.report.words import Summary

SHARE_MIN = 0.3
"""Of a ceiling: what was used less, without anything that waited for it, has no line."""


def evidence_sheet(summary: Summary) -> Sheet:
    """A line for each resource of a host that was used much, waited for, or squeezed, and for each limit inside a system that was full."""
    rows = []
    for row in [*summary["limits"], *summary.get("jobs", [])]:
        bound, head = row["bound_by"], [row["workload"], row.get("tenancy", "isolated")]
        for entry in bound["evidence"]:
            if "used" in entry:
                rows += [[*head, *cells] for cells in _resource(bound, entry)]
        rows += [
            [*head, one["host"] or NONE, one["what"], f"{one['value']:.3g}", NONE, "full", f"bounded by {one['setting']}"]
            for one in inside(bound["evidence"])
        ]
    heads = ["workload", "tenancy", "host", "what", "used", "waited for", "squeezed", "so"]
    return Sheet("What the verdicts stand on", heads, rows)


def _resource(bound: dict[str, Any], entry: dict[str, Any]) -> list[list[str]]:
    """One line, or none."""
    resource, host = entry["what"].partition(" ")[0], entry["host"]
    squeezes = [
        f"elasticity {one['value']:.2f} [{one['low']:.2f}, {one['high']:.2f}]" + (" (together)" if len(one["hosts"]) > 1 else "")
        for one in bound.get("squeezed", []) if one["resource"] == resource and host in one.get("hosts", [one["host"]])
    ]  # fmt: skip
    waits = _waits(bound["evidence"], resource, host)
    share = entry["value"]
    if not squeezes and not waits and (share is None or share < SHARE_MIN):
        return []
    why = [one["why"] for one in bound["ruled_out"] if one["what"] == f"{resource} of {host}"]
    binds = bound["confirmed"] and resource == bound["resource"] and host in bound.get("binds", [])
    so = "binds" if binds else f"ruled out: {why[0]}" if why else NONE
    used = NONE if share is None else f"{share:.0%} of {ceiling_words(entry)}"
    return [[host, named(resource, [entry]), used, "; ".join(waits) or NONE, "; ".join(squeezes) or NONE, so]]


def _waits(evidence: list[dict[str, Any]], resource: str, host: str) -> list[str]:
    """Signs that something waited for it, or that it ran short."""
    signs = [entry for entry in evidence if entry.get("sign") == resource and entry["host"] == host and entry["shows"]]
    told = [
        f"{entry['what'].partition(',')[0]}: "
        + (f"{entry['value']:.0%}" if entry["unit"] is None else f"{entry['value']:,.3g} {entry['unit']}")
        for entry in signs
    ]
    held_back = [entry["value"] for entry in evidence if resource == "cpu" and entry["what"] == held_back_words(host)]
    return told + [f"held back by its quota in {value:.0%} of its periods" for value in held_back if value > 0]
