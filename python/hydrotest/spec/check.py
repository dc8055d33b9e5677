"""What a model alone cannot see: names that must exist, replicas that need hosts, memory that must be there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from hydrotest.errors import BadInputError
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.models import (
    Cassandra,
    CassandraLoad,
    Command,
    Experiment,
    Kafka,
    KafkaConsume,
    KafkaProduce,
    RatedWorkload,
    Scheduled,
    Spark,
    SparkPerf,
)
from hydrotest.spec.tests import Combined, Concurrency, Doubling, Fault, Isolated, Levels, Profile, Saturated, Soak
from hydrotest.units import show_bytes

RECORD_BYTES_MIN = 10
"""What accounts for a record: checksum, producer, sequence; from 24 bytes on also its intended time."""
RECORD_BYTES_MAX = 1_000_000
"""So that a batch holds at least one."""
BATCH_BYTES_MAX = 1_048_588
"""Kafka's default for message.max.bytes."""
COLUMN_BYTES_MIN = 24
"""What accounts for a row."""

JVM_OVERHEAD_BYTES = 512 << 20
"""What a JVM takes beside its heap: seen 0.4–0.6 GB for Kafka and Cassandra, less for Spark."""

RESERVE_BYTES = 512 << 20
"""Left for the operating system, the generators and the controller."""


SHARES_MAX = 64
"""Threads of all generators of a workload: as many ids are set aside for each trial."""

REPLICAS_NEEDED = {"TWO": 2, "THREE": 3}
"""Consistency levels that no smaller replication can ever answer; the others follow the replication."""


class _Checker:
    def __init__(self, document: Document) -> None:
        self.document = document

    def fail(self, path: Path_, message: str, hint: str | None = None) -> BadInputError:
        return BadInputError(message, hint, file=self.document.file, line=self.document.line(path))

    def known(self, name: str, among: Iterable[str], what: str, path: Path_) -> None:
        names = list(among)
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names) or 'none'}."
            raise self.fail(path, f"{what} {name!r} is not there", hint)


def check_references(experiment: Experiment, document: Document) -> None:
    """Raises `BadInputError` for the first name or number that does not fit the rest of the file."""
    checker = _Checker(document)
    _check_hosts(experiment, checker)
    cassandra = experiment.systems.cassandra
    if cassandra is not None and len(cassandra.hosts) > 1:
        place = ("systems", "cassandra", "hosts")
        raise checker.fail(place, "several Cassandra nodes need hosts with addresses of their own", "This version runs one node.")
    for name, system in experiment.systems.present().items():
        if system.port is not None and len(system.hosts) > 1:
            raise checker.fail(("systems", name, "port"), f"{len(system.hosts)} services on one machine cannot share a port",
                               "Leave `port` out: each gets a free one.")  # fmt: skip
    for name in ("kafka", "cassandra"):
        _check_security(experiment, name, checker)
    _check_windows(experiment, checker)
    for name in experiment.workloads:
        _check_workload(experiment, name, checker)
    for name in experiment.objectives:
        checker.known(name, experiment.workloads, "the workload", ("objectives", name))
    for index, test in enumerate(experiment.tests):
        if isinstance(test, Isolated | Combined | Soak | Fault):
            _check_listed(experiment, test, index, checker)
        else:
            named: Path_ = ("tests", index, test.test, "workload")
            checker.known(test.workload, experiment.workloads, "the workload", named)
            if isinstance(test, Profile):
                _check_profile(experiment, test, checker, named)
            elif isinstance(test, Doubling):
                _check_doubling(experiment, test, checker, named)
            else:
                _check_pressed(experiment, test, checker, named)
        if isinstance(test, Combined | Soak | Fault):
            _check_rates(experiment, test, index, checker)
        if isinstance(test, Fault):
            _check_fault(experiment, test, index, checker)
        if isinstance(test, Soak):
            _check_soak(experiment, test, index, checker)


