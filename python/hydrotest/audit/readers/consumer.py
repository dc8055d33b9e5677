"""kafka-consumer-perf-test. Versions before 1.1 count the group's first rebalance as time of fetching."""

from __future__ import annotations

from hydrotest.audit.claim import Claim, Pair, Tool
from hydrotest.printed.consumer import HEAD, consumed, consumed_rows, elapsed_s, is_cut_short
from hydrotest.printed.figures import Printed
from hydrotest.units import SIZES


def is_it(text: str) -> bool:
    """True if its table's head is there."""
    return any(line.startswith(HEAD) for line in text.split("\n"))


def claims(text: str) -> list[Claim]:
    """A claim for each row."""
    heads, rows = consumed_rows(text)
    found = []
    for number, row in enumerate(rows, 1):
        figures = consumed(heads, row)
        whole_s = Printed(elapsed_s(row), 0.001)
        count, mb = figures["data.consumed.in.nMsg"], figures["data.consumed.in.MB"].times(SIZES["MiB"])
        fetch = figures.get("fetch.time.ms")
        rate = figures["fetch.nMsg.sec"] if fetch is not None else figures["nMsg.sec"]
        pairs = (
            [Pair("MB.sec", figures["MB.sec"], Printed(figures["data.consumed.in.MB"].value / whole_s.value))] if whole_s.value > 0 else []
        )
        found.append(Claim(
            Tool.CONSUMER, f"row {number}", rate=rate, count=count, seconds=fetch.times(1e-3) if fetch is not None else whole_s,
            bytes_per_s=figures["fetch.MB.sec" if fetch is not None else "MB.sec"].times(SIZES["MiB"]), bytes_in_all=mb, pairs=tuple(pairs),
            is_finished=not is_cut_short(text),
        ))  # fmt: skip
    if not found:
        found.append(Claim(Tool.CONSUMER, "its table", count=Printed(0.0), is_finished=False))
    return found
