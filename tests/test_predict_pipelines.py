"""The limit of a pipeline, from made-up parts whose laws are known."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hydrotest.analysis.bottleneck.use import NEAR_CEILING
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.errors import BadInputError
from hydrotest.predict import score as score_module
from hydrotest.predict.answer import Answer, Prediction, Why, Zone
from hydrotest.predict.change import read_change
from hydrotest.predict.known import Known, read_known
from hydrotest.predict.piped import DRIVER, SPARK, PartUsed, Piped, parts_of
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.score import score
from hydrotest.predict.scores import Scores
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of

FILE = """\
name: madeup
hosts:
  B: {connect: netns, cores: 0.5, memory: 2 GB}
  D: {connect: netns, cores: 0.5, memory: 2 GB}
  W1: {connect: netns, cores: 0.25, memory: 3 GB}
  W2: {connect: netns, cores: 0.25, memory: 3 GB}
  W3: {connect: netns, cores: 0.25, memory: 3 GB}
  C: {connect: netns}
systems:
  kafka: {hosts: [B], heap: 512 MiB}
  spark: {master: D, workers: [W1, W2, W3], cores: 4, memory: 768 MiB}
workloads:
  logs: {kind: kafka-produce, partitions: 6, record_size: 870 B, levels: {info: 80, error: 20}, on: C}
  flow: {kind: dataflow, reads: logs, partitions: 6, executors: 1, trigger: 2 s, on: D}
  ingest: {kind: kafka-produce, partitions: 6, record_size: 100 B, on: C}
objectives:
  flow: {p99: 20 s}
tests:
  - isolated: [flow]