def _check_hosts(experiment: Experiment, checker: _Checker) -> None:
    for name, system in experiment.systems.present().items():
        roles = {"master": [system.master], "workers": system.workers} if isinstance(system, Spark) else {"hosts": system.hosts}
        for role, hosts in roles.items():
            for index, host in enumerate(hosts):
                place: Path_ = ("systems", name, role) if role == "master" else ("systems", name, role, index)
                checker.known(host, experiment.hosts, "the host", place)
                if hosts.index(host) != index:
                    raise checker.fail(place, f"the host {host!r} stands twice", "Name it once.")


def _check_security(experiment: Experiment, name: str, checker: _Checker) -> None:
    system = experiment.systems.present().get(name)
    security = system.security if isinstance(system, Kafka | Cassandra) else None
    if security is None:
        return
    place: Path_ = ("systems", name, "security")
    if security.client_certificates and not security.tls:
        raise checker.fail((*place, "client_certificates"), "certificates are shown when encryption begins", "Add `tls: true`.")
    if not any(value for _, value in security):
        raise checker.fail(place, "it asks for nothing", "Write e.g. {tls: true}, or leave it out.")


def _check_listed(experiment: Experiment, test: Isolated | Combined | Soak | Fault, index: int, checker: _Checker) -> None:
    for at, name in enumerate(test.workloads):
        short: Path_ = ("tests", index, test.test, at)
        where: Path_ = short if short in checker.document.lines else ("tests", index, test.test, "workloads", at)
        checker.known(name, experiment.workloads, "the workload", where)
        workload = experiment.workloads[name]
        if isinstance(workload, RatedWorkload) and workload.client == "stock":
            raise checker.fail(where, f"{name}: a stock client keeps no schedule, so it cannot press in this test",
                               "Use `levels`, `concurrency` or `saturated` with it.")  # fmt: skip
        if isinstance(workload, Command) and isinstance(test, Isolated):
            raise checker.fail(where, f"{name}: a command has no limit and no answer of its own", "Use it in `combined`.")
        if isinstance(workload, KafkaConsume) and not isinstance(test, Isolated) and workload.reads not in test.workloads:
            raise checker.fail(where, f"{name} follows what {workload.reads} writes, which is not in this test", f"Add {workload.reads!r}.")


def _check_rates(experiment: Experiment, test: Combined | Soak | Fault, index: int, checker: _Checker) -> None:
    """Every workload with a rate needs one: a given rate, or in a combined test its isolated limit from an earlier test."""
    place: Path_ = ("tests", index)
    for name in test.rates:
        checker.known(name, test.workloads, "the workload", ("tests", index, test.test, "rates", name))
        if not isinstance(experiment.workloads[name], KafkaProduce | CassandraLoad):
            raise checker.fail(("tests", index, test.test, "rates", name), f"{name} has no rate of its own")
    pressed = [name for name in test.workloads if isinstance(experiment.workloads[name], KafkaProduce | CassandraLoad)]
    if not pressed:
        raise checker.fail(place, "nothing in this test has a rate", "Add a kafka-produce or a cassandra workload.")
    earlier = {name for before in experiment.tests[:index] if isinstance(before, Isolated) for name in before.workloads}
    lacking = [name for name in pressed if name not in (test.rates or earlier)]
    if lacking:
        remedy = "Give its rate too." if test.rates else f"Put `- isolated: [{', '.join(pressed)}]` before it, or give `rates`."
        raise checker.fail(place, f"no rate is known for {', '.join(lacking)}", remedy)


def _check_soak(experiment: Experiment, test: Soak, index: int, checker: _Checker) -> None:
    """A soak's topics lose their old segments while it goes on, so their records must be read as they come."""
    followed = {w.reads for w in (experiment.workloads[name] for name in test.workloads) if isinstance(w, KafkaConsume)}
    for name in test.workloads:
        if isinstance(experiment.workloads[name], KafkaProduce) and name not in followed:
            raise checker.fail(("tests", index), f"nothing reads what {name} writes; in a soak old segments are deleted, and what was in them "
                               "could not be accounted for", "Add a kafka-consume workload that reads it.")  # fmt: skip


