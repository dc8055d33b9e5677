"""What others use of a host, as far as it is worth a word."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.summary.machine import Host
from hydrotest.summary.usage import HostUsage

CORES_SHARE_MIN = 0.02
"""Of its cores: what an idle system with its sampler uses."""
BYTES_MIN = 100_000.0
"""A second over its link: what a few requests and readings a second are."""


def uses(host: Host, usage: HostUsage) -> Mapping[str, tuple[float, float]]:
    """The mean use of each resource that time goes into, with the least that counts."""
    return {
        "cores": (usage.cpu_cores_mean, CORES_SHARE_MIN * host.cores),
        "bytes_in_per_s": (usage.network_in_bytes_per_s_mean, BYTES_MIN),
        "bytes_out_per_s": (usage.network_out_bytes_per_s_mean, BYTES_MIN),
    }
