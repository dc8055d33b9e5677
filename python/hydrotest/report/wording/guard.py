"""Why load on a cluster was ended, in words."""

from __future__ import annotations

from hydrotest.units import show_count, show_duration
from hydrotest.verdicts.guard import Breach, Breached


def breach_words(breach: Breach) -> str:
    """One sentence without its full stop."""
    value, bound = breach.value or 0.0, breach.bound or 0.0
    match breach.code:
        case Breached.SLOW:
            measured = "nothing was answered" if breach.value is None else f"p99 {value * 1e3:,.0f} ms"
            return f"{breach.system} answers a few requests a second too slowly: {measured}, at most {bound * 1e3:,.0f} ms, for three seconds in a row"
        case Breached.FAILED:
            return f"{breach.system} no longer answers a few requests a second: {breach.detail}"
        case Breached.BEHIND:
            return f"{value:,.0f} copies or nodes of {breach.system} are behind or away; before it were {bound:,.0f}"
        case Breached.WAITING:
            return f"{show_count(round(value), 'application')} of others wait for cores of {breach.system}"
        case Breached.FULL:
            return f"a disk of {breach.where} has {value:.0%} free, at least {bound:.0%} must stay"
        case Breached.SILENT:
            return f"nothing has been heard of {breach.system} for {value:.0f} s: {breach.detail}"
        case Breached.LATE:
            return f"the time that is allowed, {show_duration(bound)}, is over"
