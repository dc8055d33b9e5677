"""Makes the archives of systems' classes (`systems.class_archive`): each is started once, on this machine, and ended."""

from __future__ import annotations

import uuid
from functools import partial
from pathlib import Path

from hydrotest.errors import MissingToolError, RunFailedError, TrialFailedError
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.hosts.java import find_java
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.scratch import Scratch, scratch_root
from hydrotest.run.lifecycle.startup import remove_data, start_systems
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.systems.cassandra.system import CassandraSystem
from hydrotest.systems.catalogue import make_systems
from hydrotest.systems.class_archive import archive_of
from hydrotest.systems.fetch import CASSANDRA, KAFKA
from hydrotest.systems.kafka.system import KafkaSystem

ARCHIVED = {KafkaSystem.name: KAFKA, CassandraSystem.name: CASSANDRA}
"""What is worth it: of the time that a machine takes to have all systems up, most is theirs."""
STARTED = """\
name: classes
hosts: {here: {connect: local}}
systems:
  kafka: {hosts: [here], heap: 512 MiB}
  cassandra: {hosts: [here], heap: 512 MiB}
workloads:
  ingest: {kind: kafka-produce}
  store: {kind: cassandra, mix: {write: 1}, keys: "uniform(0, 1K)"}
tests: [levels: {workload: ingest, rates: [1]}, levels: {workload: store, rates: [1]}]
"""


async def archive_classes(name: str, listener: Listener) -> None:
    """Makes a system's archive, if it has none yet that goes with its jars and this machine's JVM. A system whose classes cannot be archived
    works without: that is a warning."""
    try:
        archive = archive_of(find_java().resolve(), ARCHIVED[name].folder)
    except MissingToolError as error:  # its hosts may be other machines
        _warn(listener, name, error)
        return
    if archive.exists():
        return
    listener.say(f"{name}: starting it once, for an archive of its classes")
    # What is there under its own name is whole.
    begun = archive.with_suffix(f".{uuid.uuid4().hex[:8]}")
    try:
        await _record(name, begun, listener)
        begun.rename(archive)
        for other in set(archive.parent.glob(f"classes-{ARCHIVED[name].folder.name}-*.jsa")) - {archive}:
            other.unlink()  # of jars that were fetched before, or of another JVM; a service that has it keeps it
    except (RunFailedError, TrialFailedError, MissingToolError, OSError) as error:
        _warn(listener, name, error)
    finally:
        begun.unlink(missing_ok=True)


def _warn(listener: Listener, name: str, error: Exception) -> None:
    listener.warn(f"{name}: there is no archive of its classes, so it starts more slowly here: {error}")


async def _record(name: str, archive: Path, listener: Listener) -> None:
    document = parse_document(STARTED, Path("classes.yaml"))
    experiment = experiment_of(document, opens_files=False)
    scratch = Scratch(scratch_root(experiment), uuid.uuid4().hex[:8])
    died: list[str] = []
    async with Teardown(listener) as teardown:
        teardown.add("removing data", partial(remove_data, scratch))
        scratch.claim()
        site = await make_host_pool(experiment, scratch.path)
        teardown.add("removing the host", site.clear)
        system = make_systems(experiment, site.hosts, scratch.path.name, scratch.path, died.append)[name]
        # It is written when the JVM ends in good order.
        system.recorded, system.ends_in_order = archive, True
        await start_systems(site, {name: system}, listener, lambda system, seconds: None, teardown)
    if died:
        raise RunFailedError(died[0])
