"""The experiment file as frozen models. Each field's description gives its meaning. Cross-checks between
parts are in `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from hydrotest.kinds.registry import SYSTEMS, TESTS, WORKLOADS
from hydrotest.percentiles import NAMES, PERCENTILES
from hydrotest.spec.base import Client, Model
from hydrotest.spec.choice import EachOf, OneOf, narrowed
from hydrotest.spec.fields import DurationS, Fraction, Name
from hydrotest.spec.hosts import GivenResource, Host, Placed
from hydrotest.spec.scale import Lab
from hydrotest.spec.step import SEARCH_TRIALS_MIN
from hydrotest.spec.system import System
from hydrotest.spec.tests.base import Test
from hydrotest.spec.tests.levels import Pressed
from hydrotest.spec.workload import Workload
from hydrotest.verdicts.causes import Provable

T = TypeVar("T", bound=Test)
S = TypeVar("S", bound=System)
W = TypeVar("W", bound=Workload)
H = TypeVar("H", bound=Placed)


class Systems(Model):
    """The systems under test, with a key for each registered kind."""

    def present(self) -> dict[str, System]:
        """The systems of the experiment by name, in start order."""
        every: dict[str, System | None] = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: system for name, system in every.items() if system is not None}

    def of(self, kind: type[S]) -> S | None:
        """The system of that kind."""
        return next((found for system in self.present().values() if (found := narrowed(system, kind)) is not None), None)


if TYPE_CHECKING:

    class _Bounds(Model):
        """A bound of each percentile."""

else:
    _Bounds = create_model(
        "_Bounds", __base__=Model, **{one.name: (DurationS | None, Field(None, description=f"Longest acceptable {one.words}.")) for one in PERCENTILES}
    )  # fmt: skip


class Objective(_Bounds):
    """What is acceptable. Latencies are response times from the intended start. `isolated`, `combined`,
    `levels` and `soak` tests judge by it; other tests only measure."""

    total: DurationS | None = Field(None, description="Longest acceptable time of one run of a batch job's test.")
    errors: int = Field(0, ge=0, description="Acceptable number of failed operations in a trial.")
    loss: int = Field(0, ge=0, description="Acceptable number of lost records in a trial.")

    def latencies_ms(self) -> dict[str, float]:
        """The latency bounds given, in milliseconds, by percentile name."""
        given: dict[str, float | None] = {name: getattr(self, name) for name in NAMES}
        return {name: bound * 1e3 for name, bound in given.items() if bound is not None}


class Search(Model):
    """How limits are searched."""

    precision: Fraction = Field(
        0.05, description="A search ends when the 90 % interval of its limit reaches at most so far to each side, as a share of the limit."
    )
    window: DurationS = Field(10.0, description="Measured window of a trial.")
    warm_up: DurationS = Field(2.0, description="Warm-up before each window; its figures are discarded.")
    saturated: DurationS = Field(6.0, description="Measured window of the saturated rate.")
    repeats: int = Field(
        3, ge=3, le=9, description="Repeats of what is not searched: catch-up rates, times of batch tests, passes over files."
    )
    trials: int = Field(
        40, ge=SEARCH_TRIALS_MIN, le=200, description="Most trials of one search. One that ends here gives a wider interval."
    )
    confidence: Fraction = Field(0.9, description="Share of the windows that hold at the safe rate.")


class WarmUp(Model):
    """How the systems are warmed before anything is measured."""

    least: DurationS = Field(
        20.0,
        description="Each workload warms its system for at least this long; what a `kafka-consume` follows warms it once more, with it.",
    )
    most: DurationS = Field(
        90.0,
        description="Each workload warms its system for at most this long, steady or not. Cassandra has taken up to 130 s on two cores.",
    )


def _tests(value: Any) -> Any:
    """`- isolated: [a, b]` and `- levels: {…}` become one mapping with its kind."""
    if not isinstance(value, list):
        return value
    out = []
    for item in value:
        if not isinstance(item, dict) or len(item) != 1:
            keys = ", ".join(f"`{key}`" for key in item) if isinstance(item, dict) else "none"
            raise ValueError(
                f"each test is one key with its settings below it, e.g. `- isolated: [ingest]`; here are {keys} "
                "(settings need four more spaces than their test's dash)"
            )
        ((kind, body),) = item.items()
        if kind in TESTS and TESTS[kind].is_short and isinstance(body, list):
            body = {"workloads": body}
        if kind not in TESTS:
            body = {}  # That it is not known goes before what it lacks.
        if not isinstance(body, dict):
            raise ValueError(f"the test {kind!r} needs settings, e.g. `- levels: {{workload: ingest, rates: [100K]}}`")
        out.append({"test": kind, **body})
    return out


class Experiment(Model):
    """One experiment file."""

    model_config = ConfigDict(defer_build=True)
    """Kinds are loaded when the first file is read, so a flawed extension is reported like any other flaw."""

    name: Name = Field(description="Names the run's folder, topics and keyspaces.")
    hosts: dict[Name, Host] = Field(min_length=1, description="The machines, by name.")
    systems: Annotated[Systems, EachOf(SYSTEMS)] = Field(
        description="The systems under test; each is started for the run and stopped at its end."
    )
    workloads: dict[Name, Annotated[Workload, OneOf(WORKLOADS, "kind")]] = Field(min_length=1, description="What applies load, by name.")
    objectives: dict[Name, Objective] = Field(default_factory=dict, description="What is acceptable, by workload.")
    tests: Annotated[list[Annotated[Test, OneOf(TESTS, "test")]], BeforeValidator(_tests)] = Field(
        min_length=1, description="The tests, carried out in this order."
    )
    search: Search = Field(default_factory=Search, description="How limits are searched.")
    warm_up: WarmUp = Field(default_factory=WarmUp, description="How systems are warmed before anything is measured.")
    published: Literal["packet-2016", "scribengin-2016"] | None = Field(
        None, description="Published results that the report compares with this run's."
    )
    lab: Lab | None = Field(None, description="Types of machine that emulated hosts are modelled on, and how much smaller the hosts are.")

    @property
    def needs_root(self) -> bool:
        """True if a run does not begin without root: it emulates hosts, or must take cores of this machine away."""
        squeezes = any(test.needs_squeeze for test in self.tests)
        return any(host.is_emulated or (squeezes and host.needs_root_to_squeeze) for host in self.hosts.values())

    @property
    def needs_java_here(self) -> bool:
        """True if one of its systems runs Java on this machine."""
        started = [name for name, system in self.systems.present().items() if not system.is_attached]
        return any(SYSTEMS[name].needs_java for name in started) and not all(host.is_remote for host in self.hosts.values())

    def objective(self, workload: str) -> Objective:
        """The workload's objective; an empty one bounds only errors and loss."""
        return self.objectives.get(workload, Objective())

    def tests_of(self, kind: type[T]) -> list[tuple[int, T]]:
        """The tests of one kind, each with its place among all."""
        return [(index, found) for index, test in enumerate(self.tests) if (found := narrowed(test, kind)) is not None]

    def workloads_of(self, kind: type[W]) -> list[tuple[str, W]]:
        """The workloads of one kind, by name."""
        return [(name, found) for name, workload in self.workloads.items() if (found := narrowed(workload, kind)) is not None]

    def workload(self, name: str | None, kind: type[W]) -> W | None:
        """The workload of that name, if it is of that kind."""
        return narrowed(self.workloads.get(name or ""), kind)

    def hosts_of(self, kind: type[H]) -> dict[str, H]:
        """The hosts of one kind, by name."""
        return {name: found for name, host in self.hosts.items() if (found := narrowed(host, kind)) is not None}

    def client(self, test: Pressed) -> Client:
        """The client that applies the load in a test."""
        return test.client or self.workloads[test.workload].own_client or "native"

    def generator_hosts(self, workload: str) -> list[str]:
        """The host of each of the workload's generators; of a job or a command, the one that it is started
        from."""
        spec = self.workloads[workload]
        first = next((name for name, host in self.hosts.items() if not host.is_monitored), next(iter(self.hosts)))
        hosts = spec.on or [first]
        return [hosts[number % len(hosts)] for number in range(spec.generator_count or len(hosts))]

    def generators_apart(self, workload: str) -> list[str]:
        """The hosts of its generators whose machines run no system."""
        systems = {self._machine(host) for system in self.systems.present().values() for host in system.hosts}
        return [host for host in self.generator_hosts(workload) if self._machine(host) not in systems]

    def has_share(self, name: str, resource: GivenResource) -> bool:
        """True if an emulated host has its own share of the resource, from its settings or from its machine
        type."""
        host = self.hosts[name]
        machine = self.lab.types.get(host.type) if self.lab is not None and host.type is not None else None
        return host.has_share(resource, machine)

    def provable_by(self, name: str, resource: str) -> Provable | None:
        """What a file needs so that a squeeze can show whether a host's `cpu`, `disk` or `network` binds;
        None if none can."""
        host = self.hosts[name]
        shares: dict[str, GivenResource] = {"cpu": "cores", "disk": "disk", "network": "network"}
        if resource in shares and self.has_share(name, shares[resource]):
            return Provable()
        if resource == "cpu" and host.may_run_cpu_hog is not None:
            return Provable(None if host.may_run_cpu_hog else name)
        return None

    def peers(self, workload: str) -> list[str]:
        """The hosts that do the same work in the system under load: Spark's workers, HDFS's DataNodes,
        otherwise all."""
        return self.systems.present()[self.workloads[workload].presses_on or ""].peers

    def machines(self, workload: str) -> dict[str, set[str]]:
        """The system under load (a program of the user's own counts as one) and its machines. All `local`
        hosts are one machine."""
        name = self.workloads[workload].presses_on
        hosts = self.generator_hosts(workload) if name is None else self.systems.present()[name].hosts
        return {name or workload: {self._machine(host) for host in hosts}}

    def needs(self, workload: str) -> list[str]:
        """The hosts that it cannot run without: those of all systems that it uses, and of its generators. A
        dataflow also needs those of its source."""
        spec = self.workloads[workload]
        systems = [host for name, system in self.systems.present().items() if name in spec.uses for host in system.hosts]
        running = [workload, spec.source] if spec.is_fed and spec.source is not None else [workload]
        return list(dict.fromkeys([*systems, *(host for one in running for host in self.generator_hosts(one))]))

    def listens_at(self, host: str) -> str:
        """What identifies a host's services: its address, or its name if it has its own network."""
        return self.hosts[host].listens_at(host)

    def _machine(self, host: str) -> str:
        return self.hosts[host].machine(host)
