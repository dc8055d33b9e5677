"""Runs that do not fit into memory: read in parts, they say the same; readings wait on disk, and nothing of them is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from hydrotest.analysis.resources import rates
from hydrotest.analysis.resources.rates import rates_together, read_host_rates, read_service_rates, read_speeds, service_means
from hydrotest.analysis.statistics.course import Course
from hydrotest.analysis.statistics.latency import values_at
from hydrotest.analysis.statistics.progress import STEP_S, Progress, stalls
from hydrotest.analysis.summary import summarise_run
from hydrotest.errors import BadInputError, MissingToolError
from hydrotest.report.figures import hosts
from hydrotest.report.figures.readings import ALL_CELLS_MAX, CELLS_MAX, CELLS_MIN, cells_of, read_hosts
from hydrotest.spec.load import load_experiment
from hydrotest.store import histograms, layout, sample_buffer, samples
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import HEADER, Window, decoded, empty, operations, stretch_histograms, window_sums
from hydrotest.store.records import Counts, Second, ThreadUse, Trial
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.store.samples import read_samples, read_together
from tests.long_soak import make_long_soak
from tests.synthetic import START_S, SyntheticRun, host_counters


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return make_long_soak(tmp_path_factory.mktemp("soak"), hosts=3, hours=0.1)


def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no file were small, and one host were as much as fits into memory."""
    monkeypatch.setattr(samples, "SMALL_BYTES", 0)
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr("hydrotest.analysis.resources.rates.SMALL_BYTES", 0)


