"""What a benchmark's output really measured: every check by a text that has its flaw, and none by one that has not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hydrotest.audit.checks import findings
from hydrotest.audit.checks.latency import mean_is_possible, tail_is_whole
from hydrotest.audit.checks.window import rate_is_steady, start_is_left_out
from hydrotest.audit.claim import Claim, Interval, Loop, Tool
from hydrotest.audit.finding import CONTRADICTIONS, Code
from hydrotest.audit.readers import read_output
from hydrotest.catalogue import published
from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from hydrotest.printed.figures import Printed
from hydrotest.report.wording.audited import finding_words
from tests.test_recorded_runs import RUNS, unpacked

STOCK, TEXTS = Path(__file__).parent / "data/stock", Path(__file__).parent / "data/audit"
PUBLISHED = Path(published.__file__).parent / "published.yaml"


def codes(path: Path) -> dict[tuple[str, str], list[Code]]:
    """Of each claim in which something was found, by its place and its name."""
    audited = read_output(path)
    found = findings(audited.claims)
    for one in (each for of_claim in found for each in of_claim):
        assert finding_words(one).what
    return {(claim.where, claim.what): [one.code for one in own] for claim, own in zip(audited.claims, found, strict=True) if own}


def written(folder: Path, text: str, name: str = "output.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_all_that_is_known_of_the_published_tables_is_found() -> None:
    """The notes in published.yaml were made by people, row by row."""
    by_kind: dict[tuple[str, int], set[Code]] = {}
    for (where, _), found in codes(PUBLISHED).items():
        kind, _, row = where.partition(", row ")
        by_kind[kind, int(row.split()[0])] = set(found)
    assert Code.OUT_OF_ORDER in by_kind["kafka_produce", 1]
    assert Code.TARGET_MISSED in by_kind["kafka_produce", 3]
    assert by_kind["kafka_consume", 3] == {Code.RATE_IS_NOT_COUNT_BY_TIME, Code.BYTES_DO_NOT_FIT}
    assert by_kind["spark_perf", 2] == {Code.TWO_FIGURES}
    assert by_kind["spark_perf", 4] == {Code.NOT_FINISHED}
    assert by_kind["spark_perf", 5] == {Code.SAID_CHANGE_DOES_NOT_FIT}
    assert Code.CLIENT_MAY_HAVE_SET_RATE in by_kind["cassandra_mixed", 1]
    assert {Code.CLIENT_MAY_HAVE_SET_RATE, Code.FASTER_TOGETHER} == by_kind["cassandra_mixed", 4]
    assert all(Code.CLIENT_SET_RATE in by_kind["cassandra_write", number] for number in (1, 2, 3))
    assert Code.CLIENT_SET_RATE in by_kind["cassandra_read", 1]
    assert Code.TWO_FIGURES in by_kind["node_observations", 3]
    # What adds up is left alone: the prices, the first two drains, the splitter.
    assert not {("cost", 1), ("kafka_consume", 1), ("kafka_consume", 2), ("kafka_produce", 4), ("dataflow_splitter", 1)} & by_kind.keys()


@pytest.mark.parametrize("name", ["searched", "soak", "squeeze"])
def test_nothing_is_found_in_clean_runs_of_ours(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unpacked(next(one for one in RUNS if one.name.startswith(name)), tmp_path)
    assert main(["audit", str(run), "--json"]) == 0
    audited = json.loads(capsys.readouterr().out)
    assert (audited["contradictions"], audited["doubts"]) == (0, 0)
    assert audited["files"][0]["results"]


@pytest.mark.parametrize(
    ("file", "where", "expected"),
    [
        ("c03-negative-fetch.txt", "row 1", {Code.NOT_A_FIGURE}),
        ("c04-nothing-consumed.txt", "row 1", {Code.NOTHING_MEASURED}),
        ("p06-zero-nan-comma.txt", "line 2", {Code.NOTHING_MEASURED}),
        ("s09-all-errors-nan.txt", "line 2", {Code.NOTHING_MEASURED}),
        ("s01-3.11-mixed.txt", "line 1", {Code.TAIL_CUT_OFF, Code.FAILED, Code.COLLECTIONS_NOT_MEASURED}),
        ("s02-de.txt", "line 1", {Code.TAIL_CUT_OFF, Code.FAILED, Code.COLLECTIONS_NOT_MEASURED}),
        ("s08-user-profile.txt", "line 1", {Code.CLIENT_MAY_HAVE_SET_RATE, Code.TAIL_CUT_OFF}),
        ("c01-1.0-six-columns.txt", "row 1", {Code.RATE_IS_NOT_COUNT_BY_TIME, Code.BYTES_DO_NOT_FIT, Code.TWO_FIGURES}),
    ],
)
def test_stock_tools(file: str, where: str, expected: set[Code]) -> None:
    assert set(codes(STOCK / file)[where, ""]) == expected


@pytest.mark.parametrize("file", ["p04-fr-comma.txt", "p08-print-metrics.txt", "c07-comma-locale.txt", "c08-warn-with-commas.txt"])
def test_what_adds_up_is_left_alone(file: str) -> None:
    assert codes(STOCK / file) == {}


def test_other_tools() -> None:
    omb = codes(TEXTS / "omb.json")
    assert set(omb["workload 1 topic, 1 kB", "publish"]) == {Code.CLIENT_LATE}
    assert set(omb["workload 1 topic, 1 kB", "end to end"]) == {Code.BACKLOG_GROWS}
    assert set(codes(TEXTS / "latte.json")["result", ""]) == {Code.CLIENT_SET_RATE}
    # The maximum is in microseconds there, and other timers are of parts of an operation.
    nosqlbench = codes(TEXTS / "nosqlbench.log")
    assert set(nosqlbench) <= {("line 1", "cql-keyvalue.result")}
    assert set(codes(TEXTS / "dfsio.txt")["line 1", "write"]) == {Code.RATE_OF_ONE_WORKER}
    assert set(codes(TEXTS / "ycsb.txt")["[OVERALL]", ""]) == {Code.CLIENT_SET_RATE, Code.FAILED}


def test_a_producer_that_misses_its_target(tmp_path: Path) -> None:
    """The command line stands above its output, as people paste it."""
    text = (
        "$ bin/kafka-producer-perf-test.sh --topic t --num-records 6000000 --record-size 100 --throughput 1000000 --producer-props acks=all\n"
        + "".join(f"2500000 records sent, {rate}.0 records/sec (47.68 MB/sec), 250.0 ms avg latency, {high}.0 ms max latency.\n" for rate, high in [(500000, 400)] * 10)
        + "5000000 records sent, 500000.000000 records/sec (47.68 MB/sec), 250.00 ms avg latency, 400.00 ms max latency, 250 ms 50th, 300 ms 95th, "
        "350 ms 99th, 390 ms 99.9th.\n"
    )  # fmt: skip
    (found,) = codes(written(tmp_path, text)).values()
    assert set(found) == {Code.TARGET_MISSED, Code.QUEUE_IN_CLIENT, Code.FAILED}


STRESS_HEAD = (
    "type,      total ops,    op/s,    pk/s,   row/s,    mean,     med,     .95,     .99,    .999,     max,   time,   stderr, errors,"
    "  gc: #,  max ms,  sum ms,  sdv ms,      mb\n"
)


def stress(rates: Sequence[float], threads: int = 8) -> str:
    """An output of cassandra-stress with a line a second, at rates that its total agrees with."""
    total, mean = sum(rates), threads / (sum(rates) / len(rates)) * 1e3
    lines = "".join(
        f"total, {int(sum(rates[: n + 1]))}, {rate:.0f}, {rate:.0f}, {rate:.0f}, {mean:.1f}, 1.0, 2.0, 3.0, 4.0, 5.0, {n + 1}.0, 0.001, 0, 0, 0, 0, 0, 0\n"
        for n, rate in enumerate(rates)
    )
    return f"""Running WRITE with {threads} threads for {len(rates)} seconds
{STRESS_HEAD}{lines}
Results:
Op rate                   : {total / len(rates):.0f} op/s  [WRITE: {total / len(rates):.0f} op/s]
Partition rate            : {total / len(rates):.0f} pk/s  [WRITE: {total / len(rates):.0f} pk/s]
Latency mean              : {mean:.4f} ms [WRITE: {mean:.4f} ms]
Latency median            : {0.9 * mean:.4f} ms [WRITE: {0.9 * mean:.4f} ms]
Latency 95th percentile   : {1.5 * mean:.4f} ms [WRITE: {1.5 * mean:.4f} ms]
Latency 99th percentile   : {2 * mean:.4f} ms [WRITE: {2 * mean:.4f} ms]
Latency 99.9th percentile : {3 * mean:.4f} ms [WRITE: {3 * mean:.4f} ms]
Latency max               : {4 * mean:.4f} ms [WRITE: {4 * mean:.4f} ms]
Total partitions          : {total:.0f} [WRITE: {total:.0f}]
Total errors              : 0 [WRITE: 0]
Total operation time      : 00:00:{len(rates):02d}
"""


def test_threads_drift_and_a_slow_start(tmp_path: Path) -> None:
    assert set(codes(written(tmp_path, stress([1000.0] * 40)))["line 44", ""]) == {Code.CLIENT_SET_RATE}
    falling = [2000.0 - 10 * n + 13 * (n % 3) for n in range(40)]
    assert Code.DRIFT in codes(written(tmp_path, stress(falling)))["line 44", ""]
    started = [200.0] * 4 + [1000.0 + n % 2 for n in range(36)]
    assert Code.WARM_UP_IN_FIGURES in codes(written(tmp_path, stress(started)))["line 44", ""]


def claim(**changed: object) -> Claim:
    return Claim(Tool.TABLE, "row", **changed)  # type: ignore[arg-type]


def test_a_producer_that_was_ended(tmp_path: Path) -> None:
    line = "4999 records sent, 999.8 records/sec (0.95 MB/sec), 12.5 ms avg latency, 301.0 ms max latency.\n"
    assert codes(written(tmp_path, line))["its last line", ""] == [Code.NOT_FINISHED]


def test_a_job_that_ended_before_its_tasks(tmp_path: Path) -> None:
    """Ten files of 1,000 MB at 100 MB/s take ten seconds each."""
    text = (TEXTS / "dfsio.txt").read_text()
    for key, value in (
        ("Number of files", 10),
        ("Total MBytes processed", 10000),
        ("Throughput mb/sec", 100.0),
        ("Test exec time sec", 5.0),
    ):
        text = re.sub(rf"({re.escape(key)}:\s*)\S+", rf"\g<1>{value}", text)
    assert Code.TASKS_LONGER_THAN_JOB in codes(written(tmp_path, text))["line 1", "write"]
    longer = re.sub(r"(Test exec time sec:\s*)\S+", r"\g<1>12.0", text)
    assert Code.TASKS_LONGER_THAN_JOB not in codes(written(tmp_path, longer))["line 1", "write"]


def found_in(table: str, folder: Path) -> set[Code]:
    """In a row that somebody wrote down."""
    return {
        code for own in codes(written(folder, f"kafka_produce:\n  - {{source: mine, {table}}}\n", "mine.yaml")).values() for code in own
    }


@pytest.mark.parametrize(
    ("code", "flawed", "sound"),
    [
        # 944 Mbit/s of payload are what a link of 1 Gbit/s carries; 400 are nobody's.
        (Code.LINK_FULL, "records_per_s: 118000, mb_per_s: 118.0", "records_per_s: 50000, mb_per_s: 50.0"),
        # Of 5,000 operations five are beyond p99.9.
        (Code.TOO_FEW_FOR_PERCENTILE, "records: 5000, p99_ms: 4.0, p999_ms: 9.0", "records: 50000, p99_ms: 4.0, p999_ms: 9.0"),
        # 20,000/s of 1 ms each are 20 at a time: more than 10 threads have, and fewer than 40.
        (Code.MORE_IN_FLIGHT_THAN_THREADS, "records_per_s: 20000, mean_ms: 1.00, threads: 10, loop: closed",
         "records_per_s: 20000, mean_ms: 1.00, threads: 40, loop: closed"),
        (Code.NOTHING_MEASURED, "records: 1000000, seconds: 0, records_per_s: 100", "records: 1000000, seconds: 10000, records_per_s: 100"),
        (Code.TWO_FIGURES, "records_per_s: 100, median_ms: 3.0, p50_ms: 40.0", "records_per_s: 100, median_ms: 3.0, p50_ms: 3.0"),
        (Code.NOT_A_FIGURE, "records_per_s: 100, threads: -5", "records_per_s: 100, threads: 5"),
    ],
)  # fmt: skip
def test_a_row_with_one_flaw(code: Code, flawed: str, sound: str, tmp_path: Path) -> None:
    assert code in found_in(flawed, tmp_path)
    assert code not in found_in(sound, tmp_path)


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_a_steady_rate_is_rarely_said_to_drift(rho: float) -> None:
    """At most 2 of 100 (1 % is meant), also where neighbours resemble each other, and a scatter of 30 %."""
    rng = np.random.default_rng(20)
    wrong = 0
    for _ in range(1000):
        noise = rng.normal(0, 1, 60)
        for at in range(1, 60):
            noise[at] += rho * noise[at - 1]
        rates = 1000 * (1 + 0.3 * noise * np.sqrt(1 - rho**2))
        wrong += any(True for _ in rate_is_steady(claim(intervals=tuple(Interval(max(rate, 1.0)) for rate in rates))))
    assert wrong <= 20


def test_a_start_like_the_rest_is_not_called_a_warm_up() -> None:
    rng = np.random.default_rng(21)
    wrong = sum(
        any(True for _ in start_is_left_out(claim(intervals=tuple(Interval(rate) for rate in rng.normal(1000, 60, 60)))))
        for _ in range(500)
    )
    assert wrong == 0


def test_the_longest_latency_may_come_first() -> None:
    """By chance: at most 3 of 100 where the tail falls by the power of 1.5."""
    rng = np.random.default_rng(23)
    series = ([Interval(1000.0, float(high)) for high in rng.pareto(1.5, (60, 100)).max(axis=1)] for _ in range(500))
    assert sum(any(True for _ in start_is_left_out(claim(intervals=tuple(one)))) for one in series) <= 15


def test_means_of_real_distributions_are_possible() -> None:
    """Whatever the distribution: its own mean lies between what its percentiles allow."""
    rng = np.random.default_rng(22)
    shapes = [
        rng.lognormal(0, 2, 5000),
        rng.exponential(1, 5000),
        rng.uniform(0, 1, 5000),
        np.r_[rng.uniform(0, 1, 4900), rng.uniform(500, 900, 100)],
    ]
    for values in shapes:
        latency = {
            name: Printed(float(np.quantile(values, share, method="higher")))
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
        }
        whole = latency | {"mean": Printed(float(values.mean())), "max": Printed(float(values.max()))}
        assert list(mean_is_possible(claim(latency_ms=whole))) == []
        (one,) = mean_is_possible(claim(latency_ms=whole | {"mean": Printed(float(values.max()))}))
        assert one.code is Code.MEAN_IMPOSSIBLE


def test_what_a_closed_loop_hides_is_what_an_open_loop_shows() -> None:
    """A server that answers in 1 ms and pauses once for 3 s, asked 1,000 times a second for 60 s by its schedule: the percentile that the
    check works out from the closed loop's figures is the open loop's."""
    due = np.arange(60_000) / 1e3
    waited = np.where((due >= 20) & (due < 23), 23 - due, 0.0) * 1e3 + 1.0
    (found,) = tail_is_whole(claim(
        loop=Loop.CLOSED, rate=Printed(1000.0), count=Printed(60_000.0), threads=1,
        latency_ms={"p99": Printed(1.0), "p999": Printed(1.0), "max": Printed(3000.0)},
    ))  # fmt: skip
    assert found.names["figure"] == "p999"
    assert found.figures["lifted"] == pytest.approx(float(np.quantile(waited, 0.999)), rel=0.01)


def test_one_figure_in_two_places(tmp_path: Path) -> None:
    table = (
        "store:\n  - {ops_per_s: 1000, mean_ms: 1.0, p99_ms: 3, usd_per_hour: 2.5, usd_per_month: 1900, hours_per_month: 720, colour: 3}\n"
    )
    path = written(tmp_path, table, "mine.yaml")
    assert codes(path)["store, row 1 (line 2)", ""] == [Code.TWO_FIGURES]
    assert read_output(path).not_read == ("colour",)


def test_exit_codes_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(STOCK / "p08-print-metrics.txt")]) == 0
    capsys.readouterr()
    assert main(["audit", str(STOCK / "c03-negative-fetch.txt"), str(TEXTS / "omb.json"), "--json"]) == 1
    audited = json.loads(capsys.readouterr().out)
    assert (audited["contradictions"], audited["doubts"], [file["tool"] for file in audited["files"]]) == (
        2, 2, ["kafka-consumer-perf-test", "OpenMessaging Benchmark"],
    )  # fmt: skip
    assert audited["files"][0]["results"][0]["rate_per_s"] is not None
    assert main(["audit"]) == 2
    assert main(["audit", str(tmp_path / "nothing")]) == 2


def test_a_file_that_cannot_be_read_costs_nothing_of_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = written(tmp_path, '{"a": \n', "damaged.json")
    named = [str(tmp_path / "nothing"), str(STOCK / "c03-negative-fetch.txt"), str(damaged)]
    assert main(["audit", *named]) == 2
    printed = capsys.readouterr()
    assert "c03-negative-fetch.txt" in printed.out
    assert printed.err.count("error:") == 2
    assert main(["audit", *named, "--json"]) == 2
    audited = json.loads(capsys.readouterr().out)
    assert [file["file"] for file in audited["files"]] == [named[1]]
    assert [(one["file"], one["at"], one["line"]) for one in audited["unread"]] == [(named[0], named[0], None), (named[2], named[2], 2)]
    assert all(one["do"] for one in audited["unread"])


def test_folders_that_are_no_runs_cost_nothing_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    inside_a_file = written(tmp_path, "x", "file.txt") / "inside"
    assert main(["audit", str(tmp_path / "folder"), str(inside_a_file), str(STOCK / "c03-negative-fetch.txt"), "--json"]) == 2
    printed = capsys.readouterr()
    audited = json.loads(printed.out)
    assert [one["file"] for one in audited["unread"]] == [str(tmp_path / "folder"), str(inside_a_file)]
    assert len(audited["files"]) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_costs_nothing_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "closed").mkdir()
    written(tmp_path / "closed", "x", "file.txt")
    (tmp_path / "closed").chmod(0)
    try:
        assert main(["audit", str(tmp_path / "closed" / "file.txt"), str(STOCK / "c03-negative-fetch.txt"), "--json"]) == 2
    finally:
        (tmp_path / "closed").chmod(0o700)
    (unread,) = json.loads(capsys.readouterr().out)["unread"]
    assert "right" in unread["do"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "hello\n"), ("a.json", '{"a": 1}'), ("b.json", '{"a": '), ("a.yaml", "- 1\n"), ("b.yaml", "a: [1]\n"), ("c.yaml", "a: {b: [\n"),
        ("d.yaml", "a: [{ops_per_s: 1, loop: round}]\n"), ("c.json", '{"publishRate": 3, "aggregatedPublishLatencyAvg": 1}'),
        ("b.txt", "Results:\nlatency of nothing\n"),
        ("c.txt", "start.time, end.time, data.consumed.in.MB, MB.sec\n2020-01-12 22:18:32:576, 2020-01-12 22:18:33:511, 1\n"),
    ],
)  # fmt: skip
def test_what_is_no_output_is_refused(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        read_output(written(tmp_path, text, name))
    assert refused.value.hint
    assert refused.value.file == tmp_path / name


def test_contradictions_come_first() -> None:
    found = findings([claim(loop=Loop.CLOSED, threads=10, rate=Printed(1000.0), count=Printed(10.0), seconds=Printed(5.0),
                            latency_ms={"mean": Printed(10.0)})])[0]  # fmt: skip
    flags = [one.code in CONTRADICTIONS for one in found]
    assert flags == sorted(flags, reverse=True)
    assert len(flags) > 1


YCSB_F = """\
[OVERALL], RunTime(ms), 100000
[OVERALL], Throughput(ops/sec), 10000.0
[READ], Operations, 1000000
[READ], AverageLatency(us), 400.0
[READ], Return=OK, 1000000
[READ-MODIFY-WRITE], Operations, 500000
[READ-MODIFY-WRITE], AverageLatency(us), 800.0
[UPDATE], Operations, 500000
[UPDATE], AverageLatency(us), 400.0
[CLEANUP], Operations, 8
[CLEANUP], AverageLatency(us), 1.2345678E7
[INSERT], Operations, 0
[Intended-READ], Operations, 1000000
[Intended-READ], 95thPercentileLatency(us), 900
[Intended-READ], 99thPercentileLatency(us), 700
"""


def test_operations_that_are_made_of_others_are_not_counted_again(tmp_path: Path) -> None:
    """Also `BATCHED_OK` is no failure; and what counts from the schedule is looked at, too."""
    found = codes(written(tmp_path, YCSB_F.replace("Return=OK", "Return=BATCHED_OK")))
    assert found == {("[INSERT]", "INSERT"): [Code.NOTHING_MEASURED], ("[Intended-READ]", "Intended-READ"): [Code.OUT_OF_ORDER]}


def test_rare_operations_may_miss_their_percentile_by_one(tmp_path: Path) -> None:
    """59 of 60 take 1 ms, one 300 ms: histograms round the rank of p99 to the 59th."""
    text = (
        "[OVERALL], RunTime(ms), 1000\n[UPDATE], Operations, 60\n[UPDATE], AverageLatency(us), 5983.0\n[UPDATE], MaxLatency(us), 300000\n"
    )
    text += "[UPDATE], 95thPercentileLatency(us), 1000\n[UPDATE], 99thPercentileLatency(us), 1000\n"
    assert Code.MEAN_IMPOSSIBLE not in codes(written(tmp_path, text)).get(("[UPDATE]", "UPDATE"), [])


def test_several_partitions_an_operation(tmp_path: Path) -> None:
    text = stress([5000.0] * 40, 16).replace(
        "Partition rate            : 5000 pk/s  [WRITE: 5000 pk/s]", "Partition rate            : 50000 pk/s  [WRITE: 50000 pk/s]"
    )
    text = text.replace("Total partitions          : 200000 [WRITE: 200000]", "Total partitions          : 2000000 [WRITE: 2000000]")
    (found,) = codes(written(tmp_path, text)).values()
    assert found == [Code.CLIENT_SET_RATE]


def test_several_runs_in_one_log(tmp_path: Path) -> None:
    """Each result has its own threads and target."""
    runs = stress([1000.0] * 40, 16).replace("Running WRITE with", "Running [READ, WRITE] with") + stress([60000.0] * 40, 64).replace(
        "Running WRITE", "Running [insert]"
    )
    assert list(codes(written(tmp_path, runs)).values()) == [[Code.CLIENT_SET_RATE], [Code.CLIENT_SET_RATE]]
    rated = (
        "cassandra-stress write -rate fixed=60000/s\n"
        + stress([60000.0] * 40, 16)
        + "cassandra-stress write -rate fixed=26000/s\n"
        + stress([26000.0] * 40, 16)
    )
    assert codes(written(tmp_path, rated)) == {}
    last = "50000 records sent, 20000.000000 records/sec (19.07 MB/sec), 2.00 ms avg latency, 30.00 ms max latency, 2 ms 50th, 3 ms 95th, 8 ms 99th, 20 ms 99.9th.\n"
    first = last.replace("20000.0", "100000.0").replace("50000 rec", "500000 rec").replace("19.07", "9.54")
    produced = f"kafka-producer-perf-test --record-size 100 --throughput 100000\n{first}kafka-producer-perf-test --record-size 1000 \\\n  --throughput 20000\n{last}"
    assert codes(written(tmp_path, produced)) == {}


def test_lines_on_the_way_as_tools_really_print_them(tmp_path: Path) -> None:
    """cassandra-stress since 3.0 has no comma behind `type`; older producers have no `ms` before `max latency`."""
    falling = [2000.0 - 10 * n + 13 * (n % 3) for n in range(40)]
    text = stress(falling).replace("type,      total ops", "type       total ops").replace(".0, 0.001, 0,", "0.0, 0.001, 0,")
    audited = read_output(written(tmp_path, text))
    assert audited.claims[0].interval_s == 10
    assert Code.DRIFT in codes(tmp_path / "output.txt")["line 44", ""]
    lines = "".join(
        f"{1000 - 20 * n} records sent, {1000 - 20 * n}.0 records/sec (0.10 MB/sec), 2.0 ms avg latency, 9.0 max latency.\n"
        for n in range(40)
    )
    lines += "24400 records sent, 610.0 records/sec (0.06 MB/sec), 2.00 ms avg latency, 9.00 ms max latency, 2 ms 50th, 3 ms 95th, 8 ms 99th, 9 ms 99.9th.\n"
    audited = read_output(written(tmp_path, lines))
    assert (len(audited.claims[0].intervals), audited.claims[0].interval_s) == (40, 1.0)


def test_tables_as_people_write_them(tmp_path: Path) -> None:
    honest = "produce:\n  - {records_per_s: 821557, mb_per_s: 78.3, record_bytes: 100}\n  - {ops_per_s: '77,087', mean_ms: 1.3e0, threads: 100}\n"
    assert codes(written(tmp_path, honest, "a.yaml")) == {("produce, row 2 (line 3)", "threads 100"): [Code.CLIENT_SET_RATE]}
    odd = "store:\n  - {<<: {p50_ms: 9}, ops_per_s: 77k, threads: sixteen, duration: 21 min}\n"
    not_read = read_output(written(tmp_path, odd, "b.yaml")).not_read
    assert [one.split(":")[0] for one in not_read] == ["<<", "ops_per_s", "threads", "duration"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "[OVERALL], RunTime(ms), 0\n[READ], Operations, 5\n"), ("b.txt", "----- TestDFSIO ----- : write\nNumber of files: 1\nTest exec time sec: 0.0\n"),
        ("c.json", '{"result": {"cycle_count": 1, "elapsed_time_s": 0}}'), ("d.json", '{"publishRate": [1' + "0" * 400 + '], "aggregatedPublishLatencyAvg": 1}'),
        ("e.json", "[" * 100_000), ("f.txt", "start.time, end.time, data.consumed.in.MB\n2024-13-45 00:00:00:000, 2024-13-45 00:00:01:000, 1\n"),
        ("g.log", "type=TIMER, name=a.result, count=1, max=abc, mean_rate=1\n"), ("h.yaml", "a:\n  - {[1]: 2}\n"),
        ("i.txt", "\x00\x01\x02"), ("j.json", '[{"result": {"cycle_count": 1, "elapsed_time_s": 1, "cycle_latency": []}}, 1]'),
    ],
)  # fmt: skip
def test_damaged_outputs_are_no_fault_of_hydrotest(name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(written(tmp_path, text, name))]) in (0, 1, 2)
    assert "hydrotest itself" not in capsys.readouterr().err


def test_an_experiment_is_no_table_of_results(tmp_path: Path) -> None:
    text = "name: q\nsystems: {kafka: {hosts: [A]}}\ntests:\n  - isolated: [ingest]\n"
    with pytest.raises(BadInputError, match="no row has a figure") as caught:
        read_output(written(tmp_path, text, "experiment.yaml"))
    assert caught.value.line == 4
