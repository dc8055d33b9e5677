"""What does not count of a run, in words."""

from __future__ import annotations

from hydrotest.analysis.spark.event_parser import Flaw, FlawKind, Skip
from hydrotest.verdicts.problem import (
    ExecutorLost,
    FilesMissing,
    JobTestBroken,
    JobTestUntold,
    LogFlaw,
    NoIsolatedLimit,
    Noted,
    OtherThreshold,
    Problem,
    Rejudged,
)

FILES_SHOWN_MAX = 5

SKIPPED = {
    Skip.BLANK: "blank",
    Skip.NOT_JSON: "not JSON",
    Skip.NOT_OBJECT: "not a JSON object",
    Skip.ODD_EVENT: "not as Spark writes events",
}


def log_flaw_words(flaw: Flaw) -> str:
    """In what a Spark event log is not whole."""
    match flaw.kind:
        case FlawKind.MISSING:
            return "it is not there"
        case FlawKind.UNFINISHED:
            return "it ends before its application did"
        case FlawKind.CUT:
            return f"{flaw.place} is cut"
        case FlawKind.SKIPPED:
            kinds = ", ".join(f"{count:,} {SKIPPED[Skip(why)]}" for why, count in flaw.kinds)
            return f"{flaw.count:,} of its lines were skipped ({kinds}; the first: {flaw.place})"
        case FlawKind.BROKEN:
            return f"{flaw.place} breaks off: {flaw.detail}"
        case FlawKind.GAP:
            return f"{flaw.count} of its files are not there (number {flaw.detail})"
        case FlawKind.DUPLICATES:
            return f"{flaw.count:,} ends of tasks stand in it twice, and count once"
        case FlawKind.MIXED:
            return f"it has events of another application, too: {flaw.detail}"


def problem_words(problem: Problem) -> str:
    """One thing that does not count, or counts less."""
    match problem:
        case LogFlaw(log, kind, count, place, detail, kinds):
            return f"the event log {log} is not whole: {log_flaw_words(Flaw(FlawKind(kind), '', count, place, detail, kinds))}"
        case ExecutorLost(executor, reason):
            return f"executor {executor} was lost, and what it did was done again: {reason}"
        case FilesMissing(files):
            left = len(files) - FILES_SHOWN_MAX
            more = f" and {left:,} other{'s' if left > 1 else ''}" if left > 0 else ""
            named = ", ".join(files[:FILES_SHOWN_MAX])
            return f"files of the run folder are missing: {named}{more}; what stands on them is left out"
        case JobTestBroken(workload, test, is_ended, error):
            return f"{workload}: {test} {'was ended before its end' if is_ended else 'failed'}: {error}"
        case JobTestUntold(workload, test, tenancy):
            return f"{workload}: what {test} did, {tenancy}, is not known: no event log has it"
        case NoIsolatedLimit(workloads):
            return f"no isolated limit was found for {', '.join(workloads)}, so there is no fraction of it to offer; give `rates` instead"
        case Noted(text):
            return text
        case OtherThreshold(name, then, now):
            was = "none" if then is None else f"{then:g}"
            return f"searches were judged by another threshold than today's, {name}: {was}, now {now:g}"
        case Rejudged(workload, tenancy, of, before, after):
            what = {
                "limit": "the limit",
                "high": "the rate that was too much",
                "stopped_by": "what stopped it",
                "bound_by": "what binds it",
            }[of]
            was, this = (f"{one:g}" if isinstance(one, float) else str(one or "none") for one in (before, after))
            return f"{workload}{', combined' if tenancy == 'combined' else ''}: by today's rules {what} is {this}; the run decided {was}"
