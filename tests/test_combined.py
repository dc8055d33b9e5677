"""What happens together: pairs compared, planted changes found, and nothing found where there is nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.bottleneck.evidence import PAYLOAD, service_lines
from hydrotest.analysis.limits.headroom import Headroom
from hydrotest.analysis.limits.rows import Limits
from hydrotest.analysis.limits.search import RETRIES_MAX, RetryBudget
from hydrotest.analysis.limits.verdict import Verdict
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.intervals import paired_change
from hydrotest.analysis.together.combined import Together, why_ours
from hydrotest.analysis.together.search import TogetherVerdict, safe_search
from hydrotest.analysis.together.starvation import starved
from hydrotest.report.narrative import contested_sentences, starved_sentences
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.store import layout
from hydrotest.store.records import Iteration, Load
from hydrotest.summary.limits import Limit
from hydrotest.summary.together import CoresOf, Interference, ResourceShare, ServiceShare, Starved
from hydrotest.verdicts.binding import BoundBy, Kind
from hydrotest.verdicts.causes import NearCeiling
from hydrotest.verdicts.causes import Together as Company
from hydrotest.verdicts.figures import Usage
from hydrotest.verdicts.trial import Check, Disturbance, Disturbing, OfWorkload, Rule, TooLong
from tests.rows import a
from tests.synthetic import EXPERIMENT, SyntheticRun

TWO_SYSTEMS = """\
name: two
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}, cassandra: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce}
  store: {kind: cassandra, mix: {write: 1}, keys: "uniform(0, 9)"}
tests:
  - isolated: [ingest, store]
  - combined: {workloads: [ingest, store], precision: 20 %}
"""
ROOM = Headroom(None, None, None, ())


def noisy_pairs(change: float, n: int, noise: float, seed: int) -> list[tuple[float, float]]:
    """Pairs whose machine drifts from one to the next, and within each by `noise`."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        speed = rng.uniform(0.7, 1.3)
        pairs.append((10 * speed * rng.lognormvariate(0, noise), 10 * speed * change * rng.lognormvariate(0, noise)))
    return pairs


def test_a_planted_change_is_found_with_its_size() -> None:
    row = paired_change(noisy_pairs(1.5, 10, 0.03, 1))
    assert row.significant
    assert row.low_pct < 50 < row.high_pct
    assert row.n == 10


def test_without_a_change_false_findings_are_as_rare_as_promised() -> None:
    found = sum(paired_change(noisy_pairs(1.0, 5, 0.1, seed), family=3).significant for seed in range(1000))
    # 0.05 / 3 per metric: 17 of 1000 expected; 40 would be beyond five standard deviations.
    assert found < 40


def test_fewer_than_five_pairs_are_never_significant() -> None:
    assert not paired_change([(1.0, 2.0 + i * 0.01) for i in range(4)]).significant


def test_a_tiny_change_is_no_finding_however_sure() -> None:
    assert not paired_change([(1000.0 + i * 0.01, 1002.0 + i * 0.01) for i in range(8)]).significant


@given(st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=2, max_size=20))
def test_the_interval_holds_the_change(pairs: list[tuple[float, float]]) -> None:
    row = paired_change(pairs)
    assert row.low_pct <= row.change_pct + 1e-6
    assert row.change_pct <= row.high_pct + 1e-6
    # With both sides exchanged, the change is inverted.
    back = paired_change([(after, before) for before, after in pairs])
    assert (1 + row.change_pct / 100) * (1 + back.change_pct / 100) == pytest.approx(1.0)


def verdict(held: bool, disturbed: bool = False, void: TooLong | None = None) -> Verdict:
    other = (Disturbance(Disturbing.COMPILING, "kafka-0", 0.5),) if disturbed else ()
    return Verdict((Check(Rule.LATENCY, held),), ROOM, void, other)


def test_a_disturbed_rejection_is_excused_a_bounded_number_of_times() -> None:
    retries = RetryBudget()
    assert not retries.take(verdict(True, disturbed=True))
    assert not retries.take(verdict(False))
    assert retries.take(verdict(True, void=TooLong(1)))
    assert sum(retries.take(verdict(False, disturbed=True)) for _ in range(2 * RETRIES_MAX)) == RETRIES_MAX


def test_what_our_own_generators_ended_is_a_lower_bound() -> None:
    no_room = (OfWorkload("store", Check(Rule.GENERATOR, held=False)),)
    ours = TogetherVerdict(False, None, no_room, {"store": "generator"})
    slow = (OfWorkload("ingest", Check(Rule.LATENCY, held=False)),)
    both = TogetherVerdict(False, None, slow, {"store": "generator", "ingest": "latency"})
    assert why_ours([ours, both]) == ours.because
    assert why_ours([ours, both, both]) == ()
    assert why_ours([both]) == why_ours([]) == ()


PLACES = {"store": ["here"], "ingest": ["here"], "drain": ["here"]}
TOP = {
    "host": "here",
    "hosts": ["here"],
    "resource": "cpu",
    "share": 0.97,
    "used": 2.0,
    "unit": "cores",
    "is_near": True,
    "throttled": None,
}


