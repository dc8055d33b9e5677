"""The limit of a pipeline, from made-up parts whose laws are known."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hydrotest.analysis.bottleneck.use import NEAR_CEILING
from hydrotest.analysis.demand.parts import part_rows
from hydrotest.analysis.demand.piped import DRIVER, SPARK, PartUsed, Piped, parts_of
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.cli.commands.predict import _is_refused
from hydrotest.errors import BadInputError
from hydrotest.predict import score as score_module
from hydrotest.predict.answer import Answer, Prediction, Refused, Why, Zone
from hydrotest.predict.change import read_change
from hydrotest.predict.known import Known, read_known
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.score import score
from hydrotest.predict.scores import Scores
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of, load_experiment
from hydrotest.store.folder import RunFolder

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
        return PartUsed(float(hosts), cores, 900.0 * rate / hosts, 900.0 * rate / hosts, cores >= NEAR_CEILING * CORES[system])

    return Piped(0, trial, "flow", rate, executors, {system: part(system) for system in laws})


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


def test_a_pipeline_that_still_got_faster_is_named() -> None:
    measured = run()
    assert limit_of(measured).unsettled == []
    assert limit_of(replace(measured, unsettled=["flow", "ingest"])).unsettled == ["flow"]


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
        (["flow.trigger=10 s"], Why.SETTING, ["flow.trigger"]),
        (["logs.record_size=100 B"], Why.SETTING, ["logs.record_size"]),
        (["spark.memory=1 GiB"], Why.SETTING, ["spark.memory"]),
        (["spark.workers=6", "flow.executors=6"], Why.TOO_FAR, ["spark.executors"]),
        (["flow.executors=2", "kafka.hosts=2", "D.cores=1"], Why.TOO_MANY, ["spark.executors", "kafka.hosts", "driver.hosts.cores"]),
        (["D.cores=0.08"], Why.TOO_FAR, ["driver.hosts.cores"]),
        (["flow.on=B"], Why.SHARED, ["flow"]),
        (["flow.engine=kafka", "flow.executors=null"], Why.NOT_MODELLED, ["flow.engine"]),
    ],
)
def test_what_no_part_shows_is_refused_with_an_experiment_that_would(changes: list[str], why: Why, about: list[str]) -> None:
    answer = asked(run(), *changes)
    (refused,) = answer.refused
    assert [refused.why, refused.about, answer.predictions] == [why, about, []]
    if why in (Why.SHARED, Why.NOT_MODELLED):
        assert refused.experiment is None
        return
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
        assert [refused.why, refused.about] == [Why.NO_LIMIT, ["flow"]]


def test_parts_that_share_a_machine_are_no_parts() -> None:
    text = FILE.replace("kafka: {hosts: [B]", "kafka: {hosts: [D]")
    found = experiment_of(parse_document(text, Path("experiment")), opens_files=False)
    parts = parts_of(found, "flow")
    assert parts is not None
    assert not parts.are_apart
    (refused,) = asked(replace(run(), experiment=found, text=text)).refused
    assert refused.why is Why.SHARED


def test_faster_cores_carry_more_and_count_as_assumed() -> None:
    (found,) = asked(run(), speed=2.0).predictions
    assert [found.zone, found.limit > 2 * LIMIT] == [Zone.EXTRAPOLATED, True]


def test_a_pipeline_has_no_load_of_its_own() -> None:
    with pytest.raises(BadInputError, match="what feeds it"):
        answered([run()], Question([], {"flow": 1_000.0}), NONE)


def test_no_slot_of_an_executor_uses_more_than_a_core() -> None:
    """Workers of 8 cores with one slot each: one core is all that an executor uses, however many its host has."""
    text = FILE.replace("cores: 4, memory", "cores: 1, memory").replace("cores: 0.25", "cores: 8")
    laws = LAWS | {SPARK: (0.1, 60e-6)}
    known = run(text, laws, (1.0 - 0.1) / 60e-6)
    has = {**known.pipes_have["flow"], SPARK: Ceilings(8.0, 1e9, 1e9, 2e9)}
    full = [
        replace(one, parts={**one.parts, SPARK: replace(one.parts[SPARK], is_full=one.parts[SPARK].cores > 0.85)}) for one in known.pipes
    ]
    known = replace(known, pipes=full, pipes_have={"flow": has})
    assert limit_of(known).limit == pytest.approx(known.limits["flow"], rel=1e-6)
    assert limit_of(known, "W1.cores=16").limit == pytest.approx(known.limits["flow"], rel=1e-6)


def test_what_is_asked_is_of_the_pipelines_own_hosts() -> None:
    """Another pipeline, measured in the same run, has its driver on a smaller host."""
    text = FILE.replace("  ingest:", "  flow2: {kind: dataflow, reads: logs2, partitions: 6, executors: 1, trigger: 2 s, on: C2}\n"
                        "  logs2: {kind: kafka-produce, partitions: 6, record_size: 870 B, levels: {info: 80, error: 20}, on: C}\n  ingest:"
                        ).replace("  C: {", "  C2: {connect: netns}\n  C: {")  # fmt: skip
    known = run(text)
    both = {"flow": known.pipes_have["flow"], "flow2": {**known.pipes_have["flow"], DRIVER: Ceilings(2.0, 1e9, 1e9, 2e9)}}
    answer = answered([replace(known, pipes_have=both)], Question([], {}, workloads=["flow2"]), NONE)
    (found,) = answer.predictions
    assert found.at["driver.hosts.cores"] == 2.0
    # An amount of all hosts is none of a driver's that has no bound of its own.
    assert answered([replace(known, pipes_have=both)], Question([read_change("hosts.cores=0.4")], {}, workloads=["flow"]), NONE).predictions


def test_brokers_share_no_more_than_they_have_partitions() -> None:
    text = (
        FILE.replace("partitions: 6", "partitions: 2")
        .replace("[B]", "[B, B2]")
        .replace("  D: {", "  B2: {connect: netns, cores: 0.5, memory: 2 GB}\n  D: {", 1)
    )
    found = experiment_of(parse_document(text.replace("[B, B2]", "[B, B2, B3]").replace("  D: {", "  B3: {connect: netns, cores: 0.5}\n  D: {", 1),
                                         Path("experiment")), opens_files=False)  # fmt: skip
    parts = parts_of(found, "flow")
    assert parts is not None
    assert [len(parts.hosts["kafka"]), parts.count("kafka")] == [3, 2.0]


@pytest.mark.parametrize(("system", "binds"), [(SPARK, "kafka"), (SPARK, DRIVER)])
def test_another_workload_of_what_binds_is_no_answer_for_it(system: str, binds: str) -> None:
    """`--set kafka.hosts=2`, with all of Kafka's workloads refused: a pipeline that its brokers bind does not answer for them."""
    one = limit_of(run())
    assert one.system == system
    bound = one.model_copy(update={"binds": one.binds.model_copy(update={"system": binds})})
    answer = asked(run()).model_copy(update={
        "changes": {"kafka.hosts": "2"}, "asked": [], "predictions": [bound],
        "refused": [Refused(workload="ingest", system="kafka", why=Why.TOO_FEW, about=["ingest"])],
    })  # fmt: skip
    assert _is_refused(answer)


