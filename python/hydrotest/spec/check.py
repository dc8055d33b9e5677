"""What a model alone cannot see: names that must exist, replicas that need hosts, memory that must be there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from hydrotest.errors import BadInputError
from hydrotest.spec.check_fault import check_fault
from hydrotest.spec.check_workloads import check_shares, check_stock, check_workload
from hydrotest.spec.checker import Checker
from hydrotest.spec.hosts import LocalHost, NetnsHost, Share
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.models import AnySystem, Cassandra, Experiment, Hdfs, Kafka, Spark
from hydrotest.spec.tests import Combined, Concurrency, Doubling, Fault, Isolated, Levels, Profile, Saturated, Soak
from hydrotest.spec.workloads import (
    CassandraLoad,
    Command,
    Dataflow,
    HdfsRead,
    HdfsWrite,
    KafkaConsume,
    KafkaProduce,
    RatedWorkload,
    Scheduled,
    SparkPerf,
)
from hydrotest.units import show_bytes

JVM_OVERHEAD_BYTES = 512 << 20
"""What a JVM takes beside its heap: seen 0.4–0.6 GB for Kafka and Cassandra, less for Spark."""

SPARK_HEAP_BYTES_MIN = 480 << 20
"""1.5 times what Spark keeps for itself (UnifiedMemoryManager), and what a collector leaves out of a heap that it tells of."""

SPARK_AUTHENTICATION = frozenset(
    {"spark.authenticate", "spark.authenticate.secret", "spark.authenticate.secret.file", "spark.authenticate.secret.driver.file",
     "spark.authenticate.secret.executor.file", "spark.redaction.regex"}
)  # fmt: skip
"""What cannot be configured; by the last, Spark keeps secrets out of its event log."""

RESERVE_BYTES = 512 << 20
"""Left for the operating system, the generators and the controller."""
EMULATED_RESERVE_BYTES = 128 << 20
"""Left on a host that shares its operating system with others: for generators, and for some page cache."""


def check_references(experiment: Experiment, document: Document) -> None:
    """Raises `BadInputError` for the first name or number that does not fit the rest of the file."""
    checker = Checker(document)
    _check_lab(experiment, checker)
    _check_hosts(experiment, checker)
    _check_ring(experiment, checker)
    _check_spark(experiment, checker)
    for name, system in experiment.systems.present().items():
        addresses = {experiment.listens_at(host) for host in system.hosts}
        if system.port is not None and len(addresses) < len(system.hosts):
            raise checker.fail(("systems", name, "port"), f"{len(system.hosts)} services on one machine cannot share a port",
                               "Leave `port` out: each gets a free one.")  # fmt: skip
    for name in ("kafka", "cassandra"):
        _check_security(experiment, name, checker)
    _check_windows(experiment, checker)
    for name in experiment.workloads:
        check_workload(experiment, name, checker)
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
            _check_jobs(experiment, test, index, checker)
        if isinstance(test, Fault):
            check_fault(experiment, test, index, checker)
        if isinstance(test, Soak):
            _check_soak(experiment, test, index, checker)
        if isinstance(test, Isolated):
            _check_squeeze(experiment, test, index, checker)


def _check_lab(experiment: Experiment, checker: Checker) -> None:
    """An emulated host has a network that this machine itself is not in."""
    emulated = [name for name, host in experiment.hosts.items() if host.connect == "netns"]
    other = [name for name, host in experiment.hosts.items() if host.connect != "netns"]
    for name, host in experiment.hosts.items():
        if experiment.lab is not None and host.type is not None:
            checker.known(host.type, experiment.lab.types, "the type", ("hosts", name, "type"))
    if emulated and other:
        raise checker.fail(("hosts", other[0], "connect"), f"{other[0]} is this machine itself, which cannot reach {emulated[0]}: an emulated "
                           "network is closed", "Use `connect: netns` for all hosts; without cores, memory, disk and network one has all of "
                           "the machine's.")  # fmt: skip


def _check_hosts(experiment: Experiment, checker: Checker) -> None:
    for name, system in experiment.systems.present().items():
        for role, hosts in _roles(system).items():
            for index, host in enumerate(hosts):
                place: Path_ = ("systems", name, role) if role in ("master", "namenode") else ("systems", name, role, index)
                checker.known(host, experiment.hosts, "the host", place)
                if hosts.index(host) != index:
                    raise checker.fail(place, f"the host {host!r} stands twice", "Name it once.")
    first, *others = [(name, host.data) for name, host in experiment.hosts.items() if host.data] or [("", "")]
    for name, data in others:
        if data != first[1]:
            raise checker.fail(("hosts", name, "data"), f"{data} is not {first[1]}, where {first[0]} has it: all hosts of a run keep their data below one directory",
                               "Give `data` once, or the same to each.")  # fmt: skip


def _roles(system: AnySystem) -> dict[str, list[str]]:
    """Hosts by what they are to a system."""
    match system:
        case Spark():
            return {"master": [system.master], "workers": system.workers}
        case Hdfs():
            return {"namenode": [system.namenode], "datanodes": system.datanodes}
        case _:
            return {"hosts": system.hosts}


def _check_ring(experiment: Experiment, checker: Checker) -> None:
    """Cassandra's nodes know each other by their addresses alone."""
    cassandra = experiment.systems.cassandra
    first_at: dict[str, str] = {}
    for index, name in enumerate(cassandra.hosts if cassandra is not None else []):
        address = experiment.listens_at(name)
        other = first_at.setdefault(address, name)
        if other != name:
            raise checker.fail(("systems", "cassandra", "hosts", index), f"{other} and {name} both have the address {address}; Cassandra's "
                               "nodes need one each", f"Give {name} another, e.g. `address: 127.0.0.{index + 1}`.")  # fmt: skip