def short_of(rows: list[dict[str, Any]], shares: list[dict[str, Any]], services: list[dict[str, Any]],
             places: dict[str, list[str]]) -> list[Starved]:  # fmt: skip
    """Who is starved, of rows that are given by what matters of them."""
    return starved([a(Interference, **row) for row in rows], [a(ResourceShare, **row) for row in shares],
                   [a(ServiceShare, **row) for row in services], places)  # fmt: skip


def test_who_is_starved_is_named_only_if_something_was_used_up() -> None:
    rows = [
        {"workload": "store", "metric": "p99_ms", "change_pct": 210.0, "significant": True},
        {"workload": "ingest", "metric": "achieved", "change_pct": 5.0, "significant": True},
        {"workload": "drain", "metric": "p99_ms", "change_pct": 90.0, "significant": False},
    ]
    services = [{"host": "here", "service": "cassandra-0", "cpu_cores": 1.2}, {"host": "here", "service": "kafka-0", "cpu_cores": 0.01},
                {"host": "there", "service": "cassandra-1", "cpu_cores": 1.2}]  # fmt: skip
    found = short_of(rows, [TOP], services, PLACES)
    assert [(row.workload, row.resource, row.cores_of) for row in found] == [("store", "cpu", [CoresOf(service="cassandra-0", cores=1.2)])]
    unknown = short_of(rows, [TOP | {"share": 0.5, "is_near": False}], services, PLACES)
    assert unknown[0].resource is None
    # A throttled host's quota starves all its services, however little is used on average.
    (held_back,) = short_of(rows, [TOP | {"share": 0.7, "throttled": 0.8}], services, PLACES)
    assert (held_back.host, held_back.share, held_back.throttled) == ("here", 0.7, 0.8)
    assert found[0].frees == {"cassandra": pytest.approx(0.6)}
    # Two that are short of the same are one sentence.
    assert len(starved_sentences([found[0], found[0].model_copy(update={"workload": "drain"})])) == 1
    beside = [
        *services,
        {"host": "here", "service": "spark-worker-0", "cpu_cores": 0.2},
        {"host": "here", "service": "spark-driver-x", "cpu_cores": 0.2},
    ]
    (shared,) = short_of(rows, [TOP], beside, PLACES)
    # The generators' use there cannot be moved elsewhere.
    assert shared.frees == pytest.approx({"cassandra": 0.6, "spark": 0.2})
    (reading,) = short_of(rows, [TOP | {"resource": "disk", "unit": "bytes/s read"}], beside, PLACES)
    assert reading.frees == {}
    # A full resource elsewhere starves no service here.
    full = {
        "host": "there",
        "hosts": ["there"],
        "resource": "disk",
        "share": 0.88,
        "used": 1.0,
        "unit": "bytes/s written",
        "is_near": True,
        "throttled": None,
    }
    (row,) = short_of(rows, [TOP, full], services, {"store": ["there"]})
    assert (row.host, row.resource) == ("there", "disk")


def test_what_workloads_fight_for_is_told_once_with_each_ones_share() -> None:
    shares = service_lines(
        [{"service": name, "host": "here", "cpu_cores": cores} for name, cores in (("kafka-0", 1.2), ("cassandra-0", 0.8))], "cores", 4.0
    )
    bound = BoundBy(Kind.RESOURCE, (NearCeiling((Usage("here", "cpu", 0.97, 0.0),)),), "here", "cpu", evidence=shares, there="cpu of here")
    rows = [
        a(Limit, workload=own, bound_by=replace(bound, together=Company((other,), ())))
        for own, other in (("ingest", "store"), ("store", "ingest"))
    ]
    (told,) = contested_sentences(rows)
    assert all(name in told for name in ("ingest", "store", "kafka", "cassandra"))
    assert contested_sentences([a(Limit, workload="ingest", bound_by=replace(bound, kind=Kind.UNKNOWN))]) == []
    assert [line.frees for line in shares] == pytest.approx([0.3, 0.2])


def test_shares_are_of_what_each_service_is_known_to_have_used() -> None:
    # Of one service nothing was read: it may have written nothing.
    writes: list[dict[str, Any]] = [
        {"service": "kafka-0", "host": "here", "disk_write_bytes_per_s": 3e6},
        {"service": "x", "host": "here", "disk_write_bytes_per_s": None},
    ]
    assert [(line.service, line.value) for line in service_lines(writes, "bytes/s written", 3e6)] == [("kafka-0", 1.0), ("x", 0.0)]
    assert service_lines(writes, "bytes/s read", 3e6) == ()
    # The bytes of a link are not counted by service: those moved by workloads are shown, also over other
    # links.
    moved = [{"service": name, "host": "here", "payload_bytes_per_s": rate} for name, rate in (("ingest", 9e6), ("store", 1e6))]
    assert [(line.service, line.value) for line in service_lines(moved, PAYLOAD)] == [("ingest", 0.9), ("store", 0.1)]