def test_a_summary_is_the_same_whether_its_samples_fit_into_memory(soak: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, _ = load_experiment(soak.path / layout.EXPERIMENT)
    whole = summarise_run(soak, experiment, "complete", "then").written()
    in_parts(monkeypatch)
    assert summarise_run(soak, experiment, "complete", "then").written() == whole
    assert len(whole["soak"][0]["services"]) == 6


def test_figures_are_the_same_whether_the_samples_fit_into_memory(soak: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, _ = load_experiment(soak.path / layout.EXPERIMENT)
    shown = summarise_run(soak, experiment, "complete", "then").hosts
    whole, whole_services = read_hosts(soak, soak.trials(), shown), hosts.service_figure(soak, soak.trials())
    in_parts(monkeypatch)
    for before, after in zip(whole, read_hosts(soak, soak.trials(), shown), strict=True):
        assert_frame_equal(before.cells, after.cells)
        assert_frame_equal(before.thin, after.thin)
    assert hosts.service_figure(soak, soak.trials()) == whole_services


def test_a_host_is_read_without_the_others(soak: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    (trial,) = soak.trials()
    folder = soak.folder_of(trial)
    whole = {host: read_host_rates(folder, host) for host in ("host001", "host003")}
    in_parts(monkeypatch)
    for host, own in whole.items():
        assert_frame_equal(read_host_rates(folder, host), own)
    found = read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == "host002", ["wall_s", "no_such_counter", "speed_ns"])
    assert found.columns == ["wall_s", "speed_ns"]
    assert len(found) == 360


def events(count: int) -> list[tuple[str, dict[str, Any]]]:
    """Of three hosts; a counter, a service and a gauge come later."""
    found = []
    for second in range(count):
        for number, host in enumerate(("c", "a", "b")):
            later = {"cpu_periods": second} if second > count // 2 else {}
            services = {f"kafka-{number}": {"cpu_user_us": second, "cpu_system_us": second, "memory_bytes": 1, "threads": 2}}
            gauges = {f"kafka-{number}": {"z_idle": 0.5, "a_full": second} if second > count // 2 else {"z_idle": 1}}
            found.append((host, {"wall_s": 100.0 + second, "host": host_counters(second) | later, "services": services, "gauges": gauges,
                                 "gauge_errors": {}, "speed_ns": [second] if number == 0 else [], "sampler_cpu_us": second}))  # fmt: skip
    return found


def test_readings_that_do_not_fit_into_memory_are_written_as_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_buffer, "CELLS_IN_MEMORY", 50)
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 1)
    spill = tmp_path / "run" / layout.SPILLED
    spill.mkdir(parents=True)
    (spill / "host-0.parquet").write_text("left by a run that was killed")
    kept, spilled = SampleBuffer(), SampleBuffer(spill)
    for number in range(2):  # a second trial begins anew
        for host, event in events(20):
            kept.add(host, event)
            spilled.add(host, event)
        assert list(spill.iterdir())
        for buffer, folder in ((kept, tmp_path / f"kept{number}"), (spilled, tmp_path / f"spilled{number}")):
            buffer.flush(folder)
        for name in (layout.HOST_SAMPLES, layout.SERVICE_SAMPLES, layout.GAUGE_SAMPLES):
            whole = pl.read_parquet(tmp_path / f"kept{number}" / name)
            assert_frame_equal(pl.read_parquet(tmp_path / f"spilled{number}" / name), whole, check_column_order=False)
            assert len(whole) == (60 if name != layout.GAUGE_SAMPLES else 60 + 27)
        assert {path.name for path in (tmp_path / f"spilled{number}" / "samples").iterdir()} == {
            "host.parquet",
            "services.parquet",
            "gauges.parquet",
        }
        assert not list(spill.iterdir())


@given(st.lists(st.lists(st.integers(1, 5_000_000), max_size=5), min_size=1, max_size=12), st.integers(1, 5))
def test_stretches_of_a_log_are_the_sums_of_its_intervals(seconds: list[list[int]], width: int) -> None:
    text, each = HEADER, []
    for at, values in enumerate(seconds):
        histogram = empty()
        for value in values:
            histogram.record_value(value)
        each.append(histogram)
        for tag in ("", "Tag=read,"):
            text += f"{tag}{1_700_000_000.25 + at:.3f},1.000,0.1,{histogram.encode().decode()}\n"
    edges = [1_700_000_000.25 + at for at in range(0, len(seconds) + width, width)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "load").mkdir()
        (folder / layout.histogram("ingest", "response")).write_text(text)
        found = stretch_histograms(folder, "ingest", "response", None, edges)
        assert operations(folder, "ingest") == ["read"]
    for at, total in enumerate(found):
        expected = empty()
        for histogram in each[at * width : (at + 1) * width]:
            expected.add(HdrHistogram.decode(histogram.encode()))
        assert list(total.counts) == list(expected.counts)
        assert total.get_max_value() == expected.get_max_value()
        assert total.get_total_count() == expected.get_total_count()


def progress_by_rows(seconds: list[Second], started_wall_s: float) -> list[tuple[float, float, float, float]]:
    """The same as `Progress.of`, reading by reading."""
    rows = [(started_wall_s, 0.0, 0.0, 0.0)]
    for second in seconds:
        n = min(len(second.in_flight), len(second.completed))
        failed = second.failed or [second.counts.failed] * n
        times = [started_wall_s + at for at in second.at_s] or [second.wall_s - (n - 1 - i) * STEP_S for i in range(n)]
        for at, done, bad, flying in zip(times, second.completed, failed, second.in_flight, strict=False):
            if at > rows[-1][0]:
                rows.append((at, float(done), float(bad), float(flying)))
    return rows


def services(rows: list[tuple[str, str, float, int]], folder: Path, **columns: list[int]) -> list[pl.DataFrame]:
    """The rates of services: host, service, time, and CPU time so far."""
    table = pl.DataFrame(rows, schema=["host", "service", "wall_s", "cpu_user_us"], orient="row")
    (folder / "samples").mkdir(exist_ok=True)
    table.with_columns(pl.lit(0).alias("cpu_system_us"), **{name: pl.Series(values) for name, values in columns.items()}).write_parquet(
        folder / layout.SERVICE_SAMPLES
    )
    return list(read_service_rates(folder, ["cpu_cores", "jit_cores", "exporter_cores"]))


def test_services_of_one_name_on_two_hosts_are_kept_apart_in_whatever_order(tmp_path: Path) -> None:
    """A file of an older version is in the order of time."""
    by_time = [("b", "x", 1.0, 0), ("a", "x", 1.0, 5), ("b", "x", 2.0, 1_000_000), ("a", "x", 2.0, 2_000_005)]
    for rows in (by_time, sorted(by_time)):
        (rates,) = services(rows, tmp_path)
        assert rates.select("host", "cpu_cores").rows() == [("a", 2.0), ("b", 1.0)]


def test_what_was_not_counted_is_not_zero(tmp_path: Path) -> None:
    rows = [("a", "x", 1.0, 0), ("a", "x", 2.0, 500_000)]
    (rates,) = services(rows, tmp_path)
    assert rates.select("cpu_cores", "jit_cores", "exporter_cores").rows() == [(0.5, None, None)]
    (rates,) = services(rows, tmp_path, jit_cpu_us=[0, 250_000])
    assert rates.select("jit_cores", "exporter_cores").rows() == [(0.25, None)]


def test_a_service_that_was_started_again_has_no_rate_in_between(tmp_path: Path) -> None:
    (rates,) = services([("a", "x", 1.0, 9_000_000), ("a", "x", 2.0, 100), ("a", "x", 3.0, 250_100), ("a", "y", 1.0, 0)], tmp_path)
    assert rates.select("service", "wall_s", "cpu_cores").rows() == [("x", 3.0, 0.25)]


def test_each_load_has_its_own_window(tmp_path: Path) -> None:
    """One gives up after two seconds; what services used in the window of the other is not cut short."""
    run = SyntheticRun(tmp_path)
    made = run.trial("level", 100, seconds=10)
    (load,) = made.loads
    assert load.outcome is not None
    brief = load.model_copy(
        update={"workload": "brief", "outcome": load.outcome.model_copy(update={"ended_wall_s": load.outcome.started_wall_s + 2})}
    )
    trial = made.model_copy(update={"loads": [load, brief]})
    start, end = load.outcome.started_wall_s + trial.warm_up_s, load.outcome.ended_wall_s
    (whole,), (part,) = (
        service_means(run.folder, trial, start, end),
        service_means(run.folder, trial, start, load.outcome.started_wall_s + 2),
    )
    assert (whole.readings, part.readings) == (9, 1)
    assert service_means(run.folder, trial, start, start + 3.0)[0].readings == 3


def many_hosts(run: SyntheticRun, trials: list[Trial]) -> None:
    """Each trial's samples as those of three hosts that differ, the last of which has one reading, in no order."""
    for trial in trials:
        for name in (layout.HOST_SAMPLES, layout.SERVICE_SAMPLES):
            path = run.folder.folder_of(trial) / name
            one = pl.read_parquet(path)
            counters = [column for column, kind in one.schema.items() if kind.is_integer()]
            parts = [
                one,
                one.with_columns(pl.lit("other").alias("host"), pl.col(counters) * 3),
                one.head(1).with_columns(host=pl.lit("third")),
            ]
            pl.concat(parts, how="vertical_relaxed").sample(fraction=1.0, shuffle=True, seed=3).write_parquet(path)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_what_is_made_for_all_trials_at_once_is_the_same(tmp_path: Path, *, is_mixed: bool) -> None:
    """Of trials with other windows, and without samples; those of another version are made with their like."""
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100, seconds=seconds, jit_cores=0.1 * seconds) for seconds in (5, 9, 7, 4, 6, 8)]
    many_hosts(run, trials)
    (run.folder.folder_of(trials[3]) / layout.HOST_SAMPLES).unlink()
    for older in trials[4:] if is_mixed else ():
        path = run.folder.folder_of(older) / layout.SERVICE_SAMPLES
        pl.read_parquet(path).drop("jit_cpu_us").write_parquet(path)
    same = SyntheticRun(tmp_path / "same").folder
    shutil.copytree(run.folder.path / layout.TRIALS, same.path / layout.TRIALS)
    rates_together(same, trials, ["here", "other"])
    kept = sum(path.is_relative_to(same.path) for path, *_ in rates._means)
    assert kept == len(trials) - is_mixed  # halves of halves: one is left alone
    assert sum(path.is_relative_to(same.path) for path, *_ in rates._stolen) == len(trials) - 1
    for trial in trials:
        whole = [(load.outcome.started_wall_s + trial.warm_up_s, load.outcome.ended_wall_s) for load in trial.loads if load.outcome]
        for begin_s, end_s in [*rates._windows_of(trial), *whole, (START_S, START_S + 2.5)]:
            found, by_itself = (service_means(folder, trial, begin_s, end_s) for folder in (same, run.folder))
            # Sums of the same readings, in another order.
            assert_frame_equal(pl.DataFrame(list(map(asdict, found))), pl.DataFrame(list(map(asdict, by_itself))), rel_tol=1e-12)
            taken, by_itself_taken = (rates.stolen(folder, trial, begin_s, end_s) for folder in (same, run.folder))
            assert taken == pytest.approx(by_itself_taken, rel=1e-12)
        for read in (read_host_rates, read_speeds):
            for host in ("here", "other", "third"):
                assert_frame_equal(read(same.folder_of(trial), host), read(run.folder.folder_of(trial), host))


