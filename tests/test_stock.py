"""What the systems' own tools print, of several versions and locales: read rightly or refused, never misread."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.errors import TrialFailedError
from hydrotest.load.stock_output import MIB, parse_consumer, parse_producer, parse_stress
from hydrotest.printed.figures import read_figures
from hydrotest.store.records import StockResult
from tests.java_format import LOCALES, Locale, consumed, produced, stressed

TEXTS = Path(__file__).parent / "data" / "stock"
PARSERS = {"p": parse_producer, "c": parse_consumer, "s": parse_stress}
LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")


def latencies(*values: float) -> dict[str, float]:
    return dict(zip(LATENCIES, values, strict=True))


@dataclass(frozen=True)
class Read:
    """What must come out of a text."""

    count: int
    seconds: float
    rate_per_s: float
    errors: int | None = None
    bytes_per_s: float | None = None
    latency_ms: dict[str, float] | None = None
    latency_from_send_ms: dict[str, float] | None = None
    rate_by_op: dict[str, float] = field(default_factory=dict)
    p99_by_op: dict[str, float] = field(default_factory=dict)
    errors_by_op: dict[str, float] = field(default_factory=dict)


STRESS_3_11 = Read(
    250_000, 250_000 / 12_345, 12_345, 12, latency_ms=latencies(5.1, 3.6, 13.2, 25.9, 57.8, 4399.8),
    rate_by_op={"read": 9_258, "write": 3_087}, p99_by_op={"read": 26.3, "write": 24.5}, errors_by_op={"read": 5, "write": 7},
)  # fmt: skip

READ = {
    "c05-print-metrics": Read(500_076, 20.695, 24_164.0976, bytes_per_s=2384.5482 * MIB / 20.695),
    "c07-comma-locale": Read(1_000_005, 9.026, 110_791.6020, bytes_per_s=953.6744 * MIB / 9.026),
    "c08-warn-with-commas": Read(1_000_005, 9.026, 110_791.6020, bytes_per_s=953.6744 * MIB / 9.026),
    "p04-fr-comma": Read(10_000_000, 10_000_000 / 100_731.309306, 100_731.309306, bytes_per_s=98.37 * MIB,
                         latency_from_send_ms=latencies(0.56, 0, 1, 13, 47, 149)),
    "p08-print-metrics": Read(50_000, 50_000 / 1000.02, 1_000.02, bytes_per_s=0.10 * MIB, latency_from_send_ms=latencies(2.09, 1, 3, 28, 94, 332)),
    "s01-3.11-mixed": STRESS_3_11,
    "s02-de": STRESS_3_11,
    "s03-fr": STRESS_3_11,
    "s06-2.1-lowercase": Read(
        40_000, 40_000 / 3954, 3_954, 0, latency_ms=latencies(1.0, 0.8, 1.5, 1.8, 2.2, 73.6),
        rate_by_op={"read": 1_976, "write": 1_978}, p99_by_op={"read": 1.9, "write": 1.7}, errors_by_op={"read": 0, "write": 0},
    ),
    "s08-user-profile": Read(
        2_185_908, 2_185_908 / 8_380, 8_380, 0, latency_ms=latencies(7.6, 5.7, 8.7, 15.9, 518.5, 4399.8),
        rate_by_op={"insert": 8_000, "simple1": 380}, p99_by_op={"insert": 15.9, "simple1": 15.0}, errors_by_op={"insert": 0, "simple1": 0},
    ),
    "s10-counter-underscore": Read(
        10_000, 10_000 / 845, 845, 0, latency_ms=latencies(5.9, 0.6, 83.8, 92.8, 100.0, 193.5),
        rate_by_op={"counter_read": 400, "counter_write": 445}, p99_by_op={"counter_read": 92.8, "counter_write": 92.8},
        errors_by_op={"counter_read": 0, "counter_write": 0},
    ),
}  # fmt: skip
REFUSED = {
    "c01-1.0-six-columns": "fetch.time.ms",
    "c03-negative-fetch": "-1,578,885,511,887 ms",
    "c04-nothing-consumed": "0 records",
    "p06-zero-nan-comma": "CorruptRecordException 1",
    "s09-all-errors-nan": "64 errors",
}
"""The figure, or the name, that the reason holds."""


def parsed(name: str) -> StockResult:
    return PARSERS[name[0]]((TEXTS / f"{name}.txt").read_text(encoding="utf-8"), 1.0)


def test_every_text_has_its_figures_or_its_reason() -> None:
    assert {path.stem for path in TEXTS.iterdir()} == READ.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", READ)
def test_a_text_is_read(name: str) -> None:
    result, wanted = parsed(name), READ[name]
    assert (result.count, result.errors) == (wanted.count, wanted.errors)
    assert result.seconds == pytest.approx(wanted.seconds, rel=1e-6)
    assert result.rate_per_s == pytest.approx(wanted.rate_per_s, rel=1e-6)
    assert result.bytes_per_s == (None if wanted.bytes_per_s is None else pytest.approx(wanted.bytes_per_s))
    assert result.latency_ms == wanted.latency_ms
    assert result.latency_from_send_ms == wanted.latency_from_send_ms
    assert {op: own["rate_per_s"] for op, own in result.by_op.items()} == wanted.rate_by_op
    assert {op: own["p99"] for op, own in result.by_op.items()} == wanted.p99_by_op
    assert {op: own["errors"] for op, own in result.by_op.items()} == wanted.errors_by_op


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_without_a_result_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(TrialFailedError) as refused:
        parsed(name)
    assert REFUSED[name] in refused.value.message


PRODUCED = """\
Warmup first 200000 records. Steady state results will print after the complete test summary.
20120 records sent, 20000.0 records/sec (1.91 MB/sec), 4.2 ms avg latency, 11.0 ms max latency.
500000 records sent, 19960.079840 records/sec (1.90 MB/sec), 94.56 ms avg latency, 1419.00 ms max latency, 6 ms 50th, 755 ms 95th, 829 ms 99th, 867 ms 99.9th.
300000 steady state records sent, 19719.976336 records/sec (1.88 MB/sec), 5.02 ms avg latency, 32.00 ms max latency, 5 ms 50th, 9 ms 95th, 17 ms 99th, 27 ms 99.9th.
"""


def test_the_producers_steady_state_line_counts() -> None:
    result = parse_producer(PRODUCED, 9.7, asked=500_000)
    assert result.count == 300_000
    assert result.rate_per_s == pytest.approx(19_719.98, abs=0.01)
    assert result.latency_ms is None  # it times from its own call of send
    assert result.latency_from_send_ms == {"mean": 5.02, "p50": 5, "p95": 9, "p99": 17, "p999": 27, "max": 32}
    assert (result.errors, result.errors_by_name, result.count_in_all) == (0, {}, 500_000)


def test_a_steady_state_that_cannot_be_read_is_not_replaced_by_the_whole() -> None:
    whole = PRODUCED.rpartition("300000 steady")[0]
    failed = "0 steady state records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max latency, 0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th.\n"
    for text in (whole, whole + failed):
        with pytest.raises(TrialFailedError):
            parse_producer(text, 1.0)


FAILED_RECORD = """\
org.apache.kafka.common.errors.RecordTooLargeException: The message is 300086 bytes when serialized
\tat org.apache.kafka.clients.producer.KafkaProducer.doSend(KafkaProducer.java:1000)
Caused by: org.apache.kafka.common.errors.ApiException: of it
"""


def test_records_that_the_producer_did_not_count_have_failed() -> None:
    result = parse_producer(FAILED_RECORD * 3 + PRODUCED, 9.7, asked=500_003)
    assert (result.errors, result.errors_by_name) == (3, {"RecordTooLargeException": 3})
    # Names that do not add up are not reported.
    assert parse_producer(FAILED_RECORD * 2 + PRODUCED, 9.7, asked=500_003).errors_by_name == {}
    with pytest.raises(TrialFailedError):
        parse_producer(PRODUCED, 9.7, asked=499_999)


CONSUMED = """\
Picked up JAVA_TOOL_OPTIONS: -Da=1,2,3,4,5,6,7,8,9,10
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-21 04:07:56:856, 2026-11-21 04:08:00:090, 190.7678, 58.9882, 2000345, 618535.8689, 657, 2577, 74.0271, 776230.1125
"""


def test_the_consumer_has_no_latency() -> None:
    result = parse_consumer(CONSUMED, 5.1)
    assert result.count == 2_000_345
    assert result.rate_per_s == pytest.approx(776_230, rel=1e-4)
    assert result.latency_ms is None


@pytest.mark.parametrize(
    "change",
    [
        ("776230.1125", "776.2301125"),  # its own rate contradicts it
        ("2577", "2.577"),
        ("74.0271", "74,0271"),  # two ways of writing
        ("2000345, ", ""),
        (CONSUMED.splitlines()[-1], "\n".join(CONSUMED.splitlines()[-1:] * 2)),
        (CONSUMED.splitlines()[-1], "WARNING: Exiting before consuming the expected number of messages: timeout (1 ms) exceeded.\n"
         + CONSUMED.splitlines()[-1]),
    ],
)  # fmt: skip
def test_a_consumers_row_that_contradicts_itself_is_refused(change: tuple[str, str]) -> None:
    with pytest.raises(TrialFailedError):
        parse_consumer(CONSUMED.replace(*change), 5.1)


@pytest.mark.parametrize(
    "change",
    [
        ("12,345 op/s", "12?345 op/s"),  # a JVM whose charset lacks the no-break space
        ("12,345 op/s", "12\ufffd345 op/s"),
        ("5.1 ms [", "5,1 ms ["),
        ("12,345 op/s", "१२,३४५ op/s"),
        ("  Latency mean", "Latency mean"),
        ("Latency max ", "Latency most"),
        ("Latency max               : 4399.8 ms", "Latency max               : NaN ms"),
        ("250,000", "-250,000"),
        ("READ: 5, WRITE: 7", "READ: 5, READ: 7"),
        ("READ: 5, WRITE: 7", "READ 5 WRITE 7"),
        ("END", "Results:"),
    ],
)
def test_a_table_of_cassandra_stress_that_was_tampered_with_is_refused(change: tuple[str, str]) -> None:
    text = (TEXTS / "s01-3.11-mixed.txt").read_text().replace("Latency mean", "  Latency mean")
    assert parse_stress(text, 1.0).count == 250_000
    assert change[0] in text
    changed = text.replace(*change)
    if change[0] == "  Latency mean":
        changed += "Latency mean              :    7.1 ms\n"
    with pytest.raises(TrialFailedError):
        parse_stress(changed, 1.0)


@pytest.mark.parametrize(
    ("texts", "figures"),
    [
        (["12.345", "5,1"], [12_345, 5.1]),
        (["12.345", "5.1"], [12.345, 5.1]),
        (["1,234,567"], [1_234_567]),
        (["12,34"], [12.34]),
        (["4399.8", "4,399.8"], [4399.8, 4399.8]),
        (["12.345"], None),
        (["12,345", "7"], None),
        (["0.345"], [0.345]),
        (["1,2", "1.2"], None),
        (["1.234,5", "1,234.5"], None),
        (["12,34,567.8"], None),
        (["9" * 19], None),
        ([""], None),
        (["1e9"], None),
    ],
)
def test_figures_have_one_reading_or_none(texts: list[str], figures: list[float] | None) -> None:
    if figures is None:
        with pytest.raises(TrialFailedError):
            read_figures(texts, grouped=True, tool="it")
    else:
        assert read_figures(texts, grouped=True, tool="it") == figures


RATES = st.integers(min_value=1, max_value=50_000_000)
MS = st.floats(min_value=0, max_value=4e6, allow_nan=False)


def or_refused(parse: Callable[[], StockResult]) -> StockResult | None:
    try:
        return parse()
    except TrialFailedError:
        return None


@given(
    locale=st.sampled_from(LOCALES),
    reads=RATES,
    writes=RATES,
    errors=st.integers(0, 10**7),
    ms=st.lists(MS, min_size=6, max_size=6).map(sorted),
)
def test_cassandra_stress_in_any_locale_says_the_same(locale: Locale, reads: int, writes: int, errors: int, ms: list[float]) -> None:
    result = or_refused(lambda: parse_stress(stressed(locale, {"READ": reads, "WRITE": writes}, errors, ms), 1.0))
    if locale.may_be_refused and result is None:
        return
    assert result is not None
    assert (result.rate_per_s, result.count, result.errors) == (reads + writes, (reads + writes) * 10, errors)
    assert result.seconds == pytest.approx(10)
    assert result.latency_ms is not None
    assert list(result.latency_ms.values()) == pytest.approx([round(value, 1) for value in ms], abs=0.0501)
    assert {op: own["rate_per_s"] for op, own in result.by_op.items()} == {"read": reads, "write": writes}


@given(locale=st.sampled_from(LOCALES), count=st.integers(1, 10**10), rate=st.floats(1e-3, 1e7), ms=st.lists(MS, min_size=6, max_size=6))
def test_the_producer_in_any_locale_says_the_same(locale: Locale, count: int, rate: float, ms: list[float]) -> None:
    result = or_refused(lambda: parse_producer(produced(locale, count, rate, ms), 1.0, asked=count + 2))
    if locale.may_be_refused and result is None:
        return
    assert result is not None
    assert (result.count, result.errors) == (count, 2)
    assert result.rate_per_s == pytest.approx(rate, abs=1e-6)
    assert result.latency_from_send_ms is not None
    assert [result.latency_from_send_ms[key] for key in ("p50", "p95", "p99", "p999")] == [int(value) for value in ms[2:]]
    assert result.latency_from_send_ms["mean"] == pytest.approx(ms[0], abs=0.00501)


@given(locale=st.sampled_from(LOCALES), count=st.integers(1, 10**10), fetch_ms=st.integers(1, 10**7), rebalance_ms=st.integers(0, 10**5))
def test_the_consumer_in_any_locale_says_the_same(locale: Locale, count: int, fetch_ms: int, rebalance_ms: int) -> None:
    result = or_refused(lambda: parse_consumer(consumed(locale, count, fetch_ms, rebalance_ms), 1.0))
    if locale.may_be_refused and result is None:
        return
    assert result is not None
    assert (result.count, result.seconds) == (count, fetch_ms / 1e3)
    assert result.rate_per_s == pytest.approx(count / fetch_ms * 1e3)


PIECES = st.sampled_from(
    [line + "\n" for path in sorted(TEXTS.iterdir()) for line in path.read_text(encoding="utf-8").split("\n")]
    + ["Results:\n", "\n", "NaN", "-1", "1.234", "9" * 30, "0", "[", "]", ": ", ", "]
)  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS.values())
@given(text=st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join))
def test_no_text_is_read_into_nonsense(parse: Callable[[str, float], StockResult], text: str) -> None:
    result = or_refused(lambda: parse(text, 1.0))
    if result is not None:
        figures = [result.count, result.seconds, result.rate_per_s, result.bytes_per_s, result.errors, *(result.latency_ms or {}).values(),
                   *(result.latency_from_send_ms or {}).values(), *(value for own in result.by_op.values() for value in own.values())]  # fmt: skip
        assert all(value is None or (math.isfinite(value) and value >= 0) for value in figures)
        assert result.count > 0
        assert result.rate_per_s > 0


@pytest.mark.parametrize("parse", PARSERS.values())
def test_output_without_a_result_is_an_error_not_a_zero(parse: Callable[[str, float], StockResult]) -> None:
    with pytest.raises(TrialFailedError, match="printed no"):
        parse("Exception in thread main\n", 0.0)
