"""Figures that follow from each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hydrotest.audit.claim import Claim
from hydrotest.audit.finding import Code, Finding
from hydrotest.printed.figures import Printed

AGREE = 0.01
"""Tools round, and take a rate over a time that they do not print: within a part in a hundred figures agree."""
MB, MIB = 1e6, float(1 << 20)
CHANGE_POINTS = 5.0
"""Percentage points within which a change is what the source says."""


def agree(first: Printed, second: Printed, share: float = AGREE) -> bool:
    """True if both may be the same figure, rounded."""
    return abs(first.value - second.value) <= first.slack + second.slack + share * max(abs(first.value), abs(second.value))


def rate_is_count_by_time(claim: Claim) -> Iterator[Finding]:
    """Rate = count ÷ time."""
    if claim.rate is None or claim.count is None or claim.seconds is None or claim.seconds.value <= 0:
        return
    implied = claim.count.over(claim.seconds)
    if not agree(claim.rate, implied):
        yield Finding(Code.RATE_IS_NOT_COUNT_BY_TIME, {"rate": claim.rate.value, "count": claim.count.value, "seconds": claim.seconds.value,
                                                       "implied": implied.value, "implied_seconds": claim.count.value / claim.rate.value})  # fmt: skip


def bytes_fit(claim: Claim) -> Iterator[Finding]:
    """Bytes a second are bytes ÷ time, and are records a second × the size of a record."""
    if claim.bytes_per_s is None:
        return
    if claim.bytes_in_all is not None and claim.seconds is not None and claim.seconds.value > 0:
        implied = claim.bytes_in_all.over(claim.seconds)
        if not agree(claim.bytes_per_s, implied):
            yield Finding(
                Code.BYTES_DO_NOT_FIT, {"bytes_per_s": claim.bytes_per_s.value, "implied": implied.value, "seconds": claim.seconds.value}
            )
    elif claim.record_bytes is not None and claim.rate is not None:
        implied = claim.rate.times(claim.record_bytes)
        in_mib = claim.mb_may_be_mib and agree(claim.bytes_per_s.times(MIB / MB), implied)
        if not in_mib and not agree(claim.bytes_per_s, implied):
            yield Finding(
                Code.BYTES_DO_NOT_FIT,
                {"bytes_per_s": claim.bytes_per_s.value, "implied": implied.value, "record_bytes": claim.record_bytes},
            )


def figures_agree(claim: Claim) -> Iterator[Finding]:
    """One quantity, two figures."""
    for pair in claim.pairs:
        if not agree(pair.first, pair.second):
            yield Finding(Code.TWO_FIGURES, {"first": pair.first.value, "second": pair.second.value}, {"figure": pair.name})


def together_is_slower(claims: Sequence[Claim]) -> Iterator[tuple[int, Finding]]:
    """A load beside others against the same load alone; by the claim's index."""
    alone = {claim.group: claim for claim in claims if claim.together is False and claim.group}
    for index, claim in enumerate(claims):
        base = alone.get(claim.group)
        if not claim.together or base is None:
            continue
        if claim.rate is not None and base.rate is not None and claim.rate.low >= base.rate.high:
            yield index, Finding(Code.FASTER_TOGETHER, {"together": claim.rate.value, "alone": base.rate.value})
        yield from ((index, finding) for finding in _said(claim, _slower(claim.times, base.times)))


def _slower(together: Mapping[str, Printed], alone: Mapping[str, Printed]) -> dict[str, float]:
    """Percent by which the slowest part, and the whole, took longer."""
    changes = {
        name: (value.value / alone[name].value - 1) * 100 for name, value in together.items() if name in alone and alone[name].value > 0
    }
    return {"peak": max(changes.values()), **({"mean": changes["total"]} if "total" in changes else {})} if changes else {}


def _said(claim: Claim, found: Mapping[str, float]) -> Iterator[Finding]:
    for name, said in claim.said_slower.items():
        if name in found and abs(said.value - found[name]) > CHANGE_POINTS + said.slack:
            yield Finding(Code.SAID_CHANGE_DOES_NOT_FIT, {"said": said.value, "found": found[name]}, {"figure": name})