def test_what_is_made_for_all_trials_at_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100, seconds=seconds) for seconds in (5, 9)]
    rates_together(run.folder, trials, ["here"])
    # From here on no file can be opened.
    monkeypatch.setattr(pl, "read_parquet", None)
    monkeypatch.setattr(pl, "scan_parquet", None)
    rates_together(run.folder, trials, ["here"])
    for trial in trials:
        folder = run.folder.folder_of(trial)
        assert not any(read(folder, "here").is_empty() for read in (read_host_rates, read_speeds))
        assert service_means(run.folder, trial, *rates._windows_of(trial)[0])
        assert len(read_samples(folder, layout.GAUGE_SAMPLES)) > 0


def test_what_is_kept_of_another_run_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what may be kept more than half is another run's."""
    kept: samples.Kept[tuple[Path, int]] = samples.Kept(1_000_000)
    monkeypatch.setattr(samples, "_read", kept)
    kept.keep((tmp_path / "other" / "samples" / "host.parquet", 1), pl.DataFrame({"value": [0.0] * 100_000}))
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100, seconds=seconds) for seconds in (5, 9)]
    folders = [run.folder.folder_of(trial) for trial in trials]
    (found,) = read_together(folders, layout.HOST_SAMPLES)
    assert set(found.changed_ns) == {0, 1}
    assert not list(read_together(folders, layout.HOST_SAMPLES))  # they are kept


