"""Figures in words: means, gains, what was used of a resource."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hydrotest.analysis.bottleneck.use import NEAR_CEILING, THROTTLED_MIN
from hydrotest.units import show_figure, show_share
from hydrotest.verdicts.figures import EMULATING_MACHINE, Gain, Mean, Squeezed, Usage

MACHINE = "the machine that hosts are emulated on"
SIGNS = {
    "pressure_cpu_some": "time in which some task waited for a core",
    "run_delay": "tasks that waited for a core",
    "pressure_io_some": "time in which some task waited for the disk",
    "disk_busy": "time in which it was busy",
    "disk_wait": "requests that waited for it",
    "tcp_retransmits_per_s": "TCP segments sent again",
    "net_drops_per_s": "packets dropped",
    "queue_drops_per_s": "packets dropped in front of its link",
    "pressure_memory_some": "time in which some task waited for memory",
    "swapped_pages_per_s": "pages swapped in or out",
    "major_faults_per_s": "page faults that read from disk",
    "memory_dirty_bytes": "bytes that wait to be written",
}
"""By counter: see `analysis/resource_use.SIGNS`."""


def host_name(host: str) -> str:
    """A host, or what it is emulated on."""
    return MACHINE if host == EMULATING_MACHINE else host


def show_mean(mean: Mean) -> str:
    """With its interval, unless it is of one value."""
    return f"{mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}]" if mean.n > 1 else f"{mean.value:.2f}"


def show_change(change: Mean) -> str:
    """Of a rate, in percent."""
    return f"{change.value:+.0f} % [{change.low:+.0f}, {change.high:+.0f}]"


def show_gain(gain: Gain) -> str:
    """What more of something gave."""
    return f"with {gain.given:g} × as much the rate changed by {show_change(gain.change)}"


def show_sign(sign: str, value: float, unit: str | None) -> str:
    """One sign that something waited."""
    return f"{SIGNS[sign]}: {show_figure(value, unit)}"


def show_use(usage: Usage) -> str:
    """How much of its ceiling was used, whether a quota held it back, and what waited for it."""
    held_back = f" and held back in {usage.throttled:.0%} of its periods" if usage.throttled >= THROTTLED_MIN else ""
    waited = "".join(f", {show_sign(wait.sign, wait.value, wait.unit)}" for wait in usage.waits if wait.is_shown)
    return f"at {show_share(usage.share or 0.0, NEAR_CEILING)} of its ceiling{held_back}{waited}"


def of_host(usage: Usage) -> str:
    """A resource of a host."""
    return f"{usage.resource} of {host_name(usage.host)}"


def of_hosts(hosts: Sequence[str], resource: str) -> str:
    """A resource of one host, or of several at once."""
    return f"{resource} of {' and '.join(hosts)}{' together' if len(hosts) > 1 else ''}"


def show_elasticities(squeezed: Iterable[Squeezed]) -> str:
    """What was squeezed, each with its elasticity."""
    return "; ".join(f"{of_hosts(one.hosts, one.resource)} {show_mean(one.elasticity)}" for one in squeezed)
