"""Consumer groups that read while records are written: what they cost, and what they make of limits, plans, costs and fleets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hydrotest.analysis.demand.laws.base import Load
from hydrotest.analysis.demand.laws.kafka import ProduceLaw
from hydrotest.analysis.demand.windows import Seen, Used
from hydrotest.catalogue.machines import machines, selected
from hydrotest.cli.commands.predict import groups_of
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, BadInputError
from hydrotest.predict.answer import Answer, NoLatency, Why
from hydrotest.predict.change import EVERY
from hydrotest.predict.known import Known
from hydrotest.predict.needs import Ask
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.score import score
from hydrotest.predict.scores import Scores
from hydrotest.predict.size import size
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.tests.calibrate import Calibrate
from tests.test_predict import FILE, HAS, cores, experiment, known

TRUTH = {"fixed": 0.08, "requests": 50e-6, "records": 10e-9, "bytes": 1.5e-9, "served requests": 30e-6, "served bytes": 0.6e-9}
EXACT = Scores({"groups": (0.0,) * 4, "cores": (0.0,) * 4, "hosts": (0.0,) * 4})
READ = FILE.replace("tests:", """  first: {kind: kafka-consume, reads: small, on: Clients}
  second: {kind: kafka-consume, reads: small, on: Clients}
tests:""").replace("[small, large]", "[small, large, first, second]")  # fmt: skip


def spec_of(name: str = "small") -> KafkaProduce:
    found = experiment().workload(name, KafkaProduce)
    assert found is not None
    return found


def full_rate(groups: int, has: float = HAS.cores) -> float:
    """The rate at which a host with so many cores has none left."""
    each = cores(TRUTH, ProduceLaw().work(spec_of(), Load(1e6, True, 2, True, 1.0, groups)).drivers) - TRUTH["fixed"]
    return (has - TRUTH["fixed"]) / each * 1e6


def run(groups: Sequence[int], noise: float = 0.0) -> Known:
    """A calibration of small and large without groups, and of small with so many."""
    random, base = np.random.default_rng(5), known(TRUTH)
    seen = list(base.seen["kafka"])

    def noisy(value: float) -> float:
        return value * (1 + noise * random.standard_normal())

    for number, count in enumerate(groups):
        for trial in range(3):
            at = 100 + 10 * number + 2 * trial
            for given in (1.0, 0.5, 1.0):
                rate = noisy(full_rate(count, HAS.cores * given))
                work = ProduceLaw().work(spec_of(), Load(rate, True, 2, False, 1.0, count))
                used = Used(HAS.cores * given, 1.0, work.into, work.out, work.written)
                seen.append(
                    Seen(0, at, {"small": rate}, True, used, HAS.times(given), given == 1.0, work.drivers["requests"], {}, {"small": count})
                )
            for share in (0.02, 0.15, 0.4):
                work = ProduceLaw().work(spec_of(), Load(share * full_rate(count), False, 2, False, 1.0, count))
                used = Used(noisy(cores(TRUTH, work.drivers)), 0.0, work.into, work.out, work.written)
                seen.append(Seen(0, at + 1, {"small": share * full_rate(count)}, False, used, HAS, True, None, {}, {"small": count}))
    return replace(base, seen={"kafka": seen})


def asked(found: Known, groups: float, scores: Scores = EXACT, **more: Any) -> Answer:
    return answered([found], Question([], {}, groups={"small": groups}, workloads=["small"], **more), scores)


@pytest.mark.parametrize("groups", [0, 1, 2, 3])
def test_the_limit_with_groups_is_found_from_one_group(groups: int) -> None:
    (found,) = asked(run([1], noise=0.03), groups).predictions
    assert found.limit == pytest.approx(full_rate(groups), rel=0.06)
    assert found.low <= full_rate(groups) <= found.high
    assert [(one.axis, one.value, one.low, one.high) for one in found.moved] == ([] if groups < 2 else [("small.groups", groups, 0, 1)])
    assert found.at["small.groups"] == groups


def test_without_a_measured_group_nothing_is_said_and_an_experiment_is_offered() -> None:
    (refused,) = asked(run([]), 2).refused
    assert refused.why is Why.INSEPARABLE
    assert set(refused.about) == {"served requests", "served bytes"}
    assert refused.experiment is not None
    offered = experiment_of(parse_document(refused.experiment, Path("offered.yaml")), opens_files=False)
    ((_, test),) = offered.tests_of(Calibrate)
    assert test.measured(offered) == {
        "small": ["small"], "small-reader-1": ["small", "small-reader-1"], "small-reader-2": ["small", "small-reader-1", "small-reader-2"]
    }  # fmt: skip


def test_far_more_groups_than_were_measured_are_refused() -> None:
    (refused,) = asked(run([1]), 9).refused
    assert (refused.why, refused.about) == (Why.TOO_FAR, ["small.groups"])


def test_what_links_carry_is_shared_by_groups() -> None:
    """Each group takes as much of the way out as one copy would: with six, links bind where without any they do not."""
    narrow = HAS.times(link=0.34)
    found = run([1])
    found = replace(
        found, has={"kafka": narrow}, seen={"kafka": [replace(one, has=replace(one.has, link=narrow.link)) for one in found.seen["kafka"]]}
    )
    without, read = (asked(found, groups).predictions[0] for groups in (0, 6))
    assert (without.binds.resource, read.binds.resource) == ("cpu", "network")
    assert narrow.link is not None
    assert read.limit == pytest.approx(2 * narrow.link / (6 * ProduceLaw().work(spec_of(), Load(1.0, True, 1)).into), rel=0.01)


def test_a_latency_while_groups_read_is_not_predicted() -> None:
    (found,) = answered([run([1])], Question([], {"small": 1e5}, groups={"small": 1}, workloads=["small"]), EXACT).predictions
    assert found.no_latency in (NoLatency.GROUPS, NoLatency.QUOTA)


def test_a_prediction_is_held_against_windows_with_as_many_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    predicted = asked(run([1]), 2)
    monkeypatch.setattr("hydrotest.predict.score.read_known", lambda _: run([1, 2]))
    (row,) = score(predicted, tmp_path)
    assert row.measured == pytest.approx(full_rate(2))
    assert row.axes == ["small.groups"]


def test_plans_have_what_groups_take() -> None:
    there = selected(["aws/m7i.*"], machines(None))
    plans = [
        size([run([1])], Ask({"small": 2e6}, there, may_be_far=True, lost="none", groups={EVERY: float(count)}, zones=3)).plans[0]
        for count in (0, 2)
    ]
    assert plans[1].usd_h > plans[0].usd_h
    assert plans[0].traffic_usd_h is not None
    assert plans[1].traffic_usd_h == pytest.approx(3 * plans[0].traffic_usd_h, rel=0.01)


@pytest.mark.parametrize(("text", "found"), [(None, {}), ("2", {EVERY: 2}), ("a=1", {"a": 1}), ("a=0, b=3", {"a": 0, "b": 3})])
def test_groups_are_read(text: str | None, found: dict[str, float]) -> None:
    assert groups_of(text) == found


@pytest.mark.parametrize("text", ["", "a", "a=", "a=1.5", "a=-1", "a=1,a=2", "2,a=1", "a=1,2"])
def test_what_is_no_number_of_groups_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="groups"):
        groups_of(text)


def test_groups_of_what_nobody_can_read_are_refused() -> None:
    with pytest.raises(BadInputError, match="no such workload"):
        answered([run([1])], Question([], {}, groups={"nothing": 1}), EXACT)


def test_readers_are_added_one_after_the_other() -> None:
    found = experiment(READ)
    ((_, test),) = found.tests_of(Calibrate)
    assert test.measured(found) == {
        "small": ["small"], "large": ["large"], "first": ["small", "first"], "second": ["small", "first", "second"]
    }  # fmt: skip


def test_a_reader_needs_what_it_reads_in_the_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(READ.replace("[small, large, first, second]", "[large, first]"))
    assert main(["check", str(file), "--json"]) == EXIT_BAD_INPUT
    assert "small" in json.dumps(capsys.readouterr().err)


def test_a_dataflow_is_no_reader_of_a_calibration() -> None:
    flow = "  flow: {kind: dataflow, engine: kafka, reads: small, on: Clients}\ntests:"
    text = (
        FILE.replace("tests:", flow)
        .replace("[small, large]", "[small, flow]")
        .replace("record_size: 100 B", "record_size: 100 B, levels: {info: 1, warn: 1}")
    )
    with pytest.raises(BadInputError, match="flow has no schedule of its own"):
        experiment(text)


@pytest.mark.parametrize(
    ("rate", "is_closed", "fetches"),
    # As counted on one broker: of requests with a batch of each of six partitions two fetches are made, of those with one batch one.
    [(322_206, True, 772), (465_216, True, 1_173), (41_307, False, 279), (5_501, False, 50)],
)
def test_a_group_fetches_as_counted(rate: float, is_closed: bool, fetches: float) -> None:
    work = ProduceLaw().work(spec_of(), Load(rate, is_closed, 1, groups=1))
    assert work.drivers["served requests"] == pytest.approx(fetches, rel=0.15)