def _check_spark(experiment: Experiment, checker: Checker) -> None:
    """What Spark would refuse, or wait for in vain, only once all else is up."""
    spark = experiment.systems.spark
    if spark is None:
        return
    if "spark.master" in spark.config:
        raise checker.fail(
            ("systems", "spark", "config", "spark.master"), "hydrotest starts the master itself, and knows its address", "Leave it out."
        )
    for key in sorted(SPARK_AUTHENTICATION & spark.config.keys()):
        raise checker.fail(
            ("systems", "spark", "config", key), "Spark authenticates by a secret that hydrotest makes for the run", "Leave it out."
        )
    for what in ("memory", "driver_memory"):
        if getattr(spark, what) < SPARK_HEAP_BYTES_MIN:
            raise checker.fail(
                ("systems", "spark", what), f"Spark refuses heaps below {SPARK_HEAP_BYTES_MIN >> 20} MiB", "Write e.g. 512 MiB."
            )
    for key in ("spark.jars", "spark.files"):
        for path in filter(None, (one.strip() for one in str(spark.config.get(key, "")).split(","))):
            # Spark takes addresses (hdfs://…, file:…, local:…) and patterns, too; those it looks for itself.
            if re.match(r"\w+:", path) or any(sign in path for sign in "*?[{"):
                continue
            if not Path(path).is_absolute():
                raise checker.fail(("systems", "spark", "config", key), f"{path} is no whole path, and Spark runs in a folder of its own",
                                   f"Write {Path(path).resolve()}.")  # fmt: skip
            if not Path(path).exists():
                raise checker.fail(("systems", "spark", "config", key), f"there is no file {path}", "Mend the path.")
    _check_slots(experiment, spark, checker)


def _check_slots(experiment: Experiment, spark: Spark, checker: Checker) -> None:
    """Cores that no worker has are waited for in vain."""
    wanted = spark.config.get("spark.executor.cores")
    if str(wanted).isdigit() and spark.cores is not None and int(str(wanted)) > spark.cores:
        raise checker.fail(("systems", "spark", "config", "spark.executor.cores"), f"an executor of {wanted} cores finds no worker: each has {spark.cores}",
                           "Give the workers more `cores`, or the executors fewer.")  # fmt: skip
    own = [
        (name, "cores") for name, workload in experiment.workloads.items() if isinstance(workload, SparkPerf) and workload.cores is not None
    ]
    flows = [(name, workload) for name, workload in experiment.workloads.items() if isinstance(workload, Dataflow)]
    own += [(name, "executors") for name, flow in flows if flow.executors is not None]
    own += [(name, "mode") for name, flow in flows if flow.mode == "real-time"]
    for key in ("spark.cores.max", "spark.executor.cores"):
        for name, what in own:
            if key in spark.config and not (what == "cores" and key == "spark.executor.cores"):
                raise checker.fail(("systems", "spark", "config", key), f"it would overrule the `{what}` of {name}", "Leave it out.")


