"""Workloads that run together: interference, the safe working point, shortages."""

from __future__ import annotations

from pydantic import Field

from hydrotest.summary.base import IN_WORDS, WORKLOAD, Count, Number, Row
from hydrotest.summary.limits import Lapse
from hydrotest.verdicts.trial import OfWorkload


class Change(Row):
    """The change from one side of pairs of windows to the other, with its 95 % interval."""

    change_pct: Number = Field(description="Mean change.")
    low_pct: Number = Field(description="Lower end of its 95 % interval.")
    high_pct: Number = Field(description="Upper end of its 95 % interval.")
    n: Count = Field(description="Number of pairs.")
    significant: bool = Field(description="Whether there is a change; stricter than the interval, since several metrics are looked at.")
    starved_pairs: Count = Field(0, description="Pairs in which nothing was completed on the second side.")


class _Metric(Row):
    workload: str = Field(description=WORKLOAD)
    metric: str = Field(description="What was compared: `achieved`, a latency, or a time of a batch test.")
    test: Count = Field(0, description="Index of the test in the experiment.")
    at_least_pairs: Count = Field(0, description="Pairs in which a batch test was cut when the window ended.")
    isolated: Number = Field(description="Mean while it ran alone, in the metric's unit.")
    combined: Number = Field(description="Mean while it ran with the others.")


class Interference(Change, _Metric):
    """How much the others cost a workload, from pairs of windows at the same rate."""


class _Doubled(Row):
    workload: str = Field(description=WORKLOAD)
    test: Count = Field(description="Index of the test in the experiment.")
    generators: Count = Field(description="Generators that it has.")
    once: Number = Field(description="Operations a second with them, without a rate limit.")
    twice: Number = Field(description="Operations a second with twice as many.")


class _Raised(Row):
    raised: bool | None = Field(description="Whether twice as many achieved more; null: no significant difference.")


class Doubling(_Raised, Change, _Doubled):
    """Whether the generator was the limit: the rate of twice as many generators on the same system."""


class FractionOf(Row):
    """What a workload holds next to the others, as a fraction of its isolated limit."""

    workload: str = Field(description=WORKLOAD)
    fraction: Number | None = Field(description="The fraction that half of its windows hold, apart from lapses; null: no window held.")
    low: Number | None = Field(description="Lower end of its 90 % credible interval.")
    high: Number | None = Field(description="Upper end of it; null: above all that was tried.")
    safe: Number | None = Field(description="The fraction at which `confidence` of its windows hold; null: none, or not known.")
    lapse: Lapse = Field(description="Windows that fail whatever the fraction.")
    at_least: bool = Field(description="True: it holds its whole isolated limit.")


class Relaxed(Row):
    """Where an objective is missed at any fraction: the latency at which it would hold."""

    workload: str = Field(description=WORKLOAD)
    percentile: str = Field(description="Which latency.")
    asked_ms: Number = Field(description="The objective.")
    bound_ms: Number = Field(description="The latency that nine of ten windows at the lower fractions held.")
    fraction: Number | None = Field(description="The fraction up to which all objectives would then hold together.")
    low: Number | None = Field(description="Lower end of its 90 % credible interval.")
    high: Number | None = Field(description="Upper end of it.")
    safe: Number | None = Field(description="The fraction at which `confidence` of the windows would hold.")


class SafeWorkingPoint(Row):
    """The largest common fraction of the isolated limits at which all objectives hold at once: in half of the windows, apart from lapses."""

    fraction: Number = Field(description="Fraction of the isolated limits.")
    low: Number = Field(description="Lower end of its 90 % credible interval.")
    high: Number = Field(description="Upper end of where the searches ended.")
    at_least: bool = Field(False, description="True: it is a lower bound only.")
    rates: dict[str, Number] = Field(description="Operations a second, by workload.")
    safe: Number | None = Field(None, description="The fraction at which `confidence` of the windows hold; null: lapses alone exceed that.")
    confidence: Number | None = Field(None, description="Share of the windows that hold at the safe fraction.")
    workloads: list[FractionOf] = Field(default_factory=list, description="Each workload's own fraction, from the same windows.")
    first: str | None = Field(None, description="The workload that gives way first; null: none does, or it is not clear which.")
    relaxed: list[Relaxed] = Field(default_factory=list, description="Objectives that are missed at any fraction, and what would hold.")
    repeats: Count = Field(0, description="Windows that counted.")
    stopped_by: dict[str, str] = Field(default_factory=dict, description="The rule that stopped each workload most often.")
    because: list[OfWorkload] = Field(
        default_factory=list, description="Why the next higher fractions were rejected, as codes and figures."
    )
    reasons: list[str] = Field(default_factory=list, description=IN_WORDS)


class ResourceShare(Row):
    """Mean use of a resource while all workloads were measured together."""

    host: str = Field(description="The host, or the machine that hosts are emulated on.")
    resource: str = Field(description="`cpu`, `memory`, `disk` or `network`.")
    share: Number = Field(description="Share of its ceiling, 0 to 1.")
    used: Number = Field(description="In `unit`.")
    unit: str = Field(description="Unit of `used`.")
    is_near: bool = Field(description="Whether it may bind.")
    throttled: Number | None = Field(description="Share of the periods in which its quota held the host back; null: it has none.")
    hosts: list[str] = Field(description="All names of the host.")


class ServiceShare(Row):
    """Resources that a service used while all workloads were measured together."""

    host: str = Field(description="Where it ran.")
    service: str = Field(description="The service.")
    cpu_cores: Number = Field(description="Mean cores.")
    memory_bytes: Number = Field(description="The most memory.")
    disk_write_bytes_per_s: Number | None = Field(description="Mean bytes written.")


class Worse(Row):
    """A metric that got worse."""

    metric: str = Field(description="The metric.")
    change_pct: Number = Field(description="The change.")


class CoresOf(Row):
    """The cores that a service used."""

    service: str = Field(description="The service.")
    cores: Number = Field(description="Mean cores.")


class Starved(Row):
    """A workload that got significantly worse, and the resource that was used up meanwhile on a host that it
    needs."""

    workload: str = Field(description=WORKLOAD)
    worse: list[Worse] = Field(default_factory=list, description="The metrics that got worse.")
    changes: list[str] = Field(description=IN_WORDS)
    resource: str | None = Field(description="What was near its ceiling; null: nothing, so the cause is not known.")
    host: str | None = Field(description="The host where it was near its ceiling.")
    share: Number | None = Field(description="Share of its ceiling that was used, 0 to 1.")
    throttled: Number | None = Field(description="Share of the periods in which a quota held the host back.")
    cores_of: list[CoresOf] = Field(default_factory=list, description="Services that used cores there.")
    users: list[str] = Field(description=IN_WORDS)
    frees: dict[str, Number] = Field(description="How much of the resource each system used: it would be free if the system ran elsewhere.")


class Together(Row):
    """Use of resources while all workloads ran together."""

    resources: list[ResourceShare] = Field(description="Most used first.")
    services: list[ServiceShare] = Field(description="Most cores first.")
    starved: list[Starved] = Field(description="Workloads that are short of a resource.")
