"""Latency at a load, and several workloads at once, from made-up systems."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hydrotest.errors import BadInputError
from hydrotest.predict import score as score_module
from hydrotest.predict.answer import Answer, NoLatency, Why
from hydrotest.predict.change import read_change
from hydrotest.predict.known import Known
from hydrotest.predict.latency import LEVELS_MIN, Level, erlang_c, estimate, levels_of, wait
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.scores import Scores
from tests.test_predict import EXACT, FILE, TRUE, known, of

LOADS = (0.02, 0.15, 0.3, 0.5, 0.7)
BASE = {"p50": 1.0, "p95": 2.0, "p99": 4.0}
WHOLE = FILE.replace("cores: 0.5", "cores: whole")


def levels(loads: tuple[float, ...] = LOADS, noise: float = 0.0, random: np.random.Generator | None = None, cores: int = 1) -> list[Level]:
    """Percentiles of a queue."""

    def ms(name: str, load: float) -> float:
        true = BASE[name] * (1 + 2 * wait(load, cores))
        return true if random is None else true * math.exp(noise * random.standard_normal())

    return [Level(load, cores, {name: ms(name, load) for name in BASE}) for load in loads]


def test_one_of_one_waits_as_often_as_it_is_busy() -> None:
    assert erlang_c(1, 0.6) == pytest.approx(0.6)
    # Two servers at half of their load: 1/3 (tables of Erlang's C formula).
    assert erlang_c(2, 0.5) == pytest.approx(1 / 3)


def test_a_queue_is_found_beyond_the_loads_that_were_measured() -> None:
    found = estimate(levels(), "p50", 0.85, 1)
    assert found is not None
    assert found.ms == pytest.approx(1.0 * (1 + 2 * wait(0.85, 1)))
    assert found.form == "queue"


def test_more_cores_wait_less() -> None:
    one, two = (estimate(levels(), "p50", 0.7, cores) for cores in (1, 2))
    assert one is not None
    assert two is not None
    assert two.ms == pytest.approx(1 + 2 * wait(0.7, 2))
    assert two.ms < one.ms


def test_what_is_no_queue_is_a_curve() -> None:
    """A batch that waits for its linger: less at more load, until the queue grows."""
    odd = [Level(load, 1, {"p50": ms, "p95": ms, "p99": ms}) for load, ms in zip(LOADS, (10.0, 9.0, 6.0, 5.0, 5.2), strict=True)]
    found = estimate(odd, "p50", 0.4, 1)
    assert found is not None
    assert found.form == "curve"
    assert 5.0 < found.ms < 6.0


def test_few_levels_say_nothing() -> None:
    assert estimate(levels(LOADS[: LEVELS_MIN - 1]), "p50", 0.4, 1) is None
    assert estimate([*levels(LOADS[: LEVELS_MIN - 1]), *levels((0.95,))], "p50", 0.4, 1) is None


def test_windows_of_about_one_load_are_one_level() -> None:
    found = levels_of([*levels((0.30, 0.32, 0.5)), *levels((0.31,), cores=2)])
    assert [(round(one.load, 2), one.cores) for one in found] == [(0.31, 1), (0.5, 1), (0.31, 2)]


def test_the_interval_holds_in_nine_of_ten() -> None:
    """Levels that scatter by 10 %: the truth is within the factor, with the shipped error's floor of 1.1, in 85 of 100 at least."""
    random, held = np.random.default_rng(33), []
    for _ in range(200):
        found = estimate(levels(noise=0.1, random=random), "p50", 0.6, 1)
        assert found is not None
        held.append(abs(math.log(found.ms / (1 + 2 * wait(0.6, 1)))) <= math.log(found.factor))
    assert np.mean(held) >= 0.85


def timed(text: str = WHOLE) -> Known:
    """A calibration with latencies by schedule."""
    run = known(TRUE, text=text)
    limit = {name: max(one.rates[name] for one in run.seen["kafka"] if name in one.rates and one.is_closed) for name in ("small", "large")}
    seen = []
    for one in run.seen["kafka"]:
        ((name, rate),) = one.rates.items()
        load = rate / limit[name]
        seen.append(one if one.is_closed else replace(one, percentiles={key: ms * (1 + wait(load, 1)) for key, ms in BASE.items()}))
    return replace(run, seen={"kafka": [*seen, *(replace(one, rates={key: 1.6 * rate for key, rate in one.rates.items()}, percentiles={
        key: ms * (1 + wait(0.64, 1)) for key, ms in BASE.items()}) for one in seen if not one.is_closed and 0.35 < one.rates.get(
            "small", 0.0) / limit["small"] < 0.45)]})  # fmt: skip


def at(run: Known, rate: float, *changes: str, **more: Any) -> Answer:
    return answered(
        [run],
        Question([read_change(one) for one in changes], {"small": rate}, **more),
        Scores(dict(EXACT.shipped) | {"latency": (0.1,) * 4}),
    )


