"""Had the generator room? A limit set by the client is no limit of the system (DESIGN §7)."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.analysis.measured import Measured

BUSIEST_THREAD_MAX = 0.80
RUN_DELAY_MAX = 0.05
WAIT_SHARE_OF_OBJECTIVE_MAX = 0.10
LOAD_THREADS = "load-"


@dataclass(frozen=True)
class Room:
    """Whether a generator had room in a trial, and why not."""

    busiest_thread: float | None
    run_delay: float | None
    wait_p99_ms: float | None
    reasons: list[str]

    @property
    def has_room(self) -> bool:
        """True if every check held."""
        return not self.reasons


def judge_room(measured: Measured, objective_p99_ms: float | None) -> Room:
    """Checks one native generator. In a closed loop only the thread checks apply: nothing is late there."""
    threads = [thread for thread in measured.threads if thread.name.startswith(LOAD_THREADS)]
    busiest = max((thread.cpu_share for thread in threads), default=None)
    delay = max((thread.run_delay_share for thread in threads), default=None)
    wait = measured.wait["p99"] if measured.wait is not None else None
    reasons = []
    if busiest is not None and busiest >= BUSIEST_THREAD_MAX:
        reasons.append(f"its busiest thread used {busiest:.0%} of a core (at most {BUSIEST_THREAD_MAX:.0%})")
    if delay is not None and delay > RUN_DELAY_MAX:
        reasons.append(f"its threads waited for a core {delay:.1%} of the time (at most {RUN_DELAY_MAX:.0%})")
    if measured.load.offered is not None:
        if objective_p99_ms is not None and wait is not None and wait > objective_p99_ms * WAIT_SHARE_OF_OBJECTIVE_MAX:
            bound = objective_p99_ms * WAIT_SHARE_OF_OBJECTIVE_MAX
            reasons.append(f"it started operations {wait:.2f} ms late at p99 (at most {bound:.2f} ms)")
        assert measured.load.outcome is not None
        hits = measured.load.outcome.counts.cap_hits
        if hits:
            reasons.append(f"its in-flight cap was reached {hits} times")
    return Room(busiest, delay, wait, reasons)
