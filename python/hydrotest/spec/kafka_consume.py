"""What reads records from Kafka, in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Name
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.workload import LimitBy, RatedWorkload, Refusal

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

CONSUMER_CONNECTIONS = 2
"""One answer is checked while the other is on its way."""


class KafkaConsume(RatedWorkload):
    """Reads what another workload writes."""

    kind: Literal["kafka-consume"]
    reads: Name = Field(description="The kafka-produce workload whose records are read.")
    isolation: Literal["read_uncommitted", "read_committed"] = Field(
        "read_uncommitted", description="Whether records of open and aborted transactions are read too."
    )

    limit_by: ClassVar[LimitBy] = LimitBy.CATCH_UP
    is_follower: ClassVar[bool] = True
    is_warmed: ClassVar[bool] = False
    is_squeezable: ClassVar[bool] = True

    @property
    def source(self) -> str | None:
        return self.reads

    @property
    def connections_per_node(self) -> int:
        return CONSUMER_CONNECTIONS

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name, "reads")
        checker.known(self.reads, experiment.workloads, "the workload", place)
        if experiment.workload(self.reads, KafkaProduce) is None:
            raise checker.fail(place, f"{self.reads!r} writes no topic", "Name a kafka-produce workload.")

    def check_shares(self, name: str, experiment: Experiment, count: int, place: Path_, checker: Checker) -> None:
        source = experiment.workload(self.reads, KafkaProduce)
        if source is not None and count > source.partitions_in_all:
            raise checker.fail(place, f"{count} consumers share {source.partitions_in_all} partitions: some would have none", "Take fewer.")

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        super().check_stock(name, experiment, place, checker)
        source = experiment.workload(self.reads, KafkaProduce)
        if source is not None and source.topics > 1:
            raise checker.fail(place, f"{name}: ConsumerPerformance reads one topic, and {self.reads} has {source.topics:,}",
                               "Leave `topics` out, or `client: stock`.")  # fmt: skip

    def refusal(self, name: str, test: str) -> Refusal | None:
        lacks = {"levels": "rate", "concurrency": "number in flight"}.get(test)
        return None if lacks is None else (f"a kafka-consume workload has no {lacks} of its own", "Use it in `isolated` or `saturated`.")

    def limit_step(self, name: str, experiment: Experiment) -> Step:
        search = experiment.search
        seconds = search.repeats * (search.window + search.warm_up + OVERHEAD_S) + search.saturated
        return Step(test="isolated", workload=name, trials=search.repeats, seconds=seconds, detail="catch-up rate over a prefilled topic")
