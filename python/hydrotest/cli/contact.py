"""What a run would do to clusters that are there already, before it does."""

from __future__ import annotations

from hydrotest.analysis.bottleneck.windows import READINGS_MIN
from hydrotest.hosts.monitored.source import Known
from hydrotest.run.lifecycle.attached import Contact
from hydrotest.spec.attach import attached
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.models import Experiment
from hydrotest.units import show_bytes, show_count, show_duration, show_rate

MADE = {"kafka": "topics hydrotest-RUN-…, one for each trial", "cassandra": "a keyspace hydrotest_RUN_…"}
LEFT = {"cassandra": "; where `auto_snapshot` is on, nodes keep a snapshot of what is dropped: `nodetool clearsnapshot --all` removes it"}
"""What stays, whatever hydrotest does."""


def contact_lines(experiment: Experiment, contact: Contact) -> list[str]:
    """Who is there, what is seen of it, what will be made, how much at most, and what ends it."""
    lines = []
    for one in contact.facts:
        spec = attached(experiment)[one.system]
        most, guard = spec.most, spec.guard
        assert most is not None
        free = one.free_share
        there = ", ".join(show_count(count, what.removesuffix("s")) for what, count in one.counts.items())
        lines += [
            f"{one.system} {one.identity}: {show_count(len(one.nodes), 'node')}, {there} that this user may see; "
            + ("free space unknown" if free is None else f"least free {free[0]:.0%} ({free[1]})"),
            *(f"- {node.name} {node.address}" + (f", rack {node.rack}" if node.rack else "") for node in one.nodes),
            f"made there, and removed again by id: {MADE[one.system]} of {', '.join(_pressed(experiment, one.system))}, and a canary",
            f"at most: {show_bytes(most.bytes_per_s)}/s, {show_bytes(most.disk)} on disk, "
            f"{most.in_flight:,} operations in flight, {show_duration(most.time)}",
            *(f"- {name}: up to {show_rate(highest_rate(experiment, name) or 0.0)}/s" for name in _pressed(experiment, one.system)),
            f"all load ends if: p99 of 10 requests a second to each node exceeds {guard.p99 * 1e3:,.0f} ms for three seconds, more copies are behind than "
            f"before, a disk has less than {guard.free:.0%} free, or nothing is heard for 5 s",
            "nothing of it is configured, restarted or stopped" + LEFT.get(one.system, ""),
        ]  # fmt: skip
    return lines + [_seen(name, known, experiment.search.window) for name, known in contact.machines.items()]


def _seen(name: str, known: Known, window_s: float) -> str:
    """What somebody's monitoring shows of a machine."""
    link = known.hardware.link_bytes_per_s
    parts = [
        f"{name} is seen every {known.every_s:g} s: {show_count(known.hardware.cores, 'core')}, {show_bytes(known.hardware.memory_bytes)} of memory",
        "the speed of its link is not known" if link is None else f"a link of {link * 8 / 1e9:.3g} Gbit/s",
        f"gauges: {', '.join(known.gauges)}" if known.gauges else "no gauge of what runs there",
    ]
    needed_s = known.every_s * READINGS_MIN
    if needed_s > window_s:
        parts.append(f"what it uses is only known in windows of {show_duration(needed_s)}; `search.window` is {show_duration(window_s)}")
    return "; ".join(parts)


def _pressed(experiment: Experiment, system: str) -> list[str]:
    return [name for name, workload in experiment.workloads.items() if workload.presses_on == system and workload.is_scheduled]
