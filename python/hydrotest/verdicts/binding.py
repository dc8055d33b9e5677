"""What sets a limit: the verdict and its reasons, as codes and figures.

A verdict is a suspicion by use (`basis` use), or the result of squeezes (`basis` squeeze). Texts (`detail`,
`what`, `why`, `caveats`, `provable_by`, `there`) are empty until `report/wording` fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from hydrotest.verdicts.causes import Against, Cause, Provable, Together
from hydrotest.verdicts.evidence import Line
from hydrotest.verdicts.figures import Mean, Usage


class Kind(StrEnum):
    """What kind of thing sets a limit."""

    RESOURCE = "resource"
    SYSTEM = "system"
    """A limit inside the system, or no resource at all."""
    GENERATOR = "generator"
    UNDECIDED = "undecided"
    """Several things may set it, and nothing separates them."""
    UNKNOWN = "unknown"


class Suspect(StrEnum):
    """What may be ruled out."""

    RESOURCE = "resource"
    GENERATOR = "generator"
    INSIDE = "inside"
    """Limits inside the systems, as far as gauges show them."""


class Cleared(StrEnum):
    """Why something is ruled out."""

    LITTLE_USED = "little-used"
    HAD_ROOM = "had-room"
    """Every check of the generator's headroom passed."""
    NO_GAUGE_FULL = "no-gauge-full"
    NOT_WAITED_FOR = "not-waited-for"
    """It was used much, but nothing waited for it."""
    SQUEEZED = "squeezed"
    """A squeeze of it did not move the rate."""


@dataclass(frozen=True)
class RuledOut:
    """Something that does not set the limit. `hosts` and `resource` are those of a resource; `gauges`: how
    many were read."""

    of: Suspect
    because: Cleared
    hosts: tuple[str, ...] = ()
    resource: str | None = None
    usage: Usage | None = None
    elasticity: Mean | None = None
    gauges: int | None = None
    what: str = ""
    why: str = ""


class Near(StrEnum):
    """By which figure something came near to being a suspect."""

    USE = "use"
    THROTTLED = "throttled"
    INSIDE = "inside"


@dataclass(frozen=True)
class Nearest:
    """What came nearest to being a suspect: `nearness` 1 makes one. `ruled_out`: its use is so low that it is
    not one, and nothing else came nearer."""

    by: Near
    host: str
    resource: str | None
    value: float
    threshold: float
    nearness: float
    ruled_out: bool
    limit: str | None = None
    """The internal limit, if it is one."""
    proof: Provable | None = None
    what: str = ""
    provable_by: str | None = None


class Role(StrEnum):
    """What the squeezes show of one resource."""

    BINDS = "binds"
    PART = "part"
    """A part of what binds: a host of a group that does, or a group with hosts that do."""
    OUT = "out"
    OUT_ALONE = "out alone"
    """A host of a group that binds, which does not by itself."""
    SHARES = "shares"
    """It shares the limit with others."""
    UNKNOWN = "unknown"
    """The effect of the squeeze may be no more than its headroom."""


@dataclass(frozen=True)
class SqueezeRow:
    """A squeezed resource, with its elasticity (95 %), and its use in the unchanged blocks (`freely`).
    `left`: the share that a squeeze leaves."""

    hosts: tuple[str, ...]
    resource: str
    left: float
    role: Role
    value: float
    low: float
    high: float
    n: int
    freely: tuple[Line, ...]
    host: str = ""
    """The hosts in words."""


@dataclass(frozen=True)
class Next:
    """The effect of more of the binding resource (`given` times as much; change of the rate in percent), and
    what binds next, at so many times the rate (`at`)."""

    kind: Kind
    host: str | None
    resource: str | None
    at: float | None
    given: float
    change_pct: float
    low_pct: float
    high_pct: float
    share: float | None
    is_still: bool
    """The relieved resource still binds."""


@dataclass(frozen=True)
class BoundBy:
    """What sets a limit."""

    kind: Kind
    because: tuple[Cause, ...] = ()
    host: str | None = None
    resource: str | None = None
    confirmed: bool = False
    """Proven by squeezes."""
    evidence: tuple[Line, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    binds: tuple[str, ...] = ()
    """The hosts whose `resource` binds, if that is more than suspected."""
    elasticity: Mean | None = None
    """The greatest elasticity of the binding hosts, with its 95 % interval."""
    next: Next | None = None
    squeezed: tuple[SqueezeRow, ...] = ()
    basis: Literal["use", "squeeze"] = "use"
    nearest: tuple[Nearest, ...] = ()
    """If nothing is suspected: what came nearest to it, the nearest first."""
    against: tuple[Against, ...] = ()
    """What qualifies or contradicts a proof."""
    together: Together | None = None
    """For a limit of several workloads at once."""
    detail: str = ""
    caveats: tuple[str, ...] = field(default=())
    there: str = ""
    """What binds together, without the neighbours."""