def test_the_latency_at_a_load_is_shown_with_its_error() -> None:
    limit = of(answered([timed()], Question([], {}), EXACT), "small").limit
    found = of(at(timed(), 0.5 * limit), "small").latency
    assert found is not None
    assert [one.name for one in found.percentiles] == ["p50"]
    assert found.percentiles[0].ms == pytest.approx(BASE["p50"] * (1 + wait(0.5, 1)), rel=0.1)
    assert found.percentiles[0].high_ms / found.percentiles[0].ms >= math.exp(0.1) - 1e-9
    assert found.share == pytest.approx(0.5)
    assert found.levels == 4


@pytest.mark.parametrize(("changes", "share", "text", "why"), [
    ([], 0.0, WHOLE, NoLatency.NOT_ASKED), ([], 0.95, WHOLE, NoLatency.ABOVE), (["small.record_size=200 B"], 0.3, WHOLE, NoLatency.SETTING),
    ([], 0.5, FILE, NoLatency.QUOTA),
])  # fmt: skip
def test_a_latency_that_was_not_calibrated_is_not_shown(changes: list[str], share: float, text: str, why: NoLatency) -> None:
    run = timed(text)
    limit = of(answered([run], Question([read_change(one) for one in changes], {}), EXACT), "small").limit
    found = of(at(run, share * limit, *changes) if share else answered([run], Question([], {}), EXACT), "small")
    assert (found.latency, found.no_latency) == (None, why)


def test_a_load_above_those_that_were_measured_has_no_latency() -> None:
    limit = of(answered([timed()], Question([], {}), EXACT), "small").limit
    found = of(at(timed(), 0.85 * limit), "small")
    assert (found.latency, found.no_latency) == (None, NoLatency.ABOVE)


def test_a_latency_that_scatters_is_not_shown() -> None:
    run = timed()
    rates = sorted({one.rates["small"] for one in run.seen["kafka"] if one.percentiles and "small" in one.rates})
    odd = set(rates[1::2])
    wild = [
        replace(one, percentiles={"p50": 10 * one.percentiles["p50"]}) if one.rates.get("small") in odd else one
        for one in run.seen["kafka"]
    ]
    limit = of(answered([run], Question([], {}), EXACT), "small").limit
    assert of(at(replace(run, seen={"kafka": wild}), 0.3 * limit), "small").no_latency is NoLatency.SCATTER


def test_hosts_that_generators_share_have_no_latency_of_their_own() -> None:
    text = WHOLE.replace("on: Clients", "on: B1")
    limit = of(answered([timed(text)], Question([], {}), EXACT), "small").limit
    assert of(at(timed(text), 0.3 * limit), "small").no_latency is NoLatency.SHARED


def test_cores_that_are_assumed_faster_have_no_latency() -> None:
    run = timed()
    limit = of(answered([run], Question([], {}), EXACT), "small").limit
    assert of(at(run, 0.3 * limit, speed=2.0), "small").no_latency is NoLatency.SETTING


def test_too_few_loads_give_no_latency() -> None:
    run = timed()
    few = replace(run, seen={"kafka": [one for one in run.seen["kafka"] if one.is_closed or one.rates.get("small", 1.0) < 100_000]})
    assert of(at(few, 50_000), "small").no_latency is NoLatency.LEVELS


BOTH = FILE.replace("  Clients: {connect: netns}\n", "  Clients: {connect: netns}\n").replace(
    "systems:\n", "systems:\n  cassandra: {hosts: [B1, B2], heap: 512 MiB}\n"
).replace("tests:\n", "  store: {kind: cassandra, mix: {write: 1}, keys: \"uniform(0, 10K)\", replication: 2, on: Clients}\ntests:\n")  # fmt: skip


def both(soft: float) -> Known:
    """Kafka and Cassandra on the same hosts; `soft`: cores that Cassandra uses at any load below its limit."""
    run = known(TRUE, text=BOTH)
    other = [replace(one, rates={"store": one.rates["small"] / 100}, requests=None, used=replace(one.used, cores=one.used.cores if one.is_closed else max(
        one.used.cores, soft))) for one in run.seen["kafka"] if "small" in one.rates]  # fmt: skip
    kafka = [one for one in run.seen["kafka"] if "small" in one.rates]
    return replace(run, has={"kafka": run.has["kafka"], "cassandra": run.has["kafka"]}, seen={"kafka": kafka, "cassandra": other})


def test_two_systems_on_the_same_hosts_have_less_than_half_together() -> None:
    """What is fixed of each is there at any share: half of each limit is too much."""
    found = answered([both(0.0)], Question([], {}, together=["small", "store"]), EXACT).together
    assert found is not None
    assert found.host in ("B1", "B2")
    assert found.resource == "cpu"
    assert found.share == pytest.approx(found.without_soft)
    assert 0.3 < found.share < 0.5
    assert found.low < found.share < found.high


def test_what_others_use_of_a_host_is_part_of_its_use_and_shown() -> None:
    loads = {"small": 20_000.0, "store": 300.0}
    alone, shared = (answered([both(0.0)], Question([], of), EXACT).uses for of in ({"small": 20_000.0}, loads))
    cpu = {use.system: use for use in shared if use.resource == "cpu"}
    assert cpu.keys() == {"kafka", "cassandra"}
    (before,) = [use for use in alone if use.resource == "cpu" and use.system == "kafka"]
    assert cpu["kafka"].used - cpu["kafka"].others == pytest.approx(before.used - before.others)
    assert 0 < before.others < cpu["kafka"].others < cpu["kafka"].used
    # Of its ceiling: of cores, what it uses of them where they bind.
    assert all(use.share == pytest.approx(use.used / use.has) for use in shared)


