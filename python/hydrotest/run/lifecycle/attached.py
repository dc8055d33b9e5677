"""Clusters that are there already: contact before a run, the guard during it, and what killed runs left."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.hosts.monitored.source import Known
from hydrotest.load import cassandra as load_cassandra
from hydrotest.load import kafka as load_kafka
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.owned import Leftover, Owned, leftovers
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.run.trials.guard import Watch
from hydrotest.run.workloads.own import OwnThings
from hydrotest.spec.attach import Attachable, attached
from hydrotest.spec.choice import expected
from hydrotest.spec.kafka import CONSUMER_CONNECTIONS
from hydrotest.spec.models import Experiment
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, check_whole
from hydrotest.systems.base import System
from hydrotest.systems.catalogue import make_systems
from hydrotest.units import show_bytes, show_count

DIGITS = 12
"""Of a plan's hash."""
FREE_SHARE_MAX = 0.1
"""Of the free bytes of a node's disk, for all that hydrotest writes there."""
REMOVALS = {"kafka": load_kafka.delete_topic, "cassandra": load_cassandra.drop_keyspace}
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
            facts = [await _contact(system) for system in _systems(experiment, site.hosts).values()]
            for one in facts:
                _check_room(experiment, one)
            machines = {name: await source.known() for name, source in site.sources.items()}
        finally:
            await site.clear()
    named = [(one.system, one.identity, sorted(node.address for node in one.nodes)) for one in facts]
    return Contact(tuple(facts), hashlib.sha256(json.dumps([text, named]).encode()).hexdigest()[:DIGITS], machines)


def _systems(experiment: Experiment, hosts: Mapping[str, Host]) -> dict[str, AttachedSystem]:
    made = make_systems(experiment, hosts, "", Path(), lambda _: None)
    return {name: expected(made[name], AttachedSystem) for name in attached(experiment)}


