"""A comparison of two runs: differences where they are significant, and a note wherever the question
differs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.comparison.compare import (
    RUN_SCATTER,
    Comparison,
    Draft,
    Row,
    Run,
    _asked_otherwise,
    _limit_change,
    _other_neighbours,
    change_of,
    compare,
)
from hydrotest.analysis.comparison.repeated import compare_repeated
from hydrotest.analysis.summary import summarise_run
from hydrotest.cli.entry import main
from hydrotest.report.others import others_sentences
from hydrotest.report.wording.summary import worded
from hydrotest.store import layout
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.summary.model import Summary
from hydrotest.verdicts.comparison import Difference, Differs, Word
from tests.synthetic import EXPERIMENT, START_S, SyntheticRun, host_counters
from tests.test_combined import TWO_SYSTEMS


def finished(made: SyntheticRun) -> SyntheticRun:
    made.search()
    summary = worded(summarise_run(made.folder, made.experiment, "complete", "2026-01-01T00:00:00.000+00:00"))
    made.folder.write_json("summary.json", summary.written())
    return made


def read(made: SyntheticRun) -> Run:
    return Run(made.folder, made.experiment, Summary.read(json.loads((made.folder.path / "summary.json").read_text())))


def row(found: Comparison, what: str) -> Row:
    return next(row for row in found.rows if row.what == what)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRun:
    return finished(SyntheticRun(tmp_path_factory.mktemp("base")))


def test_a_run_is_not_told_apart_from_itself(base: SyntheticRun) -> None:
    found = compare(read(base), read(base))
    assert found.differences == []
    assert {r.word for r in found.rows} == {"no significant difference"}
    assert {r.what for r in found.rows} == {"limit", "p50 at the same rates", "p99 at the same rates", "cores at the same rates"}


def test_a_higher_limit_is_faster(base: SyntheticRun, tmp_path: Path) -> None:
    better = finished(SyntheticRun(tmp_path, limit=17_000.0))
    limit = row(compare(read(base), read(better)), "limit")
    assert limit.word == "faster"
    assert limit.change_pct is not None
    assert 55 < limit.change_pct < 85
    assert row(compare(read(better), read(base)), "limit").word == "slower"


def runs_of_the_same(rng: np.random.Generator, changed: float = 1.0, rates: int = 5) -> list[Draft]:
    """What is compared of two runs of one system: of three workloads a limit, latencies and cores at some rates. `changed`: times what the
    first run's are."""
    drafts = []
    for workload in "abc":
        for what, words in (
            ("limit", ("faster", "slower")),
            ("p50", ("slower", "faster")),
            ("p99", ("slower", "faster")),
            ("cores", ("more", "less")),
        ):
            one, other = rng.normal(0, RUN_SCATTER[what], 2)
            between = math.log(changed) + other - one
            if what == "limit":
                ends = [(1000 * math.exp(shift), 1100 * math.exp(shift)) for shift in (0.0, between)]
                change = _limit_change(ends[0], ends[1])
            else:
                change = change_of([between + rng.normal(0, 0.05) for _ in range(rates)], RUN_SCATTER[what])
            drafts.append(Draft(workload, "isolated", what, "", "", "", rates, change, words))  # type: ignore[arg-type]
    return drafts


def test_equal_runs_are_seldom_called_different() -> None:
    """All of a comparison's rows together: the machine's mood of one run is in each rate of it."""
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(1_000):
        drafts = runs_of_the_same(rng)
        found += any(draft.row(len(drafts)).word != "no significant difference" for draft in drafts)
    assert found <= 70


def test_a_change_between_runs_is_covered_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    held = total = 0
    for _ in range(200):
        for draft in runs_of_the_same(rng, changed=1.3):
            row = draft.row(1)
            assert row.low_pct is not None
            assert row.high_pct is not None
            total += 1
            held += row.low_pct <= 30 <= row.high_pct
    assert 0.93 * total <= held <= 0.97 * total