"""
CORES = {"kafka": 0.5, SPARK: 0.25, DRIVER: 0.5}
LAWS = {"kafka": (0.05, 15e-6), SPARK: (0.04, 16e-6), DRIVER: (0.1, 3e-6)}
"""Cores without any load, and core-seconds for each record."""
LIMIT = (0.25 - 0.04) / 16e-6
RATES = (2_000, 4_000, 6_000, 8_000, 10_000, 12_000, LIMIT)
NONE = Scores(dict.fromkeys(("executors", "cores", "hosts", "speed"), (0.0,) * 4))


def window(trial: int, rate: float, executors: int, laws: Mapping[str, tuple[float, float]], noise: random.Random | None) -> Piped:
    def part(system: str) -> PartUsed:
        fixed, each = laws[system]
        hosts = executors if system == SPARK else 1
        cores = (fixed + each * rate / hosts) * (1 if noise is None else noise.gauss(1, 0.03))
        return PartUsed(hosts, cores, 900.0 * rate / hosts, 900.0 * rate / hosts, cores >= NEAR_CEILING * CORES[system])

    return Piped(0, trial, "flow", rate, {system: part(system) for system in laws})


def run(
    text: str = FILE,
    laws: Mapping[str, tuple[float, float]] = LAWS,
    limit: float = LIMIT,
    executors: int = 1,
    noise: random.Random | None = None,
    path: str = "madeup",
) -> Known:
    found = experiment_of(parse_document(text, Path("experiment")), opens_files=False)
    has = {system: Ceilings(cores, 1e9, 1e9, 2e9) for system, cores in CORES.items()}
    windows = [window(at, rate * limit / LIMIT, executors, laws, noise) for at, rate in enumerate(RATES)]
    systems = {"kafka": has["kafka"], "spark": has[SPARK]}
    return Known(Path(path), found, text, systems, {}, {"flow": limit}, pipes=windows, pipes_have={"flow": has})


def asked(known: Known, *changes: str, speed: float = 1.0) -> Answer:
    return answered([known], Question([read_change(one) for one in changes], {}, speed, workloads=["flow"]), NONE)


def limit_of(known: Known, *changes: str) -> Prediction:
    (found,) = asked(known, *changes).predictions
    return found


def test_a_pipeline_as_it_was_has_the_limit_that_was_measured() -> None:
    found = limit_of(run())
    assert found.limit == pytest.approx(LIMIT, rel=1e-6)
    assert [found.binds.system, found.binds.resource, found.measured, found.zone] == [SPARK, "cpu", LIMIT, Zone.CALIBRATED]
    assert {use.system: use.share for use in found.uses if use.resource == "cpu"}["kafka"] == pytest.approx((0.05 + 15e-6 * LIMIT) / 0.5)


def test_a_second_executor_doubles_the_rate_and_a_third_leaves_it_to_the_broker() -> None:
    two, three = limit_of(run(), "flow.executors=2"), limit_of(run(), "flow.executors=3")
    assert [two.binds.system, two.limit] == [SPARK, pytest.approx(2 * LIMIT, rel=1e-6)]
    assert [three.binds.system, three.limit] == ["kafka", pytest.approx((0.5 - 0.05) / 15e-6, rel=1e-6)]
    assert [three.next.system if three.next else "", three.zone] == [SPARK, Zone.EXTRAPOLATED]


def test_what_more_of_each_brings_is_what_it_then_predicts() -> None:
    gains = {price.what: price.gain for price in limit_of(run()).prices}
    assert gains["executor"] == pytest.approx(limit_of(run(), "flow.executors=2").limit - LIMIT, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "system", "limit"),
    [
        (["hosts.cores=2x"], SPARK, (0.5 - 0.04) / 16e-6),
        (["flow.executors=3", "D.cores=0.25"], "kafka", (0.5 - 0.05) / 15e-6),
        (["flow.executors=3", "D.cores=0.125"], DRIVER, (0.125 - 0.1) / 3e-6),
        (["flow.executors=3", "B.cores=1"], SPARK, 3 * LIMIT),
        (["flow.executors=3", "kafka.hosts=2"], SPARK, 3 * LIMIT),
        (["B.network=0.01x", "B.cores=1"], "kafka", 0.01 * 1e9 / 900),
    ],
)
def test_each_part_binds_where_it_has_least(changes: list[str], system: str, limit: float) -> None:
    text = FILE.replace("B: {connect: netns, ", "B: {connect: netns, network: 8 Gbit/s, ")
    found = limit_of(run(text), *changes)
    assert [found.binds.system, found.limit] == [system, pytest.approx(limit, rel=1e-6)]


@pytest.mark.parametrize(
    ("changes", "why", "about"),
    [
        (["flow.trigger=10 s"], Why.SETTING, ["pipeline.trigger"]),
        (["logs.record_size=100 B"], Why.SETTING, ["source.record_size"]),
        (["spark.memory=1 GiB"], Why.SETTING, ["spark.memory"]),
        (["spark.workers=6", "flow.executors=6"], Why.TOO_FAR, ["spark.executors"]),
        (["flow.executors=2", "kafka.hosts=2", "D.cores=1"], Why.TOO_MANY, ["spark.executors", "kafka.hosts", "driver.cores"]),
        (["D.cores=0.08"], Why.TOO_FAR, ["driver.cores"]),
        (["flow.engine=kafka", "flow.executors=null"], Why.SHARED, ["flow"]),
    ],
)
def test_what_no_part_shows_is_refused_with_an_experiment_that_would(changes: list[str], why: Why, about: list[str]) -> None:
    answer = asked(run(), *changes)
    (refused,) = answer.refused
    assert [refused.why, refused.about, answer.predictions] == [why, about, []]
    assert refused.experiment is not None
    offered = experiment_of(parse_document(refused.experiment, Path("experiment")), opens_files=False)
    assert list(offered.workloads) == ["logs", "flow"]


def test_a_driver_without_room_for_what_it_does_at_rest_is_full() -> None:
    (refused,) = asked(run(laws=LAWS | {DRIVER: (0.2, 3e-6)}), "D.cores=0.15").refused
    assert [refused.why, refused.about] == [Why.FULL, [DRIVER]]


def test_a_pipeline_of_which_no_part_was_full_is_refused() -> None:
    """Something else bound: batches that take as long whatever they hold, or slots."""
    (refused,) = asked(run(laws={system: (fixed / 4, each / 4) for system, (fixed, each) in LAWS.items()})).refused
    assert refused.why is Why.NOT_BOUND


def test_what_each_executor_costs_the_broker_is_known_from_several() -> None:
    """Consumers and producers of its own: with one executor they seem fixed, with one and three they are told apart."""

    def of(executors: int, limit: float) -> Known:
        laws = LAWS | {"kafka": (0.05 + 0.03 * executors, 15e-6)}
        text = FILE.replace("executors: 1", f"executors: {executors}")
        known = run(text, laws, limit, executors, path=f"on-{executors}")
        return replace(known, pipes=[replace(one, run=executors // 2) for one in known.pipes])

    one, three = of(1, LIMIT), of(3, (0.5 - 0.14) / 15e-6)
    at_two = answered([one, three], Question([read_change("flow.executors=2")], {}, workloads=["flow"]), NONE)
    (found,) = at_two.predictions
    needs = {use.system: use.used for use in found.uses if use.resource == "cpu"}
    assert needs["kafka"] == pytest.approx(0.05 + 2 * 0.03 + 15e-6 * found.limit, rel=1e-3)
    (alone,) = answered([one], Question([read_change("flow.executors=3")], {}, workloads=["flow"]), NONE).predictions
    assert alone.limit > three.limits["flow"]


def test_too_few_windows_or_no_limit_are_refused() -> None:
    known = run()
    for one in (replace(known, pipes=[]), replace(known, pipes=known.pipes[:2]), replace(known, limits={})):
        (refused,) = asked(one).refused
        assert [refused.why, refused.about] == [Why.TOO_FEW, ["flow"]]


def test_parts_that_share_a_machine_are_no_parts() -> None:
    text = FILE.replace("kafka: {hosts: [B]", "kafka: {hosts: [D]")
    found = experiment_of(parse_document(text, Path("experiment")), opens_files=False)
    assert parts_of(found, "flow") is None
    (refused,) = asked(replace(run(), experiment=found, text=text)).refused
    assert refused.why is Why.SHARED


def test_faster_cores_carry_more_and_count_as_assumed() -> None:
    (found,) = asked(run(), speed=2.0).predictions
    assert [found.zone, found.limit > 2 * LIMIT] == [Zone.EXTRAPOLATED, True]


def test_a_pipeline_has_no_load_of_its_own() -> None:
    with pytest.raises(BadInputError, match="what feeds it"):
        answered([run()], Question([], {"flow": 1_000.0}), NONE)


def test_intervals_hold_the_true_limit() -> None:
    """Of 200 made-up pipelines whose readings scatter by 3 %: at the part that binds."""
    chance, held = random.Random(7), 0
    for _ in range(200):
        laws = {system: (fixed * chance.uniform(0.5, 2), each) for system, (fixed, each) in LAWS.items()}
        known = run(laws=laws, limit=(0.25 - laws[SPARK][0]) / laws[SPARK][1], noise=chance)
        found = limit_of(known, "flow.executors=3")
        true = min(3 * (0.25 - laws[SPARK][0]) / laws[SPARK][1], (0.5 - laws["kafka"][0]) / laws["kafka"][1])
        held += found.low <= true <= found.high
    assert held >= 0.9 * 200


def test_a_prediction_is_held_against_a_run_that_is_as_it_was_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked(run(), "flow.executors=3")
    as_asked = run(FILE.replace("executors: 1", "executors: 3"), limit=27_800.0, executors=3, path="later")
    monkeypatch.setattr(score_module, "read_known", lambda _: as_asked)
    (scored,) = score(answer, Path("later"))
    assert [scored.predicted, scored.measured, scored.held] == [pytest.approx(30_000, rel=1e-6), 27_800.0, True]
    monkeypatch.setattr(score_module, "read_known", lambda _: run(path="later"))
    with pytest.raises(BadInputError, match=r"spark\.executors"):
        score(answer, Path("later"))


def test_a_part_that_is_always_full_is_known_by_the_limit_alone() -> None:
    """A JVM that compiles takes all that there is, at any rate: what its records need is not in it."""
    known = run()
    full = replace(known.pipes[0].parts[SPARK], cores=0.25, is_full=True)
    known = replace(known, pipes=[replace(one, parts={**one.parts, SPARK: full}) for one in known.pipes])
    assert limit_of(known).is_soft
    assert limit_of(known, "hosts.cores=1.5x").limit == pytest.approx(1.5 * LIMIT, rel=1e-6)


def test_a_measured_run_on_one_executor_says_what_three_would_give(tmp_path: Path) -> None:
    """A run of experiments/dataflow-workers.yaml, its first executor alone: windows in which it fell behind are no part of a law."""
    with tarfile.open(Path(__file__).parent / "data" / "pipeline.tar.xz") as recorded:
        recorded.extractall(tmp_path, filter="data")
    known = read_known(tmp_path / "pipeline")
    assert [one.trial for one in known.pipes] == [15, 16, 23, 24, 26, 27, 28]
    assert all(one.parts[SPARK].is_full and not one.parts["kafka"].is_full for one in known.pipes)
    answer = answered([known], Question([read_change("on-1.executors=3")], {}, workloads=["on-1"]), NONE)
    (found,) = answer.predictions
    assert [found.binds.system, found.is_soft] == ["kafka", True]
    assert found.limit == pytest.approx(23_200, rel=0.01)
