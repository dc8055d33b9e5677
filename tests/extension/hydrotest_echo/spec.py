"""The server and its workload in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, Name, SizeBytes
from hydrotest.spec.system import System
from hydrotest.spec.workload import Refusal, Scheduled

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

SEQUENCE_BYTES = 8
"""Length of the number that distinguishes messages."""


class Echo(System):
    """A server that sends back what it is sent."""

    hosts: list[Name] = Field(min_length=1, description="A server on each of these hosts.")


class EchoMessages(Scheduled):
    """Messages of one size; each must come back as it was sent."""

    kind: Literal["echo-messages"]
    message_size: SizeBytes = Field(64, description="Size of each message.")
    connections: Count = Field(2, description="Connections to each server, per generator.")

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        if experiment.systems.of(Echo) is None:
            raise checker.fail(("workloads", name), f"{name} needs the system echo", "Add it under `systems`.")
        if self.message_size < SEQUENCE_BYTES:
            raise checker.fail(("workloads", name, "message_size"), f"messages of {self.message_size} B are too small to account for",
                               f"Take at least {SEQUENCE_BYTES} B.")  # fmt: skip
        if self.arrivals.shape != "even":
            raise checker.fail(("workloads", name, "arrivals"), "messages come evenly", "Leave it out.")

    def refusal(self, name: str, test: str) -> Refusal | None:
        return (f"{name}: the rate of messages does not change", "Use `levels`.") if test == "profile" else None

    is_squeezable: ClassVar[bool] = True
