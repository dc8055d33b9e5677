"""YCSB: `[OVERALL]` and a block for each kind of operation; latencies are µs and, without `measurement.interval=both`, count from the send."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.audit.readers.command_line import number, options
from hydrotest.printed.figures import Printed

_LINE = re.compile(r"^\[(?P<block>[A-Za-z_-]+)\],\s*(?P<key>[^,\n]+),\s*(?P<value>[-0-9.NaE+]+)\s*$", re.MULTILINE)
"""Java's own form of numbers, the same in all locales."""
_STATUS = re.compile(r"(?P<seconds>[0-9]+) sec: [0-9]+ operations; (?P<rate>[0-9.]+) current ops/sec")
_KEYS = {"AverageLatency(us)": "mean", "50thPercentileLatency(us)": "p50", "90thPercentileLatency(us)": "p90", "95thPercentileLatency(us)": "p95",
         "99thPercentileLatency(us)": "p99", "99.9PercentileLatency(us)": "p999", "99.99PercentileLatency(us)": "p9999", "MaxLatency(us)": "max"}  # fmt: skip
_ALL, _CLEANUP = "OVERALL", "CLEANUP"
_OK = ("Return=OK", "Return=BATCHED_OK", "Return=0")
_OF_OTHERS = ("READ-MODIFY-WRITE", "VERIFY")
"""Made of reads and updates that have blocks of their own."""
INTENDED = "Intended-"


def is_it(text: str) -> bool:
    """True if it has its overall throughput."""
    return re.search(r"^\[OVERALL\], (?:RunTime|Throughput)", text, re.MULTILINE) is not None


def claims(text: str) -> list[Claim]:
    """A claim for the whole, and one for each kind of operation."""
    blocks: dict[str, dict[str, Printed]] = {}
    for line in _LINE.finditer(text):
        if not line["block"].startswith(("TOTAL_GC", _CLEANUP)):
            blocks.setdefault(line["block"], {})[line["key"]] = _printed(line["value"])
    given = options(text, "(?:Command line:|ycsb)")
    threads, target = number(given, "threads", "threadcount"), number(given, "target")
    ops = {name: block for name, block in blocks.items() if name != _ALL and "Operations" in block}
    counted = {name: block for name, block in ops.items() if not name.startswith((INTENDED, *_OF_OTHERS))}
    whole, operations = blocks.get(_ALL, {}), _operations(ops, counted)
    status = [(float(one["seconds"]), float(one["rate"])) for one in _STATUS.finditer(text)]
    runtime = whole.get("RunTime(ms)")
    took_s = runtime.value / 1e3 if runtime else 0.0
    busy_s = sum(
        block["Operations"].value * block["AverageLatency(us)"].value / 1e6 for block in counted.values() if "AverageLatency(us)" in block
    )
    failed = sum(value.value for block in counted.values() for key, value in block.items() if key.startswith("Return=") and key not in _OK)
    return [
        Claim(Tool.YCSB, "[OVERALL]", rate=whole.get("Throughput(ops/sec)"), seconds=runtime.times(1e-3) if runtime else None,
              count=Printed(operations) if operations else None, threads=threads, in_flight=busy_s / took_s if took_s > 0 and busy_s else None,
              errors=Printed(failed), intervals=tuple(Interval(rate) for _, rate in status if rate > 0),
              interval_s=status[1][0] - status[0][0] if len(status) > 1 else 10.0,
              target=Printed(target) if target else None, loop=Loop.CLOSED),
        *(_op(name, block, runtime) for name, block in ops.items()),
    ]  # fmt: skip


def _operations(ops: Mapping[str, Mapping[str, Printed]], counted: Mapping[str, Mapping[str, Printed]]) -> float:
    """As the throughput counts them: a read-modify-write is one, and its read and its update are in the blocks of reads and updates."""
    twice = ops.get("READ-MODIFY-WRITE", {}).get("Operations", Printed(0.0)).value
    return sum(block["Operations"].value for block in counted.values()) - twice


def _op(name: str, block: dict[str, Printed], runtime: Printed | None) -> Claim:
    count = block["Operations"]
    return Claim(
        Tool.YCSB, f"[{name}]", name, count=count, rate=Printed(count.value / (runtime.value / 1e3)) if runtime and runtime.value > 0 else None,
        latency_ms={ours: block[key].times(1e-3) for key, ours in _KEYS.items() if key in block},
        loop=Loop.OPEN if name.startswith(INTENDED) else Loop.CLOSED, is_part=True,
    )  # fmt: skip


def _printed(text: str) -> Printed:
    value = float(text)
    decimals = len(text.partition(".")[2]) if "E" not in text else 0
    return Printed(value, 0.5 * 10.0**-decimals if "E" not in text else abs(value) * 1e-6)
