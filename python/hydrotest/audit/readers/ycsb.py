"""YCSB: `[OVERALL]` and a block for each kind of operation; latencies are µs and, without `measurement.interval=both`, count from the send."""

from __future__ import annotations

import re

from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.audit.readers.command_line import number, options
from hydrotest.printed.figures import Printed, read_printed

_LINE = re.compile(r"^\[(?P<block>[A-Z_-]+)\],\s*(?P<key>[^,\n]+),\s*(?P<value>[-0-9.,NaE+]+)\s*$", re.MULTILINE)
_STATUS = re.compile(r"(?P<seconds>[0-9]+) sec: [0-9]+ operations; (?P<rate>[0-9.]+) current ops/sec")
_KEYS = {"AverageLatency(us)": "mean", "50thPercentileLatency(us)": "p50", "90thPercentileLatency(us)": "p90", "95thPercentileLatency(us)": "p95",
         "99thPercentileLatency(us)": "p99", "99.9PercentileLatency(us)": "p999", "99.99PercentileLatency(us)": "p9999", "MaxLatency(us)": "max"}  # fmt: skip
_ALL, _OK = "OVERALL", "Return=OK"
INTENDED = "Intended-"


def is_it(text: str) -> bool:
    """True if it has its overall throughput."""
    return re.search(r"^\[OVERALL\], (?:RunTime|Throughput)", text, re.MULTILINE) is not None


def claims(text: str) -> list[Claim]:
    """A claim for the whole, and one for each kind of operation."""
    lines = [line for line in _LINE.finditer(text) if not line["block"].startswith("TOTAL_GC")]
    values = read_printed([line["value"].rstrip(",") for line in lines], grouped=False, tool="YCSB")
    blocks: dict[str, dict[str, Printed]] = {}
    for line, value in zip(lines, values, strict=True):
        blocks.setdefault(line["block"], {})[line["key"]] = value
    given = options(text, "(?:Command line:|ycsb)")
    threads, target = number(given, "threads", "threadcount"), number(given, "target")
    ops = {name: block for name, block in blocks.items() if name not in (_ALL, "CLEANUP") and "Operations" in block}
    whole, operations = blocks.get(_ALL, {}), sum(block["Operations"].value for block in ops.values())
    status = [(float(one["seconds"]), float(one["rate"])) for one in _STATUS.finditer(text)]
    runtime = whole.get("RunTime(ms)")
    busy_s = sum(
        block["Operations"].value * block["AverageLatency(us)"].value / 1e6 for block in ops.values() if "AverageLatency(us)" in block
    )
    failed = sum(value.value for block in ops.values() for key, value in block.items() if key.startswith("Return=") and key != _OK)
    return [
        Claim(Tool.YCSB, "[OVERALL]", rate=whole.get("Throughput(ops/sec)"), seconds=runtime.times(1e-3) if runtime else None,
              count=Printed(operations) if operations else None, threads=threads, in_flight=busy_s / (runtime.value / 1e3) if runtime and busy_s else None,
              errors=Printed(failed), intervals=tuple(Interval(rate) for _, rate in status if rate > 0),
              interval_s=status[1][0] - status[0][0] if len(status) > 1 else 10.0,
              target=Printed(target) if target else None, loop=Loop.CLOSED),
        *(_op(name, block, runtime) for name, block in ops.items()),
    ]  # fmt: skip


def _op(name: str, block: dict[str, Printed], runtime: Printed | None) -> Claim:
    count = block["Operations"]
    return Claim(
        Tool.YCSB, f"[{name}]", name, count=count, rate=Printed(count.value / (runtime.value / 1e3)) if runtime and runtime.value > 0 else None,
        latency_ms={ours: block[key].times(1e-3) for key, ours in _KEYS.items() if key in block},
        loop=Loop.OPEN if name.startswith(INTENDED) else Loop.CLOSED,
    )  # fmt: skip