def test_files_are_read_together_until_they_would_displace_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SyntheticRun(tmp_path)
    folders = [run.folder.folder_of(run.trial("level", 100, seconds=5)) for _ in range(6)]
    kept: samples.Kept[tuple[Path, int]] = samples.Kept(1 << 20)
    monkeypatch.setattr(samples, "_read", kept)
    read_samples(folders[0], layout.HOST_SAMPLES)
    monkeypatch.setattr(samples, "FULL", 2.5 * kept.share(lambda _: True))
    sizes = [(folder / layout.HOST_SAMPLES).stat().st_size for folder in folders]
    monkeypatch.setattr(samples, "TOGETHER_BYTES", 2 * max(sizes))
    assert [set(found.changed_ns) for found in read_together(folders, layout.HOST_SAMPLES)] == [{1, 2}]


def test_what_was_stolen_in_the_windows_of_a_trial_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SyntheticRun(tmp_path)
    trial = run.trial("level", 100, seconds=9, steal_share=0.1)
    read: list[Path] = []
    parts = samples.read_in_parts

    def counted(folder: Path, name: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        read.append(folder)
        return parts(folder, name, columns)

    monkeypatch.setattr(rates, "read_in_parts", counted)
    ((begin_s, end_s),) = rates._own_windows_of(trial)
    first, again = (rates.stolen(run.folder, trial, begin_s, end_s) for _ in range(2))
    assert first == again == pytest.approx({"here": 0.1})
    assert len(read) == 1
    # Another one is read for itself.
    assert rates.stolen(run.folder, trial, begin_s, end_s - 1) == pytest.approx({"here": 0.1})
    assert len(read) == 2


def test_a_damaged_table_among_others_is_named_each_time(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100) for _ in range(3)]
    folder = run.folder.folder_of(trials[1])
    for name in (layout.HOST_SAMPLES, layout.SERVICE_SAMPLES):
        (folder / name).write_bytes(b"PAR1")
    rates_together(run.folder, trials, ["here"])
    for trial in (trials[0], trials[2]):
        assert not read_host_rates(run.folder.folder_of(trial), "here").is_empty()
        assert service_means(run.folder, trial, *rates._windows_of(trial)[0])
    for _ in range(2):
        with pytest.raises(BadInputError) as error:
            read_host_rates(folder, "here")
        assert error.value.file == folder / layout.HOST_SAMPLES
        with pytest.raises(BadInputError) as error:
            service_means(run.folder, trials[1], *rates._windows_of(trials[1])[0])
        assert error.value.file == folder / layout.SERVICE_SAMPLES