def _check_security(experiment: Experiment, name: str, checker: Checker) -> None:
    system = experiment.systems.present().get(name)
    security = system.security if isinstance(system, Kafka | Cassandra) else None
    if security is None:
        return
    place: Path_ = ("systems", name, "security")
    if security.client_certificates and not security.tls:
        raise checker.fail((*place, "client_certificates"), "certificates are shown when encryption begins", "Add `tls: true`.")
    if not any(value for _, value in security):
        raise checker.fail(place, "it asks for nothing", "Write e.g. {tls: true}, or leave it out.")


def _check_listed(experiment: Experiment, test: Isolated | Combined | Soak | Fault, index: int, checker: Checker) -> None:
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
        if isinstance(workload, HdfsWrite | HdfsRead) and not isinstance(test, Isolated):
            raise checker.fail(where, f"{name}: files are written and read in passes, with nothing beside them", "Use it in `isolated`.")
        if isinstance(workload, Dataflow) and isinstance(test, Combined):
            raise checker.fail(
                where, f"{name}: a dataflow has no part in this test yet", "Use it in `isolated`, `levels`, `soak` or `fault`."
            )
        if isinstance(workload, KafkaConsume | Dataflow) and not isinstance(test, Isolated) and workload.reads not in test.workloads:
            raise checker.fail(where, f"{name} follows what {workload.reads} writes, which is not in this test", f"Add {workload.reads!r}.")


def _check_rates(experiment: Experiment, test: Combined | Soak | Fault, index: int, checker: Checker) -> None:
    """Every workload with a rate needs one: a given rate, or in a combined test its isolated limit from an earlier test."""
    place: Path_ = ("tests", index)
    for name in test.rates:
        checker.known(name, test.workloads, "the workload", ("tests", index, test.test, "rates", name))
        if not isinstance(experiment.workloads[name], KafkaProduce | CassandraLoad):
            raise checker.fail(
                ("tests", index, test.test, "rates", name),
                f"{name} has no rate of its own",
                "Leave it out here; kafka-produce and cassandra workloads have one.",
            )
    pressed = [name for name in test.workloads if isinstance(experiment.workloads[name], KafkaProduce | CassandraLoad)]
    if not pressed:
        raise checker.fail(place, "nothing in this test has a rate", "Add a kafka-produce or a cassandra workload.")
    earlier = {name for before in experiment.tests[:index] if isinstance(before, Isolated) for name in before.workloads}
    lacking = [name for name in pressed if name not in (test.rates or earlier)]
    if lacking:
        remedy = "Give its rate too." if test.rates else f"Put `- isolated: [{', '.join(pressed)}]` before it, or give `rates`."
        raise checker.fail(place, f"no rate is known for {', '.join(lacking)}", remedy)


def _check_jobs(experiment: Experiment, test: Combined | Soak | Fault, index: int, checker: Checker) -> None:
    jobs = [name for name in test.workloads if isinstance(experiment.workloads[name], SparkPerf | Dataflow)]
    if len(jobs) > 1:
        raise checker.fail(("tests", index), f"{' and '.join(jobs)} cannot run at once: an application takes all of Spark's workers",
                           "Put their tests into one workload, or each into a test of its own.")  # fmt: skip


def _check_squeeze(experiment: Experiment, test: Isolated, index: int, checker: Checker) -> None:
    place: Path_ = ("tests", index, test.test, "squeeze")
    shares = any(experiment.has_share(name, resource) for name in experiment.hosts for resource in get_args(Share))
    may = any(isinstance(host, LocalHost) and host.squeeze == "allow" for host in experiment.hosts.values())
    if test.squeeze is not None and not shares and not may:
        raise checker.fail(place, "no host has a share of something that could be squeezed",
                           "Give emulated hosts (`connect: netns`) `cores`, `disk` or `network`, or write `squeeze: allow` at a host, or leave it out.")  # fmt: skip


def _check_soak(experiment: Experiment, test: Soak, index: int, checker: Checker) -> None:
    """A soak's topics lose their old segments while it goes on, so their records must be read as they come."""
    followed = {w.reads for w in (experiment.workloads[name] for name in test.workloads) if isinstance(w, KafkaConsume | Dataflow)}
    for name in test.workloads:
        if isinstance(experiment.workloads[name], KafkaProduce) and name not in followed:
            raise checker.fail(("tests", index), f"nothing reads what {name} writes; in a soak old segments are deleted, and what was in them "
                               "could not be accounted for", "Add a kafka-consume workload that reads it.")  # fmt: skip


