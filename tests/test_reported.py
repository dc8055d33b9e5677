"""What a run reports to its listener while it goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hydrotest.analysis.limits.search import limit_search
from hydrotest.analysis.limits.verdict import Verdict, judge
from hydrotest.analysis.measured import Measured
from hydrotest.cli.live.forecast import Forecast
from hydrotest.run.lifecycle.controller import Controller
from hydrotest.run.lifecycle.events import Planned, SearchState, Silent
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.trials.searcher import Searcher
from hydrotest.run.trials.trial import TrialRunner
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.plan import make_plan
from hydrotest.store.records import Trial
from tests.synthetic import EXPERIMENT, SyntheticRun, host_counters

TOGETHER = EXPERIMENT.replace("  - isolated: [ingest]\n", "  - isolated: [ingest]\n  - combined: [ingest]\n")


class Hearing(Silent):
    """Keeps what it receives."""

    def __init__(self) -> None:
        self.heard: list[SearchState | tuple[Trial, bool | None]] = []
        self.plans: list[Planned] = []
        self.shares: dict[str, dict[str, float]] = {}

    def planned(self, plan: Planned) -> None:
        self.plans.append(plan)

    def host(self, name: str, shares: dict[str, float]) -> None:
        self.shares[name] = shares

    def search(self, state: SearchState) -> None:
        self.heard.append(state)

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        self.heard.append((trial, accepted))


async def test_a_search_reports_its_interval_before_each_trial_s_end(tmp_path: Path) -> None:
    run, hearing = SyntheticRun(tmp_path, limit=9_000.0), Hearing()
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    bench = Bench(run.experiment, "t", {}, {}, TrialRunner(run.folder, Sampling({}, hearing), hearing, died), hearing)
    search = limit_search(12_000.0, run.experiment.search)

    async def attempt(rate: float) -> Trial:
        return run.trial("search", rate)

    def verdict(trial: Trial) -> Verdict:
        return judge(Measured.read(run.folder, trial, "ingest"), run.experiment.objective("ingest"))

    searcher = Searcher(0, "ingest", search, bench, attempt, verdict)
    while not searcher.over:
        await searcher.run_turn()
    ends = [at for at, one in enumerate(hearing.heard) if isinstance(one, tuple)]
    before = [one for at in ends if isinstance(one := hearing.heard[at - 1], SearchState)]
    assert [one.windows for one in before] == list(range(1, len(search.windows) + 1))
    assert {(one.test, one.name, one.budget, one.saturated, one.is_fraction) for one in before} == {
        (0, "ingest", run.experiment.search.trials, 12_000.0, False)
    }
    assert [one.is_over for one in before] == [False] * (len(before) - 1) + [True]
    last = before[-1].estimate
    assert last == search.limit().estimate
    assert last is not None
    assert last.low < 9_000 < last.high * 1.1
    widths = [one.estimate.high / one.estimate.low for one in before if one.estimate is not None]
    assert widths[-1] < widths[0]
    first = hearing.heard[0]
    assert isinstance(first, SearchState)
    assert (first.windows, first.estimate) == (0, None)


@pytest.mark.parametrize(("only", "kinds"), [(None, ["isolated", "combined"]), ("isolated", ["isolated"])])
def test_a_run_begins_with_its_plan(only: str | None, kinds: list[str], tmp_path: Path) -> None:
    async def announce() -> Planned:
        run, hearing = SyntheticRun(tmp_path, text=TOGETHER), Hearing()
        earlier = [run.trial("search", 8_000)]
        Controller(run.experiment, run.folder, hearing)._announce(earlier, only)
        assert hearing.plans[0].earlier == tuple(earlier)
        return hearing.plans[0]

    plan = asyncio.run(announce())
    assert [step.test for _, step in plan.steps] == kinds
    assert [index for index, _ in plan.steps] == list(range(len(kinds)))
    whole = make_plan(plan.experiment)
    assert plan.prepare_s == pytest.approx(whole.seconds - sum(step.seconds for step in whole.steps))
    assert Forecast(plan, 0.0).trials()[0] == 1


async def test_the_network_is_a_share_of_its_link_where_that_is_known() -> None:
    hearing = Hearing()
    sampling = Sampling({}, hearing, {"here": 8e6, "there": None})
    for second in (1.0, 2.0):
        for host in ("here", "there"):
            own = {"event": "sample", "wall_s": second, "host": host_counters(second), "services": {}, "gauges": {}, "gauge_errors": {}}
            sampling.buffer.add(host, own | {"speed_ns": [1], "sampler_cpu_us": 1})
            sampling._show(host)
    # A million bytes a second each way on the link, and as much on loopback.
    assert hearing.shares["here"]["network"] == pytest.approx(0.25)
    assert set(hearing.shares["there"]) == {"cpu", "memory", "disk"}
