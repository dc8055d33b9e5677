"""What a trial is for, and what follows from that for counting, drawing and comparing trials."""

from __future__ import annotations

from enum import Flag, StrEnum, auto


class Trait(Flag):
    """Uses of the trials of a purpose."""

    NONE = 0
    MEASURED = auto()
    """They show how a system is used; the others only prepare, or measure something else."""
    UNTHROTTLED = auto()
    """A workload runs unthrottled, and its hosts have all their resources."""
    CURVE = auto()
    """Each is a point of latency against the offered rate."""
    COMPARED = auto()
    """Runs are compared by them, at the rates that they share."""
    JOBS = auto()
    """Runs of a batch job in them count."""
    STEPS = auto()
    """The steps of a dataflow are shown for each of them."""
    UNREAD = auto()
    """The written data is not read back."""


class Purpose(StrEnum):
    """What a trial is for; the value is the one in the run folder."""

    traits: Trait

    def __new__(cls, value: str, traits: Trait = Trait.NONE) -> Purpose:
        one = str.__new__(cls, value)
        one._value_ = value
        one.traits = traits
        return one

    WARM_UP = "warm-up", Trait.UNREAD
    POPULATE = "populate"
    PREFILL = "prefill"
    SATURATED = "saturated", Trait.MEASURED | Trait.UNTHROTTLED | Trait.STEPS
    SEARCH = "search", Trait.MEASURED | Trait.CURVE | Trait.COMPARED | Trait.JOBS
    REPEAT = "repeat", Trait.MEASURED | Trait.CURVE | Trait.COMPARED | Trait.JOBS
    LEVEL = "level", Trait.MEASURED | Trait.CURVE | Trait.COMPARED | Trait.STEPS
    CATCH_UP = "catch-up", Trait.MEASURED | Trait.UNTHROTTLED
    BATCH = "batch", Trait.MEASURED | Trait.UNTHROTTLED | Trait.JOBS
    ALONE = "alone", Trait.MEASURED | Trait.COMPARED | Trait.JOBS
    TOGETHER = "together", Trait.MEASURED | Trait.COMPARED | Trait.JOBS | Trait.STEPS
    ALL_OUT = "all-out", Trait.MEASURED | Trait.JOBS
    SOAK = "soak", Trait.MEASURED | Trait.JOBS | Trait.STEPS
    FAULT = "fault", Trait.MEASURED | Trait.JOBS | Trait.STEPS
    PROFILE = "profile", Trait.MEASURED
    DOUBLING = "doubling", Trait.MEASURED
    SQUEEZE = "squeeze", Trait.UNREAD
    CALIBRATE = "calibrate", Trait.UNREAD
    FILES = "files"

    @property
    def is_measured(self) -> bool:
        """True if the trial shows how a system is used."""
        return Trait.MEASURED in self.traits

    @property
    def is_unthrottled(self) -> bool:
        """True if a workload runs unthrottled, and its hosts have all their resources."""
        return Trait.UNTHROTTLED in self.traits

    @property
    def is_searched(self) -> bool:
        """True for the trials of a search, its first and the independent ones."""
        return self in (Purpose.SEARCH, Purpose.REPEAT)
