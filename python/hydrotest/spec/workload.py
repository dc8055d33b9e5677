"""What every workload has in the experiment file, and what planning, running and judging derive from it."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.kinds.registry import WORKLOADS
from hydrotest.spec.arrivals import Arrivals, ArrivalsField
from hydrotest.spec.base import Client, Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.distribution import Distribution
from hydrotest.spec.fields import Count, NamesField
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import OVERHEAD_S, SEARCH_TRIALS_MIN, Step, Undecided

if TYPE_CHECKING:
    from hydrotest.spec.attach import Most
    from hydrotest.spec.models import Experiment

SHARES_MAX = 64
"""Most threads of all generators of a workload; so many ids are reserved for each trial."""


class LimitBy(StrEnum):
    """How an `isolated` test finds a workload's limit."""

    SEARCH = "search"
    """The rate that half of the windows hold, by a search."""
    CATCH_UP = "catch-up"
    """How fast it reads what was written before."""
    TIMES = "times"
    """How long each of its tests takes."""
    PASSES = "passes"
    """Throughput with ever more files at once."""
    NOTHING = "nothing"
    """It has no limit of its own."""


Refusal = tuple[str, str]
"""Why something is impossible, and what to write instead."""


class Workload(Model):
    """What every workload has."""

    on: NamesField = Field(default_factory=list, description="Host or hosts that run the client; the first host if not given.")

    limit_by: ClassVar[LimitBy] = LimitBy.SEARCH
    is_scheduled: ClassVar[bool] = False
    """Its operations follow a schedule of their own, so tests give it a rate."""
    is_follower: ClassVar[bool] = False
    """Reads what its source writes, as it is written."""
    checks_records: ClassVar[bool] = True
    """As a follower it checks each record that it reads."""
    is_fed: ClassVar[bool] = False
    """Its source applies load in each of its trials: levels are its source's rates."""
    is_job: ClassVar[bool] = False
    """Takes all of Spark's workers."""
    is_warmed: ClassVar[bool] = True
    """Warms its system up before it is measured."""
    is_squeezable: ClassVar[bool] = False
    """Runs for as long as needed, so that its hosts' resources can be reduced meanwhile."""
    is_mix: ClassVar[bool] = False
    """Has several kinds of operation, measured separately."""
    needs_reader: ClassVar[bool] = False
    """A soak deletes old output, so this workload's output must be read as it is written."""

    if TYPE_CHECKING:
        kind: str

    @property
    def presses_on(self) -> str | None:
        """The system under its load; None for a program of the user's own."""
        return WORKLOADS[self.kind].system

    @property
    def uses(self) -> set[str]:
        """All systems of the experiment that it uses."""
        return set() if self.presses_on is None else {self.presses_on}

    @property
    def source(self) -> str | None:
        """The workload whose output it reads."""
        return None

    @property
    def operation_bytes(self) -> float:
        """Payload that an operation moves on average."""
        return 0.0

    def disk_bytes(self, experiment: Experiment, rate_per_s: float, seconds: float, trials: int) -> int:
        """The most that its data takes on the disks of a cluster, all copies together, over trials of that length."""
        return 0

    def heaps(self, name: str, experiment: Experiment) -> list[tuple[str, int]]:
        """(host, heap) of each JVM that carries its load all the time."""
        return []

    def after_s(self, experiment: Experiment, seconds: float) -> float:
        """Seconds that it may go on for after a trial of that length, on a cluster that is there already."""
        return 0.0

    def fixed_s(self, name: str, experiment: Experiment, most: Most) -> float:
        """Seconds that its `isolated` test takes within what is allowed, where no search can end it; about so many."""
        return self.limit_step(name, experiment).seconds if self.limit_by in (LimitBy.PASSES, LimitBy.TIMES) else 0.0

    def check_most(self, name: str, most: Most, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for what the owner of a cluster does not allow, beside rates and disk."""

    @property
    def copies(self) -> int:
        """Copies of what it writes."""
        return 1

    @property
    def connections_per_node(self) -> int:
        """Connections that each of its generators has to each node of a cluster."""
        return 1

    @property
    def own_client(self) -> Client | None:
        """The client that applies the load; None if it has no client."""
        return None

    @property
    def may_be_remote(self) -> bool:
        """It can be carried out on machines of their own: by hydrotest-node, a driver, or a system's own tool."""
        return self.own_client is not None and not WORKLOADS[self.kind].program

    @property
    def generator_count(self) -> int | None:
        """Generators asked for; None: one on each host."""
        return None

    @property
    def burst(self) -> int:
        """Operations that start at once."""
        return 0

    @property
    def bounds_cores(self) -> list[str]:
        """Its settings that determine how many of Spark's cores it gets."""
        return []

    @property
    def rows_before(self) -> int:
        """Rows that are written before anything is measured."""
        return 0

    def check_files(self, name: str, checker: Checker) -> None:
        """Raises `BadInputError` for a file that it names and that cannot be used. A run that is over is read without."""

    @property
    def digests(self) -> dict[str, str]:
        """Of the files that it is made of, by its keys that name them."""
        return {}

    @staticmethod
    def check_listed(place: Path_, listed: Distribution | None, checker: Checker) -> None:
        """Raises `BadInputError` where a file holds no such distribution."""
        if listed is not None and listed.problem is not None:
            raise checker.fail(
                (*place, "file"), f"the file cannot be used: {listed.problem}", "Name a file with a number or a key on each line."
            )

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for what does not fit the rest of the file."""
        self.check_generators(name, experiment, checker)

    def check_generators(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Checks the hosts that it is started from."""
        place: Path_ = ("workloads", name)
        for host in self.on:
            checker.known(host, experiment.hosts, "the host", (*place, "on"))
        if self.own_client is None and len(self.on) > 1:
            raise checker.fail((*place, "on"), f"{name} is started from one host", "Name one.")

    def check_shares(self, name: str, experiment: Experiment, count: int, place: Path_, checker: Checker) -> None:
        """Checks that each of so many generators has something to do."""

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        """Refuses what a system's own tool cannot do instead of ignoring it. `place` is where the file asks
        for the tool."""

    def refusal(self, name: str, test: str) -> Refusal | None:
        """Why a kind of test cannot include it."""
        return None

    def stock_refusal(self, test: str) -> Refusal | None:
        """Why its system's own tool cannot carry out a kind of test."""
        return None

    def limit_step(self, name: str, experiment: Experiment) -> Step:
        """The step that is its `isolated` test."""
        search = experiment.search
        # As simulated, of edges of 1 to 6 % (benchmarks/limits.py): a few to find it, then by the inverse of the precision.
        trials = 1 + min(search.trials, math.ceil(8 + 0.8 / search.precision))
        bounds = ", ".join(f"{key} ≤ {bound:g} ms" for key, bound in experiment.objective(name).latencies_ms().items()) or "none on latency"
        detail = f"limit to ±{search.precision:.0%}, objective {bounds}"
        searched = Undecided(expected=trials - 1, least=SEARCH_TRIALS_MIN, most=search.trials)
        return Step(test="isolated", workload=name, trials=trials, seconds=trials * self.trial_s(experiment), detail=detail,
                    undecided=searched)  # fmt: skip

    def trial_s(self, experiment: Experiment) -> float:
        """Seconds for one trial of its search."""
        return experiment.search.window + experiment.search.warm_up + OVERHEAD_S


class RatedWorkload(Workload):
    """A workload with a given rate, or a given number in flight."""

    generators: Count | None = Field(
        None,
        le=1_000,
        description="Generator processes, distributed over the hosts of `on`; one for each host if not given. Together they keep "
        "one schedule; without a schedule, each has its own number in flight.",
    )
    client: Client = Field(
        "native",
        description="`native`: hydrotest's generator; `stock`: the system's own tool; `driver`: an application's driver (Cassandra).",
    )

    may_be_driven: ClassVar[bool] = False
    """True if `client: driver` can apply its load."""

    @property
    def own_client(self) -> Client | None:
        return self.client

    @property
    def generator_count(self) -> int | None:
        return self.generators

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        place: Path_ = ("workloads", name, "client")
        if self.client == "driver" and not self.may_be_driven:
            raise checker.fail(place, "only Cassandra workloads can be carried by a driver", "Write `native` or `stock`.")
        if self.client == "stock":
            self.check_stock(name, experiment, place, checker)
        super().check(name, experiment, checker)

    def check_generators(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check_generators(name, experiment, checker)
        count = len(experiment.generator_hosts(name))
        at: Path_ = ("workloads", name, "generators" if self.generators is not None else "on")
        if count < len(self.on):
            raise checker.fail(
                at, f"{len(self.on)} hosts and {count} generators: some would have none", "Leave `generators` out, or raise it."
            )
        self.check_shares(name, experiment, count, at, checker)
        emulated = [host for host in experiment.generator_hosts(name) if experiment.hosts[host].is_emulated]
        if emulated and WORKLOADS[self.kind].program:
            raise checker.fail(("workloads", name, "on"), f"the generator of {self.kind} cannot run on {emulated[0]}, which is emulated",
                               "Use `connect: local`.")  # fmt: skip

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        if WORKLOADS[self.kind].stock is None:
            raise checker.fail(place, f"{name}: there is no stock client of {self.kind}", "Write `client: native`.")
        if len(experiment.generator_hosts(name)) > 1:
            raise checker.fail(place, f"{name} has several generators; a stock client is one process", "Leave one of them out.")


class Scheduled(RatedWorkload):
    """A workload whose operations follow their own schedule."""

    arrivals: ArrivalsField = Field(
        Arrivals(), description="How operations arrive at a given rate: `even`, `poisson` (as from many clients) or `bursts(100)`."
    )

    wakes: Literal["send", "answer"] = Field(
        "send",
        description="When a native generator wakes at a given rate: only to send (`send`), since the kernel says when answers came meanwhile; or also "
        "for each answer (`answer`), as it does where the kernel does not say so: with TLS, or pages; and of "
        "Cassandra above 5,000 operations a second of a thread.",
    )

    is_scheduled: ClassVar[bool] = True

    @property
    def burst(self) -> int:
        return self.arrivals.size or 0

    @property
    def thread_count(self) -> int:
        """Threads of each of its generators."""
        return 1

    def check_shares(self, name: str, experiment: Experiment, count: int, place: Path_, checker: Checker) -> None:
        if count * self.thread_count > SHARES_MAX:
            raise checker.fail(
                place, f"{count} generators of {self.thread_count} threads are more than {SHARES_MAX} threads", "Take fewer."
            )

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        if self.arrivals.shape != "even":
            raise checker.fail(
                place, f"{name} has `arrivals`; a stock client's operations come evenly, or not by schedule", "Leave one of them out."
            )
        super().check_stock(name, experiment, place, checker)


def _model(kind: str) -> type[Workload] | None:
    """The settings of a kind; None of one that is not installed here."""
    model: type[Workload] | None = WORKLOADS[kind].model.load() if kind in WORKLOADS else None
    return model


def is_follower(kind: str) -> bool:
    """A kind that reads what another workload writes."""
    model = _model(kind)
    return model is not None and model.is_follower


def catches_up(kind: str) -> bool:
    """A kind whose limit is how fast it reads what is there already."""
    model = _model(kind)
    return model is not None and model.limit_by is LimitBy.CATCH_UP