def service_names(experiment: Experiment) -> list[str]:
    """What the services of the experiment's systems are called."""
    names = []
    for name, system in experiment.systems.present().items():
        if isinstance(system, Spark):
            names += ["spark-master", *(f"spark-worker-{index}" for index in range(len(system.workers)))]
        else:
            names += [f"{name}-{index}" for index in range(len(system.hosts))]
    return names


def _check_fault(experiment: Experiment, test: Fault, index: int, checker: _Checker) -> None:
    checker.known(test.service, service_names(experiment), "the service", ("tests", index, test.test, "service"))
    if test.at < FAULT_BEFORE_S_MIN:
        raise checker.fail(("tests", index, test.test, "at"), f"{test.at:g} s do not show how it was before",
                           f"Take at least {FAULT_BEFORE_S_MIN:g} s.")  # fmt: skip
    if test.at + test.down + FAULT_AFTER_S_MIN > test.duration:
        raise checker.fail(("tests", index), f"{test.at:g} s before and {test.down:g} s without the service leave no time to catch up in "
                           f"{test.duration:g} s", f"Let `duration` be {test.at + test.down + FAULT_AFTER_S_MIN:g} s at least.")  # fmt: skip


def _check_pressed(experiment: Experiment, test: Levels | Concurrency | Saturated, checker: _Checker, place: Path_) -> None:
    """Refuses what the client cannot do, rather than ignore it."""
    workload = experiment.workloads[test.workload]
    own = workload.client if isinstance(workload, RatedWorkload) else None
    if own is not None and "driver" in (own, test.client) and test.client not in (None, own):
        raise checker.fail((*place[:-1], "client"), f"a test cannot change {test.workload}'s client from {own} to {test.client}",
                           "Make a workload of its own for each.")  # fmt: skip
    if not isinstance(workload, RatedWorkload):
        raise checker.fail(place, f"{test.workload} has no rate and nothing in flight", "Use it in `isolated` or `combined`.")
    if isinstance(workload, KafkaConsume) and test.test != "saturated":
        lacks = "rate" if test.test == "levels" else "number in flight"
        raise checker.fail(place, f"a kafka-consume workload has no {lacks} of its own", "Use it in `isolated` or `saturated`.")
    if test.client == "stock":
        _check_stock(experiment, test.workload, (*place[:-1], "client"), checker)
    if isinstance(workload, KafkaProduce) and experiment.client(test) == "stock" and test.test == "concurrency":
        raise checker.fail(place, "ProducerPerformance takes no number in flight", "Use `levels` or `saturated`, or `client: native`.")


def _check_profile(experiment: Experiment, test: Profile, checker: _Checker, place: Path_) -> None:
    workload = experiment.workloads[test.workload]
    if not isinstance(workload, Scheduled):
        raise checker.fail(place, f"{test.workload} has no schedule of its own", "Name a kafka-produce or a cassandra workload.")
    if workload.client == "stock":
        raise checker.fail(place, f"{test.workload}: a stock client's rate does not change", "Use `levels` with it.")
    if workload.arrivals.shape != "even":
        raise checker.fail(
            place, f"{test.workload} has `arrivals`; the operations of a profile come evenly", "Make a workload of its own for it."
        )
    for at, stretch in enumerate(test.stretches):
        if stretch.duration != round(stretch.duration):
            raise checker.fail((*place[:-1], "stretches", at, "duration"), f"{stretch.duration:g} s: latencies are kept by the second",
                               "Take whole seconds.")  # fmt: skip
        if stretch.duration < WINDOW_S_MIN:
            raise checker.fail(
                (*place[:-1], "stretches", at, "duration"), f"{stretch.duration:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s."
            )


def _check_doubling(experiment: Experiment, test: Doubling, checker: _Checker, place: Path_) -> None:
    workload = experiment.workloads[test.workload]
    if not isinstance(workload, RatedWorkload) or workload.client == "stock":
        raise checker.fail(place, f"{test.workload} has no generator of ours to double", "Name a workload that one presses.")
    _check_shares(experiment, test.workload, 2 * len(experiment.generator_hosts(test.workload)), place, checker)


