"""What the client did: did it set the rate, did it keep to its own schedule?"""

from __future__ import annotations

from collections.abc import Iterator

from hydrotest.audit.checks.agreement import AGREE
from hydrotest.audit.claim import Claim, Loop
from hydrotest.audit.finding import Code, Finding
from hydrotest.printed.figures import Printed

BUSY = 0.9
"""From this share of its threads on, a client was never without an operation in flight in almost all of them."""
IMPOSSIBLE = 1.1
"""More in flight than threads, by more than what the tool's own accounting leaves open."""
TARGET_MET = 0.98
QUEUED = 0.3
"""Share of the client's buffer from which on a latency is mostly waiting in it."""
LATE_MS = 10.0
USUAL_THREADS = (
    2,
    4,
    8,
    16,
    32,
    64,
    128,
    256,
    512,
    1024,
    10,
    20,
    50,
    100,
    200,
    500,
    1000,
    2000,
    24,
    36,
    54,
    81,
    121,
    181,
    271,
    406,
    609,
    913,
)
"""Numbers of threads that people choose, and the steps of cassandra-stress."""
WIDTH_MAX = 0.25
"""A mean that is rounded more coarsely fits too many numbers of threads."""


def little(claim: Claim) -> Printed | None:
    """Operations in flight: rate × mean latency (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", 1961)."""
    mean = claim.latency_ms.get("mean")
    if claim.rate is None or mean is None:
        return None
    low, high = claim.rate.low * max(mean.low, 0.0) / 1e3, claim.rate.high * mean.high / 1e3
    return Printed(claim.rate.value * mean.value / 1e3, (high - low) / 2)


def client_set_rate(claim: Claim) -> Iterator[Finding]:
    """In a closed loop rate × mean latency cannot exceed the number of threads. Where it is that number, the client was the limit."""
    flying = Printed(claim.in_flight) if claim.in_flight is not None else little(claim)
    if flying is None or claim.is_part or claim.loop is Loop.OPEN or claim.target is not None:
        return
    if claim.threads:
        figures = {"in_flight": flying.value, "threads": claim.threads}
        if flying.low > IMPOSSIBLE * claim.threads:
            yield Finding(Code.MORE_IN_FLIGHT_THAN_THREADS, figures)
        elif flying.high >= BUSY * claim.threads:
            yield Finding(Code.CLIENT_SET_RATE, figures)
        return
    fitting = [threads for threads in USUAL_THREADS if flying.low <= threads <= flying.high]
    if claim.loop is Loop.CLOSED and fitting and flying.slack <= WIDTH_MAX / 2 * flying.value:
        nearest = min(fitting, key=lambda threads: abs(threads - flying.value))
        yield Finding(Code.CLIENT_MAY_HAVE_SET_RATE, {"in_flight": flying.value, "threads": nearest})


def target_is_met(claim: Claim) -> Iterator[Finding]:
    """A client that fell behind what it was asked for."""
    if claim.target is not None and claim.rate is not None and claim.rate.high < TARGET_MET * claim.target.value:
        yield Finding(Code.TARGET_MISSED, {"target": claim.target.value, "rate": claim.rate.value})


def queue_is_in_client(claim: Claim) -> Iterator[Finding]:
    """Records that wait in the producer's own buffer: their latency is the client's queue."""
    flying = little(claim)
    if flying is None or claim.buffer_bytes is None or claim.record_bytes is None:
        return
    waiting = flying.value * claim.record_bytes
    if waiting >= QUEUED * claim.buffer_bytes:
        yield Finding(Code.QUEUE_IN_CLIENT, {"records": flying.value, "bytes": waiting, "buffer": claim.buffer_bytes})


def client_is_late(claim: Claim) -> Iterator[Finding]:
    """Sends behind their schedule, where the tool measures that."""
    p99 = claim.latency_ms.get("p99")
    if claim.late_ms is not None and claim.late_ms.value > LATE_MS and (p99 is None or claim.late_ms.value > 0.1 * p99.value):
        yield Finding(Code.CLIENT_LATE, {"late": claim.late_ms.value, **({"p99": p99.value} if p99 else {})})


def worker_rate(claim: Claim) -> Iterator[Finding]:
    """A rate of one task, which is often told as the cluster's."""
    if (
        claim.worker_rate is not None
        and claim.parallel
        and claim.bytes_in_all is not None
        and claim.seconds is not None
        and claim.seconds.value > 0
    ):
        # A task takes its bytes ÷ its rate, on average; the slowest takes longer, and the job no less than that.
        task_s = claim.bytes_in_all.value / claim.worker_rate.value / claim.parallel if claim.worker_rate.value > 0 else 0.0
        if task_s > claim.seconds.high * (1 + AGREE):
            yield Finding(Code.TASKS_LONGER_THAN_JOB, {"task_s": task_s, "seconds": claim.seconds.value})
        yield Finding(Code.RATE_OF_ONE_WORKER, {
            "worker": claim.worker_rate.value, "parallel": claim.parallel, "product": claim.worker_rate.value * claim.parallel,
            "in_all": claim.bytes_in_all.value / claim.seconds.value,
        })  # fmt: skip
