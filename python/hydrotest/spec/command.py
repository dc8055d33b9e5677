"""A neighbour in the experiment file."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from hydrotest.spec.workload import LimitBy, Refusal, Workload


class Command(Workload):
    """A neighbour: any program that runs during a combined test, such as a backup or a batch job of your own."""

    kind: Literal["command"]
    argv: list[str] = Field(min_length=1, description="The program and its arguments; it is started again when it ends. No secrets here.")

    limit_by: ClassVar[LimitBy] = LimitBy.NOTHING
    is_warmed: ClassVar[bool] = False

    def refusal(self, name: str, test: str) -> Refusal | None:
        return (f"{name}: a command has no limit and no answer of its own", "Use it in `combined`.") if test == "isolated" else None
