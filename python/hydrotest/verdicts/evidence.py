"""The lines of evidence for a verdict on what binds. `what` is empty until `report/wording` fills it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class UseLine:
    """Use of a resource of a host. `value`: the share of its ceiling; `used` and `ceiling` in `used_unit`."""

    host: str
    resource: str
    value: float | None
    used: float
    ceiling: float | None
    used_unit: str
    unit: None = None
    kind: Literal["use"] = "use"
    what: str = ""


@dataclass(frozen=True)
class ThrottledLine:
    """The share of periods in which a host was throttled by its CPU quota."""

    host: str
    resource: str
    value: float
    unit: None = None
    kind: Literal["throttled"] = "throttled"
    what: str = ""


@dataclass(frozen=True)
class SignLine:
    """A sign that something waited for a resource, or that it ran short. `sign`: the counter; `shows`: it
    did."""

    host: str
    resource: str
    sign: str
    value: float
    unit: str | None
    shows: bool
    kind: Literal["sign"] = "sign"
    what: str = ""


@dataclass(frozen=True)
class InsideLine:
    """A limit inside a system, with its gauge's value. `when` and `threshold`: where it is full; `spends`: it
    uses CPU itself when full; `remedy`: what to do with `setting`, by its `source`; `unthrottled`: it was
    full only under unthrottled load, not at the limit."""

    limit: str
    host: str
    service: str
    value: float
    unit: str | None
    threshold: float
    when: Literal["below", "above"]
    full: bool
    spends: bool
    setting: str
    remedy: str
    source: str
    unthrottled: bool = False
    kind: Literal["internal"] = "internal"
    what: str = ""


@dataclass(frozen=True)
class ServiceLine:
    """A service's share of the use of a resource by all services there, counted by `of`. `frees`: the share
    of all use that would be free without it."""

    host: str
    service: str
    of: Literal["cpu_cores", "disk_write_bytes_per_s", "payload_bytes_per_s"]
    value: float
    frees: float | None
    unit: None = None
    kind: Literal["service"] = "service"
    what: str = ""


Line = UseLine | ThrottledLine | SignLine | InsideLine | ServiceLine
