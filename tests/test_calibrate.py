"""The calibration: its windows, and what it asks of a workload; the workload is made up, the test and the folder are real."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hydrotest.analysis.demand.turns import full_rate, turns_of
from hydrotest.analysis.demand.windows import Ceilings, Seen, Used, all_windows, system_windows, undisturbed
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.tests.calibrate import CalibrateTest
from hydrotest.run.trials.blocks import Blocks
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import LoadSpec, Rated
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.calibrate import RATES, Calibrate
from hydrotest.store.records import SqueezeBlock, Trial
from hydrotest.verdicts.trial import Disturbance, Disturbing

from .synthetic import EXPERIMENT, SyntheticRun

TEXT = EXPERIMENT.replace("isolated: [ingest]", "calibrate: {workloads: [ingest], budget: 100 s, window: 5 s}")


class MadeUp(Rated):
    """A workload whose trials are those of a synthetic run; it keeps what it was asked for."""

    def __init__(self, run: SyntheticRun, gives_up: bool = False, stolen: Sequence[float] = ()) -> None:
        self.name = "ingest"
        self.stolen = list(stolen)
        self.made = run
        self.gives_up = gives_up
        self.asked: list[tuple[TrialPlan, LoadSpec, list[Any]]] = []

    async def prepare(self) -> None:
        """Nothing is to be prepared."""

    async def _prepare(self) -> None:
        """Nothing is to be prepared."""

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Any:
        raise NotImplementedError

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Any = None) -> Trial:
        turns = expected(disturbance, Blocks).turns
        self.asked.append((plan, load_spec, list(turns)))
        stolen = self.stolen.pop(0) if self.stolen else 0.0
        return calibrated(self.made, plan, load_spec, list(turns), self.gives_up, stolen)


def calibrated(run: SyntheticRun, plan: TrialPlan, load: LoadSpec, turns: list[Any], gives_up: bool = False, stolen: float = 0.0) -> Trial:
    """A trial of these turns, as a run leaves it."""
    begin = run.clock_s + plan.warm_up_s
    blocks = []
    for turn in turns:
        blocks.append(
            SqueezeBlock(
                hosts=list(turn.hosts), resource=turn.resource, given=turn.given, start_wall_s=begin, end_wall_s=begin + turn.seconds
            )
        )
        begin += turn.seconds
    offered = load.stretches[0].rate if load.stretches else None
    trial = run.trial(
        "calibrate", offered, seconds=round(plan.seconds), search=plan.search, turns=blocks, test=plan.test, steal_share=stolen
    )
    own = trial.loads[0]
    assert own.outcome is not None
    own = own.model_copy(update={"offered": None, "outcome": own.outcome.model_copy(update={"gave_up": gives_up and bool(load.stretches)})})
    trial = trial.model_copy(update={"loads": [own]})
    run.folder.write_trial(trial)
    return trial


def made(run: SyntheticRun, workload: MadeUp, relievable: bool = False) -> CalibrateTest:
    host = SimpleNamespace(relievable=relievable, squeezable=["cpu"] if relievable else [])
    bench = SimpleNamespace(experiment=run.experiment, hosts={"here": host}, runner=SimpleNamespace(folder=run.folder), listener=Silent())
    settings = expected(run.experiment.tests[0], Calibrate)
    done = run.folder.trials()
    return CalibrateTest(0, settings, bench, {"ingest": workload}, done)  # type: ignore[arg-type]


async def test_each_round_has_a_trial_without_a_limit_and_one_by_schedule(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    workload = MadeUp(run)
    await made(run, workload, relievable=True).run()
    assert [plan.search for plan, _, _ in workload.asked] == ["without-1", "by-rate-1", "without-2", "by-rate-2"]
    (_, load, turns), (plan, by_rate, windows) = workload.asked[:2]
    assert load.peak_per_s == 0.0
    # Between all that hosts have, half of it.
    assert [(turn.hosts, turn.given) for turn in turns] == [((), 1.0), (("here",), 0.5), ((), 1.0)]
    assert sorted(stretch.rate for stretch in by_rate.stretches) == pytest.approx([share * 10_000 for share in RATES], rel=0.01)
    assert (plan.warm_up_s, plan.window_s, len(windows)) == (0.0, 20.0, 4)


async def test_hosts_of_which_nothing_can_be_taken_keep_what_they_have(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    workload = MadeUp(run)
    await made(run, workload).run()
    assert [(turn.hosts, turn.given) for turn in workload.asked[0][2]] == [((), 1.0)]


async def test_a_resumed_run_goes_on_after_what_is_done(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    await made(run, MadeUp(run)).run()
    again = MadeUp(run)
    await made(run, again).run()
    assert again.asked == []


async def test_rates_that_were_too_much_by_schedule_are_halved(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    workload = MadeUp(run, gives_up=True)
    await made(run, workload).run()
    first, second = (max(stretch.rate for stretch in load.stretches) for _, load, _ in workload.asked if load.stretches)
    assert second == pytest.approx(first / 2)


async def test_its_windows_are_what_was_seen(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    await made(run, MadeUp(run), relievable=True).run()
    without = run.folder.trials()[0]
    assert full_rate(run.folder, without, "ingest") == pytest.approx(10_000, rel=0.01)
    assert len(list(turns_of(run.folder, without, "ingest"))) == 3
    seen = system_windows(run.folder, run.experiment, run.folder.trials())["kafka"]
    closed = [one for one in seen if one.is_closed]
    assert [(one.is_whole, one.has.cores) for one in closed[:3]] == [(True, 2.0), (False, 1.0), (True, 2.0)]
    assert closed[0].rates == {"ingest": pytest.approx(10_000, rel=0.01)}
    assert closed[0].used.cores == pytest.approx(1.0, rel=0.01)


async def test_a_trial_whose_cores_were_stolen_is_repeated_once(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    workload = MadeUp(run, stolen=[0.3, 0.0, 0.1, 0.2])
    await made(run, workload).run()
    searches = [plan.search for plan, _, _ in workload.asked]
    # The first without a rate limit is repeated and quiet then; the first by schedule is repeated and is not.
    assert searches[:4] == ["without-1", "without-1", "by-rate-1", "by-rate-1"]
    assert searches.count("without-2") == searches.count("by-rate-2") == 1
    seen = system_windows(run.folder, run.experiment, run.folder.trials())["kafka"]
    assert {one.stolen for one in seen if one.is_closed} == {0.0}
    every = all_windows(run.folder, run.experiment, run.folder.trials())["kafka"]
    assert max(one.stolen for one in every if one.is_closed) == pytest.approx(0.3)


def test_windows_with_stolen_cores_count_only_where_there_is_no_other() -> None:
    used = Used(1.0, 0.0, 0.0, 0.0, 0.0)
    whole, less = Ceilings(2.0, None, None, None), Ceilings(1.0, None, None, None)
    first = Seen(0, 1, {"a": 10.0}, True, used, whole, True, None, stolen=0.3)
    windows = [first, replace(first, trial=2, stolen=0.01), replace(first, trial=3, has=less, stolen=0.2), replace(first, trial=4, has=less, stolen=0.1),
               replace(first, trial=5, is_closed=False, stolen=0.02), replace(first, trial=6, rates={"b": 1.0}, stolen=0.4),
               # By schedule another level is another thing, however quiet a lower one was.
               replace(first, trial=7, is_closed=False, rates={"a": 20.0}, stolen=0.4), replace(first, trial=8, is_closed=False, stolen=0.03)]  # fmt: skip
    assert [one.trial for one in undisturbed(windows)] == [2, 4, 5, 6, 7]


async def test_a_stolen_trial_is_repeated_when_a_run_goes_on(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    await made(run, MadeUp(run)).run()
    first = run.folder.trials()[0]
    # As if it had ended between a stolen trial and its repeat.
    for one in run.folder.trials()[1:]:
        shutil.rmtree(run.folder.folder_of(one))
    again = MadeUp(run)
    test = made(run, again)
    test._stolen = lambda measured, trial: [Disturbance(Disturbing.STOLEN, "here", 0.3)] if trial.number == first.number else []  # type: ignore[method-assign]
    await test.run()
    assert [plan.search for plan, _, _ in again.asked][:2] == ["without-1", "by-rate-1"]