def test_a_table_without_a_counter_costs_the_others_nothing(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100) for _ in range(4)]
    for trial in trials[:2]:
        path = run.folder.folder_of(trial) / layout.HOST_SAMPLES
        pl.read_parquet(path).drop("speed_ns").write_parquet(path)
    rates_together(run.folder, trials, ["here"])
    assert not read_speeds(run.folder.folder_of(trials[3]), "here").is_empty()


@given(st.lists(st.integers(0, 600_000_000), min_size=1, max_size=300), st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_percentiles_are_those_of_the_library(values: list[int], percents: list[float]) -> None:
    histogram = empty()
    for value in values:
        histogram.record_value(value)
    assert values_at(histogram, percents) == histogram.get_percentile_to_value_dict(percents)


@pytest.mark.parametrize("line", [b"Tag=rea", b"Tag=\xff\xfe,1.0,1.0,0.1,HIST"])
def test_a_log_whose_operations_cannot_be_read_is_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "load").mkdir()
    log = tmp_path / layout.histogram("store", "response")
    log.write_bytes(HEADER.encode() + line)
    with pytest.raises(BadInputError) as error:
        operations(tmp_path, "store")
    assert error.value.file == log


async def test_what_is_read_while_a_long_trial_is_written_is_of_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_buffer, "CELLS_IN_MEMORY", 50)
    buffer = SampleBuffer(tmp_path / layout.SPILLED)
    for host, event in events(20):
        buffer.add(host, event)
    writing = asyncio.create_task(buffer.flush_while_sampling(tmp_path / "first"))
    await asyncio.sleep(0)
    for host, event in events(3):
        buffer.add(host, event)
    await writing
    await buffer.flush_while_sampling(tmp_path / "second")
    assert [len(pl.read_parquet(tmp_path / name / layout.HOST_SAMPLES)) for name in ("first", "second")] == [60, 9]
    for host, event in events(20):
        buffer.add(host, event)
    buffer.close()
    assert not (tmp_path / layout.SPILLED).exists()


def test_what_sums_histograms_is_started_again_where_it_has_ended(soak: RunFolder) -> None:
    folder = soak.folder_of(soak.trials()[0])
    edges = [START_S, START_S + 10]
    (before,) = stretch_histograms(folder, "ingest", "response", None, edges)
    node = histograms._summing._node
    assert node is not None
    assert os.getpgid(node.pid) != os.getpgid(0)  # Ctrl-C does not reach it
    node.kill()
    node.wait()
    (after,) = stretch_histograms(folder, "ingest", "response", None, edges)
    assert list(after.counts) == list(before.counts)


