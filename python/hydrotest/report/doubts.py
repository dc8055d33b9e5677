"""What does not count, or not fully, and figures that are right and may still be misread."""

from __future__ import annotations

from collections.abc import Iterable

from hydrotest.report.bounds import NAMES
from hydrotest.report.levels import target
from hydrotest.report.others import others_sentences
from hydrotest.summary.generator import Generator
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.verdicts.causes import NearCeiling
from hydrotest.verdicts.limit import DRIFT_MIN

CEILING_WRONG = 1.1
"""More than this share of a ceiling is no error of measurement of the use."""


def failed_in_times(summary: Summary) -> list[str]:
    """A line for each response time with failed operations in it: many fast refusals lower every
    percentile."""
    found = [
        (f"{row.workload} ({row.client} client, {target(row)})", row.latency_includes_failed)
        for row in summary.levels
        if row.op in (None, "mix")
    ]
    found += [(f"{row.workload} ({row.tenancy}) at its limit", row.latency_includes_failed) for row in summary.limits]
    found += [(f"{load.workload} (soak)", load.latency_includes_failed) for soak in summary.soak for load in soak.workloads]
    found += [
        (f"{load.workload} ({fault.action} {fault.service})", load.latency_includes_failed)
        for fault in summary.faults
        for load in fault.workloads
    ]
    found += [(f"{row.workload} (profile)", row.latency_includes_failed) for row in summary.profiles]
    return [
        f"{name}: {failed:,} failed operations are in its response times: fast refusals lower them, time-outs raise them"
        for name, failed in found
        if failed
    ]


def not_valid(summary: Summary) -> list[str]:
    """What does not count, and why. What is said of several workloads in the same words stands once."""
    found = [(_named(row), reason) for row in summary.limits for reason in row.invalid_because]
    found += [(_named(row), words) for row in summary.limits for words in _search_words(row)]
    found += [(_named(row), f"only “at least”: {'; '.join(row.at_least_because)}") for row in summary.limits if row.at_least]
    bounded = {(limit.workload, limit.tenancy) for limit in summary.limits if limit.at_least}
    found += [
        (_named(row), f"its generator had no headroom: {'; '.join(row.why_not)}")
        for row in summary.generator if row.has_room is False and (row.workload, row.tenancy) not in bounded
    ]  # fmt: skip
    found += [
        (one.workload, f"its system had not settled after {one.seconds:.0f} s of warm-up; a longer one may find more")
        for one in summary.warm_ups if not one.settled
    ]  # fmt: skip
    found += [(_named(row), words) for row in summary.limits for words in _low_ceilings(row)]
    return [
        *summary.problems,
        *others_sentences(summary),
        *_grouped(found),
        *failed_in_times(summary),
        *(f"trial {trial.trial} ({trial.slug}): {trial.reason}" for trial in summary.failed_trials),
    ]


def _grouped(found: Iterable[tuple[str, str]]) -> list[str]:
    names: dict[str, dict[str, None]] = {}
    for name, words in found:
        names.setdefault(words, {})[name] = None
    return [f"{', '.join(own)}: {words}" for words, own in names.items()]


def _named(row: Limit | Generator) -> str:
    return f"{row.workload} (combined)" if row.tenancy == "combined" else row.workload


def _search_words(row: Limit) -> list[str]:
    """What a search could not settle."""
    out = []
    if row.drift is not None and row.drift >= DRIFT_MIN:
        out.append(f"the limit may have moved during the search (probability {row.drift:.0%}); what is shown is the limit at its end")
    if row.precise is False and row.limit is not None and not row.at_least:
        out.append(f"the search ended after {row.repeats} windows, before its interval was as narrow as asked (`search.trials`)")
    return out


def _low_ceilings(row: Limit) -> list[str]:
    """Ceilings that cannot be right, since more than that was used."""
    usages = [usage for cause in row.bound_by.because if isinstance(cause, NearCeiling) for usage in cause.usages]
    return [
        f"the ceiling that was measured of the {NAMES[usage.resource]} of host {usage.host} is too low: {usage.share:.0%} of it was used"
        for usage in usages if usage.share is not None and usage.share > CEILING_WRONG
    ]  # fmt: skip
