"""Each rule of the verdict fires on its own fault, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hydrotest.analysis.bottleneck.windows import uses_in
from hydrotest.analysis.limits.verdict import judge
from hydrotest.store import layout
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.verdicts.trial import Check, Disturbing, Lacking
from tests.synthetic import EXPERIMENT, SyntheticRun, host_counters


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    return SyntheticRun(tmp_path)


def test_a_sustained_rate_is_accepted(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000)), run.experiment.objective("ingest"))
    assert verdict.accepted, verdict.because
    assert verdict.stopped_by is None


def test_too_much_is_rejected_for_latency_and_more(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 12_000)), run.experiment.objective("ingest"))
    failed = {check.rule for check in verdict.checks if not check.held}
    assert {"latency", "achieved", "backlog"} <= failed
    assert verdict.stopped_by == "latency"


def test_a_lost_record_rejects(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000, lost=1)), run.experiment.objective("ingest"))
    assert verdict.stopped_by == "loss"


def test_a_generator_on_a_full_core_has_no_room(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000, cpu_share=0.9)), run.experiment.objective("ingest"))
    assert verdict.stopped_by == "generator"
    assert {lack.code: lack.value for lack in verdict.room.lacks} == pytest.approx({Lacking.THREAD: 0.9})


def test_a_generator_that_waits_for_a_core_has_no_room(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000, run_delay_share=0.2)), run.experiment.objective("ingest"))
    assert verdict.stopped_by == "generator"


def test_an_in_flight_cap_that_was_hit_is_the_generators(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000, cap_hits=3)), run.experiment.objective("ingest"))
    assert verdict.stopped_by == "generator"


@pytest.mark.parametrize(("sent", "received", "has_room"), [(950_000, 0, False), (0, 950_000, False), (500_000, 500_000, True)])
def test_a_generator_whose_own_link_is_full_has_no_room(run: SyntheticRun, sent: int, received: int, has_room: bool) -> None:
    trial = run.trial("search", 8_000)
    environment = run.folder.read_json(layout.ENVIRONMENT)
    environment["hosts"].append({**environment["hosts"][0], "name": "press", "ceilings": {"network_bytes_per_s": 1e6}})
    run.folder.write_json(layout.ENVIRONMENT, environment)
    buffer = SampleBuffer()
    for second in range(7):
        counters = host_counters(second, lo_in_bytes=0, lo_out_bytes=0, net_out_bytes=second * sent, net_in_bytes=second * received)
        buffer.add("press", {"wall_s": trial.prepared_wall_s - 0.5 + second, "host": counters, "services": {}, "gauges": {}, "gauge_errors": {},
                             "speed_ns": [300_000], "sampler_cpu_us": 0})  # fmt: skip
    buffer.flush(run.folder.folder_of(trial))
    load = trial.loads[0]
    for host, expected in (("press", has_room), ("here", True)):
        moved = trial.model_copy(update={"loads": [load.model_copy(update={"hosts": [host]})]})
        verdict = judge(run.measured(moved), run.experiment.objective("ingest"))
        assert verdict.room.has_room == expected, verdict.room.lacks
        assert expected or [(lack.code, lack.host) for lack in verdict.room.lacks] == [(Lacking.LINK, "press")]


def test_an_overflowing_histogram_voids_the_trial(run: SyntheticRun) -> None:
    verdict = judge(run.measured(run.trial("search", 8_000, overflows=1)), run.experiment.objective("ingest"))
    assert not verdict.accepted
    assert verdict.void is not None


def test_a_compiling_service_or_a_stolen_core_explains_a_rejection(run: SyntheticRun) -> None:
    objective = run.experiment.objective("ingest")
    assert judge(run.measured(run.trial("search", 12_000)), objective).disturbed == ()
    compiling = judge(run.measured(run.trial("search", 12_000, jit_cores=0.5)), objective)
    assert {(one.code, one.where): one.value for one in compiling.disturbed} == pytest.approx({(Disturbing.COMPILING, "kafka-0"): 0.5})
    stolen = judge(run.measured(run.trial("search", 12_000, steal_share=0.1)), objective)
    assert {(one.code, one.where): one.value for one in stolen.disturbed} == pytest.approx({(Disturbing.STOLEN, "here"): 0.1})
    # What is sustained all the same is sustained.
    assert judge(run.measured(run.trial("search", 8_000, jit_cores=0.5)), objective).accepted


def test_the_window_leaves_the_warm_up_out(run: SyntheticRun) -> None:
    measured = run.measured(run.trial("search", 8_000))
    assert measured.duration_s == pytest.approx(4.0)
    assert measured.achieved == pytest.approx(8_000)
    assert measured.histogram().get_total_count() == 4 * 8_000
    assert measured.bytes_per_s == pytest.approx(800_000)


def test_littles_law_holds_in_the_made_up_system(run: SyntheticRun) -> None:
    measured = run.measured(run.trial("search", 8_000))
    assert measured.latency is not None
    assert measured.latency["mean"] == pytest.approx(2.0, rel=0.002)


def test_this_machine_by_another_address_is_no_other_machine(run: SyntheticRun) -> None:
    measured = run.measured(run.trial("search", 8_000))
    windows = [(measured.trial, measured.start_s, measured.end_s)]
    here = run.folder.read_json(layout.ENVIRONMENT)["hosts"][0]
    assert {use.host for use in uses_in(run.folder, windows, [here])} == {"here"}
    # Only the first is reported; the existing samples are the second's.
    assert uses_in(run.folder, windows, [here | {"name": "first"}, here]) == []
    assert uses_in(run.folder, windows, [here | {"name": "first", "connect": "netns"}, here]) != []


def failed(run: SyntheticRun, offered: float, **trial: Any) -> dict[str, Check]:
    """The rules that do not hold in a trial, by name."""
    verdict = judge(run.measured(run.trial("level", offered, **trial)), run.experiment.objective("ingest"))
    return {check.rule: check for check in verdict.checks if not check.held}


@pytest.mark.parametrize("offered", [1, 2, 5, 10, 20, 50, 100, 200])
@pytest.mark.parametrize("seconds", [6, 21])
def test_few_operations_that_are_all_answered_are_held(run: SyntheticRun, offered: float, seconds: int) -> None:
    assert failed(run, offered, seconds=seconds, latency_ms=11.0) == {}


@pytest.mark.parametrize("offered", [10, 50, 200])
def test_few_operations_of_which_some_are_never_answered_are_not(tmp_path: Path, offered: float) -> None:
    run = SyntheticRun(tmp_path, limit=offered * 0.9)
    assert {"achieved"} <= set(failed(run, offered, seconds=21, latency_ms=11.0))


def test_a_rule_says_what_was_measured_and_its_bound(run: SyntheticRun) -> None:
    latency = failed(run, 12_000)["latency"]
    assert latency.value == pytest.approx(400, rel=0.01)
    assert (latency.bound, latency.unit) == (50, "ms")


@pytest.mark.parametrize("objective", ["{p50: 20 ms}", "{p95: 20 ms}", "{p999: 60 ms}", "{p99: 20 ms}", "{errors: 0}"])
def test_a_generator_that_starts_late_has_no_room_whatever_the_objective(tmp_path: Path, objective: str) -> None:
    run = SyntheticRun(tmp_path, text=EXPERIMENT.replace("{p99: 50 ms}", objective))
    assert "generator" in failed(run, 8_000, wait_ms=500.0)
    assert "generator" not in failed(run, 8_000, wait_ms=0.5)


def test_a_rate_that_changes_within_its_window_is_not_steady(run: SyntheticRun) -> None:
    assert "unsteady" in failed(run, 8_000, seconds=21, stall=(12.0, 15.0))
    assert "unsteady" not in failed(run, 8_000, seconds=21)