def test_a_node_that_sums_no_histograms_is_named(soak: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "_summing", histograms._Summing())
    monkeypatch.setattr(histograms, "node_binary", lambda: Path("/bin/false"))
    with pytest.raises(MissingToolError, match="ended with code 1"):
        stretch_histograms(soak.folder_of(soak.trials()[0]), "ingest", "response", None, [START_S, START_S + 10])


def test_windows_that_are_summed_at_once_are_those_that_are_summed_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100 + 10 * number) for number in range(12)]
    folders = [run.folder.folder_of(trial) for trial in trials]
    windows = [
        Window(folder, "ingest", which, *rates._own_windows_of(trial)[0])
        for folder, trial in zip(folders, trials, strict=True)
        for which in ("response", "wait", "service")
    ]
    # What is damaged, large, or not there is left to whoever needs it.
    (folders[1] / layout.histogram("ingest", "response")).write_text(HEADER + "no interval\n")
    (folders[2] / layout.histogram("ingest", "wait")).unlink()
    monkeypatch.setattr(histograms, "BUNCH_BYTES", 700)
    found = list(window_sums(windows))
    missing = [number for number, text in enumerate(found) if text is None]
    assert missing == [3, 7]
    for one, text in zip(windows, found, strict=True):
        if text is not None:
            (alone,) = stretch_histograms(one.folder, one.workload, one.which, None, [one.begin_s, one.end_s])
            assert list(decoded(text).counts) == list(alone.counts)
            assert alone.get_total_count() > 0
    monkeypatch.setattr(histograms, "SMALL_BYTES", 10)
    assert set(window_sums(windows)) == {None}


numbers = st.lists(st.integers(0, 50), max_size=4)


@given(st.lists(st.tuples(st.floats(0, 9), numbers, numbers, numbers, st.lists(st.floats(0, 9), max_size=4)), max_size=6))
def test_progress_in_columns_is_that_reading_by_reading(given_seconds: list[Any]) -> None:
    seconds = [
        Second(wall_s=1_000.0 + at, counts=Counts(started=60, completed=50, failed=3, bytes=9), in_flight=flying, completed=done, failed=bad, at_s=times,
               p99_ms=None, threads=[ThreadUse(name="load-0/1", cpu_ns=7, run_delay_ns=1)])
        for at, flying, done, bad, times in given_seconds
    ]  # fmt: skip
    progress = Progress.of(iter(seconds), 1_000.0)
    rows = list(zip(progress.wall_s, progress.completed, progress.failed, progress.in_flight, strict=True))
    assert rows == progress_by_rows(seconds, 1_000.0)
    course = Course.of(seconds, 1_000.0)
    for moment in (999.0, 1_000.0, 1_004.5, 1_020.0):
        readings = [(1_000.0, Counts()), *((second.wall_s, second.counts) for second in seconds)]
        assert course.nearest(moment) == min(readings, key=lambda reading: abs(reading[0] - moment))
    inside = [second for second in seconds if 1_002.0 < second.wall_s <= 1_008.0]
    ends = course.ends(1_002.0, 1_008.0)
    assert (ends is None) == (len(inside) < 2)
    assert ends is None or [end.wall_s for end in ends] == [inside[0].wall_s, inside[-1].wall_s]
    found = stalls(progress.wall_s, progress.completed, 0.5)
    assert all(end - begin >= 0.5 for begin, end in found)


def test_a_page_of_many_hosts_has_no_more_cells_than_one_of_some() -> None:
    assert cells_of(6) == CELLS_MAX
    assert all(cells_of(rows) * rows <= ALL_CELLS_MAX for rows in range(1, ALL_CELLS_MAX // CELLS_MIN))
    assert cells_of(10_000) == CELLS_MIN
