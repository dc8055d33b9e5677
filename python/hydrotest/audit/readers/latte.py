"""latte: `-o FILE.json`. Latencies are ms; with a rate they count from the schedule."""

from __future__ import annotations

from typing import Any

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.printed.figures import Printed

_ORDER = ("Min", "P1", "P2", "P5", "P10", "P25", "P50", "P75", "P90", "P95", "P98", "P99", "P99_9", "P99_99", "Max")
_NAMES = {
    "P50": "p50",
    "P75": "p75",
    "P90": "p90",
    "P95": "p95",
    "P98": "p98",
    "P99": "p99",
    "P99_9": "p999",
    "P99_99": "p9999",
    "Max": "max",
}
ROUNDED = 2e-3
"""Its histograms hold two to three digits."""


def is_it(value: Any) -> bool:
    """True if it has a result with cycles."""
    return isinstance(value, dict) and isinstance(value.get("result"), dict) and "cycle_count" in value["result"]


def claims(value: dict[str, Any]) -> list[Claim]:
    """One: of all cycles."""
    result, given = value["result"], value.get("conf") or {}
    target = _first(given.get("rate"))
    limit = (_first(given.get("concurrency")) or 0) * (_first(given.get("threads")) or 1)
    seconds, count = float(result["elapsed_time_s"]), float(result["cycle_count"])
    ratio = result.get("concurrency_ratio")
    flying = result.get("concurrency", {}).get("value") if isinstance(result.get("concurrency"), dict) else None
    intervals = tuple(Interval(float(one["cycle_throughput"])) for one in result.get("log") or ())
    return [Claim(
        Tool.LATTE, "result", rate=Printed(count / seconds), target=Printed(float(target)) if target else None, count=Printed(count),
        seconds=Printed(seconds), latency_ms=_latency(result.get("cycle_latency") or result.get("request_latency") or {}),
        loop=Loop.OPEN if target else Loop.CLOSED, in_flight=float(flying) * (_first(given.get("threads")) or 1) if flying is not None else None,
        threads=limit or (float(flying) / float(ratio) * 100 if flying and ratio else None),
        errors=Printed(float(result.get("error_count") or 0)), intervals=intervals,
        interval_s=float(result["log"][0]["duration_s"]) if intervals else 1.0,
    )]  # fmt: skip


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value if not isinstance(value, list) else None


def _latency(given: dict[str, Any]) -> dict[str, Printed]:
    found: dict[str, Any] = {}
    percentiles = given.get("percentiles")
    if isinstance(percentiles, list):
        found = {_NAMES[name]: one["value"] for name, one in zip(_ORDER, percentiles, strict=False) if name in _NAMES}
    elif isinstance(percentiles, dict):
        found = {_NAMES[name]: one["value"] for name, one in percentiles.items() if name in _NAMES}
    if isinstance(given.get("mean"), dict):
        found["mean"] = given["mean"]["value"]
    return {name: Printed(float(one), ROUNDED * float(one)) for name, one in found.items() if one is not None}
