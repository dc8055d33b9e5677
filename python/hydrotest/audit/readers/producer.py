"""kafka-producer-perf-test. Its times begin when a record is handed to the producer, however late that was."""

from __future__ import annotations

from hydrotest.audit.claim import Claim, Interval, Tool
from hydrotest.audit.readers.command_line import number, options
from hydrotest.printed.figures import Printed
from hydrotest.printed.producer import INTERVAL, RESULT, WARM_UP, exceptions, produced
from hydrotest.units import SIZES

BUFFER_BYTES = 32 * SIZES["MiB"]
"""`buffer.memory` of Kafka's producer, if not set."""
EVERY_S = 5.0
LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")


def is_it(text: str) -> bool:
    """True if it printed results, or only what it prints on its way."""
    return RESULT.search(text) is not None or INTERVAL.search(text) is not None


def claims(text: str) -> list[Claim]:
    """A claim for each run; of one with a warm-up its steady state."""
    given = options(text, "(?:kafka-producer-perf-test(?:\\.sh)?|ProducerPerformance)")
    target, asked, size = number(given, "throughput"), number(given, "num-records"), number(given, "record-size")
    found = []
    lines = list(RESULT.finditer(text))
    at = 0
    for line in lines:
        is_steady = bool(line["steady"])
        if not is_steady and WARM_UP.search(text) and any(other["steady"] for other in lines):
            continue  # of both: its steady state counts
        figures = produced(line)
        before = [produced(one) for one in INTERVAL.finditer(text, at, line.start())]
        at = line.end()
        rate, mb = figures["rate"], figures["mb"].times(SIZES["MiB"])
        own = size or (mb.value / rate.value if rate.value > 0 else None)
        failed = asked - figures["count"].value if asked is not None and not is_steady and len(lines) == 1 else None
        found.append(Claim(
            Tool.PRODUCER, f"line {text.count(chr(10), 0, line.start()) + 1}", "steady state" if is_steady else "", rate=rate,
            target=Printed(target) if target else None, count=figures["count"], bytes_per_s=mb, record_bytes=own,
            latency_ms={name: figures[name] for name in LATENCIES}, errors=Printed(failed) if failed is not None and failed > 0 else None,
            errors_by_name=exceptions(text) if len(lines) == 1 else {}, warmed_up=True if is_steady else None,
            intervals=tuple(Interval(one["rate"].value, one["max"].value) for one in before), interval_s=EVERY_S,
            buffer_bytes=number(given, "buffer.memory") or BUFFER_BYTES,
        ))  # fmt: skip
    if not found:
        last = [produced(one) for one in INTERVAL.finditer(text)]
        found.append(Claim(Tool.PRODUCER, "its last line", rate=last[-1]["rate"], latency_ms={}, is_finished=False))
    return found
