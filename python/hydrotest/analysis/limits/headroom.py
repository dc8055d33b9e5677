"""Had the generator room? A limit set by the client is no limit of the system (docs/explanation/method.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.store import layout
from hydrotest.store.samples import hosts_in
from hydrotest.verdicts.trial import Lack, Lacking

BUSIEST_THREAD_MAX = 0.80
RUN_DELAY_MAX = 0.05
WAIT_SHARE_OF_OBJECTIVE_MAX = 0.10
WAIT_MS_MIN = 5.0
"""Where no objective bounds the p99: later than this, and than a tenth of what was measured, is no longer the system's latency."""
LINK_MAX = 0.90
"""Share of its ceiling that a link may be used to on a host which carries nothing but generators."""
LOAD_THREADS = "load-"


@dataclass(frozen=True)
class Headroom:
    """Whether a generator had room in a trial, and why not."""

    busiest_thread: float | None
    run_delay: float | None
    wait_p99_ms: float | None
    lacks: tuple[Lack, ...]

    @property
    def has_room(self) -> bool:
        """True if every check held."""
        return not self.lacks


def own_links(measured: Measured) -> dict[str, float]:
    """Mean use of the link, the busier way, as a share of its ceiling, on each host that carries generators and no service: what a
    service sends is the system's own. Hosts whose link's ceiling is not known are left out."""
    ceilings = measured.link_ceilings
    if not any(host in ceilings for host in measured.load.hosts):
        return {}
    serving = hosts_in(measured.folder, layout.SERVICE_SAMPLES)
    shares = {}
    for host in measured.load.hosts:
        rates = pl.DataFrame()
        if host in ceilings and host not in serving:
            rates = trial_host_rates(measured.run, measured.trial, host, measured.start_s, measured.end_s)
        if not rates.is_empty():
            ways = [rates[column].mean() for column in ("network_out_bytes_per_s", "network_in_bytes_per_s")]
            shares[host] = max((float(way) for way in ways if isinstance(way, int | float)), default=0.0) / ceilings[host]
    return shares


def wait_bounds(latency: Mapping[str, float | None], objectives_ms: Mapping[str, float]) -> dict[str, float]:
    """How late operations may start, milliseconds by percentile: a tenth of what the objective allows at that percentile. Of the p99, which every table shows, always:
    without a bound of its own a tenth of the loosest other, or of what was measured."""
    bounds = {name: bound * WAIT_SHARE_OF_OBJECTIVE_MAX for name, bound in objectives_ms.items()}
    if "p99" not in bounds:
        loosest = max(objectives_ms.values(), default=latency.get("p99") or 0.0)
        bounds["p99"] = max(WAIT_MS_MIN, loosest * WAIT_SHARE_OF_OBJECTIVE_MAX)
    return bounds


def judge_headroom(measured: Measured, objectives_ms: Mapping[str, float]) -> Headroom:
    """Checks one native generator. `objectives_ms`: bounds of its latency by percentile. In a closed loop only the thread checks apply: nothing is late there."""
    threads = [thread for thread in measured.threads if thread.name.startswith(LOAD_THREADS)]
    busiest = max((thread.cpu_share for thread in threads), default=None)
    delay = max((thread.run_delay_share for thread in threads), default=None)
    wait = measured.wait or {}
    lacks = []
    if busiest is not None and busiest >= BUSIEST_THREAD_MAX:
        lacks.append(Lack(Lacking.THREAD, busiest, BUSIEST_THREAD_MAX))
    if delay is not None and delay > RUN_DELAY_MAX:
        lacks.append(Lack(Lacking.RUN_DELAY, delay, RUN_DELAY_MAX))
    if measured.load.offered is not None:
        for name, bound in wait_bounds(measured.latency or {}, objectives_ms).items():
            late = wait.get(name)
            if late is not None and late > bound:
                lacks.append(Lack(Lacking.WAIT, late, bound, percentile=name))
        assert measured.load.outcome is not None
        hits = measured.load.outcome.counts.cap_hits
        if hits:
            lacks.append(Lack(Lacking.IN_FLIGHT_CAP, hits, 0))
    for host, share in own_links(measured).items():
        if share >= LINK_MAX:
            lacks.append(Lack(Lacking.LINK, share, LINK_MAX, host=host))
    return Headroom(busiest, delay, wait.get("p99"), tuple(lacks))
