"""The model of summary.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from hydrotest.summary.attached import Baseline
from hydrotest.summary.base import IN_WORDS, TRIAL, WORKLOAD, Number, Row
from hydrotest.summary.dataflow import Executors, Query, Step, WindowCounts
from hydrotest.summary.demand import PartDemand, SystemDemand
from hydrotest.summary.fault import Fault
from hydrotest.summary.files import Files
from hydrotest.summary.generator import Generator
from hydrotest.summary.groups import ConsumerGroup
from hydrotest.summary.integrity import Integrity
from hydrotest.summary.levels import Curve, GivenRate, Level
from hydrotest.summary.limits import Job, Limit
from hydrotest.summary.machine import Host, Overhead, Speed, System
from hydrotest.summary.nearest import Nearest, NearestUntold
from hydrotest.summary.profile import Profile
from hydrotest.summary.soak import Soak
from hydrotest.summary.spark import Ernest, JobTest, Scaling, Speedup
from hydrotest.summary.together import Doubling, Interference, SafeWorkingPoint, Together
from hydrotest.summary.usage import UsageByTest, UsageByWorkload
from hydrotest.verdicts.problem import Problem

Status = Literal["complete", "partial", "failed"]
VERSION: Literal[1] = 1


class Published(Row):
    """The published results that the report shows next to this run's."""

    source: str = Field(description="Whose.")
    scale: Number = Field(description="Scale of the emulated cores.")


class FailedTrial(Row):
    """A trial that failed."""

    trial: int = Field(description=TRIAL)
    slug: str = Field(description="Its name in the run folder.")
    reason: str | None = Field(description="Why.")


class WarmUp(Row):
    """How a workload's system was warmed up."""

    workload: str = Field(description=WORKLOAD)
    seconds: Number = Field(description="How long it took.")
    settled: bool = Field(description="Whether its cost per operation had settled by then.")


def _none() -> Together:
    return Together(resources=[], services=[], starved=[])


class Summary(Row):
    """What a run found. Times in seconds or milliseconds as the key says, sizes in bytes, rates per second in
    the workload's unit. Latencies are response times from the intended send time. null: not known or not
    meaningful."""

    schema_version: Literal[1] = Field(
        alias="schema", description="Version of this format. Fields are added within a version, never renamed."
    )
    experiment: str = Field(description="Name of the experiment.")
    run: str = Field(description="Name of the run folder.")
    hydrotest: str = Field(description="Version of hydrotest.")
    started: str = Field(description="When the run began.")
    finished: str = Field(description="When it ended.")
    status: Status = Field(description="Whether everything was measured.")
    hosts: list[Host] = Field(description="The hosts.")
    systems: list[System] = Field(description="The systems under test.")
    limits: list[Limit] = Field(description="The highest sustained rate of each workload.")
    levels: list[Level] = Field(description="Given levels and their results.")
    given_rates: list[GivenRate] = Field(default_factory=list, description="Verdicts on given rates.")
    curves: list[Curve] = Field(description="Latency against the offered rate.")
    interference: list[Interference] = Field(description="How much the other workloads cost each one.")
    integrity: list[Integrity] = Field(description="The account of every record.")
    groups: list[ConsumerGroup] = Field(default_factory=list, description="Consumer groups, by trial.")
    nearest: list[Nearest] = Field(default_factory=list, description="Reads of the nearest vectors, by load: latency and recall.")
    nearest_untold: list[NearestUntold] = Field(
        default_factory=list, description="Statements that ask for the nearest vectors, and whose recall is not known."
    )
    demand: list[SystemDemand] = Field(default_factory=list, description="CPU that each system uses by what it does.")
    parts: list[PartDemand] = Field(default_factory=list, description="CPU that each part of a pipeline uses by its records.")
    spark: list[JobTest] = Field(description="Batch tests.")
    jobs: list[Job] = Field(default_factory=list, description="What binds batch workloads.")
    scaling: list[Scaling] = Field(default_factory=list, description="How batch tests grow with their data.")
    speedup: list[Speedup] = Field(default_factory=list, description="How batch tests get faster with cores.")
    ernest: list[Ernest] = Field(default_factory=list, description="Times of batch tests by size and cores.")
    baseline: Baseline | None = Field(
        None, description="A cluster that others use, as it was before any load; null: hydrotest started the systems itself."
    )
    usage: list[UsageByWorkload] = Field(description="What each host used, by workload.")
    usage_by_test: list[UsageByTest] = Field(default_factory=list, description="What each host used, by test of the experiment.")
    generator: list[Generator] = Field(description="Whether the load generators had headroom.")
    safe_working_point: SafeWorkingPoint | None = Field(
        description="What all workloads sustain at once; null: none was sustained, or none was searched."
    )
    hdfs: list[Files] = Field(default_factory=list, description="Files written and read.")
    objects: list[Files] = Field(default_factory=list, description="Objects written and read, by the same fields.")
    dataflow: list[Step] = Field(default_factory=list, description="The account of each step of a dataflow.")
    executors: list[Executors] = Field(default_factory=list, description="Limits of dataflows on growing numbers of executors.")
    queries: list[Query] = Field(default_factory=list, description="Queries of dataflows.")
    windows: list[WindowCounts] = Field(default_factory=list, description="Windowed counts of dataflows.")
    soak: list[Soak] = Field(default_factory=list, description="Long levels.")
    faults: list[Fault] = Field(default_factory=list, description="The effects of faults.")
    profiles: list[Profile] = Field(default_factory=list, description="Rates that change.")
    doublings: list[Doubling] = Field(default_factory=list, description="Rates with twice as many generators.")
    together: Together = Field(default_factory=_none, description="Use of resources while all workloads ran together.")
    published: Published | None = Field(None, description="The published results that the report shows next to this run's; null: none.")
    problem_causes: list[Problem] = Field(
        default_factory=list, description="What could not be read, or was left out, as codes and figures."
    )
    problems: list[str] = Field(default_factory=list, description=IN_WORDS)
    speed: list[Speed] = Field(default_factory=list, description="How steady the machine was.")
    failed_trials: list[FailedTrial] = Field(default_factory=list, description="Trials that failed.")
    overhead: Overhead | None = Field(None, description="What hydrotest itself used; null: not known.")
    warm_ups: list[WarmUp] = Field(default_factory=list, description="How the systems were warmed up.")
    error: str | None = Field(None, description="What ended the run early.")

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """The contents of a file, also one of an older or a later version: unknown fields are left out."""
        return cls.model_validate(written, extra="ignore")
