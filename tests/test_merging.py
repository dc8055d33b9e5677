"""Several generators of one workload, read as one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrotest.analysis.statistics.latency import mean_us, window_histogram
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import HEADER, empty
from hydrotest.store.merging import merged_load, merged_seconds
from hydrotest.store.records import Counts, Load, Outcome, Second, ThreadUse
from tests.synthetic import SyntheticRun


def second(at: float, completed: int, in_flight: list[int], threads: int = 1) -> Second:
    return Second(
        wall_s=at, counts=Counts(started=completed + in_flight[-1], completed=completed), in_flight=in_flight, completed=[completed] * len(in_flight),
        p99_ms=float(completed), threads=[ThreadUse(name=f"load-{i}/1", cpu_ns=10, run_delay_ns=1) for i in range(threads)],
    )  # fmt: skip


def test_readings_add_up_second_by_second() -> None:
    first = [second(1.001, 10, [1, 2]), second(2.001, 20, [3, 3])]
    other = [second(1.0, 5, [4, 4]), second(2.002, 9, [0, 1])]
    merged = list(merged_seconds([first, other]))
    assert [s.counts.completed for s in merged] == [15, 29]
    assert [s.in_flight for s in merged] == [[5, 6], [3, 4]]
    assert [s.wall_s for s in merged] == [1.001, 2.002]
    assert [t.name for t in merged[0].threads] == ["load-0/1@0", "load-0/1@1"]
    assert merged[1].p99_ms == 20.0


def test_a_generator_that_ended_keeps_its_counters() -> None:
    merged = list(merged_seconds([[second(1.0, 10, [1])], [second(1.0, 5, [4, 4]), second(2.0, 9, [2, 2])]]))
    assert merged[1].counts.completed == 19
    assert merged[1].in_flight == [2, 2]
    assert len(merged[1].threads) == 2


def test_one_generator_stays_as_it_is() -> None:
    readings = [second(1.0, 10, [1])]
    assert list(merged_seconds([readings])) == readings
    assert list(merged_seconds([])) == []


def load(**outcome: object) -> Load:
    made = Outcome.model_validate({"counts": {}, "started_wall_s": 1.0, "ended_wall_s": 2.0, **outcome})
    return Load(workload="ingest", kind="kafka-produce", client="native", offered=100.0, outcome=made, nice=-10)


def test_findings_are_put_together() -> None:
    first = load(
        counts={"completed": 3, "cap_hits": 1},
        errors={"X": 1},
        extra={"acked": [{"producer": 1}], "acknowledges": True, "resent": 2, "fatal": None},
    )
    other = load(counts={"completed": 4}, errors={"X": 2, "Y": 1}, gave_up=True, unanswered=5, ended_wall_s=3.0,
                 extra={"acked": [{"producer": 2}], "acknowledges": True, "resent": 1, "fatal": None})  # fmt: skip
    merged = merged_load([first, other])
    assert merged.generators == 2
    assert merged.offered == 100.0
    outcome = merged.outcome
    assert outcome is not None
    assert (outcome.counts.completed, outcome.counts.cap_hits, outcome.unanswered, outcome.gave_up) == (7, 1, 5, True)
    assert outcome.errors == {"X": 3, "Y": 1}
    assert (outcome.started_wall_s, outcome.ended_wall_s) == (1.0, 3.0)
    assert outcome.extra == {"acked": [{"producer": 1}, {"producer": 2}], "acknowledges": True, "resent": 3, "fatal": None}


@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.integers(1, 10**6), min_size=1, max_size=200), generators=st.sampled_from([1, 4, 16]), seed=st.integers(0, 99))
def test_merged_histograms_equal_a_single_recorder_s(
    values: list[int], generators: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Through the files, as a run leaves them: one log for each generator."""
    folder = tmp_path_factory.mktemp("merged")
    (folder / "load").mkdir()
    single, parts = empty(), [empty() for _ in range(generators)]
    chooser = random.Random(seed)
    for value in values:
        single.record_value(value)
        chooser.choice(parts).record_value(value)
    for number, part in enumerate(parts):
        line = f"100.000,1.000,{part.get_max_value() / 1e6:.3f},{part.encode().decode()}\n"
        (folder / layout.histogram("ingest", "response", number)).write_text(HEADER + line)
    # A name that begins alike is another workload's.
    (folder / layout.histogram("ingest-2", "response")).write_text(HEADER + line)
    merged = window_histogram(folder, "ingest", "response", None, 99.0, 101.0)
    assert merged.get_total_count() == len(values)
    for percentile in (0.0, 50.0, 95.0, 99.0, 99.9, 100.0):
        assert merged.get_value_at_percentile(percentile) == single.get_value_at_percentile(percentile)
    assert len(layout.of_all_generators(folder / layout.histogram("ingest", "response"))) == generators


def test_the_files_of_several_are_found(tmp_path: Path) -> None:
    names = [layout.seconds("ingest", number) for number in (0, 1, 2)]
    (tmp_path / "load").mkdir()
    for name in [*names, layout.seconds("ingest-1"), layout.seconds("ing")]:
        (tmp_path / name).write_text(json.dumps({}))
    assert layout.of_all_generators(tmp_path / names[0]) == [tmp_path / name for name in names]


def test_the_files_of_many_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = [layout.seconds("ingest", number) for number in range(12)]
    (tmp_path / "load").mkdir()
    for name in names:
        (tmp_path / name).write_text(json.dumps({}))
    assert layout.of_all_generators(tmp_path / names[0]) == [tmp_path / name for name in names]


def test_trials_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """From the thousandth on their folders have four digits."""
    made = SyntheticRun(tmp_path)
    numbers = [1001, 101, 2, 1000, 100, 999]
    for number in numbers:
        made.number = number - 1
        made.trial("search", 1_000.0, search="1")
    read = RunFolder.open(made.folder.path).trials()
    assert [trial.number for trial in read] == sorted(numbers)
    assert all(made.folder.folder_of(trial).is_dir() for trial in read)
    assert made.folder.folder_of(read[0]).name.startswith("002-")


@given(st.lists(st.tuples(st.integers(0, empty().highest_trackable_value), st.integers(1, 10**6)), min_size=1, max_size=60))
def test_the_mean_is_the_librarys(values: list[tuple[int, int]]) -> None:
    histogram = empty()
    for value, count in values:
        histogram.record_value(value, count)
    assert mean_us(histogram) == pytest.approx(histogram.get_mean_value(), rel=1e-12)