def test_the_limit_beside_a_system_that_uses_more_than_it_needs_is_between_all_and_none_of_that_use() -> None:
    load = Question([], {"store": 300.0})
    (alone,) = [one for one in answered([both(0.42)], Question([], {}), EXACT).predictions if one.workload == "small"]
    (hard,) = [one for one in answered([both(0.0)], load, EXACT).predictions if one.workload == "small"]
    (some,) = [one for one in answered([both(0.38)], load, EXACT).predictions if one.workload == "small"]
    assert some.low < 0.75 * some.limit
    assert some.limit < hard.limit
    assert some.high == pytest.approx(hard.high, rel=0.05)
    # Where all of that use would leave a tenth, or nothing, there is no one number.
    (most,) = [one for one in answered([both(0.48)], Question([], {"store": 800.0}), EXACT).refused if one.workload == "small"]
    assert (most.why, most.about, most.experiment) == (Why.SOFT, ["cassandra"], None)
    assert alone.limit > hard.limit


def test_a_neighbour_under_load_leaves_no_more_than_an_idle_one() -> None:
    run = both(0.0)
    kafka = [replace(one, used=replace(one.used, others=0.1)) for one in run.seen["kafka"]]
    run = replace(run, seen={**run.seen, "kafka": kafka})
    limits = [
        next(
            one.limit
            for one in answered([run], Question([], {"store": rate} if rate else {}), EXACT).predictions
            if one.workload == "small"
        )
        for rate in (0.0, 1.0, 100.0, 1000.0)
    ]
    assert limits == sorted(limits, reverse=True)


def test_use_that_is_no_need_counts_where_others_share_the_cores() -> None:
    hard, soft = (answered([both(cores)], Question([], {}, together=["small", "store"]), EXACT).together for cores in (0.0, 0.42))
    assert hard is not None
    assert soft is not None
    assert soft.share < 0.8 * hard.share
    assert soft.low < soft.share < soft.without_soft <= soft.high
    # Half of it: neither as if others got all of it, nor as if none.
    assert 1.1 * soft.low < soft.share < 0.95 * soft.without_soft
    assert not hard.is_wide


def test_a_share_that_may_be_ten_times_as_much_is_no_number() -> None:
    """What both use at any load fills the hosts nearly: how much is left for operations is then not known."""
    found = answered(
        [both(0.42)], Question([], {}, together=["small", "store"]), Scores({**EXACT.shipped, "together": (0.4,) * 4})
    ).together
    assert found is not None
    assert found.is_wide
    assert found.high > 10 * found.low


@pytest.mark.parametrize(
    ("names", "loads", "says"),
    [(["small"], {}, "two workloads"), (["small", "none"], {}, "no such workload"), (["small", "large"], {"small": 1.0}, "both")],
)
def test_what_cannot_be_together_is_refused(names: list[str], loads: dict[str, float], says: str) -> None:
    with pytest.raises(BadInputError, match=says):
        answered([known(TRUE)], Question([], loads, together=names), EXACT)


def test_percentiles_and_shares_are_held_against_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = timed()
    rate = next(one.rates["small"] for one in run.seen["kafka"] if one.percentiles and 0.35 < one.rates.get("small", 0.0) / 2e6 < 0.9)
    answer = at(run, rate).model_copy(update={"runs": [str(tmp_path / "run")]})
    monkeypatch.setattr(score_module, "read_known", lambda _path: run)
    rows = {row.what: row for row in score_module.score(answer, tmp_path / "then") if row.workload == "small"}
    assert rows["p50"].unit == "ms"
    assert rows["p50"].held
    assert rows["p50"].axes == ["latency"]
    both_run = replace(both(0.0), share=0.3, together=("small", "store"))
    monkeypatch.setattr(score_module, "read_known", lambda _path: both_run)
    together = answered([both_run], Question([], {}, together=["small", "store"]), EXACT).model_copy(update={"runs": []})
    row = next(row for row in score_module.score(together, tmp_path / "then") if row.what == "together")
    assert (row.measured, row.unit) == (0.3, "")


def test_what_idle_neighbours_used_while_it_was_measured_counts_once() -> None:
    """They had a tenth of a core of each host; all else was the system's own, and a limit is what was measured."""
    run = both(0.0)
    seen = {
        name: [replace(one, used=replace(one.used, others=0.1), has=replace(one.has, cores=one.has.cores + 0.1)) for one in windows]
        for name, windows in run.seen.items()
    }
    has = {name: replace(one, cores=one.cores + 0.1) for name, one in run.has.items()}
    shared = answered([replace(run, seen=seen, has=has)], Question([], {}), EXACT)
    for one in shared.predictions:
        assert one.limit == pytest.approx(one.measured, rel=0.02)