def test_a_large_change_is_found() -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(200):
        limit = runs_of_the_same(rng, changed=2.0)[0]
        found += limit.row(12).word == "faster"
    assert found >= 180


def runs_with(rng: np.random.Generator, base: Run, changed: float, scatter: float) -> list[Run]:
    """Three runs of one system, whose limits scatter. `changed`: times what the base's limit is."""
    out = []
    for _ in range(3):
        limit = base.summary.limits[0]
        times = changed * math.exp(rng.normal(0, scatter))
        ends = {end: getattr(limit, end) * times for end in ("low", "limit", "high")}
        summary = base.summary.model_copy(update={"limits": [limit.model_copy(update=ends)]})
        out.append(Run(base.folder, base.experiment, summary))
    return out


@pytest.mark.parametrize("scatter", [0.02, 0.08])
def test_repeated_equal_runs_are_seldom_called_different(base: SyntheticRun, scatter: float) -> None:
    """The scatter is measured in them, whatever it is: at most 5 % of comparisons find a change in any row."""
    rng = np.random.default_rng(11)
    run = read(base)
    found = 0
    for _ in range(100):
        rows = compare_repeated(runs_with(rng, run, 1.0, scatter), runs_with(rng, run, 1.0, scatter)).rows
        found += any(row.word != Word.SAME for row in rows)
    assert found <= 10


def test_repeated_runs_find_a_change_that_one_of_each_cannot(base: SyntheticRun) -> None:
    rng = np.random.default_rng(12)
    run = read(base)
    groups = [(runs_with(rng, run, 1.0, 0.02), runs_with(rng, run, 1.15, 0.02)) for _ in range(50)]
    found = [next(row for row in compare_repeated(*group).rows if row.what == "limit") for group in groups]
    assert sum(row.word == Word.FASTER for row in found) >= 40
    single = [next(row for row in compare(group[0][0], group[1][0]).rows if row.what == "limit") for group in groups]
    assert not any(row.word == Word.FASTER for row in single)


def test_a_difference_within_the_scatter_of_equal_runs_is_called_that(base: SyntheticRun) -> None:
    """Narrow intervals of one run each: they differ, but so do equal runs."""
    run = read(base)
    limit = run.summary.limits[0]
    narrow = [limit.model_copy(update={"low": 990.0 * times, "limit": 1000.0 * times, "high": 1010.0 * times}) for times in (1.0, 1.1)]
    first, second = (Run(run.folder, run.experiment, run.summary.model_copy(update={"limits": [one]})) for one in narrow)
    assert row(compare(first, second), "limit").word == Word.SCATTER


