"""The evidence of a verdict: its lines, and how to find them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from hydrotest.analysis.bottleneck.gauges import Gauged
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.verdicts.evidence import InsideLine, Line, ServiceLine, SignLine, ThrottledLine, UseLine


def lines(uses: Sequence[Use], internals: Sequence[Gauged]) -> tuple[Line, ...]:
    """All that is known of these resources, and the internal limits that were full."""
    return (
        *(UseLine(use.host, use.resource, use.share, use.used, use.ceiling, use.unit) for use in uses),
        *(ThrottledLine(use.host, use.resource, use.throttled) for use in uses if use.throttled is not None),
        *(SignLine(use.host, use.resource, sign.name, sign.value, sign.unit, sign.shows) for use in uses for sign in use.signs),
        *(internal.evidence() for internal in internals if internal.is_full),
    )


PAYLOAD = "payload"
Counted = Literal["cpu_cores", "disk_write_bytes_per_s", "payload_bytes_per_s"]
SHARED: dict[str, Counted] = {
    "cores": "cpu_cores",
    "bytes/s written": "disk_write_bytes_per_s",
    PAYLOAD: "payload_bytes_per_s",
}
"""The units of uses that are known for each service: the column that has them. Traffic of a link is not
counted by service: only each workload's payload is known."""


def service_lines(services: Sequence[Mapping[str, Any]], unit: str, used: float | None = None) -> tuple[ServiceLine, ...]:
    """Each service's share of what all of `services` used (`service`, `host`, and the column of `SHARED`).
    `frees`: its part of all that was `used`, which would be free without it. Empty if unknown in this
    unit."""
    if unit not in SHARED:
        return ()
    column = SHARED[unit]
    every = sum(one[column] or 0.0 for one in services)
    return tuple(
        ServiceLine(one["host"], one["service"], column, (one[column] or 0.0) / every, (one[column] or 0.0) / used if used else None)
        for one in services if every > 0
    )  # fmt: skip


def uses(evidence: Sequence[Line]) -> list[UseLine]:
    """Use of each resource of each host."""
    return [line for line in evidence if line.kind == "use"]


def used(evidence: Sequence[Line], resource: str | None, hosts: Collection[str]) -> list[UseLine]:
    """Use of a resource of these hosts; those without a ceiling are left out."""
    return [line for line in uses(evidence) if line.resource == resource and line.host in hosts and line.value is not None]


def throttled(evidence: Sequence[Line], host: str) -> float:
    """The share of periods in which a host was throttled by its CPU quota; 0 without one."""
    return next((line.value for line in evidence if line.kind == "throttled" and line.host == host), 0.0)


def waited(evidence: Sequence[Line], resource: str, host: str) -> list[SignLine]:
    """Signs that something waited for a resource of a host, or that it ran short."""
    return [line for line in evidence if line.kind == "sign" and (line.resource, line.host) == (resource, host) and line.shows]


def inside(evidence: Sequence[Line]) -> list[InsideLine]:
    """The limits inside the systems whose gauges were full."""
    return [line for line in evidence if line.kind == "internal"]


def by_service(evidence: Sequence[Line]) -> list[ServiceLine]:
    """Shares of services in the use."""
    return [line for line in evidence if line.kind == "service"]
