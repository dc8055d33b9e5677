"""OpenMessaging Benchmark: one JSON file for each workload and driver. Latencies are ms, delays of sends µs; an interval is 10 s."""

from __future__ import annotations

import math
import statistics
from typing import Any

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.printed.figures import Printed

EVERY_S = 10.0
_NAMES = {"Avg": "mean", "50pct": "p50", "75pct": "p75", "95pct": "p95", "99pct": "p99", "999pct": "p999", "9999pct": "p9999", "Max": "max"}


def is_it(value: Any) -> bool:
    """True if it has its rates and its latencies."""
    return isinstance(value, dict) and "publishRate" in value and any(key.startswith("aggregatedPublishLatency") for key in value)


def claims(value: dict[str, Any]) -> list[Claim]:
    """Publishing, and end to end."""
    published, consumed = _series(value, "publishRate"), _series(value, "consumeRate")
    backlog, errors = _series(value, "backlog"), _series(value, "publishErrorRate")
    highest = _series(value, "publishLatencyMax")
    size = value.get("messageSize")
    rate = Printed(statistics.fmean(published)) if published else None
    where = f"workload {value.get('workload', 'without a name')}"
    failed = sum(errors) * EVERY_S
    late = value.get("aggregatedPublishDelayLatency99pct")
    target = value.get("producerRate")
    ends = {name: figure for name, figure in _latency(value, "aggregatedEndToEndLatency").items() if figure.value > 0}
    intervals = tuple(Interval(one, highest[at] if at < len(highest) else None) for at, one in enumerate(published))
    return [
        Claim(
            Tool.OMB, where, "publish", rate=rate, target=Printed(float(target)) if target else None, loop=Loop.OPEN,
            count=Printed(rate.value * EVERY_S * len(published)) if rate else None, record_bytes=float(size) if size else None,
            latency_ms=_latency(value, "aggregatedPublishLatency"), errors=Printed(failed) if failed > 0 else None, intervals=intervals,
            interval_s=EVERY_S, late_ms=Printed(float(late) / 1e3) if late is not None else None,
        ),
        *([Claim(
            Tool.OMB, where, "end to end", rate=Printed(statistics.fmean(consumed)) if consumed else None, loop=Loop.OPEN, latency_ms=ends,
            count=Printed(statistics.fmean(consumed) * EVERY_S * len(consumed)) if consumed else None,
            intervals=tuple(Interval(one, backlog=backlog[at] if at < len(backlog) else None) for at, one in enumerate(consumed)), interval_s=EVERY_S,
        )] if consumed and any(consumed) else []),
    ]  # fmt: skip


def _series(value: dict[str, Any], key: str) -> list[float]:
    return [float(one) for one in value.get(key) or ()]


def _latency(value: dict[str, Any], prefix: str) -> dict[str, Printed]:
    known = {name: value.get(prefix + key) for key, name in _NAMES.items()}
    # Times are rounded to the three digits of its histogram.
    return {
        name: Printed(float(one), abs(float(one)) * 1e-3 + 5e-4)
        for name, one in known.items()
        if one is not None and math.isfinite(float(one))
    }
