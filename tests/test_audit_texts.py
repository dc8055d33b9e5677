"""Reports that tools print for people: latte's in the terminal, and NoSQLBench's summary. Their forms are those of the tools' own sources
(`src/report/mod.rs`, `ConsoleReporter.java`), their figures are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.audit.claim import Claim, Loop, Tool
from hydrotest.audit.finding import Code
from hydrotest.audit.readers import read_output
from hydrotest.cli.entry import main
from hydrotest.printed.figures import Printed
from tests.test_audit import TEXTS, codes, written

LATTE, SHOWN, SUMMARY = (TEXTS / name for name in ("latte.txt", "latte-show.txt", "nosqlbench-summary.txt"))


def claims(path: Path, tool: Tool) -> dict[str, Claim]:
    audited = read_output(path)
    assert audited.tool is tool
    return {claim.what: claim for claim in audited.claims}


def latencies(claim: Claim) -> dict[str, float]:
    return {name: one.value for name, one in claim.latency_ms.items()}


def test_a_run_of_latte() -> None:
    (run,) = claims(LATTE, Tool.LATTE).values()
    assert (run.rate, run.count, run.seconds) == (Printed(40225, 0.5), Printed(2_413_690, 0.5), Printed(60.004, 0.0005))
    assert (run.threads, run.loop, run.target, run.errors) == (128, Loop.CLOSED, None, Printed(0, 0.5))
    assert latencies(run) == {
        "mean": 3.172, "p50": 2.931, "p75": 3.818, "p90": 4.94, "p95": 5.911, "p98": 7.053, "p99": 8.123, "p999": 14.893, "p9999": 21.463, "max": 29.819,
    }  # fmt: skip
    assert (len(run.intervals), run.interval_s, run.intervals[0].rate) == (60, 1.0, 40087.0)
    assert codes(LATTE) == {("line 95", ""): [Code.CLIENT_SET_RATE]}


def test_two_runs_that_latte_shows() -> None:
    """With the colours of a terminal. What ran before is on the left; what was asked for is that of the run on the right."""
    found = claims(SHOWN, Tool.LATTE)
    assert list(found) == ["A", "A read", "A write", "B", "B read", "B write"]
    before, now = found["A"], found["B"]
    assert (before.rate, before.target, before.loop, before.threads) == (Printed(20000, 0.5), None, Loop.CLOSED, 128)
    assert (now.rate, now.target, now.loop, now.errors) == (Printed(9000, 0.5), Printed(10000, 0.5), Loop.OPEN, Printed(12, 0.5))
    assert latencies(before) == {"mean": 6.371}  # of all functions together no percentile is printed
    assert (latencies(found["A write"])["p99"], latencies(found["B read"])["p999"]) == (12.88, 12.1)
    assert found["B write"].is_part
    assert codes(SHOWN) == {
        ("line 11", "A"): [Code.CLIENT_SET_RATE], ("line 11", "B"): [Code.TARGET_MISSED, Code.FAILED], ("line 11", "B write"): [Code.OUT_OF_ORDER],
    }  # fmt: skip


def test_several_runs_of_latte_in_one_log(tmp_path: Path) -> None:
    text = LATTE.read_text()
    with_rate = text.replace("        Max rate    [op/s]                    ", "        Max rate    [op/s]      45000         ")
    assert codes(written(tmp_path, text + with_rate)) == {
        ("line 95", ""): [Code.CLIENT_SET_RATE], ("line 236", ""): [Code.TARGET_MISSED],
    }  # fmt: skip
    # A terminal's copy of the summary alone, as people paste it.
    (alone,) = claims(written(tmp_path, text[text.index("SUMMARY STATS") :]), Tool.LATTE).values()
    assert (alone.rate, alone.threads, alone.intervals) == (Printed(40225, 0.5), None, ())


def test_an_older_latte_has_times_of_requests_alone(tmp_path: Path) -> None:
    text = LATTE.read_text()
    start = text.index("CYCLE LATENCY for write")
    older = text[:start] + text[text.index("RESPONSE LATENCY") :].replace("RESPONSE LATENCY [ms]", "RESPONSE TIMES [ms]")
    older = older.replace("   Cycle latency      [ms]", " Mean cycle time      [ms]").replace(
        " Request latency      [ms]", " Mean resp. time      [ms]"
    )
    (run,) = claims(written(tmp_path, older), Tool.LATTE).values()
    assert (latencies(run)["mean"], latencies(run)["p99"]) == (3.164, 8.099)


def test_a_summary_of_nosqlbench() -> None:
    """Its rates are 0.00 a nanosecond: no figures. Histograms and timers of parts of an operation are no operations."""
    found = claims(SUMMARY, Tool.NOSQLBENCH)
    assert list(found) == ["rampup.cycles_servicetime", "rampup.result"]
    result = found["rampup.result"]
    assert (result.where, result.rate, result.count) == ("line 58", None, Printed(10_000_000))
    assert latencies(result) == pytest.approx(
        {
            "mean": 1.47974552,
            "p50": 1.239231,
            "p75": 1.466559,
            "p95": 2.360191,
            "p98": 4.189951,
            "p99": 6.354431,
            "p999": 14.575615,
            "max": 413.564927,
        }
    )
    assert codes(SUMMARY) == {}


OLDER = """\
2019-08-12 15:46:01 ============================================================

-- Timers ----------------------------------------------------------------------
main_read.bind
             count = 100000
main_read.result
             count = 100000
         mean rate = 4000.00 calls/second
               max = 358596.61 microseconds
              mean = 4000.25 microseconds
            median = 1874.82 microseconds
              99% <= 23916.54 microseconds
            99.9% <= 22000.00 microseconds
"""


def test_an_older_summary_of_nosqlbench(tmp_path: Path) -> None:
    """Names are dotted, rates are a second, and reports follow each other: the last one counts."""
    twice = OLDER + "\n\n" + OLDER.replace("100000", "200000")
    (result,) = claims(written(tmp_path, twice), Tool.NOSQLBENCH).values()
    assert (result.where, result.count, result.rate) == ("line 21", Printed(200_000), Printed(4000.0))
    assert latencies(result)["p50"] == pytest.approx(1.87482)
    assert codes(tmp_path / "output.txt") == {
        ("line 21", "main_read.result"): [Code.OUT_OF_ORDER, Code.CLIENT_MAY_HAVE_SET_RATE, Code.TAIL_CUT_OFF]
    }
    # With counts alone, as some versions print them.
    counts = "\n".join(line for line in OLDER.split("\n") if "rate" not in line and "microseconds" not in line)
    (bare,) = claims(written(tmp_path, counts), Tool.NOSQLBENCH).values()
    assert (bare.count, bare.latency_ms) == (Printed(100_000), {})


@pytest.mark.parametrize(
    "text",
    [
        LATTE.read_text()[:9000], LATTE.read_text().replace("3.172", "NaN"), LATTE.read_text().replace("60.004", "0.000"),
        "SUMMARY STATS ════════════════\n", OLDER.replace("4000.25", "many"), "-- Timers ------------------------\nx\n",
        OLDER.replace("mean rate = 4000.00", "mean rate = NaN"),
    ],
)  # fmt: skip
def test_damaged_reports_are_no_fault_of_hydrotest(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(written(tmp_path, text))]) in (0, 1, 2)
    assert "hydrotest itself" not in capsys.readouterr().err
