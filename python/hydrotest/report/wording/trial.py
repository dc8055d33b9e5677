"""Why a trial was not sustained, in words."""

from __future__ import annotations

from collections.abc import Iterable

from hydrotest.units import show_rate
from hydrotest.verdicts.trial import (
    Check,
    ClocksDiffer,
    Disturbance,
    Disturbing,
    Failure,
    Lack,
    Lacking,
    OfWorkload,
    Rule,
    SlowJob,
    Throttled,
    TooLong,
)


def lack_words(lack: Lack) -> str:
    """What a generator lacked."""
    match lack.code:
        case Lacking.THREAD:
            return f"its busiest thread used {lack.value:.0%} of a core (at most {lack.bound:.0%})"
        case Lacking.RUN_DELAY:
            return f"its threads waited for a core {lack.value:.1%} of the time (at most {lack.bound:.0%})"
        case Lacking.WAIT:
            return f"it started operations {lack.value:.2f} ms late at {lack.percentile} (at most {lack.bound:.2f} ms)"
        case Lacking.IN_FLIGHT_CAP:
            return f"its in-flight cap was reached {lack.value:g} times"
        case Lacking.LINK:
            return f"the link of {lack.host}, on which only generators are, was used to {lack.value:.0%} (at most {lack.bound:.0%})"


def lacks_words(lacks: Iterable[Lack]) -> str:
    """All that it lacked."""
    return "; ".join(map(lack_words, lacks))


def check_words(check: Check) -> str:
    """One rule's outcome, held or not."""
    value, bound = check.value, check.bound
    match check.rule:
        case Rule.LATENCY:
            shown = "unknown" if value is None else f"{value:.1f} ms"
            return f"{check.percentile} response {shown} (at most {bound:g} ms)"
        case Rule.ACHIEVED:
            gave_up = "; given up as hopeless" if check.gave_up else ""
            return f"achieved {value:.2%} of the offered rate (at least {bound:.1%}){gave_up}"
        case Rule.BACKLOG:
            grows = "what is on its way grows by" if check.is_of_dataflow else "backlog grows by up to"
            shown = "unknown" if value is None else f"{show_rate(value)}/s"
            return f"{grows} {shown} (at most {show_rate(bound or 0.0)}/s)"
        case Rule.ERRORS:
            names = ", ".join(f"{name} {count}" for name, count in check.errors.items()) or "none"
            return f"{value:g} errors ({names})"
        case Rule.LOSS:
            return f"{check.lost} lost, {check.corrupted} corrupted (at most {bound:g})"
        case Rule.UNSTEADY:
            if value is None:
                return "the window has too few readings to be judged"
            return f"the rate changed by {value:.1%} within the window (at most {bound:.0%})"
        case Rule.GENERATOR:
            return f"the generator had no headroom: {lacks_words(check.lacks)}"


def failure_words(failure: Failure | OfWorkload) -> str:
    """Why a trial was not sustained, or does not count."""
    match failure:
        case OfWorkload(workload, own):
            return f"{workload}: {failure_words(own)}"
        case Check():
            return check_words(failure)
        case TooLong(count):
            return f"{count} latencies were too long to record"
        case ClocksDiffer(error_ms, value, bound, percentile):
            return (
                f"{percentile} response {value:.1f} ms (at most {bound:g} ms) between hosts whose clocks differ by up to {error_ms:.1f} ms: "
                "undecided; set their clocks (chrony, PTP)"
            )
        case Throttled(answers, mean_ms):
            return f"the broker throttled this client, which was above its quota: {answers:,} answers with {mean_ms:,.0f} ms on average"
        case SlowJob(seconds, bound):
            return f"a test {'did not end' if seconds is None else f'took {seconds:.1f} s'} (at most {bound:g} s)"


def failures_words(failures: Iterable[Failure | OfWorkload]) -> list[str]:
    """All of them, each said once."""
    return list(dict.fromkeys(map(failure_words, failures)))


def disturbances_words(found: Iterable[Disturbance]) -> str:
    """What else happened meanwhile."""
    return "; ".join(
        f"{one.where} was compiling with {one.value:.2f} cores"
        if one.code == Disturbing.COMPILING
        else f"the hypervisor took {one.value:.0%} of {one.where}'s cores"
        for one in found
    )
