"""Results of cassandra-stress, from 2.1 on: labels, totals, and figures by kind of operation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hydrotest.errors import TrialFailedError

TOOL = "cassandra-stress"
RESULTS = re.compile(r"^[ \t]*Results:[ \t]*\r?$", re.MULTILINE)
LABELS = {
    "latency mean": "mean", "latency median": "p50", "latency 95th percentile": "p95", "latency 99th percentile": "p99",
    "latency 99.9th percentile": "p999", "latency max": "max", "op rate": "rate_per_s", "partition rate": "partitions_per_s",
    "total partitions": "count", "total errors": "errors",
}  # fmt: skip
"""In lower case: Cassandra 2.1 began most of them in lower case."""
VALUE = re.compile(r"\s*(?P<total>[^\s\[\]]+)(?:\s+(?:op/s|pk/s|ms))?\s*(?:\[(?P<ops>[^\[\]]*)\])?\s*", re.ASCII)
OP = re.compile(r"(?P<op>[^:]+):\s*(?P<value>\S+)(?:\s+(?:op/s|pk/s|ms))?\s*", re.ASCII)


@dataclass(frozen=True)
class Cell:
    """A figure of cassandra-stress; of one kind of operation, or of all (None)."""

    key: str
    op: str | None
    text: str


def stress_cells(line: str) -> list[Cell]:
    """The figures of one line; empty if its label is not used."""
    label, _, rest = line.partition(":")
    key = LABELS.get(label.strip(" \t").lower())
    if key is None:
        return []
    found = VALUE.fullmatch(rest)
    ops = re.split(r",\s+", found["ops"], flags=re.ASCII) if found and found["ops"] else []
    matches = [OP.fullmatch(op) for op in ops]
    if found is None or None in matches:
        raise TrialFailedError(f"{TOOL} printed a line that cannot be read: {line.strip()!r}", "See its output in the trial's logs/.")
    return [Cell(key, None, found["total"]), *(Cell(key, match["op"].lower(), match["value"]) for match in matches if match)]
