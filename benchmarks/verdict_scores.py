"""How verdicts on planted bottlenecks are scored, and the tables of the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any

from plants import Plant
from scipy.stats import binomtest

from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.verdicts.binding import BoundBy
from hydrotest.verdicts.figures import EMULATING_MACHINE

USUAL = 0.8
"""Of a ceiling: where the usual rule begins."""
HOW = ("as it is", "by speed")
"""How the scatter of blocks is shown."""
FAILED = "failed"
CLIENT = "client"
"""Planted or named: what the generators have in flight."""
ELSEWHERE = "other host"
"""Named: the kind that was planted, of a host on which it was not."""
NOT_NAMED = ("undecided", FAILED)
WORDS = ("right", "in part", "undecided", "mistaken", "wrong", FAILED)
"""The score of a verdict.

In part: some of the hosts that were planted alike; or with a setting that was not planted, or without the
planted one. Mistaken: wrong, but not confirmed: it suspects another resource, names a setting, or reports
that no resource binds. Wrong: confirmed, and wrong. Failed: there is no verdict.
"""


def match(plant: Plant, resource: str | None, hosts: Collection[str]) -> str:
    """How a resource and hosts that are named agree with what was planted."""
    expected, planted = plant.binds
    if resource is None or resource != expected or not set(hosts) <= planted:
        return "wrong"
    return "right" if set(hosts) == planted else "in part"


def score(plant: Plant, verdict: BoundBy, settings: set[str], *, is_none: bool) -> str:
    """The score of a verdict.

    `settings`: those shown to the reader; `is_none`: it reports that no squeezed resource binds.
    """
    settings = settings - plant.may_tell
    is_told = settings == plant.inside
    is_client = verdict.kind == "generator" and verdict.resource is None
    if plant.by_client and not verdict.confirmed:
        return "right" if is_client and is_told else "mistaken" if verdict.kind in ("resource", "system", "generator") else "undecided"
    if verdict.confirmed:
        out = {host for row in verdict.squeezed if row.role == "out" and row.resource == plant.binds[0] for host in row.hosts}
        # The exclusion of a planted host counts as confirmed, too.
        word = "wrong" if out & plant.binds[1] else match(plant, verdict.resource, verdict.binds)
        return "in part" if word == "right" and not is_told else word
    if verdict.kind in ("resource", "generator"):
        return "mistaken" if match(plant, verdict.resource, [verdict.host] if verdict.host else []) == "wrong" else "undecided"
    if plant.binds[0] is not None:
        return "mistaken" if is_none or verdict.kind == "system" else "undecided"
    # That nothing was near its ceiling is not yet that nothing binds.
    if is_none and is_told:
        return "right"
    return "mistaken" if is_none and settings - plant.inside else "undecided"


def kind_of(plant: Plant) -> str:
    """What was planted, in a word: a column of the confusion matrix."""
    return plant.binds[0] or ("inside" if plant.inside else CLIENT if plant.by_client else "nothing")


def named_kind(word: str, verdict: BoundBy, plant: Plant) -> str:
    """What was named, in the same words."""
    if word in NOT_NAMED:
        return word
    if word == "wrong" and verdict.resource == plant.binds[0]:
        return ELSEWHERE
    if verdict.kind == "generator" and verdict.resource is None:
        return CLIENT
    return verdict.resource or ("inside" if inside(verdict.evidence) else "nothing")


def usual(uses: Sequence[Use], plant: Plant) -> tuple[str, str]:
    """The verdict of the rule of the busiest resource, over everything used while nothing was taken: its
    score, and its text.

    It names all hosts on which the busiest resource is above 80 %. It does not cover the machine that
    emulates them: users with real machines do not have one.
    """
    loud = sorted(
        (use for use in uses if use.resource != "memory" and use.host != EMULATING_MACHINE and (use.share or 0.0) >= USUAL),
        key=lambda use: -(use.share or 0.0),
    )
    if not loud:
        return "right" if kind_of(plant) == "nothing" else "nothing", "nothing above 80%"
    alike = [use for use in loud if use.resource == loud[0].resource]
    told = f"{loud[0].resource} of {' and '.join(f'{use.host} ({use.share:.0%})' for use in alike)}"
    return match(plant, loud[0].resource, [use.host for use in alike]), told


def table(rows: list[dict[str, Any]]) -> str:
    """The plants and their verdicts, a line for each plant with its cases in it; total scores."""
    lines = ["| planted | verdict | greatest elasticities [95 %] | usual rule | seconds |", "|---" * 5 + "|"]
    for key in dict.fromkeys((row["family"], row["plant"]) for row in rows):
        own = [row for row in rows if (row["family"], row["plant"]) == key]
        told = (
            [f"{row['word']} {row.get('hosts', '')}".strip() for row in own],
            [_greatest(row.get("elasticities", {})) for row in own],
            [str(row.get("usual_word", FAILED)) for row in own],
            [f"{row['seconds']:.0f}" for row in own],
        )
        lines.append(f"| {': '.join(key)} | " + " | ".join(" / ".join(cases) for cases in told) + " |")
    ours, theirs = Counter(row["word"] for row in rows), Counter(row.get("usual_word") for row in rows)
    named = sum(row.get("is_named", False) for row in rows)
    seconds = [row["seconds"] for row in rows] or [0.0]
    return "\n".join([
        *lines, "",
        f"Ours: {_told(ours, WORDS)}. The usual rule: {_told(theirs, USUALS)}.", "",
        f"Right kind, all planted hosts and no other, and resource, whatever settings are told beside them: {named} of {len(rows)}.", "",
        f"Seconds of a case: median {median(seconds):.0f}, most {max(seconds):.0f}, all {sum(seconds):.0f}.", "",
        *confusion(rows),
    ]) + "\n"  # fmt: skip


GREATEST = 3
"""Elasticities of a case that its line shows."""


def _greatest(found: Mapping[str, Sequence[float]]) -> str:
    """The greatest elasticities of a case, with their intervals."""
    most = sorted(found.items(), key=lambda item: -item[1][0])[:GREATEST]
    return (
        "; ".join(f"{what} {value:.2f} [{low:.2f}, {high:.2f}]" for what, (value, low, high, _) in most)
        or "nothing was used enough to be squeezed"
    )


def _told(counted: Mapping[Any, int], words: Sequence[str]) -> str:
    return ", ".join(f"{word} {counted[word]}" for word in words)


USUALS = ("right", "in part", "wrong", "nothing")
"""What the usual rule may be."""
KINDS = ("cpu", "network", "disk", "inside", CLIENT, "nothing")
NAMED = (*KINDS, ELSEWHERE, *NOT_NAMED)


def confusion(rows: list[dict[str, Any]]) -> list[str]:
    """What was named, by what was planted; and how often a verdict may be wrong, with the exact
    (Clopper-Pearson) 95 % interval: of cases, which are not independent where they repeat a plant, and of
    plants, each of which counts by the worst of its cases."""
    cells = Counter((row["planted_kind"], row["named_kind"]) for row in rows)
    lines = ["| planted \\ named | " + " | ".join(NAMED) + " |", "|---" * (len(NAMED) + 1) + "|"]
    lines += [f"| {planted} | " + " | ".join(str(cells[planted, named]) for named in NAMED) + " |" for planted in KINDS]
    worst: dict[tuple[str, str], str] = {}
    for row in rows:
        key = (row["family"], row["plant"])
        worst[key] = max(worst.get(key, WORDS[0]), row["word"], key=WORDS.index)
    return [
        *lines,
        "",
        f"Cases: {_counted([row['word'] for row in rows])}",
        "",
        f"Plants, by the worst case of each: {_counted(list(worst.values()))}",
        "",
        *speed(rows),
    ]


def _counted(words: Sequence[str]) -> str:
    """How many were each of `WORDS`, with the interval of their share."""
    told = []
    for word in WORDS if words else ():
        interval = binomtest(words.count(word), len(words)).proportion_ci(0.95, "exact")
        told.append(f"{word} {words.count(word)} of {len(words)} [{interval.low:.0%}, {interval.high:.0%}]")
    return "; ".join(told) + "."


def speed(rows: list[dict[str, Any]]) -> list[str]:
    """Does the speed reference help?

    How much less blocks scatter when their rates are divided by it, where CPU was planted and elsewhere.
    """
    lines = [
        "| planted | cases | scatter of a turn, median | divided by the speed reference | ratio of both, median [lowest, highest] |",
        "|---" * 5 + "|",
    ]
    for planted, is_own in (("cpu", True), ("anything else", False)):
        both = [
            (row["scatter"]["as it is"], row["scatter"]["by speed"])
            for row in rows
            if len(row.get("scatter", ())) == len(HOW) and (row["planted_kind"] == "cpu") == is_own and all(row["scatter"].values())
        ]
        if both:
            ratios = [after / before for before, after in both]
            lines.append(f"| {planted} | {len(both)} | {median(one for one, _ in both):.1%} | {median(one for _, one in both):.1%} "
                         f"| {median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}] |")  # fmt: skip
    return lines