def _check_pressed(experiment: Experiment, test: Levels | Concurrency | Saturated, checker: Checker, place: Path_) -> None:
    """Refuses what the client cannot do, rather than ignore it."""
    workload = experiment.workloads[test.workload]
    own = workload.client if isinstance(workload, RatedWorkload) else None
    if own is not None and "driver" in (own, test.client) and test.client not in (None, own):
        raise checker.fail((*place[:-1], "client"), f"a test cannot change {test.workload}'s client from {own} to {test.client}",
                           "Make a workload of its own for each.")  # fmt: skip
    if isinstance(workload, Dataflow) and test.test == "levels" and test.client is None:
        return
    if not isinstance(workload, RatedWorkload):
        raise checker.fail(place, f"{test.workload} has no rate and nothing in flight", "Use it in `isolated` or `combined`.")
    if isinstance(workload, KafkaConsume) and test.test != "saturated":
        lacks = "rate" if test.test == "levels" else "number in flight"
        raise checker.fail(place, f"a kafka-consume workload has no {lacks} of its own", "Use it in `isolated` or `saturated`.")
    if test.client == "stock":
        check_stock(experiment, test.workload, (*place[:-1], "client"), checker)
    if isinstance(workload, KafkaProduce) and experiment.client(test) == "stock" and test.test == "concurrency":
        raise checker.fail(place, "ProducerPerformance takes no number in flight", "Use `levels` or `saturated`, or `client: native`.")


def _check_profile(experiment: Experiment, test: Profile, checker: Checker, place: Path_) -> None:
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


def _check_doubling(experiment: Experiment, test: Doubling, checker: Checker, place: Path_) -> None:
    workload = experiment.workloads[test.workload]
    if not isinstance(workload, RatedWorkload) or workload.client == "stock":
        raise checker.fail(place, f"{test.workload} has no generator of ours to double", "Name a workload that one presses.")
    check_shares(experiment, test.workload, 2 * len(experiment.generator_hosts(test.workload)), place, checker)


WINDOW_S_MIN = 3.0
"""Less says nothing about steadiness: counters are read once a second."""


SOAK_S_MIN = 60.0
"""Less shows no drift: its interval would hold everything."""


def _check_windows(experiment: Experiment, checker: Checker) -> None:
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


def memory_needed(experiment: Experiment) -> dict[str, int]:
    """Bytes that the experiment needs on each host: heaps, JVM overhead, a reserve."""
    needed = {name: RESERVE_BYTES if host.connect == "local" else EMULATED_RESERVE_BYTES for name, host in experiment.hosts.items()}
    for system in experiment.systems.present().values():
        for host, heap in system.heaps():
            needed[host] += heap + JVM_OVERHEAD_BYTES
    return needed


def check_memory(experiment: Experiment, document: Document, memory_bytes: Mapping[str, int]) -> None:
    """Raises `BadInputError` where a host has less memory than the experiment needs. All local
    hosts are one machine, so their needs add up. `memory_bytes` is the total by host."""
    by_host = memory_needed(experiment)
    for name, host in experiment.hosts.items():
        if isinstance(host, NetnsHost) and host.memory is not None and by_host[name] > host.memory:
            raise BadInputError(
                f"{name} needs {show_bytes(by_host[name])} of memory (heaps, {show_bytes(JVM_OVERHEAD_BYTES)} beside each, "
                f"{show_bytes(EMULATED_RESERVE_BYTES)} for the rest) and is given {show_bytes(host.memory)}",
                "Give it more, or its services smaller heaps.", file=document.file, line=document.line(("hosts", name, "memory")),
            )  # fmt: skip
    needed = sum(by_host.values())
    there = min(memory_bytes.values())
    if needed > there:
        present = experiment.systems.present()
        sums = {name: sum(heap + JVM_OVERHEAD_BYTES for _, heap in system.heaps()) for name, system in present.items()}
        largest = max(sums, key=lambda name: sums[name])
        parts = ", ".join(f"{name} {show_bytes(size)}" for name, size in sums.items())
        raise BadInputError(
            f"the experiment needs {show_bytes(needed)} of memory ({parts}, {show_bytes(needed - sum(sums.values()))} beside them); "
            f"this machine has {show_bytes(there)}",
            "Make a heap smaller, or leave a system out.", file=document.file,
            line=document.line(("systems", largest, "memory" if largest == "spark" else "heap")),
        )  # fmt: skip