def test_a_busy_host_that_a_workload_does_not_need_is_no_suspect(tmp_path: Path) -> None:
    """Only `there` is near its ceiling: both use a core, of which it has no more."""
    made = SyntheticRun(
        tmp_path, text=EXPERIMENT.replace("hosts:\n  here: {connect: local}", "hosts:\n  here: {connect: netns}\n  there: {connect: netns}")
    )
    trial = made.trial("saturated", None)
    samples = pl.read_parquet(made.folder.folder_of(trial) / layout.HOST_SAMPLES)
    pl.concat([samples, samples.with_columns(pl.lit("there").alias("host"))]).write_parquet(
        made.folder.folder_of(trial) / layout.HOST_SAMPLES
    )
    hosts = [{"name": name, "connect": "netns", "ceilings": {"cpu_cores": cores}} for name, cores in (("here", 9.0), ("there", 1.0))]
    measured = Measured.read(made.folder, trial, "ingest")
    for needed, kind in (("here", "unknown"), ("there", "resource")):
        experiment = load_experiment_with(tmp_path, made, needed)
        assert Limits(made.folder, experiment, [trial], hosts).suspect([measured], [], "latency").kind == kind


def load_experiment_with(tmp_path: Path, made: SyntheticRun, host: str) -> Experiment:
    """The made-up run's, with its system and its generator on another host."""
    file = tmp_path / f"{host}.yaml"
    text = (made.folder.path / layout.EXPERIMENT).read_text().replace("kafka: {hosts: [here]}", f"kafka: {{hosts: [{host}]}}")
    file.write_text(text.replace("{kind: kafka-produce}", f"{{kind: kafka-produce, on: {host}}}"))
    return load_experiment(file)[0]


def test_the_search_together_expects_an_equal_share(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(TWO_SYSTEMS)
    experiment, _ = load_experiment(file)
    test = experiment.tests[1]
    assert isinstance(test, Combined)
    first = safe_search(experiment, test).propose()
    assert first is not None
    assert 0.3 < first < 0.7  # two systems on one machine: half each


def interference_of(run: SyntheticRun, starved: int, pairs: int = 5) -> dict[str, Interference]:
    """The rows of ingest by metric, after so many pairs in the first of which nothing was completed together."""
    for pair in range(1, pairs + 1):
        run.trial("alone", 5_000, test=1, pair=pair, subject="ingest")
        run.trial("together", 5_000, test=1, pair=pair, stall=(0.0, 5.0) if pair <= starved else (0.0, 0.0))
    rows = Together(run.folder, run.experiment, run.folder.trials(), {"ingest": 10_000.0}, 1).interference()
    return {row.metric: row for row in rows}


def test_one_that_is_starved_by_the_others_is_found(tmp_path: Path) -> None:
    """The worst case has no logarithm: its pairs were left out, and nothing was found."""
    row = interference_of(SyntheticRun(tmp_path, text=TWO_SYSTEMS), starved=5)["achieved"]
    assert (row.starved_pairs, row.n, row.significant, row.combined) == (5, 5, True, 0.0)
    assert row.change_pct == pytest.approx(-99.9)


def test_one_that_is_starved_in_some_pairs_counts_them(tmp_path: Path) -> None:
    row = interference_of(SyntheticRun(tmp_path, text=TWO_SYSTEMS), starved=2)["achieved"]
    assert (row.starved_pairs, row.n) == (2, 5)
    assert row.combined == pytest.approx(3_000, rel=0.01)


def test_one_that_is_not_starved_is_not(tmp_path: Path) -> None:
    row = interference_of(SyntheticRun(tmp_path, text=TWO_SYSTEMS), starved=0)["achieved"]
    assert (row.starved_pairs, row.significant) == (0, False)


def test_a_job_that_never_comes_to_its_end_beside_the_others_takes_at_least_as_long_as_it_was_let(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TWO_SYSTEMS)
    for pair in range(1, 6):
        for purpose, subject, seconds, is_cut in (("alone", "batch", 10.0, False), ("together", None, 40.0 + pair / 10, True)):
            made = run.trial(purpose, 5_000, test=1, pair=pair, subject=subject)
            job = Iteration(test="sort-by-key", group="g", started_wall_s=0, ended_wall_s=seconds, seconds=seconds, finished=not is_cut,
                            correct=not is_cut, cut=is_cut)  # fmt: skip
            load = Load(workload="batch", kind="spark-perf", client="spark", iterations=[job])
            run.folder.write_trial(made.model_copy(update={"loads": [*made.loads, load]}))
    rows = Together(run.folder, run.experiment, run.folder.trials(), {"ingest": 10_000.0}, 1).interference()
    (row,) = (row for row in rows if row.workload == "batch")
    assert (row.metric, row.at_least_pairs, row.n, row.significant) == ("sort-by-key s", 5, 5, True)
    assert row.combined == pytest.approx(40.3, rel=0.01)
