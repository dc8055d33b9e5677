"""Others who use the same cluster, in words."""

from __future__ import annotations

from hydrotest.analysis.resources.others import uses
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes


def show_use(resource: str, value: float) -> str:
    """A quantity of `uses`, with its unit."""
    if resource == "cores":
        return f"{value:.2f} cores"
    return f"{show_bytes(value)}/s {'in' if resource == 'bytes_in_per_s' else 'out'}"


def others_sentences(summary: Summary) -> list[str]:
    """What was measured beside: a limit is what others leave."""
    if summary.baseline is None:
        return []
    hosts = {host.name: host for host in summary.hosts}
    found = []
    for usage in summary.baseline.hosts:
        worth = [show_use(name, value) for name, (value, least) in uses(hosts[usage.host], usage).items() if value >= least]
        found += [f"{usage.host} {', '.join(worth)}"] if worth else []
    if not found:
        return []
    return [
        f"others use {summary.baseline.system}: in {summary.baseline.seconds:.0f} s before any load, {'; '.join(found)}. A limit is what "
        "they leave, and holds for such times"
    ]