WINDOW_S_MIN = 3.0
"""Less says nothing about steadiness: counters are read once a second."""


FAULT_BEFORE_S_MIN = 5.0
"""The level before the fault is what catching up is measured against."""
FAULT_AFTER_S_MIN = 20.0
"""A JVM service takes most of this to come up."""


SOAK_S_MIN = 60.0
"""Less shows no drift: its interval would hold everything."""


def _check_windows(experiment: Experiment, checker: _Checker) -> None:
    if experiment.search.window < WINDOW_S_MIN:
        raise checker.fail(
            ("search", "window"), f"a window of {experiment.search.window:g} s is too short", f"Take at least {WINDOW_S_MIN:g} s."
        )
    if experiment.search.saturated < WINDOW_S_MIN:
        raise checker.fail(
            ("search", "saturated"), f"{experiment.search.saturated:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s."
        )
    for index, test in enumerate(experiment.tests):
        if isinstance(test, Isolated | Combined | Soak | Fault):
            if len(set(test.workloads)) < len(test.workloads):
                raise checker.fail(("tests", index), "a workload stands twice in one test", "Name each once.")
            if isinstance(test, Combined) and test.window < WINDOW_S_MIN:
                raise checker.fail(
                    ("tests", index, test.test, "window"), f"{test.window:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s."
                )
            if isinstance(test, Soak) and test.duration < SOAK_S_MIN:
                raise checker.fail(
                    ("tests", index, test.test, "duration"),
                    f"{test.duration:g} s are no soak",
                    f"Take at least {SOAK_S_MIN:g} s, or `levels`.",
                )
        elif test.duration < WINDOW_S_MIN:
            raise checker.fail(
                ("tests", index, test.test, "duration"), f"{test.duration:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s."
            )


def _check_workload(experiment: Experiment, name: str, checker: _Checker) -> None:
    workload = experiment.workloads[name]
    place: Path_ = ("workloads", name)
    if isinstance(workload, RatedWorkload) and workload.client == "driver" and not isinstance(workload, CassandraLoad):
        raise checker.fail((*place, "client"), "only Cassandra workloads can be carried by a driver", "Write `native` or `stock`.")
    if isinstance(workload, RatedWorkload) and workload.client == "stock":
        _check_stock(experiment, name, (*place, "client"), checker)
    _check_generators(experiment, name, checker)
    if isinstance(workload, KafkaProduce):
        kafka = experiment.systems.kafka
        if kafka is None:
            raise checker.fail(place, f"{name} needs the system kafka", "Add it under `systems`.")
        if workload.replication > len(kafka.hosts):
            raise checker.fail(
                (*place, "replication"), f"replication {workload.replication} needs as many brokers; there are {len(kafka.hosts)}"
            )
        _check_records(workload, kafka, place, checker)
    elif isinstance(workload, KafkaConsume):
        checker.known(workload.reads, experiment.workloads, "the workload", (*place, "reads"))
        if not isinstance(experiment.workloads[workload.reads], KafkaProduce):
            raise checker.fail((*place, "reads"), f"{workload.reads!r} writes no topic", "Name a kafka-produce workload.")
    elif isinstance(workload, SparkPerf):
        if experiment.systems.spark is None:
            raise checker.fail(place, f"{name} needs the system spark", "Add it under `systems`.")
        if len(set(workload.tests)) < len(workload.tests):
            raise checker.fail((*place, "tests"), "a test stands twice", "Name each once.")
    elif isinstance(workload, CassandraLoad):
        if experiment.systems.cassandra is None:
            raise checker.fail(place, f"{name} needs the system cassandra", "Add it under `systems`.")
        if workload.replication > len(experiment.systems.cassandra.hosts):
            raise checker.fail(
                (*place, "replication"),
                f"replication {workload.replication} needs as many nodes; there are {len(experiment.systems.cassandra.hosts)}",
            )
        needed = REPLICAS_NEEDED.get(workload.consistency, 1)
        if workload.replication < needed:
            raise checker.fail(
                (*place, "consistency"),
                f"consistency {workload.consistency} needs {needed} replicas of each row; replication is {workload.replication}",
                "Raise `replication`, or take a weaker level.",
            )
        _check_content(workload, place, checker)
        if workload.column_size < COLUMN_BYTES_MIN:
            raise checker.fail((*place, "column_size"), f"columns of {workload.column_size} B are too small to account for",
                               f"Take at least {COLUMN_BYTES_MIN} B.")  # fmt: skip


