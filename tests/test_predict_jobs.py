"""Times of jobs on other slots, cores and data, from made-up stages."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.analysis.spark.relaid import Place, Relaid, Size
from hydrotest.analysis.spark.tasks import Group, Outcome, Stage, Task
from hydrotest.errors import BadInputError
from hydrotest.predict import score as score_module
from hydrotest.predict.answer import Answer, Why, Zone
from hydrotest.predict.change import as_file, read_change
from hydrotest.predict.known import Known
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.ran import Ran, place_of
from hydrotest.predict.score import Scored, score
from hydrotest.predict.scores import Scores
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import SparkPerf

FILE = """\
name: madeup
hosts:
  M: {connect: netns}
  W1: {connect: netns, cores: 1, memory: 4 GB}
  W2: {connect: netns, cores: 1, memory: 4 GB}
systems:
  spark: {master: M, workers: [W1, W2], cores: 1}
workloads:
  job: {kind: spark-perf, tests: [agg-by-key], scale_factor: 0.1}
  other: {kind: spark-perf, tests: [sort-by-key], scale_factor: 0.1, skew: 0.5}
tests:
  - isolated: [job]
"""
HAS = Ceilings(cores=1.0, link=1e9, disk=1e9, memory=4e9)
NONE = Scores(dict.fromkeys(("slots", "worker_cores", "scale_factor", "data_scale", "speed"), (0.0,) * 4))


def stage(number: int, lengths: list[float], slots: int, cpu: float = 1.0, begins: float = 0.0) -> Stage:
    """Tasks one after the other in each slot; `cpu`: share of each in which it computes."""
    free, tasks = [begins] * slots, []
    for length in lengths:
        at = free.index(min(free))
        tasks.append(Task(free[at], free[at] + length, Outcome.DONE, "W1", "ANY", run_s=length, cpu_s=length * cpu))
        free[at] += length
    return Stage(number, tasks=tasks, slots=slots)


def group(slots: int = 2, cpu: float = 0.5) -> Group:
    """Eight tasks of a second, and a result of one."""
    return Group([stage(0, [1.0] * 8, slots, cpu), stage(1, [1.0], slots, cpu, begins=8.0 / slots)], cores=slots)


def test_a_job_as_it_was_takes_as_long_as_it_did() -> None:
    place = Place(2, 2.0)
    found = Relaid.of(group(), 6.5, place).on(place)
    assert [found.seconds, found.driver_s] == pytest.approx([6.5, 1.5])


def test_more_slots_shorten_what_has_many_tasks() -> None:
    found = Relaid.of(group(), 6.5, Place(2, 2.0)).on(Place(4, 4.0))
    assert [found.driver_s, found.slots_s] == pytest.approx([1.5, 2 + 1])


def test_slots_without_cores_bring_nothing_where_cores_bind() -> None:
    """Tasks of which each computes for half of its time, two on one core: they wait for it."""
    measured = Relaid.of(group(), 5.0, Place(2, 1.0))
    assert measured.on(Place(2, 1.0)).seconds == pytest.approx(5.0)
    assert measured.on(Place(4, 1.0)).cores_s == pytest.approx(4.0)
    # With a core for each the tasks take half as long.
    assert measured.on(Place(2, 2.0)).seconds == pytest.approx(2.0 + 1.0, rel=0.2)


def test_a_quota_of_half_a_core_doubles_what_computes() -> None:
    measured = Relaid.of(group(cpu=1.0), 5.0, Place(2, 2.0))
    assert measured.on(Place(2, 1.0)).seconds == pytest.approx(8.0 + 1.0, rel=0.01)


def test_cores_that_a_jvm_uses_up_besides_its_tasks_are_full_all_the_same() -> None:
    """Tasks that compute for a third of their time on half a core: its collector and its compiler use the rest."""
    measured = Relaid.of(group(1, cpu=0.3), 9.5, Place(1, 0.3), is_full=True)
    assert measured.on(Place(1, 0.3)).seconds == pytest.approx(9.5)
    assert measured.on(Place(1, 0.6)).seconds == pytest.approx(0.5 + 9.0 / 2, rel=0.01)


def test_more_data_is_more_tasks_or_longer_ones() -> None:
    measured = Relaid.of(group(), 6.5, Place(2, 2.0))
    assert measured.on(Place(2, 2.0), Size(tasks=1.5)).slots_s == pytest.approx(6.0 + 1.0)
    assert measured.on(Place(2, 2.0), Size(data=2.0)).slots_s == pytest.approx(10.0)
    # The result is one task however many come before it.
    assert measured.on(Place(2, 2.0), Size(tasks=0.25)).slots_s == pytest.approx(1.0 + 1.0)


def handed_out(slots: int, busy_s: float, handed_s: float, count: int = 40) -> Group:
    """Tasks that compute for so long, each after the driver has handed it out: it does one at a time."""
    tasks, free, driver = [], [0.0] * slots, 0.0
    for _ in range(count):
        slot = free.index(min(free))
        launched = free[slot]
        driver = max(driver, launched) + handed_s
        free[slot] = driver + busy_s
        delay = driver - launched
        tasks.append(Task(launched, free[slot], Outcome.DONE, "W1", "ANY", run_s=busy_s, cpu_s=busy_s, scheduler_delay_s=delay))
    return Group([Stage(0, tasks=tasks, slots=slots)], cores=slots)


@pytest.mark.parametrize("measured", [1, 2])
def test_tasks_that_wait_for_the_driver_take_no_less_on_more_workers(measured: int) -> None:
    """Ten times as long with the driver as on a worker: neither slots nor cores help, in whatever number of slots they were measured."""
    here = handed_out(measured, 0.001, 0.010)
    law = Relaid.of(here, here.stages[0].span_s[1], Place(measured, float(measured)))
    for slots, cores in ((1, 4.0), (2, 2.0), (4, 4.0)):
        then = handed_out(slots, 0.001, 0.010).stages[0].span_s[1]
        assert law.on(Place(slots, cores)).seconds == pytest.approx(then, rel=0.12)
    assert law.on(Place(4, 4.0)).driver_s > 0
    more = handed_out(2, 0.001, 0.010, count=100).stages[0].span_s[1]
    assert law.on(Place(2, 2.0), Size(tasks=2.5)).seconds == pytest.approx(more, rel=0.12)


def test_long_tasks_do_not_wait_for_the_driver() -> None:
    here = handed_out(1, 0.100, 0.005)
    law = Relaid.of(here, here.stages[0].span_s[1], Place(1, 1.0))
    assert law.on(Place(2, 2.0)).seconds == pytest.approx(handed_out(2, 0.100, 0.005).stages[0].span_s[1], rel=0.05)


def experiment(text: str = FILE) -> Experiment:
    return experiment_of(parse_document(text, Path("madeup.yaml")))


def known(seconds: float = 6.5) -> Known:
    found = experiment()
    spec = found.workload("job", SparkPerf)
    assert spec is not None
    place = place_of(found, spec, HAS)
    assert place == Place(2, 2.0)
    ran = Ran(0, "job", spec, "agg-by-key", seconds, 0.0, place, Relaid.of(group(), seconds, place), spilled=False)
    return Known(Path("madeup"), found, FILE, {"spark": HAS}, {}, {}, jobs=[ran])


def asked(run: Known, *changes: str) -> Answer:
    return answered([run], Question([read_change(one) for one in changes], {}), NONE)


def test_workers_are_added() -> None:
    (found,) = asked(known(), "spark.workers=4").jobs
    assert (found.test, found.slots, found.measured, found.zone) == ("agg-by-key", 4, 6.5, Zone.EXTRAPOLATED)
    assert found.seconds == pytest.approx(1.5 + 2 + 1)
    assert found.low < found.seconds < found.high
    assert {one.axis for one in found.moved} == {"spark.slots", "spark.worker_cores"}


def test_a_worker_s_cores_count_and_not_the_master_s() -> None:
    text = FILE.replace("M: {connect: netns}", "M: {connect: netns, cores: 0.5}")
    run = replace(known(), experiment=experiment(text), text=text)
    more, all_ = (next(one for one in asked(run, *changes).jobs if one.test == "agg-by-key") for changes in (
        ("W1.cores=2x", "W2.cores=2x"), ("hosts.cores=2x",)))  # fmt: skip
    assert more.at["spark.worker_cores"] == all_.at["spark.worker_cores"] == 4.0
    # The worker that has least bounds all.
    assert asked(run, "W1.cores=2x").jobs[0].at["spark.worker_cores"] == 2.0


def test_what_one_more_worker_gains_is_shown() -> None:
    (found,) = asked(known()).jobs
    assert found.moved == []
    # Eight tasks in three slots take three rounds instead of four.
    assert found.gains["worker"] == pytest.approx(1.0)


def test_tests_that_still_got_faster_are_named() -> None:
    assert asked(known()).jobs[0].unsettled == []
    assert asked(replace(known(), unsettled=["job", "other"])).jobs[0].unsettled == ["job"]


@pytest.mark.parametrize(("changes", "why", "about"), [
    (["job.skew=0.3"], Why.SETTING, "job.skew"), (["spark.memory=2 GiB"], Why.SETTING, "spark.memory"), (["hosts.network=0.1x"], Why.SETTING, "hosts.network"),
    (["job.tests=[window]"], Why.TOO_FEW, "job: window"), (["spark.workers=20"], Why.TOO_FAR, "spark.slots"), (["job.scale_factor=5"], Why.TOO_FAR, "job.scale_factor"),
])  # fmt: skip
def test_a_job_that_was_not_measured_is_refused_with_the_experiment_that_would_show_it(changes: list[str], why: Why, about: str) -> None:
    if changes[0].startswith("hosts.network"):
        text = FILE.replace("memory: 4 GB", "memory: 4 GB, network: 1 Gbit/s").replace(
            "M: {connect: netns}", "M: {connect: netns, network: 1 Gbit/s}"
        )
        run = replace(known(), experiment=experiment(text), text=text)
    else:
        run = known()
    refused = next(one for one in asked(run, *changes).refused if one.workload == "job")
    assert (refused.why, about in refused.about) == (why, True)
    assert refused.experiment is not None
    assert [test.test for test in experiment(refused.experiment).tests] == ["isolated"]


def test_a_job_that_spilled_is_not_predicted_with_more_data() -> None:
    run = known()
    spilled = replace(run, jobs=[replace(one, spilled=True) for one in run.jobs])
    assert next(one.why for one in asked(spilled, "job.data_scale=2").refused if one.workload == "job") is Why.MEMORY
    assert asked(spilled, "spark.workers=3").jobs


def test_a_test_that_no_run_has_is_refused_and_others_are_not() -> None:
    found = asked(known())
    assert [one.workload for one in found.refused] == ["other"]
    assert [one.workload for one in found.jobs] == ["job"]


def scored(monkeypatch: pytest.MonkeyPatch, answer: Answer, run: Known) -> list[Scored]:
    monkeypatch.setattr(score_module, "read_known", lambda _path: run)
    return score(answer, Path("then"))


def test_a_job_is_held_against_a_run_that_has_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked(known(), "spark.workers=4")
    text = as_file(parse_document(FILE, Path("f")).value).replace("- W2", "- W2\n    - W3\n    - W4").replace(
        "systems:", "  W3: {connect: netns, cores: 1, memory: 4 GB}\n  W4: {connect: netns, cores: 1, memory: 4 GB}\nsystems:")  # fmt: skip
    wide, run = experiment(text), known()
    spec = wide.workload("job", SparkPerf)
    assert spec is not None
    place = place_of(wide, spec, HAS)
    assert place is not None
    then = replace(run, experiment=wide, jobs=[replace(run.jobs[0], seconds=4.6, place=place)])
    (row,) = scored(monkeypatch, answer, then)
    assert (row.what, row.unit, row.measured, row.held) == ("agg-by-key", "s", 4.6, True)
    assert row.log_error == pytest.approx(math.log(4.6 / 4.5))
    # On as many workers as before it is another job.
    with pytest.raises(BadInputError, match="not what was predicted"):
        scored(monkeypatch, answer, run)


def test_a_worker_on_a_machine_that_others_use_brings_no_cores() -> None:
    text = re.sub(r"\{connect: netns[^}]*\}", "{connect: local}", FILE)
    run = replace(known(), experiment=experiment(text), text=text)
    three, four = (next(one for one in asked(run, f"spark.workers={count}").jobs if one.test == "agg-by-key") for count in (3, 4))
    assert three.gains["worker"] == pytest.approx(three.seconds - four.seconds)


def several(*measured: tuple[float, int, float]) -> Known:
    """A run of the same test with so much data, on so many slots, in so many seconds."""
    run = known()
    base = run.jobs[0]
    jobs = [base]
    for number, (scale, slots, seconds) in enumerate(measured):
        spec = base.spec.model_copy(update={"scale_factor": scale})
        jobs.append(replace(base, workload=f"other{number}", spec=spec, seconds=seconds, place=Place(slots, 2.0)))
    return replace(run, jobs=jobs)


def test_data_that_cost_more_than_in_proportion_when_measured_do_so_beyond() -> None:
    """Half the data took a fifth less than the law of the base has for it."""
    alone = asked(known(), "job.scale_factor=0.2").jobs[0].seconds
    law = known().jobs[0].relaid.on(Place(2, 2.0), Size(tasks=0.5)).seconds
    both = asked(several((0.05, 2, 0.8 * law)), "job.scale_factor=0.2").jobs[0].seconds
    assert both == pytest.approx(alone / 0.8, rel=0.01)
    # What was measured comes out as it was, and more workers of the same kind are as before.
    assert asked(several((0.05, 2, 0.8 * law))).jobs[0].seconds == pytest.approx(6.5)
    assert asked(several((0.05, 2, 0.8 * law)), "spark.workers=4").jobs[0].seconds == pytest.approx(
        asked(known(), "spark.workers=4").jobs[0].seconds
    )


def test_one_odd_time_does_not_make_a_law_of_any_power() -> None:
    law = known().jobs[0].relaid.on(Place(2, 2.0), Size(tasks=0.5)).seconds
    alone, odd = (asked(run, "job.scale_factor=0.2").jobs[0].seconds for run in (known(), several((0.05, 2, law / 100))))
    assert odd == pytest.approx(2 * alone)


def test_a_number_that_hardly_differs_makes_no_power() -> None:
    """The same test on 1 % fewer cores, 5 % slower: without a prior four times the cores would take a fourth of the time."""
    run = known()
    base = run.jobs[0]
    odd = replace(run, jobs=[base, replace(base, workload="other", seconds=1.05 * base.seconds, place=Place(2, 1.98))])
    more, alone = (asked(one, "W1.cores=4x", "W2.cores=4x").jobs[0].seconds for one in (odd, run))
    assert more == pytest.approx(alone, rel=0.15)


def test_an_event_log_that_is_lost_is_the_reason() -> None:
    run = replace(known(), jobs=[], unread_logs={("job", "agg-by-key"): "logs/spark-events/app-1"})
    refused = next(one for one in asked(run, "spark.workers=4").refused if one.workload == "job")
    assert (refused.why, refused.about) == (Why.LOG, ["logs/spark-events/app-1"])
    # Of a test that was never run nothing is lost.
    both = replace(known(), unread_logs={("job", "agg-by-key"): "logs/spark-events/app-1"})
    assert next(one.why for one in asked(both, "job.tests=[window]").refused if one.workload == "job") is Why.TOO_FEW


def test_one_slot_uses_the_cores_of_one_worker() -> None:
    text = FILE.replace("scale_factor: 0.1}", "scale_factor: 0.1, cores: 1}", 1)
    found = experiment(text)
    spec = found.workload("job", SparkPerf)
    assert spec is not None
    assert place_of(found, spec, HAS) == Place(1, 1.0)
