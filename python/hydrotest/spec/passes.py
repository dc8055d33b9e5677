"""Workloads that go over a number of files or objects in passes, with ever more of them at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.kinds.registry import WORKLOADS
from hydrotest.spec.attach import AtOnceMost, Most, attached
from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import expected
from hydrotest.spec.fields import Count, Name, RatePerS, SizeBytes
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import Step
from hydrotest.spec.workload import LimitBy, Refusal, Workload
from hydrotest.units import show_bytes

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

PASS_S = 8.0
"""Assumed time of one pass; the real time depends on what there is to read or write."""


class PassesWorkload(Workload):
    """What writing and reading have in common."""

    operation: SizeBytes = Field(1 << 20, le=64 << 20, description="Bytes of an operation: how long each takes is measured.")
    rate: RatePerS | None = Field(
        None,
        description="Operations a second of all that is under way together; each is timed from when it was due. If not given, as fast as it goes.",
    )

    limit_by: ClassVar[LimitBy] = LimitBy.PASSES
    is_warmed: ClassVar[bool] = False
    things: ClassVar[str]
    """What it goes over, in messages: files, or objects."""

    if TYPE_CHECKING:
        at_once: int

    @property
    def may_be_remote(self) -> bool:
        return True

    def written(self, name: str, experiment: Experiment) -> WritesWorkload:
        """The workload that makes what this one goes over: itself, or another."""
        return expected(experiment.workloads[self.source or name], WritesWorkload)

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        system = WORKLOADS[self.kind].system
        if system not in experiment.systems.present():
            raise checker.fail(("workloads", name), f"{name} needs the system {system}", "Add it under `systems`.")

    def fixed_s(self, name: str, experiment: Experiment, most: Most) -> float:
        step, written = self.limit_step(name, experiment), self.written(name, experiment)
        total = written.count * written.each_bytes
        allowed_s = total / (most.rate_per_s or math.inf)
        return step.trials * max(PASS_S, allowed_s, self.requests_of(written) / (expected(most, AtOnceMost).requests_per_s or math.inf))

    def operations_of(self, written: WritesWorkload) -> int:
        """Operations of a pass over what that one writes."""
        return written.count * max(1, math.ceil(written.each_bytes / self.operation))

    def requests_of(self, written: WritesWorkload) -> int:
        """Requests of such a pass: its operations, and what else it takes."""
        return self.operations_of(written)

    def check_most(self, name: str, most: Most, experiment: Experiment, checker: Checker) -> None:
        allowed = expected(most, AtOnceMost)
        if self.at_once > allowed.at_once:
            raise checker.fail(
                ("workloads", name, "at_once"), f"{self.at_once} {self.things} at once are more than `most` allows: {allowed.at_once}",
                "Take fewer, or raise `most.at_once`.",
            )  # fmt: skip
        if self.rate is None:
            return
        # Operations that wait for what is allowed would be late by our own doing.
        written = self.written(name, experiment)
        requests_per_s = self.rate * self.requests_of(written) / self.operations_of(written)
        if allowed.requests_per_s is not None and requests_per_s > allowed.requests_per_s:
            raise checker.fail(("workloads", name, "rate"), f"{name} at {self.rate:g}/s makes {requests_per_s:g} requests a second, more than `most` "
                               f"allows: {allowed.requests_per_s:g}/s", "Lower the rate, or raise `most.rate`.")  # fmt: skip
        bytes_per_s = self.rate * min(self.operation, written.each_bytes)
        if allowed.rate_per_s is not None and bytes_per_s > allowed.rate_per_s:
            raise checker.fail(("workloads", name, "rate"), f"{name} at {self.rate:g}/s moves {show_bytes(round(bytes_per_s))}/s, more than `most` "
                               f"allows: {show_bytes(round(allowed.rate_per_s))}/s", "Lower the rate or `operation`, or raise `most.bytes`.")  # fmt: skip

    def refusal(self, name: str, test: str) -> Refusal | None:
        if test == "isolated":
            return None
        return f"{name}: {self.things} are written and read in passes, while nothing else runs", "Use it in `isolated`."

    def limit_step(self, name: str, experiment: Experiment) -> Step:
        passes = self.at_once.bit_length() + experiment.search.repeats
        return Step(
            test="isolated",
            workload=name,
            trials=passes,
            seconds=passes * PASS_S,
            detail=f"passes over {self.things}, at most {self.at_once} at once",
        )


class WritesWorkload(PassesWorkload):
    """One that writes."""

    if TYPE_CHECKING:
        seed: int

    @property
    def count(self) -> int:
        """What a pass writes: so many."""
        raise NotImplementedError

    @property
    def each_bytes(self) -> int:
        """The size of each."""
        raise NotImplementedError

    def disk_bytes(self, experiment: Experiment, rate_per_s: float, seconds: float, trials: int) -> int:
        # A pass writes over what the one before wrote, which is removed a little later; and one more that warms it up.
        return 2 * (self.count + 1) * self.each_bytes * self.copies


class ReadsWorkload(PassesWorkload):
    """One that reads what another one has written."""

    reads: Name = Field(description="The workload whose files or objects are read.")
    at_once: Count = Field(8, le=10_000, description="Most read at once.")
    order: Literal["sequential", "random"] = Field(
        "sequential", description="`random`: each operation is anywhere in any of them; a pass has as many operations as one in order."
    )
    cold: bool = Field(False, description="Before each pass what there is is taken out of the page cache: it is read from the disks.")

    writer: ClassVar[type[WritesWorkload]]
    """The kind that writes what it reads."""

    def disk_bytes(self, experiment: Experiment, rate_per_s: float, seconds: float, trials: int) -> int:
        # It writes what it reads, once.
        return self.written(self.reads, experiment).disk_bytes(experiment, rate_per_s, seconds, trials)

    @property
    def source(self) -> str | None:
        return self.reads

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name, "reads")
        checker.known(self.reads, experiment.workloads, "the workload", place)
        written = experiment.workload(self.reads, self.writer)
        if written is None:
            wanted = self.kind.replace("-read", "-write")
            raise checker.fail(place, f"{self.reads!r} writes no {self.things}", f"Name a workload of the kind {wanted}.")
        if self.order == "random" and self.operation > written.each_bytes:
            raise checker.fail(
                ("workloads", name, "operation"),
                f"operations of {self.operation:,} B are larger than one of the {self.things}",
                "Take smaller ones.",
            )
        if self.cold and self.presses_on in attached(experiment):
            raise checker.fail(("workloads", name, "cold"), "the page cache of machines that others use is left alone", "Leave `cold` out.")
