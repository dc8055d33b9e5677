"""Contact with clusters that are there already, before a run."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.hosts.monitored.source import Known
from hydrotest.run.attached.dealings import dealings
from hydrotest.spec.attach import Attachable, attached
from hydrotest.spec.choice import expected
from hydrotest.spec.kafka_consume import CONSUMER_CONNECTIONS
from hydrotest.spec.models import Experiment
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, check_whole
from hydrotest.systems.catalogue import make_systems
from hydrotest.units import show_bytes, show_count

DIGITS = 12
"""Of a plan's hash."""
FREE_SHARE_MAX = 0.1
"""Of the free bytes of a node's disk, for all that hydrotest writes there."""
ASKING = 2
"""Connections that ask questions, at a time."""


@dataclass(frozen=True)
class Contact:
    """What clusters say of themselves before a run, and the hash of what is planned with them."""

    facts: tuple[ClusterFacts, ...]
    digest: str
    machines: Mapping[str, Known]
    """Those that somebody else monitors."""


async def make_contact(experiment: Experiment, text: str) -> Contact:
    """Asks each cluster from each host that will apply load; changes nothing. `text`: that of the experiment.

    Raises `BadInputError` where one cannot be used.
    """
    with tempfile.TemporaryDirectory() as folder:
        site = await make_host_pool(experiment, Path(folder))
        try:
            facts = [await _contact(system, experiment) for system in attached_systems(experiment, site.hosts).values()]
            for one in facts:
                _check_room(experiment, one)
            machines = {name: await source.known() for name, source in site.sources.items()}
        finally:
            await site.clear()
    named = [(one.system, one.identity, sorted(node.address for node in one.nodes)) for one in facts]
    return Contact(tuple(facts), hashlib.sha256(json.dumps([text, named]).encode()).hexdigest()[:DIGITS], machines)


def attached_systems(experiment: Experiment, hosts: Mapping[str, Host]) -> dict[str, AttachedSystem]:
    """Those of an experiment that are there already, not yet asked."""
    made = make_systems(experiment, hosts, "", Path(), lambda _: None)
    return {name: expected(made[name], AttachedSystem) for name in attached(experiment)}


def _check_room(experiment: Experiment, facts: ClusterFacts) -> None:
    """Raises `BadInputError` where a cluster is too small for what `most` allows."""
    most = attached(experiment)[facts.system].most
    assert most is not None
    free = [disk.free_bytes for node in facts.nodes for disk in node.disks]
    if free and (disk := most.disk_bytes or 0) / len(facts.nodes) > FREE_SHARE_MAX * min(free):
        raise BadInputError(f"`most.disk` of {facts.system}, {show_bytes(disk)}, may take more than a tenth of what is free on a node: {show_bytes(min(free))}",
                            "Lower it, with `most.rate` or the windows.")  # fmt: skip
    for name, workload in experiment.workloads.items():
        if facts.system in workload.uses and workload.copies > len(facts.nodes):
            raise BadInputError(f"{name} wants {workload.copies} copies, and {facts.system} has {show_count(len(facts.nodes), 'node')}",
                                f"Write `replication: {len(facts.nodes)}`.")  # fmt: skip
    needed, allowed = connections(experiment, facts), most.connections_max
    if allowed is not None and needed > allowed:
        raise BadInputError(f"{needed} connections to {facts.system} are needed; `most.connections` allows {allowed}",
                            "Raise it, or take fewer generators or threads.")  # fmt: skip


def connections(experiment: Experiment, facts: ClusterFacts) -> int:
    """Connections that a run opens to a cluster at most: generators, the reader of their account, and the canary."""
    each = 0
    for name, workload in experiment.workloads.items():
        if facts.system in workload.uses:
            each += len(experiment.generator_hosts(name)) * workload.connections_per_node
    return (each + CONSUMER_CONNECTIONS + 1) * len(facts.nodes) + ASKING


def allowed_s(spec: Attachable, now: datetime) -> float:
    """Seconds for which a cluster may be loaded from now on: what `most.time` and the hours leave; 0 outside of these."""
    assert spec.most is not None
    left = spec.most.time if spec.between is None else spec.between.left_s(now)
    return min(spec.most.time, left or 0.0)


def allowed_now(spec: Attachable) -> float:
    """The same from this moment on."""
    return allowed_s(spec, datetime.now())


def check_hours(experiment: Experiment, now: datetime) -> None:
    """Raises `BadInputError` at an hour at which a cluster may not be loaded."""
    for name, spec in attached(experiment).items():
        if allowed_s(spec, now) <= 0:
            raise BadInputError(f"{name} may not be loaded now, at {now:%H:%M}: `between` does not allow it", "Run it within these hours.")


async def _contact(system: AttachedSystem, experiment: Experiment) -> ClusterFacts:
    found = [await system.contact(asker) for asker in system.askers]
    check_whole(found[0])
    system.check_room()
    ours = dealings(system)
    await ours.check_rights(experiment)
    await ours.check_alone()
    return found[0]
