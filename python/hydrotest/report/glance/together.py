"""What all workloads reach at once, who gives way first, and why."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.bounds import NAMES
from hydrotest.report.glance.chips import bound_chip
from hydrotest.report.glance.model import Pair, TogetherGlance
from hydrotest.spec.workload import catches_up
from hydrotest.summary.model import Summary
from hydrotest.summary.together import SafeWorkingPoint, Starved
from hydrotest.units import show_short

SENTENCES_MAX = 4
RELAXED_GAIN_MIN = 1.1
"""A longer latency that lets all hold less than this much more is not worth a sentence."""


def together_of(summary: Summary) -> TogetherGlance | None:
    """None if nothing ran together."""
    point = summary.safe_working_point
    pairs = _pairs(summary)
    sentences = ([] if point is None else _at_the_point(point)) + _short_of(summary.together.starved)
    first = None if point is None else point.first
    combined = [row for row in summary.limits if row.tenancy == "combined"]
    row = next((one for one in combined if one.workload == first), combined[0] if combined else None)
    if not pairs and not sentences and row is None and not summary.interference:
        return None
    if not sentences and summary.interference:
        changed = len({one.workload for one in summary.interference if one.significant})
        names = {one.workload for one in summary.interference}
        sentences = [f"{changed} of {len(names)} workloads change next to the others."]
    return TogetherGlance(pairs, list(dict.fromkeys(sentences))[:SENTENCES_MAX], None if row is None else bound_chip(row.bound_by))


def _pairs(summary: Summary) -> list[Pair]:
    """Isolated limits, and what is left of them; of batch tests the runs in an hour."""
    point = summary.safe_working_point
    alone = {row.workload: row for row in summary.limits if row.tenancy == "isolated" and row.limit}
    combined = {row.workload: row for row in summary.limits if row.tenancy == "combined" and row.limit}
    found = [
        Pair(
            name,
            row.unit,
            row.limit,
            *((point.rates[name], combined[name].limit) if point and name in point.rates else (combined[name].limit or 0.0, None)),
        )
        for name, row in alone.items()
        # What reads another's records reaches what that one writes: it has no share of its own.
        if name in combined and row.limit and not catches_up(row.kind)
    ]
    times: dict[tuple[str, str], dict[str, float]] = {}
    for job in summary.spark:
        times.setdefault((job.workload, job.test), {})[job.tenancy] = job.total_s
    # A time grows where a rate falls: pairs are of rates, runs an hour.
    found += [
        Pair(workload, "runs/h", 3600 / both["isolated"], 3600 / both["combined"], part=test if test != workload else "")
        for (workload, test), both in times.items()
        if both.get("isolated") and both.get("combined")
    ]
    if not found:
        found = [
            Pair(row.workload, "/s", row.isolated, row.combined)
            for row in summary.interference
            if row.metric == "achieved" and row.isolated
        ]
    return found


def _at_the_point(point: SafeWorkingPoint) -> list[str]:
    least = "at least " if point.at_least else ""
    sure = f" (90 % sure: {point.low:.0%} to {point.high:.0%})" if point.confidence is not None else ""
    rates = ", ".join(f"{name} {show_short(rate)}/s" for name, rate in point.rates.items())
    if point.confidence is None:
        out = [f"All hold together up to {least}{point.fraction:.0%} of what each holds alone: {rates}."]
    else:
        out = [f"Half of the windows hold all objectives at {least}{point.fraction:.0%} of what each holds alone{sure}: {rates}."]
        out.append(f"Safe together: {point.safe:.0%} ({point.confidence:.0%} of the windows)." if point.safe is not None
                   else f"No share was found at which {point.confidence:.0%} of the windows hold.")  # fmt: skip
    if point.first is not None:
        out.append(f"{point.first} gives way first.")
    out += [
        f"With {one.workload} {one.percentile} ≤ {one.bound_ms:g} ms instead of {one.asked_ms:g} ms, all hold up to {one.fraction:.0%}."
        for one in point.relaxed if one.fraction is not None and one.fraction >= point.fraction * RELAXED_GAIN_MIN
    ]  # fmt: skip
    return out


def _short_of(rows: Sequence[Starved]) -> list[str]:
    """Who is short of what: a sentence for all that are short of the same."""
    found: dict[tuple[str | None, str | None], list[Starved]] = {}
    for row in rows:
        found.setdefault((row.resource, row.host), []).append(row)
    out = []
    for (resource, host), own in found.items():
        who, are = ", ".join(row.workload for row in own), "are" if len(own) > 1 else "is"
        if resource is None:
            out.append(f"{who} {'get' if len(own) > 1 else 'gets'} worse, though no resource is used up.")
        else:
            out.append(f"{who} {are} short of {NAMES.get(resource, resource)}: host {host} used {own[0].share or 0.0:.0%} of it.")
    return out
