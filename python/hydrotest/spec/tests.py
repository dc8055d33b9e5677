"""The tests of an experiment file, as frozen models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hydrotest.spec.base import Client, Model
from hydrotest.spec.fields import Count, DurationS, Fraction, Name, RatePerS


class Isolated(Model):
    """Finds each workload's limit while the others idle."""

    test: Literal["isolated"]
    workloads: list[Name] = Field(min_length=1, description="Which workloads, one after the other.")
    squeeze: DurationS | None = Field(
        None, description="Prove what binds each limit, by squeezes of about so long each, at most: parts of the resources of emulated hosts, and of the "
        "cores of local ones with `squeeze: allow`, are taken away while the workload presses without schedule (tests of Spark: over and over), and given "
        "back. Without it what binds is only suspected.")  # fmt: skip


class Levels(Model):
    """Measures at given rates."""

    test: Literal["levels"]
    workload: Name = Field(description="Which workload.")
    rates: list[RatePerS] = Field(min_length=1, description="Offered rates, e.g. [100K, 1M].")
    duration: DurationS = Field(20.0, description="Measured window of each level.")
    client: Client | None = Field(None, description="Overrides the workload's client.")


class Concurrency(Model):
    """Measures with given numbers of operations in flight, as closed-loop tools do."""

    test: Literal["concurrency"]
    workload: Name = Field(description="Which workload.")
    counts: list[Count] = Field(min_length=1, description="Operations in flight, e.g. [16, 64, 256].")
    duration: DurationS = Field(20.0, description="Measured window of each count.")
    client: Client | None = Field(None, description="Overrides the workload's client.")


class Combined(Model):
    """All at once: the safe working point, the interference, and all pressed without schedule."""

    test: Literal["combined"]
    workloads: list[Name] = Field(min_length=1, description="Which workloads, all at once.")
    rates: dict[Name, RatePerS] = Field(
        default_factory=dict,
        description="Rates at which the interference is measured; without them the safe working point is searched first.",
    )
    pairs: int = Field(5, ge=5, le=50, description="Pairs of isolated and combined windows.")
    window: DurationS = Field(5.0, description="Measured window of each half of a pair.")
    precision: Fraction = Field(0.15, description="The safe working point is told to this fraction.")


class AtLevel(Model):
    """What tests at one level have in common."""

    workloads: list[Name] = Field(min_length=1, description="Which workloads, all at once.")
    rates: dict[Name, RatePerS] = Field(min_length=1, description="The rate of each workload that has one.")


class Soak(AtLevel):
    """Presses at one level for a long time: drift, change points, memory growth, compaction and segment deletion."""

    test: Literal["soak"]
    duration: DurationS = Field(2700.0, description="How long.")


class Fault(AtLevel):
    """Presses at one level while a service is taken away and comes back: seconds without progress, seconds to catch up, integrity."""

    test: Literal["fault"]
    service: str | None = Field(
        None,
        description="Which service, by its name in the tables: `kafka-0`, `cassandra-0`, `spark-worker-0`, …; also a dataflow's driver, "
        "`spark-driver-FLOW`, or one of its queries, `spark-query-FLOW-splitter`, `spark-query-FLOW-persist-LEVEL-SINK`.",
    )
    host: Name | None = Field(None, description="Or which emulated host, with all that runs on it.")
    system: Name | None = Field(None, description="Or which system, all its services in turn.")
    action: Literal["kill", "stop", "pause", "cut", "mute", "deafen", "slow", "fill", "roll"] = Field(
        "kill", description="`kill` ends a service at once, `stop` in good order, `pause` holds a service or a host still with its connections "
        "open. A host's link: `cut` takes it out, `mute` drops all that the host sends, `deafen` all that is sent to it, and `slow` leaves it "
        "a tenth of its speed. `fill` leaves no room on a host's own disk; what ends by it is started again once there is room. "
        "`roll` is for a system: each of its services is stopped in good order, started again after `down`, and waited "
        "for until no copy is behind, before the next one goes.")  # fmt: skip
    at: DurationS = Field(20.0, description="So long after the window has begun.")
    down: DurationS = Field(10.0, description="So long until it is started again, or goes on.")
    duration: DurationS = Field(90.0, description="The whole window.")

    @property
    def struck(self) -> str:
        """The service, the host or the system."""
        return self.service or self.host or self.system or ""


class Stretch(Model):
    """A part of a profile; the rate goes evenly from `rate` to `to`."""

    rate: RatePerS = Field(description="The rate that it begins with.")
    to: RatePerS | None = Field(None, description="The rate that it ends with; the same if not given.")
    duration: DurationS = Field(description="How long; whole seconds, since latencies are kept by the second.")

    @property
    def end_rate(self) -> float:
        """The rate that it ends with."""
        return self.rate if self.to is None else self.to

    @property
    def operations(self) -> float:
        """How many are due in it."""
        return (self.rate + self.end_rate) / 2 * self.duration


class Profile(Model):
    """Presses at a rate that changes: steps and ramps, as one trial."""

    test: Literal["profile"]
    workload: Name = Field(description="Which workload.")
    stretches: list[Stretch] = Field(
        min_length=1, description="One after the other, e.g. [{rate: 50K, duration: 10 s}, {rate: 50K, to: 200K, duration: 30 s}]."
    )

    @property
    def duration(self) -> float:
        """All stretches together, seconds."""
        return sum(stretch.duration for stretch in self.stretches)


class Saturated(Model):
    """Measures what is achieved when pressed without schedule: a rate, never a latency."""

    test: Literal["saturated"]
    workload: Name = Field(description="Which workload.")
    duration: DurationS = Field(10.0, description="Measured window.")
    client: Client | None = Field(None, description="Overrides the workload's client.")


class Doubling(Model):
    """Presses without schedule, by the workload's generators and by twice as many, in turn: if those get more out of the system, the
    generator was the limit."""

    test: Literal["doubling"]
    workload: Name = Field(description="Which workload.")
    pairs: int = Field(5, ge=5, le=50, description="Pairs of windows.")
    duration: DurationS = Field(6.0, description="Measured window of each half of a pair.")


AnyTest = Annotated[Isolated | Combined | Soak | Fault | Levels | Concurrency | Saturated | Profile | Doubling, Field(discriminator="test")]
