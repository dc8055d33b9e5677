"""Files or objects written and read: throughput, and each one's own rate, by number of them at once."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from hydrotest.analysis.statistics.latency import latency_ms
from hydrotest.store.histograms import empty
from hydrotest.store.records import FilesPass, Tenancy, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.files import Files

Op = Literal["read", "write"]
OPS: dict[str, tuple[str, Op]] = {
    "hdfs-write": ("hdfs", "write"), "hdfs-read": ("hdfs", "read"), "s3-write": ("s3", "write"), "s3-read": ("s3", "read"),
}  # fmt: skip
"""The system that a kind of workload presses on, and what it does there."""

ALLOWED_SHARE = 0.95
"""From this share of what may be offered on, nothing else is known to bind."""
RISE_MIN = 1.05
"""The least gain: twice as many at once that bring less do not help."""


def next_at_once(passes: Sequence[tuple[int, float]], most: int) -> int | None:
    """How many at once are tried next, after `passes` of (at once, bytes per second), rising. None if the
    last doubling brought nothing, if there are no more, or once passes are repeated."""
    if not passes:
        return 1
    if any(after[0] <= before[0] for before, after in itertools.pairwise(passes)):
        return None
    at_once, rate = passes[-1]
    if at_once >= most or (len(passes) > 1 and rate < passes[-2][1] * RISE_MIN):
        return None
    return min(2 * at_once, most)


def rate_of(done: FilesPass) -> float:
    """Bytes per second, from the first file's start to the last one's end."""
    return sum(one.bytes for one in done.files) / done.seconds


def file_rows(trials: Sequence[Trial], system: str) -> list[Files]:
    """A row for each workload of a system and number at once, over all its passes: medians of passes, and mean and
    standard deviation over files, as in TestDFSIO. `is_limit`: the number with the highest throughput."""
    passes: dict[tuple[str, Tenancy, Op], dict[int, list[FilesPass]]] = defaultdict(lambda: defaultdict(list))
    for kind, workload, tenancy, one in _passes(trials, system):
        passes[workload, tenancy, kind][one.at_once].append(one)
    rows = []
    for (workload, tenancy, kind), by_number in passes.items():
        rates = {at_once: statistics.median(map(rate_of, done)) for at_once, done in by_number.items()}
        best = max(rates, key=lambda at_once: rates[at_once])
        for at_once, done in by_number.items():
            each = [one.bytes / one.seconds for all_files in done for one in all_files.files if not one.failed and one.seconds > 0]
            rows.append(Files(
                workload=workload, tenancy=tenancy, op=kind, at_once=at_once, passes=len(done),
                files=len(done[0].files), file_bytes=max(one.bytes for one in done[0].files), bytes_per_s=rates[at_once],
                per_file_bytes_per_s_mean=statistics.fmean(each) if each else 0.0,
                per_file_bytes_per_s_sd=statistics.stdev(each) if len(each) > 1 else 0.0, is_limit=at_once == best,
                is_cold=any(one.is_cold for one in done), is_random=any(one.is_random for one in done),
                operation_bytes=done[0].operation_bytes, offered=done[0].operations_per_s, latency_ms=Latency.of(_latency(done)),
                operations=sum(sum(one.operations_us.values()) for one in done), errors=dict(sum((Counter(one.errors) for one in done), Counter())),
                is_allowed=any(_is_allowed(one, rates[at_once]) for one in done),
            ))  # fmt: skip
    return rows


def _is_allowed(done: FilesPass, bytes_per_s: float) -> bool:
    """What was allowed bound it: bytes, or requests."""
    bounds = ((bytes_per_s, done.allowed_bytes_per_s), (done.requests / done.seconds, done.allowed_requests_per_s))
    return any(most is not None and rate >= most * ALLOWED_SHARE for rate, most in bounds)


def _latency(done: Sequence[FilesPass]) -> Mapping[str, float | None] | None:
    """Of the operations of all passes; None if they were not timed."""
    every = empty()
    for one in done:
        for micros, count in one.operations_us.items():
            every.record_value(micros, count)
    return latency_ms(every)


def _passes(trials: Sequence[Trial], system: str) -> Iterator[tuple[Op, str, Tenancy, FilesPass]]:
    for trial in trials:
        for load in trial.loads:
            if load.files is not None and OPS[load.kind][0] == system:
                yield OPS[load.kind][1], load.workload, trial.tenancy, load.files