def _check_room(experiment: Experiment, facts: ClusterFacts) -> None:
    """Raises `BadInputError` where a cluster is too small for what `most` allows."""
    most = attached(experiment)[facts.system].most
    assert most is not None
    free = [disk.free_bytes for node in facts.nodes for disk in node.disks]
    if free and most.disk / len(facts.nodes) > FREE_SHARE_MAX * min(free):
        raise BadInputError(f"`most.disk` of {facts.system}, {show_bytes(most.disk)}, may take more than a tenth of what is free on a node: {show_bytes(min(free))}",
                            "Lower it, with `most.rate` or the windows.")  # fmt: skip
    for name, workload in experiment.workloads.items():
        if facts.system in workload.uses and workload.copies > len(facts.nodes):
            raise BadInputError(f"{name} wants {workload.copies} copies, and {facts.system} has {show_count(len(facts.nodes), 'node')}",
                                f"Write `replication: {len(facts.nodes)}`.")  # fmt: skip
    needed = connections(experiment, facts)
    if needed > most.connections:
        raise BadInputError(f"{needed} connections to {facts.system} are needed; `most.connections` allows {most.connections}",
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


def _allowed_now(spec: Attachable) -> float:
    return allowed_s(spec, datetime.now())


def check_hours(experiment: Experiment, now: datetime) -> None:
    """Raises `BadInputError` at an hour at which a cluster may not be loaded."""
    for name, spec in attached(experiment).items():
        if allowed_s(spec, now) <= 0:
            raise BadInputError(f"{name} may not be loaded now, at {now:%H:%M}: `between` does not allow it", "Run it within these hours.")


async def _contact(system: AttachedSystem) -> ClusterFacts:
    found = [await system.contact(asker) for asker in system.askers]
    check_whole(found[0])
    await system.check_alone(system.askers[0])
    return found[0]


@dataclass(frozen=True)
class Guarded:
    """A cluster under guard, and what is made in it."""

    watch: Watch
    own: OwnThings


def _copies(experiment: Experiment, system: str) -> int:
    """The most copies that a workload of a system has of its data."""
    using = [workload for workload in experiment.workloads.values() if system in workload.uses]
    return max((workload.copies for workload in using), default=1)


async def guard_attached(
    experiment: Experiment, systems: Mapping[str, System], run: str, listener: Listener, teardown: Teardown, sampling: Sampling
) -> Guarded | None:
    """Watches the cluster of an experiment that is there already, and notes what is made in it; None without one. `sampling` takes
    what it shows of itself.

    Raises `GuardBreachedError` where it is not fit for load.
    """
    for name, spec in attached(experiment).items():
        system = expected(systems[name], AttachedSystem)
        assert system.facts is not None
        assert spec.most is not None
        owned = Owned.of_run(run, name, system.facts.identity)
        own, asker = OwnThings(owned), system.askers[0]

        async def close(owned: Owned = owned) -> Sequence[str]:
            owned.close()
            return []

        teardown.add(f"closing the list of what was made in {name}", close)
        teardown.add(f"removing what was made in {name}", partial(own.clear, asker, system.cluster))
        watch = Watch(system, asker, spec.guard, partial(_allowed_now, spec), sampling.looked)
        teardown.add(f"ending the guard of {name}", watch.end)
        listener.phase(f"watching {name} alone for {spec.guard.baseline:.0f} s")
        await watch.begin(sampling.clocks, own, run, _copies(experiment, name))
        worst = max(watch.baseline.p99_ms, default=None)
        listener.say(f"{name} before any load: p99 of a few requests a second {'unknown' if worst is None else f'{worst:.1f} ms'}")
        return Guarded(watch, own)
    return None


@dataclass(frozen=True)
class Removed:
    """What was found of killed runs in a cluster."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    """Not proven to be hydrotest's own: there is something of that name, but the cluster names it otherwise."""


async def remove_leftovers(experiment: Experiment) -> Removed:
    """Removes what killed runs left in the clusters of an experiment, by the identity that was noted when it was made.

    Raises `BadInputError` where a cluster cannot be asked.
    """
    removed: list[str] = []
    kept: list[str] = []
    of = {name: list(leftovers(name)) for name in attached(experiment)}
    if not any(of.values()):
        return Removed((), ())
    with tempfile.TemporaryDirectory() as folder:
        site = await make_host_pool(experiment, Path(folder))
        try:
            for name, system in _systems(experiment, site.hosts).items():
                facts = await system.contact(system.askers[0])
                for left in of[name]:
                    if left.cluster == facts.identity:
                        await _remove(left, system, removed, kept)
        finally:
            await site.clear()
    return Removed(tuple(removed), tuple(kept))


async def identities(system: AttachedSystem, host: Host, names: Sequence[str]) -> dict[str, str | None]:
    """What things are known by, by name; None for one that is not there."""
    what = {"kafka": "topics", "cassandra": "keyspaces"}[system.name]
    question = {"query": "ids", "cluster": system.cluster.wire(), what: list(names)}
    return await ask(host, "query", {system.name: question})  # type: ignore[no-any-return]


async def _remove(left: Leftover, system: AttachedSystem, removed: list[str], kept: list[str]) -> None:
    """Of one run; its list goes when nothing of it is left."""
    host, cluster = system.askers[0], system.cluster
    names = [one.name for one in left.things]
    there: dict[str, str | None] = {}
    if names:
        there = await identities(system, host, names)
    unproven = []
    for one in left.things:
        identity = there[one.name]
        if identity is None:
            continue  # it was never made, or is gone
        if identity != one.identity:
            unproven.append(one.name)
            continue
        try:
            await REMOVALS[system.name](host, cluster, one.name, identity)
        except TrialFailedError as error:
            raise BadInputError(
                f"{one.name} is hydrotest's own, and cannot be removed: {error.message}", "Give the user that right."
            ) from error
        removed.append(one.name)
    kept += unproven
    if not unproven:
        await asyncio.to_thread(left.path.unlink, missing_ok=True)
