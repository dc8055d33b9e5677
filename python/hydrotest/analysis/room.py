"""Had the generator room? A limit set by the client is no limit of the system (docs/method.md)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.usage import trial_host_rates
from hydrotest.store import layout
from hydrotest.store.samples import read_samples

BUSIEST_THREAD_MAX = 0.80
RUN_DELAY_MAX = 0.05
WAIT_SHARE_OF_OBJECTIVE_MAX = 0.10
LINK_MAX = 0.90
"""Share of its ceiling that a link may be used to on a host which carries nothing but generators."""
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


def own_links(measured: Measured) -> dict[str, float]:
    """Mean use of the link, the busier way, as a share of its ceiling, on each host that carries generators and no service: what a
    service sends is the system's own. Hosts whose link's ceiling is not known are left out."""
    ceilings = measured.link_ceilings
    services = read_samples(measured.folder, layout.SERVICE_SAMPLES)
    serving = set() if services.is_empty() else set(services["host"].unique())
    shares = {}
    for host in measured.load.hosts:
        rates = pl.DataFrame()
        if host in ceilings and host not in serving:
            rates = trial_host_rates(measured.run, measured.trial, host, measured.start_s, measured.end_s)
        if not rates.is_empty():
            ways = [rates[column].mean() for column in ("network_out_bytes_per_s", "network_in_bytes_per_s")]
            shares[host] = max((float(way) for way in ways if isinstance(way, int | float)), default=0.0) / ceilings[host]
    return shares


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
    for host, share in own_links(measured).items():
        if share >= LINK_MAX:
            reasons.append(f"the link of {host}, on which only generators are, was used to {share:.0%} (at most {LINK_MAX:.0%})")
    return Room(busiest, delay, wait, reasons)
