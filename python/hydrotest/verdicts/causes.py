"""The reasons of a verdict on what sets a limit, as codes and figures.

Texts in them (`what`, `why`, `there`) are empty until `report/wording` fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from hydrotest.verdicts.evidence import InsideLine
from hydrotest.verdicts.figures import Gain, Mean, Squeezed, Usage
from hydrotest.verdicts.trial import Lack


@dataclass(frozen=True)
class NoRoom:
    """The generator had no headroom."""

    lacks: tuple[Lack, ...]
    code: Literal["generator-had-no-room"] = "generator-had-no-room"


@dataclass(frozen=True)
class NotSampled:
    """The hosts were not sampled at the limit: all, or these."""

    hosts: tuple[str, ...] = ()
    code: Literal["not-sampled"] = "not-sampled"


@dataclass(frozen=True)
class NothingCompleted:
    """Nothing was completed, not even without a rate limit."""

    code: Literal["nothing-completed"] = "nothing-completed"


@dataclass(frozen=True)
class Unseen:
    """The limit is that of systems whose hosts were not seen: what binds inside them is not known."""

    systems: tuple[str, ...]
    gauges: int = 0
    """Gauges that the system shows of itself, none of which was full."""
    code: Literal["unseen"] = "unseen"


@dataclass(frozen=True)
class HostsUnseen:
    """What these systems show of themselves is all that is known of them: what their hosts used was not seen."""

    systems: tuple[str, ...]
    code: Literal["hosts-unseen"] = "hosts-unseen"


@dataclass(frozen=True)
class Seen:
    """How hosts were seen that nothing was tried on, and the resources of which it is not known how much they give."""

    hosts: tuple[str, ...]
    by: str
    """How they are reached, or who reads their counters (`connect`)."""
    every_s: float
    no_ceiling: tuple[str, ...]
    code: Literal["seen"] = "seen"


@dataclass(frozen=True)
class Sparse:
    """These hosts are read too seldom for windows of this length."""

    hosts: tuple[str, ...]
    every_s: float
    window_s: float
    needed_s: float
    code: Literal["sparse"] = "sparse"


@dataclass(frozen=True)
class MachineFull:
    """The cores of the machine that hosts are emulated on were used up: hosts do not get their share."""

    usage: Usage
    code: Literal["machine-full"] = "machine-full"


@dataclass(frozen=True)
class NearCeiling:
    """These resources were near their ceilings at the limit."""

    usages: tuple[Usage, ...]
    code: Literal["near-ceiling"] = "near-ceiling"


@dataclass(frozen=True)
class FullInside:
    """Limits inside the system were full, while no resource came near its ceiling (`is_waited_for`: none that
    something waited for)."""

    limits: tuple[InsideLine, ...]
    is_waited_for: bool
    code: Literal["full-inside"] = "full-inside"


@dataclass(frozen=True)
class NothingNear:
    """Neither a resource came near its ceiling (`is_waited_for`: none that something waited for), nor a gauge
    of the system (`has_gauges`)."""

    stopped_by: str
    has_gauges: bool
    is_waited_for: bool
    code: Literal["nothing-near"] = "nothing-near"


@dataclass(frozen=True)
class Provable:
    """A squeeze would show whether a resource binds: `squeeze:` in the test, with `squeeze: allow` at
    `allow_at` for hosts without it."""

    allow_at: str | None = None
    code: Literal["provable"] = "provable"


@dataclass(frozen=True)
class Together:
    """The limit is one of several workloads at once; `first`: those that missed their objective first."""

    others: tuple[str, ...]
    first: tuple[str, ...]
    code: Literal["together"] = "together"


class Unmoved(StrEnum):
    """Why nothing that was squeezed moved the rate."""

    SQUEEZED = "squeezed"
    """It was squeezed, and did not move the rate."""
    UNUSED = "unused"
    """No resource is used enough to bind."""
    UNSQUEEZABLE = "unsqueezable"
    """None of the resources in use could be squeezed."""


@dataclass(frozen=True)
class InFlight:
    """Twice the generators, with twice as much in flight, got more out of the system: the limit is what they
    have in flight."""

    doubled: Mean
    """Change of the rate, percent, with its 99 % interval."""
    unmoved: Unmoved
    squeezed: tuple[Squeezed, ...]
    code: Literal["in-flight"] = "in-flight"


@dataclass(frozen=True)
class Doubled:
    """The effect of twice the generators, with twice as much in flight: percent, with its 99 % interval."""

    change: Mean
    code: Literal["doubled"] = "doubled"


class Unsqueezed(StrEnum):
    """Why nothing was squeezed, or no further."""

    NO_SHARE = "no-share"
    """None of its hosts has anything that can be taken away in part: they are machines of their own."""
    NOTHING_TO_TAKE = "nothing-to-take"
    """No resource that can be taken away in part was used enough to bind."""
    TOO_SHORT = "too-short"
    """The budget (`seconds`) is too short for so many (`count`) resources; `needed` seconds are enough."""
    TEST_FAILS = "test-fails"
    """A test of the batch job (`detail`) does not always complete."""
    REFUSED = "refused"
    """The machine refused it, or the trials failed; `detail` has its message."""


@dataclass(frozen=True)
class NotSqueezed:
    """Why nothing was squeezed, or no further."""

    reason: Unsqueezed
    count: int | None = None
    seconds: float | None = None
    needed: float | None = None
    detail: str | None = None
    code: Literal["not-squeezed"] = "not-squeezed"


@dataclass(frozen=True)
class NotTried:
    """These were near their ceilings, or used enough to bind, and not squeezed; the squeezed ones did not
    decide it."""

    usages: tuple[Usage, ...]
    unmoved: Unmoved | None
    """None if something that was squeezed may bind."""
    squeezed: tuple[Squeezed, ...]
    code: Literal["not-tried"] = "not-tried"


@dataclass(frozen=True)
class Collapsed:
    """While part of these was taken away, next to nothing went through: that does not show what binds
    before."""

    squeezed: tuple[Squeezed, ...]
    code: Literal["collapsed"] = "collapsed"


@dataclass(frozen=True)
class NotSeparated:
    """The squeezes do not separate what binds within their budget, or before they ended (`ended`)."""

    squeezed: tuple[Squeezed, ...]
    ended: NotSqueezed | None
    code: Literal["not-separated"] = "not-separated"


@dataclass(frozen=True)
class Unthrottled:
    """What follows is about the unthrottled rate, not the lower limit. `is_named`: it names what binds
    there."""

    is_named: bool
    code: Literal["unthrottled"] = "unthrottled"


@dataclass(frozen=True)
class HadRoom:
    """With a rate limit the generators had headroom, and the search stopped for another reason."""

    stopped_by: str
    code: Literal["generator-had-room"] = "generator-had-room"


@dataclass(frozen=True)
class LowerBound:
    """The generator had no headroom at the limit, which is a lower bound."""

    code: Literal["lower-bound"] = "lower-bound"


@dataclass(frozen=True)
class RoomLeft:
    """The use at the limit, on these hosts, of what binds without a rate limit is so low (share; None:
    unknown) that it is not proven to set the limit."""

    resource: str
    shares: tuple[tuple[str, float | None], ...]
    stopped_by: str
    code: Literal["room-left"] = "room-left"


@dataclass(frozen=True)
class ObjectiveMissed:
    """The objective is missed while no resource is used to `share` of its ceiling."""

    share: float
    code: Literal["objective-missed"] = "objective-missed"


@dataclass(frozen=True)
class Binds:
    """What the squeezes name."""

    squeezed: tuple[Squeezed, ...]
    code: Literal["binds"] = "binds"


@dataclass(frozen=True)
class Relieved:
    """The effect of more of what binds, and what comes next: `next`, at so many times (`at`) the rate."""

    gain: Gain
    next: Usage | None
    at: float | None
    code: Literal["relieved"] = "relieved"


@dataclass(frozen=True)
class NothingMoves:
    """No squeeze moved the rate: the limit is of another kind."""

    unmoved: Unmoved
    squeezed: tuple[Squeezed, ...]
    doubled: Mean | None
    code: Literal["nothing-moves"] = "nothing-moves"


@dataclass(frozen=True)
class AlsoFull:
    """Limits inside the system that were full; `is_cause`: they explain the limit."""

    limits: tuple[InsideLine, ...]
    is_cause: bool
    code: Literal["also-full"] = "also-full"


@dataclass(frozen=True)
class NoGauge:
    """A limit inside the system without a gauge, or (`may_be_in_flight`) what its generators ask for."""

    may_be_in_flight: bool
    code: Literal["no-gauge"] = "no-gauge"


# ---- doubts about what the squeezes name: it may bind only while it is squeezed


class Doubted(StrEnum):
    """Why what a squeeze names may not bind by itself."""

    USE_UNKNOWN = "use-unknown"
    """Its use in the unchanged blocks is unknown."""
    ROOM = "room"
    """It has headroom then, and the squeeze may only use that up."""
    IDLE_MEMBER = "idle-member"
    """One of the group has headroom: the others may bind without it."""
    NOT_SEPARATED = "not-separated"
    """The squeezes did not separate several hosts, and this one is not full."""
    RELIEF = "relief"
    """More of it gave next to nothing: it has headroom until it is squeezed."""
    NOT_FULL = "not-full"
    """It is not full in the unchanged blocks, and more of it gave nothing significant, or was not tried."""


@dataclass(frozen=True)
class Doubt:
    """A doubt, with the use in the unchanged blocks of what the squeezes name."""

    reason: Doubted
    usages: tuple[Usage, ...] = ()
    gain: Gain | None = None
    code: Literal["doubt"] = "doubt"


# ---- objections to a verdict by squeezes


class Caveat(StrEnum):
    """What qualifies or contradicts a proof."""

    NEAR_TOO = "near-too"
    """Another resource was near its ceiling, and not squeezed."""
    GENERATOR_NOT_SQUEEZED = "generator-not-squeezed"
    """The generator, which had no headroom, was not squeezed."""
    MACHINE_FULL = "machine-full"
    """The cores of the machine that emulates the hosts were near their ceiling."""


@dataclass(frozen=True)
class Against:
    """A caveat, with its resource."""

    reason: Caveat
    usage: Usage | None = None
    code: Literal["caveat"] = "caveat"


Cause = (
    NoRoom | NotSampled | NothingCompleted | Unseen | HostsUnseen | Seen | Sparse | MachineFull | NearCeiling | FullInside | NothingNear
    | Provable | Together | InFlight | Doubled | NotSqueezed | NotTried | Collapsed | NotSeparated | Unthrottled | HadRoom | LowerBound
    | RoomLeft | ObjectiveMissed | Binds | Relieved | NothingMoves | AlsoFull | NoGauge | Doubt | Against
)  # fmt: skip
"""The reasons of a verdict; several in a row make one explanation."""
