"""What others use of a host, as far as it is worth a word."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.summary.machine import Host
from hydrotest.summary.model import Summary
from hydrotest.summary.usage import HostUsage
from hydrotest.verdicts.comparison import Difference, Differs

CORES_SHARE_MIN = 0.02
"""Of its cores: what an idle system with its sampler uses."""
BYTES_MIN = 100_000.0
"""A second over its link: what a few requests and readings a second are."""

OTHERS_APART = 0.1
"""Of the larger: above it, what others use differs."""


def uses(host: Host, usage: HostUsage) -> Mapping[str, tuple[float, float]]:
    """The mean use of each resource that time goes into, with the least that counts."""
    return {
        "cores": (usage.cpu_cores_mean, CORES_SHARE_MIN * host.cores),
        "bytes_in_per_s": (usage.network_in_bytes_per_s_mean, BYTES_MIN),
        "bytes_out_per_s": (usage.network_out_bytes_per_s_mean, BYTES_MIN),
    }


def other_use(first: Summary, second: Summary) -> list[Difference]:
    """Where others used a cluster by more than a tenth more, or less, before any load of ours: what differs then may be theirs."""
    if first.baseline is None or second.baseline is None:
        return []
    hosts = {host.name: host for host in first.hosts}
    seen = {usage.host: usage for usage in second.baseline.hosts}
    out = []
    for usage in first.baseline.hosts:
        if usage.host not in seen:
            continue
        then = uses(hosts[usage.host], seen[usage.host])
        for name, (value, least) in uses(hosts[usage.host], usage).items():
            other = then[name][0]
            if abs(value - other) > max(OTHERS_APART * max(value, other), least):
                out.append(Difference(Differs.OTHERS, usage.host, name, value, other))
    return out