def _check_content(workload: CassandraLoad, place: Path_, checker: _Checker) -> None:
    """What is pressed with: the default table by its mix, or tables and statements of the user's own."""
    if not workload.statements:
        if workload.mix is None:
            raise checker.fail(place, "there is neither a mix nor a statement", "Write e.g. `mix: {write: 1, read: 3}`.")
        if workload.mix.write + workload.mix.read <= 0:
            raise checker.fail((*place, "mix"), "the mix is empty", "Write e.g. {write: 1, read: 3}.")
        for key in ("table", "values", "populate"):
            if getattr(workload, key):
                raise checker.fail((*place, key), f"`{key}` is about statements of your own, and there are none", "Add `statements`.")
        return
    if workload.mix is not None:
        raise checker.fail((*place, "mix"), "statements of your own have weights, and no mix", "Leave one of them out.")
    if not workload.table:
        raise checker.fail((*place, "statements"), "there is no table for them", "Add `table: CREATE TABLE …`.")
    if workload.client != "native":
        raise checker.fail((*place, "client"), f"`client: {workload.client}` knows the default table only", "Leave it out.")
    for create in workload.table:
        if create.split(None, 1)[0].upper() != "CREATE":
            raise checker.fail((*place, "table"), f"{create!r} does not begin with CREATE", "Write CREATE TABLE, TYPE or INDEX.")
    if all(statement.weight == 0 for statement in workload.statements.values()):
        raise checker.fail((*place, "statements"), "no statement has a weight above 0", "Give one a weight.")
    if workload.populate is not None:
        checker.known(workload.populate, workload.statements, "the statement", (*place, "populate"))


def _check_generators(experiment: Experiment, name: str, checker: _Checker) -> None:
    """Where its generators run, and whether there is a share for each."""
    workload = experiment.workloads[name]
    place: Path_ = ("workloads", name)
    for host in workload.on:
        checker.known(host, experiment.hosts, "the host", (*place, "on"))
    if not isinstance(workload, RatedWorkload):
        if len(workload.on) > 1:
            raise checker.fail((*place, "on"), f"{name} is started from one host", "Name one.")
        return
    count = len(experiment.generator_hosts(name))
    at: Path_ = (*place, "generators" if workload.generators is not None else "on")
    if count < len(workload.on):
        raise checker.fail(
            at, f"{len(workload.on)} hosts and {count} generators: some would have none", "Leave `generators` out, or raise it."
        )
    _check_shares(experiment, name, count, at, checker)


def _check_shares(experiment: Experiment, name: str, count: int, place: Path_, checker: _Checker) -> None:
    """Whether so many generators each have something to do."""
    workload = experiment.workloads[name]
    if isinstance(workload, Scheduled) and count * workload.threads > SHARES_MAX:
        raise checker.fail(place, f"{count} generators of {workload.threads} threads are more than {SHARES_MAX} threads", "Take fewer.")
    source = experiment.workloads.get(workload.reads) if isinstance(workload, KafkaConsume) else None
    if isinstance(source, KafkaProduce) and count > source.partitions:
        raise checker.fail(place, f"{count} consumers share {source.partitions} partitions: some would have none", "Take fewer.")


