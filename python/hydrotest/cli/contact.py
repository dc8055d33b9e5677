"""What a run would do to clusters that are there already, before it does."""

from __future__ import annotations

from collections.abc import Iterator

from hydrotest.analysis.bottleneck.windows import READINGS_MIN
from hydrotest.hosts.monitored.source import Known
from hydrotest.run.attached.contact import Contact
from hydrotest.spec.attach import CoresMost, FilesMost, Guard, Most, ObjectsGuard, ObjectsMost, RequestsMost, attached
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.choice import narrowed
from hydrotest.spec.models import Experiment
from hydrotest.units import show_bytes, show_count, show_duration, show_rate

MADE = {
    "kafka": "made there, and removed again by id: topics hydrotest-RUN-…, one for each trial, of {workloads}, and a canary",
    "cassandra": "made there, and removed again by id: a keyspace hydrotest_RUN_… of {workloads}, and a canary",
    "hdfs": "made there, and removed again by inode: a folder hydrotest-RUN-… of {workloads}, and a canary",
    "s3": "made there, and removed again where it carries the identity of its marker: a prefix hydrotest-RUN-… of {workloads}, and a canary",
    "spark": "started there, and ended with the run: an application hydrotest-RUN of {workloads}; its workers keep what it shuffles until then",
}
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
            f"{one.system} {one.identity}: {show_count(len(one.nodes), 'node')}, {f'{there} that this user may see; ' if there else ''}"
            + ("free space unknown" if free is None else f"least free {free[0]:.0%} ({free[1]})"),
            *(f"- {node.name} {node.address}" + (f", rack {node.rack}" if node.rack else "") for node in one.nodes),
            MADE[one.system].format(workloads=", ".join(_pressed(experiment, one.system))),
            f"at most: {', '.join(_most(most))}",
            *(f"- {name}: up to {show_rate(rate)}/s" for name in _pressed(experiment, one.system) if (rate := highest_rate(experiment, name)) is not None),
            f"all load ends if: {', '.join(_guarded(one.system, guard))}, or nothing is heard for 5 s",
            "nothing of it is configured, restarted or stopped" + LEFT.get(one.system, ""),
        ]  # fmt: skip
    return lines + [_seen(name, known, experiment.search.window) for name, known in contact.machines.items()]


def _most(most: Most) -> Iterator[str]:
    if most.rate_per_s is not None:
        yield f"{show_bytes(most.rate_per_s)}/s"
    if most.disk_bytes is not None:
        yield f"{show_bytes(most.disk_bytes)} on disk"
    if (requests := narrowed(most, RequestsMost)) is not None:
        yield f"{requests.in_flight:,} operations in flight"
    if (files := narrowed(most, FilesMost)) is not None:
        yield f"{show_count(files.at_once, 'file')} at once"
    if (objects := narrowed(most, ObjectsMost)) is not None:
        yield f"{show_count(objects.at_once, 'object')} at once"
        yield f"{show_rate(objects.rate)} requests/s of a workload"
    if (taken := narrowed(most, CoresMost)) is not None:
        yield f"{show_count(taken.cores, 'core')} and {show_bytes(taken.memory)} of memory"
    yield show_duration(most.time)


CANARIES = {
    "hdfs": "ten small files a second, wherever they are put,",
    "s3": "ten small objects a second, each put, got and deleted,",
}
"""What the guard's requests are, where they are not ten to each node."""


def _guarded(system: str, guard: Guard) -> Iterator[str]:
    if guard.p99_s is not None:
        yield f"p99 of {CANARIES.get(system, '10 requests a second to each node')} exceeds {guard.p99_s * 1e3:,.0f} ms for three seconds"
    if narrowed(guard, ObjectsGuard) is not None:
        return
    yield "more copies are behind than before, or a node is lost"
    if guard.free_share is not None:
        yield f"a disk has less than {guard.free_share:.0%} free"
    else:
        yield "an application of others waits for cores"


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
    return [name for name, workload in experiment.workloads.items() if workload.presses_on == system and not workload.is_follower]
