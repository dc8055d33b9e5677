"""kafka-producer-perf-test. Its times begin when a record is handed to the producer, however late that was."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Sequence

from hydrotest.audit.claim import Claim, Interval, Tool
from hydrotest.audit.readers.command_line import number, options
from hydrotest.printed.figures import Printed
from hydrotest.printed.producer import INTERVAL, RESULT, exceptions, produced
from hydrotest.units import SIZES

BUFFER_BYTES = 32 * SIZES["MiB"]
"""`buffer.memory` of Kafka's producer, if not set."""
EVERY_S = 5.0
CALLED = r"(?:kafka-producer-perf-test(?:\.sh)?|ProducerPerformance)"
LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")


def is_it(text: str) -> bool:
    """True if it printed results, or only what it prints on its way."""
    return RESULT.search(text) is not None or INTERVAL.search(text) is not None


def claims(text: str) -> list[Claim]:
    """A claim for each run; of one with a warm-up its steady state."""
    found = []
    lines = list(RESULT.finditer(text))
    at = 0
    for line, following in itertools.zip_longest(lines, lines[1:]):
        if not line["steady"] and following is not None and following["steady"]:
            continue  # of both: its steady state counts
        given = options(text[: line.start()], CALLED)
        before = [produced(one) for one in INTERVAL.finditer(text, at, line.start())]
        found.append(
            _claim(
                line, given, before, exceptions(text[at : line.start()]), text.count("\n", 0, line.start()) + 1, is_alone=len(lines) == 1
            )
        )
        at = line.end()
    if not found:
        last = [produced(one) for one in INTERVAL.finditer(text)]
        found.append(Claim(Tool.PRODUCER, "its last line", rate=last[-1]["rate"], latency_ms={}, is_finished=False))
    return found


def _claim(
    line: re.Match[str],
    given: dict[str, str],
    before: Sequence[dict[str, Printed]],
    errors: dict[str, int],
    number_of_it: int,
    *,
    is_alone: bool,
) -> Claim:
    figures, is_steady = produced(line), bool(line["steady"])
    target, asked, size = number(given, "throughput"), number(given, "num-records"), number(given, "record-size")
    rate, mb = figures["rate"], figures["mb"].times(SIZES["MiB"])
    failed = asked - figures["count"].value if asked is not None and not is_steady and is_alone else None
    return Claim(
        Tool.PRODUCER, f"line {number_of_it}", "steady state" if is_steady else "", rate=rate, target=Printed(target) if target else None,
        count=figures["count"], bytes_per_s=mb, record_bytes=size or (mb.value / rate.value if rate.value > 0 else None),
        latency_ms={name: figures[name] for name in LATENCIES}, errors=Printed(failed) if failed is not None and failed > 0 else None,
        errors_by_name=errors, warmed_up=True if is_steady else None,
        intervals=tuple(Interval(one["rate"].value, one["max"].value) for one in before), interval_s=_interval_s(before),
        buffer_bytes=number(given, "buffer.memory") or BUFFER_BYTES,
    )  # fmt: skip


def _interval_s(before: Sequence[dict[str, Printed]]) -> float:
    """As `--reporting-interval` had it: records ÷ rate."""
    known = [one["count"].value / one["rate"].value for one in before if one["rate"].value > 0]
    return statistics.median(known) if known else EVERY_S