def _check_stock(experiment: Experiment, name: str, place: Path_, checker: _Checker) -> None:
    """Refuses what a system's own tool cannot do, rather than leave it out. `place` is where the tool was asked for."""
    workload = experiment.workloads[name]
    if isinstance(workload, Scheduled) and workload.arrivals.shape != "even":
        raise checker.fail(
            place, f"{name} has `arrivals`; a stock client's operations come evenly, or not by schedule", "Leave one of them out."
        )
    if len(experiment.generator_hosts(name)) > 1:
        raise checker.fail(place, f"{name} has several generators; a stock client is one process", "Leave one of them out.")
    if isinstance(workload, KafkaProduce):
        shaped = [key for key in ("key", "headers", "transactions") if getattr(workload, key) is not None]
        shaped += ["record_size"] if workload.record_size.size > 1 else []
        shaped += ["compressible"] if workload.compressible > 0 else []
        if shaped:
            what = "sizes of record" if shaped[0] == "record_size" else shaped[0]
            raise checker.fail(place, f"{name}: ProducerPerformance has no {what}", "Leave it out, or `client: stock`.")
    cassandra = experiment.systems.cassandra
    if isinstance(workload, CassandraLoad) and cassandra is not None and cassandra.security is not None:
        raise checker.fail(place, "cassandra-stress takes a password on its command line only, where everybody can read it",
                           "Leave `security` out, or `client: stock`.")  # fmt: skip


def _check_records(workload: KafkaProduce, kafka: Kafka, place: Path_, checker: _Checker) -> None:
    if workload.record_size.low < RECORD_BYTES_MIN:
        raise checker.fail((*place, "record_size"), f"records of {workload.record_size.low} B are too small to account for",
                           f"Take at least {RECORD_BYTES_MIN} B.")  # fmt: skip
    largest = workload.record_size.high - 1 + workload.beside_value_bytes
    if largest > RECORD_BYTES_MAX:
        raise checker.fail((*place, "record_size"), f"records of {largest:,} B, with key and headers, are larger than brokers take",
                           f"Take at most {RECORD_BYTES_MAX:,} B.")  # fmt: skip
    if workload.batch_size > BATCH_BYTES_MAX and "message.max.bytes" not in kafka.config:
        raise checker.fail((*place, "batch_size"), f"batches of {workload.batch_size:,} B are larger than brokers take if not told otherwise",
                           f"Take at most {BATCH_BYTES_MAX:,} B, or set message.max.bytes in kafka's `config`.")  # fmt: skip
    if workload.is_idempotent and workload.acks != -1:
        raise checker.fail((*place, "idempotent"), "an idempotent producer needs the acknowledgement of all replicas", "Write `acks: all`.")
    if workload.transactions is not None and not workload.is_idempotent:
        raise checker.fail((*place, "transactions"), "a transactional producer is idempotent too",
                           "Write `acks: all`, and leave `idempotent` out.")  # fmt: skip


def memory_needed(experiment: Experiment) -> dict[str, int]:
    """Bytes that the experiment needs on each host: heaps, JVM overhead, a reserve."""
    needed = dict.fromkeys(experiment.hosts, RESERVE_BYTES)
    for system in experiment.systems.present().values():
        for host, heap in system.heaps():
            needed[host] += heap + JVM_OVERHEAD_BYTES
    return needed


def check_memory(experiment: Experiment, document: Document, memory_bytes: Mapping[str, int]) -> None:
    """Raises `BadInputError` where a host has less memory than the experiment needs. All local
    hosts are one machine, so their needs add up. `memory_bytes` is the total by host."""
    needed = sum(memory_needed(experiment).values())
    there = min(memory_bytes.values())
    if needed > there:
        present = experiment.systems.present()
        sums = {name: sum(heap + JVM_OVERHEAD_BYTES for _, heap in system.heaps()) for name, system in present.items()}
        largest = max(sums, key=lambda name: sums[name])
        parts = ", ".join(f"{name} {show_bytes(size)}" for name, size in sums.items())
        raise BadInputError(
            f"the experiment needs {show_bytes(needed)} of memory ({parts}, {show_bytes(RESERVE_BYTES)} beside them on each host); "
            f"this machine has {show_bytes(there)}",
            "Make a heap smaller, or leave a system out.", file=document.file,
            line=document.line(("systems", largest, "memory" if largest == "spark" else "heap")),
        )  # fmt: skip
