"""Lines of kafka-producer-perf-test (ProducerPerformance), all versions. Its MB are MiB."""

from __future__ import annotations

import re
from collections import Counter

from hydrotest.printed.figures import Printed, read_printed

TOOL = "ProducerPerformance"

RESULT = re.compile(
    r"^(?P<count>\S+) (?P<steady>steady state )?records sent, (?P<rate>\S+) records/sec \((?P<mb>\S+) MB/sec\), (?P<mean>\S+) ms avg latency, "
    r"(?P<max>\S+) ms max latency, (?P<p50>\S+) ms 50th, (?P<p95>\S+) ms 95th, (?P<p99>\S+) ms 99th, (?P<p999>\S+) ms 99\.9th",
    re.MULTILINE | re.ASCII,
)
"""The last line, or the one of the steady state after a warm-up."""
INTERVAL = re.compile(
    r"^(?P<count>\S+) records sent, (?P<rate>\S+) records/sec \((?P<mb>\S+) MB/sec\), (?P<mean>\S+) ms avg latency, "
    r"(?P<max>\S+) (?:ms )?max latency\.$",
    re.MULTILINE | re.ASCII,
)
"""Every five seconds."""
WARM_UP = re.compile(r"^Warmup first ", re.MULTILINE)
_EXCEPTION = re.compile(r"^(?:[a-z]\w*\.)+(\w+(?:Exception|Error))(?::|$)", re.MULTILINE | re.ASCII)
"""The head of a stack trace; `Caused by:` and log lines begin otherwise."""


def produced(line: re.Match[str]) -> dict[str, Printed]:
    """A line's figures: `count`, `rate`, `mb` a second, latencies in ms."""
    texts = {key: text for key, text in line.groupdict().items() if key != "steady"}
    return dict(zip(texts, read_printed(list(texts.values()), grouped=False, tool=TOOL), strict=True))


def exceptions(output: str) -> dict[str, int]:
    """Stack traces by the exception's name: the tool prints one for each record that failed."""
    return dict(Counter(_EXCEPTION.findall(output)))
