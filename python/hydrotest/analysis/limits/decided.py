"""What a run decided of its trials while it was made, kept in its journal: what is shown later is what was decided then, by the thresholds of then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hydrotest.analysis.bottleneck import use as resource_use
from hydrotest.analysis.limits import headroom as room
from hydrotest.analysis.limits import verdict
from hydrotest.analysis.limits.search import Judged, RetryBudget
from hydrotest.analysis.resources.quiet import STEAL_MAX
from hydrotest.store.folder import RunFolder

JUDGED = "judged"
"""In the journal, of each trial of a search, and of each window at a rate with a verdict: `trial`, what was `proposed`, whether it was
`accepted`, whether it counts (`excused`: it does not), `stopped_by`."""
SEARCH_BEGAN = "search began"
"""In the journal, with `test`, `name` (a workload, or `combined`), the `saturated` rate that the search's grid lies below, and the `thresholds` of its verdicts."""


@dataclass(frozen=True)
class Judgement:
    """What was decided of one trial of a search."""

    proposed: float
    accepted: bool
    excused: bool
    stopped_by: Any
    """The rule that failed; of several workloads together, by workload."""

    @property
    def counted(self) -> bool:
        """As `Verdict.counted`: what a search took in has been decided."""
        return self.accepted


def thresholds() -> dict[str, float]:
    """Those of today's verdicts, by name."""
    return {
        "achieved": verdict.ACHIEVED_MIN,
        "backlog": verdict.BACKLOG_SLOPE_MAX,
        "steady": verdict.STEADY_MAX,
        "compiling": verdict.COMPILING_MAX,
        "steal": STEAL_MAX,
        "busiest thread": room.BUSIEST_THREAD_MAX,
        "run delay": room.RUN_DELAY_MAX,
        "wait": room.WAIT_SHARE_OF_OBJECTIVE_MAX,
        "near its ceiling": resource_use.NEAR_CEILING,
        "far from its ceiling": resource_use.FAR_FROM_CEILING,
    }


@dataclass(frozen=True)
class Decided:
    """All of a run. Empty of a folder whose version did not keep it, and where everything is to be judged anew."""

    judgements: Mapping[int, Judgement]
    searches: Mapping[tuple[int, str], Mapping[str, Any]]

    @classmethod
    def none(cls) -> Decided:
        """Nothing was: all is judged by today's rules."""
        return cls({}, {})

    @classmethod
    def read(cls, run: RunFolder) -> Decided:
        """From the run's journal; of a trial that was judged twice the last word counts."""
        return cls.of(run.read_journal())

    @classmethod
    def of(cls, journal: Iterable[Mapping[str, Any]]) -> Decided:
        """From a journal's entries."""
        entries = list(journal)
        judgements = {
            entry["trial"]: Judgement(entry["proposed"], entry["accepted"], entry["excused"], entry["stopped_by"])
            for entry in entries if entry["what"] == JUDGED and "proposed" in entry
        }  # fmt: skip
        return cls(judgements, {(entry["test"], entry["name"]): entry for entry in entries if entry["what"] == SEARCH_BEGAN})

    def of_trial(self, number: int) -> Judgement | None:
        """What was decided of it; None where that was not kept."""
        return self.judgements.get(number)

    def counts(self, number: int, judged: Judged, retries: RetryBudget) -> bool:
        """False if a trial counts neither way, by what was decided of it; where that was not kept, by `retries`."""
        then = self.of_trial(number)
        return not (retries.take(judged) if then is None else then.excused)

    def saturated(self, test: int, name: str) -> float | None:
        """The rate that a search's grid lies below; None where that was not kept."""
        found = self.searches.get((test, name))
        return None if found is None else found["saturated"]

    def other_thresholds(self) -> dict[str, tuple[float | None, float]]:
        """Thresholds that are no longer those by which the run was judged: what they were (None: there was none), and what they are."""
        now = thresholds()
        then = [entry["thresholds"] for entry in self.searches.values()]
        return {name: (one.get(name), value) for one in then for name, value in now.items() if one.get(name) != value}
