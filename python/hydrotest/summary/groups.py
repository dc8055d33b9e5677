"""Consumer groups."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.summary.base import TRIAL, WORKLOAD, Count, Number, Row


class Rebalance(Row):
    """A time in which some partition of a group had no reader; times in seconds since the window began."""

    cause: Literal["kill", "leave", "pause", "join", "unasked"] = Field(
        description="What was done to a member; `unasked`: nothing that the test did."
    )
    began_s: Number = Field(description="When the first partition lost its reader.")
    ended_s: Number | None = Field(description="When each had one again; null: not within the trial.")
    stopped: Count = Field(description="Partitions that had no reader at some moment of it.")
    moved: Count = Field(description="Those of them that another member read afterwards.")
    longest_s: Number = Field(description="The longest time that one had no reader.")


class Missed(Row):
    """Offsets that a group passed without reading them."""

    partition: Count = Field(description="Partition, numbered through all topics.")
    first: Count = Field(description="The first of them.")
    end: Count = Field(description="The offset behind the last one.")


class ConsumerGroup(Row):
    """A consumer group in one trial, warm-up included."""

    trial: int = Field(description=TRIAL)
    workload: str = Field(description=WORKLOAD)
    group: Count = Field(description="Its number.")
    protocol: Literal["classic", "consumer"] = Field(description="The protocol by which its members find their partitions.")
    members: Count = Field(description="Its members.")
    records: Count = Field(description="Records that it read, each counted once.")
    again: Count = Field(description="Records that it read again.")
    missed: Count = Field(description="Offsets that it passed without reading them.")
    unread: Count = Field(description="Offsets that it had still before it at the end.")
    corrupted: Count = Field(description="Records that were not as written.")
    commits: Count | None = Field(description="Commits by its members; null: their consumers commit by themselves.")
    held_s: Number | None = Field(
        description="Seconds for which members were kept from reading, as the owner of the cluster allows no more; null: none of that is asked."
    )
    first_missed: list[Missed] = Field(description="The first stretches of missed offsets.")
    rebalances: list[Rebalance] = Field(description="Times in which some partition had no reader.")
