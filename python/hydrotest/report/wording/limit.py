"""Why a limit does not count, or is only a lower bound, in words."""

from __future__ import annotations

from hydrotest.report.wording.trial import failure_words, lack_words
from hydrotest.verdicts.limit import Flawed, LimitFlaw, Lower, LowerBound
from hydrotest.verdicts.trial import Lack


def flaw_words(flaw: LimitFlaw) -> str:
    """Why a limit does not count, or counts less."""
    match flaw.code:
        case Flawed.NOTHING_COMPLETED:
            return "nothing was completed without a rate limit"
        case Flawed.NONE_SUSTAINED:
            return f"{flaw.count} of {flaw.of} windows failed: no rate was sustained"
        case Flawed.NONE_SUSTAINED_TOGETHER:
            return "no fraction of the isolated limits was sustained together"
        case Flawed.STRAY_TRIALS:
            return f"{flaw.count} of {flaw.of} trials are none that the search of this version would have made; they are left out"
        case Flawed.FEW_SEARCHES:
            return f"only {flaw.count} of {flaw.of} independent searches ended"
        case Flawed.FEW_WINDOWS:
            return f"the search has only {flaw.count} windows, of {flaw.of} at least"
        case Flawed.FEW_REPEATS:
            return f"only {flaw.count} repeats ended"


def lower_bound_words(why: LowerBound) -> str:
    """Why a limit is only a lower bound."""
    if isinstance(why, Lower):
        return {
            Lower.NONE_REJECTED: "no higher rate was rejected",
            Lower.ALLOWED: "`most` allows no higher rate",
            Lower.NONE_TRIED: "nothing above the isolated limits is tried",
        }[why]
    return lack_words(why) if isinstance(why, Lack) else failure_words(why)