def test_intervals_hold_the_true_limit() -> None:
    """Of 200 made-up pipelines whose readings scatter by 3 %: at the part that binds."""
    chance, held, widths = random.Random(7), 0, []
    for _ in range(200):
        laws = {system: (fixed * chance.uniform(0.5, 2), each) for system, (fixed, each) in LAWS.items()}
        known = run(laws=laws, limit=(0.25 - laws[SPARK][0]) / laws[SPARK][1], noise=chance)
        found = limit_of(known, "flow.executors=3")
        true = min(3 * (0.25 - laws[SPARK][0]) / laws[SPARK][1], (0.5 - laws["kafka"][0]) / laws["kafka"][1])
        held += found.low <= true <= found.high
        widths.append(found.high / found.low)
    assert held >= 0.9 * 200
    # Beside what the search's own grid leaves open, both ways.
    assert sorted(widths)[100] <= 1.1**2 * 1.25


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
    assert [found.low, found.high] == pytest.approx([10_360, 38_180], rel=0.01)
    # Its source's records are its own; another workload's are not.
    rates = [question_of(known, load).next for load in ({}, {"logs-1": 5_000.0}, {"logs-2": 5_000.0})]
    assert [one.system for one in rates if one is not None] == ["kafka"] * 3
    assert rates[0] == rates[1]
    assert rates[2] is not None
    assert rates[0] is not None
    assert rates[2].rate < rates[0].rate


def test_a_measured_run_says_what_a_record_costs_each_part(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parent / "data" / "pipeline.tar.xz") as recorded:
        recorded.extractall(tmp_path, filter="data")
    run = RunFolder.open(tmp_path / "pipeline")
    rows = {row.part: row for row in part_rows(run, load_experiment(run.path / "experiment.yaml", opens_files=False)[0], run.trials())}
    assert rows.keys() == {"spark", "driver", "kafka"}
    assert {(row.workload, row.windows) for row in rows.values()} == {("on-1", 7)}
    assert [part for part, row in rows.items() if row.is_full] == ["spark"]
    law = rows["kafka"]
    assert law.cpu_us is not None
    assert law.fixed_cores is not None
    # The broker used 0.353 core at 9,320 records/s (benchmarks/RESULTS.md, "A pipeline on other executors").
    assert law.fixed_cores.value + law.cpu_us.value * 9_320 / 1e6 == pytest.approx(0.36, abs=0.02)


def question_of(known: Known, load: dict[str, float]) -> Prediction:
    (found,) = answered([known], Question([], load, workloads=["on-1"]), NONE).predictions
    return found