def test_the_command_compares_groups(base: SyntheticRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(base.folder.path)
    assert main(["compare", path, path, "--", path, path]) == 0
    assert "no significant difference" in capsys.readouterr().out
    assert main(["compare", path, "--", path]) == 2
    assert main(["compare", path]) == 2


def test_other_neighbours_are_another_question(tmp_path: Path) -> None:
    """A combined limit is one of all that ran together."""
    texts = [TWO_SYSTEMS, TWO_SYSTEMS.replace("mix: {write: 1}", "mix: {read: 1}")]
    first, second = (SyntheticRun(tmp_path / str(number), text=text).experiment for number, text in enumerate(texts))
    asked = _asked_otherwise(first, second)
    assert list(asked) == ["store"]
    assert list(_other_neighbours(first, second, asked)) == ["ingest"]
    assert _other_neighbours(first, first, {}) == {}


def test_a_lower_latency_at_the_same_rates_is_faster(base: SyntheticRun, tmp_path: Path) -> None:
    better = finished(SyntheticRun(tmp_path, base_ms=1.5))
    found = compare(read(base), read(better))
    assert row(found, "limit").word == "no significant difference"
    p99 = row(found, "p99 at the same rates")
    assert p99.n >= 3
    assert p99.change_pct is not None
    assert p99.change_pct < 0


def test_other_hardware_and_settings_are_said(base: SyntheticRun, tmp_path: Path) -> None:
    other = finished(SyntheticRun(tmp_path, text=EXPERIMENT.replace("precision: 10 %", "precision: 5 %"), cores=4))
    found = compare(read(base), read(other))
    assert Difference(Differs.HARDWARE, "here", "cores", 2, 4) in found.differences
    assert Difference(Differs.SETTING, "search", "precision", 0.1, 0.05) in found.differences


def test_another_question_gets_no_verdict(base: SyntheticRun, tmp_path: Path) -> None:
    other = finished(SyntheticRun(tmp_path, text=EXPERIMENT.replace("kind: kafka-produce", "kind: kafka-produce, record_size: 1 KB")))
    found = compare(read(base), read(other))
    assert [r.word for r in found.rows] == ["not comparable"]
    assert [one.subject for one in found.differences if one.is_uncompared and one.key.startswith("record_size")] != []


def test_the_command_prints_differences_first(base: SyntheticRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = finished(SyntheticRun(tmp_path, limit=17_000.0, cores=4))
    assert main(["compare", str(base.folder.path), str(other.folder.path)]) == 0
    out = capsys.readouterr().out
    assert out.index("hardware: cores") < out.index("Compared")
    assert "faster" in out
    assert main(["compare", str(base.folder.path), str(tmp_path / "nothing")]) == 2


BESIDE_OTHERS = EXPERIMENT.replace(
    "kafka: {hosts: [here]}",
    """kafka:
    attach: ["b1:9092"]
    hosts: [b1]
    most: {rate: 1K, bytes: 1 MB/s, disk: 1 GB}""",
).replace("hosts:\n", "hosts:\n  b1: {connect: exporter, metrics: http://b1:9100/metrics}\n", 1)


def beside_others(path: Path, cores: float) -> SyntheticRun:
    """A run at a cluster of which others use so many cores."""
    made = SyntheticRun(path, text=BESIDE_OTHERS)
    environment = made.folder.environment()
    environment["hosts"].append({**environment["hosts"][0], "name": "b1", "connect": "exporter"})
    environment["attached"] = {"system": "kafka", "baseline": {"seconds": 60.0, "p99_ms": 3.0, "behind": 0, "free": 0.5}}
    made.folder.write_json("environment.json", environment)
    buffer = SampleBuffer()
    for second in range(60):
        counters = host_counters(second, cpu_user_us=round(cores * second * 1e6), cpu_system_us=0, net_in_bytes=0, net_out_bytes=0, lo_in_bytes=0,
                                 lo_out_bytes=0)  # fmt: skip
        buffer.add("b1", {"wall_s": START_S - 100 + second, "host": counters, "services": {}, "gauges": {}, "gauge_errors": {}, "speed_ns": [],
                          "sampler_cpu_us": 0})  # fmt: skip
    buffer.flush(made.folder.path / layout.BASELINE)
    return finished(made)


def test_what_others_use_stands_beside_the_results_and_decides_what_is_compared(tmp_path: Path) -> None:
    busy, as_busy, idle = (read(beside_others(tmp_path / name, cores)) for name, cores in (("a", 0.5), ("b", 0.52), ("c", 0.2)))
    assert busy.summary.baseline is not None
    (there,) = busy.summary.baseline.hosts
    assert (there.host, round(there.cpu_cores_mean, 2)) == ("b1", 0.5)
    assert len(others_sentences(busy.summary)) == 1
    assert Word.NOT_COMPARABLE not in {row.word for row in compare(busy, as_busy).rows}
    found = compare(busy, idle)
    assert {row.word for row in found.rows} == {Word.NOT_COMPARABLE}
    (difference,) = [one for one in found.differences if one.of is Differs.OTHERS]
    assert (difference.subject, difference.key) == ("b1", "cores")


def test_an_idle_cluster_is_not_said_to_be_used(tmp_path: Path) -> None:
    assert others_sentences(read(beside_others(tmp_path, 0.01)).summary) == []
