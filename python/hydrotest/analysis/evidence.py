"""The evidence of a verdict: the lines that the contract asks for (`what`, `host`, `value`, `unit`), and how they are found again. Beside those a line has its
`kind`: `use` of a resource, a CPU quota that `throttled`, a `sign` that something waited for a resource, an `internal` limit that was full, or a `service`'s share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hydrotest.analysis.internal import Gauged
from hydrotest.analysis.resource_use import Use
from hydrotest.units import show_figure

Line = Mapping[str, Any]


def lines(uses: Sequence[Use], internals: Sequence[Gauged]) -> list[dict[str, Any]]:
    """All that is known of these resources, and the internal limits that were full."""
    return [
        {"kind": "use", "what": f"{use.resource} of {use.host}, share of its ceiling that was used", "host": use.host, "resource": use.resource,
         "value": use.share, "unit": None, "used": use.used, "ceiling": use.ceiling, "used_unit": use.unit}
        for use in uses
    ] + [
        {"kind": "throttled", "what": f"share of its periods in which {use.host} was held back by its CPU quota", "host": use.host,
         "resource": use.resource, "value": use.throttled, "unit": None}
        for use in uses
        if use.throttled is not None
    ] + [
        {"kind": "sign", "what": f"{sign.what}, {use.resource} of {use.host}", "sign": sign.what, "host": use.host, "resource": use.resource,
         "value": sign.value, "unit": sign.unit, "shows": sign.shows}
        for use in uses for sign in use.signs
    ] + [{"kind": "internal", **internal.evidence()} for internal in internals if internal.is_full]  # fmt: skip


PAYLOAD = "payload"
SHARED = {
    "cores": ("cpu_cores", "cores that services used there"),
    "bytes/s written": ("disk_write_bytes_per_s", "bytes that services wrote there"),
    PAYLOAD: ("payload_bytes_per_s", "payload that workloads moved, there and elsewhere"),
}
"""Of which uses it is known what each service had, by their units: where that is written, and words for it. What crosses a link nobody counts by service: of it only the
payload of each workload is known."""


def service_lines(services: Sequence[Mapping[str, Any]], unit: str, used: float | None = None) -> list[dict[str, Any]]:
    """Each one's share of what all of `services` (`service`, `host`, and the column of `SHARED`) used, and the part that it is of all that was `used` (`frees`: so much
    would be free without it); none where it is not known of uses in this unit."""
    if unit not in SHARED:
        return []
    column, words = SHARED[unit]
    every = sum(one[column] or 0.0 for one in services)
    return [
        {"kind": "service", "what": f"share of the {words}: {one['service']}", "host": one["host"], "of": words,
         "service": one["service"], "value": (one[column] or 0.0) / every, "unit": None, "frees": (one[column] or 0.0) / used if used else None}
        for one in services if every > 0
    ]  # fmt: skip


def uses(evidence: Sequence[Line]) -> list[Line]:
    """What was used of each resource of each host."""
    return _of(evidence, "use")


def used(evidence: Sequence[Line], resource: str | None, hosts: Collection[str]) -> list[Line]:
    """What was used of a resource of these hosts; those without a ceiling are left out."""
    return [line for line in uses(evidence) if line["resource"] == resource and line["host"] in hosts and line["value"] is not None]


def throttled(evidence: Sequence[Line], host: str) -> float:
    """The share of its periods in which a host was held back by its CPU quota; 0 without one."""
    return next((line["value"] for line in _of(evidence, "throttled") if line["host"] == host), 0.0)


def waited(evidence: Sequence[Line], resource: str, host: str) -> list[Line]:
    """Signs that something waited for a resource of a host, or that it ran short."""
    return [line for line in _of(evidence, "sign") if (line["resource"], line["host"]) == (resource, host) and line["shows"]]


def inside(evidence: Sequence[Line]) -> list[Line]:
    """The limits inside the systems whose gauges were full."""
    return _of(evidence, "internal")


def inside_words(found: Sequence[Line]) -> str:
    """Those in words."""
    return "; ".join(
        f"{one['what']}: {show_figure(one['value'], one['unit'])} (full {one['when']} {show_figure(one['threshold'], one['unit'])}; bounded by `{one['setting']}`)"
        for one in found
    )


def by_service(evidence: Sequence[Line]) -> list[Line]:
    """Shares of services in what was used."""
    return _of(evidence, "service")


def _of(evidence: Sequence[Line], kind: str) -> list[Line]:
    return [line for line in evidence if line.get("kind") == kind]
