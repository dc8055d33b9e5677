"""The words for what is found: each finding has its sentence, in one golden file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from hydrotest.analysis.bottleneck.use import SIGNS
from hydrotest.analysis.spark.event_parser import Flaw, FlawKind, Skip
from hydrotest.report.wording.binding import (
    against_words,
    cause_words,
    evidence_words,
    explained,
    not_squeezed_words,
    ruled_out_words,
    why_ruled_out,
)
from hydrotest.report.wording.figures import SIGNS as SIGN_WORDS
from hydrotest.report.wording.guard import breach_words
from hydrotest.report.wording.limit import flaw_words, lower_bound_words
from hydrotest.report.wording.problem import log_flaw_words, problem_words
from hydrotest.report.wording.trial import disturbances_words, failure_words, lack_words
from hydrotest.verdicts import binding as b
from hydrotest.verdicts import causes
from hydrotest.verdicts import problem as p
from hydrotest.verdicts.evidence import InsideLine, Line, ServiceLine, SignLine, ThrottledLine, UseLine
from hydrotest.verdicts.figures import EMULATING_MACHINE, Gain, Mean, Squeezed, Usage, Wait
from hydrotest.verdicts.guard import Breach, Breached
from hydrotest.verdicts.limit import Flawed, LimitFlaw, Lower, LowerBound
from hydrotest.verdicts.trial import (
    Check,
    ClocksDiffer,
    Disturbance,
    Disturbing,
    Failure,
    Lack,
    Lacking,
    OfWorkload,
    Rule,
    SlowJob,
    Throttled,
    TooLong,
)

GOLDEN = Path(__file__).parent / "golden" / "wording.txt"

CPU = Usage("a", "cpu", 0.91, 0.7, (Wait("pressure_cpu_some", 0.4, None, is_shown=True),))
LINK = Usage("b", "network", 0.848, 0.0)
MACHINE = Usage(EMULATING_MACHINE, "cpu", 0.97, 0.0)
QUIET = Usage("a", "cpu", 0.95, 0.0, (Wait("pressure_cpu_some", 0.01, None, is_shown=False),))
ONE = Squeezed(("a",), "cpu", Mean(0.95, 0.9, 1.0, 4))
TWO = Squeezed(("a", "b"), "network", Mean(0.1, 0.1, 0.1, 1))
CHANGE, GAIN = Mean(22.0, 12.0, 31.0, 5), Gain(1.5, Mean(22.0, 12.0, 31.0, 5))
FULL = InsideLine(
    "request handlers idle", "a", "kafka-0", 0.02, None, 0.3, "below", True, False, "num.io.threads", "raise it", "https://example.org"
)
LACKS = (
    Lack(Lacking.THREAD, 0.9, 0.8), Lack(Lacking.RUN_DELAY, 0.12, 0.05), Lack(Lacking.WAIT, 7.5, 5.0, percentile="p99"),
    Lack(Lacking.IN_FLIGHT_CAP, 3, 0), Lack(Lacking.LINK, 0.95, 0.9, host="clients"),
)  # fmt: skip
CHECKS = (
    Check(Rule.LATENCY, False, 61.2, 50.0, "ms", percentile="p99"), Check(Rule.LATENCY, False, None, 50.0, "ms", percentile="p50"),
    Check(Rule.ACHIEVED, False, 0.913, 0.995), Check(Rule.ACHIEVED, False, 0.2, 0.995, gave_up=True),
    Check(Rule.BACKLOG, False, 1234.0, 50.0, "/s"), Check(Rule.BACKLOG, False, None, 50.0, "/s", is_of_dataflow=True),
    Check(Rule.ERRORS, False, 70, 0, errors={"MESSAGE_TOO_LARGE": 70}), Check(Rule.LOSS, False, 3, 0, lost=2, corrupted=1),
    Check(Rule.UNSTEADY, False, 0.12, 0.05), Check(Rule.UNSTEADY, False, None, 0.05), Check(Rule.GENERATOR, False, lacks=LACKS[:2]),
)  # fmt: skip
FAILURES = (*CHECKS, TooLong(6), ClocksDiffer(20.3, 41.2, 50.0, "p99"), Throttled(1200, 31.0), SlowJob(12.5, 10.0), SlowJob(None, 10.0))
WHY_NOT = (
    causes.NotSqueezed(causes.Unsqueezed.NOTHING_TO_TAKE), causes.NotSqueezed(causes.Unsqueezed.TOO_SHORT, 5, 20.0, 125.0),
    causes.NotSqueezed(causes.Unsqueezed.TEST_FAILS, detail="sort-by-key"), causes.NotSqueezed(causes.Unsqueezed.REFUSED, detail="the cgroup is read-only"),
    causes.NotSqueezed(causes.Unsqueezed.NO_SHARE),
)  # fmt: skip
DOUBTS = (
    causes.Doubt(causes.Doubted.USE_UNKNOWN, (CPU,)), causes.Doubt(causes.Doubted.ROOM, (CPU,)), causes.Doubt(causes.Doubted.IDLE_MEMBER, (LINK,)),
    causes.Doubt(causes.Doubted.NOT_SEPARATED, (LINK,)), causes.Doubt(causes.Doubted.RELIEF, gain=GAIN), causes.Doubt(causes.Doubted.NOT_FULL, (CPU, LINK)),
    causes.Doubt(causes.Doubted.NOT_FULL, (CPU,), GAIN),
)  # fmt: skip
AGAINST = (
    causes.Against(causes.Caveat.NEAR_TOO, LINK),
    causes.Against(causes.Caveat.GENERATOR_NOT_SQUEEZED),
    causes.Against(causes.Caveat.MACHINE_FULL, MACHINE),
)
CAUSES: tuple[causes.Cause, ...] = (
    causes.NoRoom(LACKS[:2]), causes.NotSampled(), causes.NothingCompleted(), causes.NotSampled(("k1", "k2")), causes.Unseen(("kafka",)),
    causes.Unseen(("cassandra",), gauges=8), causes.HostsUnseen(("cassandra",)), causes.Seen(("k1", "k2"), "exporter", 1.0, ("disk", "network")),
    causes.Seen(("k1",), "ssh", 1.0, ()), causes.Sparse(("k1",), 15.0, 10.0, 60.0), causes.MachineFull(MACHINE),
    causes.NearCeiling((CPU,)), causes.NearCeiling((CPU, LINK)),
    causes.FullInside((FULL,), is_waited_for=True), causes.NothingNear("latency", has_gauges=True, is_waited_for=False),
    causes.NothingNear("closed-loop", has_gauges=False, is_waited_for=True), causes.Provable(), causes.Provable("here"), causes.Together(("store", "drain"), ("drain",)),
    causes.InFlight(CHANGE, causes.Unmoved.SQUEEZED, (ONE, TWO)), causes.InFlight(CHANGE, causes.Unmoved.UNSQUEEZABLE, ()), causes.Doubled(CHANGE), WHY_NOT[1],
    causes.NotTried((LINK,), None, (ONE,)), causes.NotTried((LINK,), causes.Unmoved.SQUEEZED, (ONE,)), causes.Collapsed((ONE,)), causes.NotSeparated((ONE, TWO), None),
    causes.NotSeparated((ONE,), WHY_NOT[3]), causes.Unthrottled(is_named=True), causes.Unthrottled(is_named=False), causes.HadRoom("latency"), causes.LowerBound(),
    causes.RoomLeft("cpu", (("a", 0.33), ("b", None)), "latency"), causes.ObjectiveMissed(0.6), causes.Binds((ONE, TWO)), causes.Relieved(GAIN, LINK, 1.44),
    causes.Relieved(GAIN, None, None), causes.NothingMoves(causes.Unmoved.SQUEEZED, (ONE,), None), causes.NothingMoves(causes.Unmoved.UNUSED, (), CHANGE),
    causes.AlsoFull((FULL,), is_cause=True), causes.AlsoFull((FULL,), is_cause=False), causes.NoGauge(may_be_in_flight=True), causes.NoGauge(may_be_in_flight=False),
    *DOUBTS, *AGAINST,
)  # fmt: skip
EXPLAINED: tuple[tuple[causes.Cause, ...], ...] = (
    (causes.NearCeiling((CPU,)), causes.Provable("here")),
    (causes.Binds((ONE,)), causes.Relieved(GAIN, LINK, 1.44), AGAINST[0]),
    (causes.Binds((ONE,)), DOUBTS[1]),
    (causes.Unthrottled(is_named=True), causes.Binds((ONE,)), causes.RoomLeft("cpu", (("a", 0.33),), "latency")),
    (
        causes.ObjectiveMissed(0.6),
        causes.RoomLeft("cpu", (("a", 0.33),), "latency"),
        causes.Unthrottled(is_named=True),
        causes.Binds((ONE,)),
    ),
    (causes.Unthrottled(is_named=False), causes.NothingMoves(causes.Unmoved.SQUEEZED, (ONE,), None), causes.NoGauge(may_be_in_flight=True)),
    (causes.NothingMoves(causes.Unmoved.SQUEEZED, (ONE,), None), causes.MachineFull(MACHINE)),
)
OUT = (
    b.RuledOut(b.Suspect.RESOURCE, b.Cleared.LITTLE_USED, ("b",), "network", LINK), b.RuledOut(b.Suspect.GENERATOR, b.Cleared.HAD_ROOM),
    b.RuledOut(b.Suspect.INSIDE, b.Cleared.NO_GAUGE_FULL, gauges=12),
    b.RuledOut(b.Suspect.RESOURCE, b.Cleared.NOT_WAITED_FOR, ("a",), "cpu", QUIET),
    b.RuledOut(b.Suspect.RESOURCE, b.Cleared.SQUEEZED, ("a", "b"), "cpu", elasticity=ONE.elasticity),
)  # fmt: skip
EVIDENCE: tuple[Line, ...] = (
    UseLine("a", "cpu", 0.91, 1.8, 2.0, "cores"), ThrottledLine("a", "cpu", 0.7), SignLine("a", "disk", "disk_busy", 0.6, None, shows=True), FULL,
    ServiceLine("a", "kafka-0", "cpu_cores", 0.6, 0.3),
)  # fmt: skip
LIMIT_FLAWS = tuple(LimitFlaw(code, 1, 3) for code in Flawed)
BREACHES = (
    Breach(Breached.SLOW, "kafka", 0.72, 0.5), Breach(Breached.SLOW, "kafka", None, 0.5), Breach(Breached.FAILED, "kafka", detail="no leader"),
    Breach(Breached.BEHIND, "kafka", 3, 1), Breach(Breached.FULL, "kafka", 0.15, 0.2, where="1"), Breach(Breached.SILENT, "kafka", 5, 5, detail="it is gone"),
    Breach(Breached.LATE, "kafka", 300, 300), Breach(Breached.WAITING, "spark", 2, 0),
)  # fmt: skip
LOWER: tuple[LowerBound, ...] = (*Lower, LACKS[0], OfWorkload("store", CHECKS[-1]))
LOG_FLAWS = tuple(Flaw(kind, count=3, place="events:7", detail="x", kinds=((Skip.NOT_JSON, 2), (Skip.BLANK, 1))) for kind in FlawKind)
PROBLEMS: tuple[p.Problem, ...] = (
    p.LogFlaw("batch.log", FlawKind.CUT, 1, "events:7", None), p.ExecutorLost("1", "exited with code 52"), p.FilesMissing(("environment.json",)),
    p.FilesMissing(tuple(f"trials/00{n}-a/samples/host.parquet" for n in range(6))), p.JobTestBroken("batch", "sort-by-key", False, "no heap"),
    p.JobTestBroken("batch", "sort-by-key", True, "too long"), p.JobTestUntold("batch", "sort-by-key", "combined"), p.NoIsolatedLimit(("store", "ingest")),
    p.Noted("kept in words by an older version"), p.OtherThreshold("achieved", None, 0.995), p.OtherThreshold("achieved", 0.99, 0.995),
    p.Rejudged("ingest", "isolated", "limit", 8_000.0, None), p.Rejudged("ingest", "combined", "stopped_by", "latency", "achieved"),
)  # fmt: skip


def sections() -> Iterator[tuple[str, list[str]]]:
    """What the golden file holds."""

    def said(words: Callable[[Any], str], findings: Any) -> list[str]:
        return [words(finding) for finding in findings]

    yield "What a generator lacked", said(lack_words, LACKS)
    yield "Why a trial was not sustained", said(failure_words, [*FAILURES, OfWorkload("store", CHECKS[0])])
    yield "What else happened", said(disturbances_words, [[Disturbance(code, "here", 0.5) for code in Disturbing]])
    yield "Why a limit does not count", said(flaw_words, LIMIT_FLAWS)
    yield "Why a limit is a lower bound", said(lower_bound_words, LOWER)
    yield "Why a verdict is what it is", said(cause_words, CAUSES)
    yield "Causes in a row", said(explained, EXPLAINED)
    yield "Why nothing was squeezed", said(not_squeezed_words, WHY_NOT)
    yield "What stands against a proof", said(against_words, AGAINST)
    yield "What is ruled out", [f"{ruled_out_words(out)}: {why_ruled_out(out)}" for out in OUT]
    yield "Evidence", said(evidence_words, EVIDENCE)
    yield "In what an event log is not whole", said(log_flaw_words, LOG_FLAWS)
    yield "What does not count of a run", said(problem_words, PROBLEMS)
    yield "Why load on a cluster was ended", said(breach_words, BREACHES)


def test_each_finding_has_its_sentence(request: pytest.FixtureRequest) -> None:
    """`pytest tests/test_wording.py --golden` writes the file anew."""
    text = "\n".join(f"# {head}\n" + "".join(f"{line}\n" for line in lines) for head, lines in sections())
    if request.config.getoption("--golden"):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text


@pytest.mark.parametrize(("union", "given"), [(causes.Cause, CAUSES), (Failure, FAILURES), (Line, EVIDENCE), (p.Problem, PROBLEMS)])
def test_no_finding_is_missing_from_the_golden_file(union: Any, given: tuple[Any, ...]) -> None:
    assert {type(one) for one in given} == set(get_args(union))


def test_each_breach_has_words() -> None:
    assert {one.code for one in BREACHES} == set(Breached)


def test_each_sign_has_words() -> None:
    assert set(SIGN_WORDS) == {name for signs in SIGNS.values() for name, *_ in signs}


def test_findings_can_be_told_from_each_other_in_a_set() -> None:
    """Findings of several trials are reported once each."""
    for findings in (CAUSES, FAILURES, EVIDENCE, PROBLEMS, LOWER, OUT):
        assert len(set(findings)) == len(findings)
    assert len({OfWorkload("store", CHECKS[6]), OfWorkload("store", CHECKS[6])}) == 1
