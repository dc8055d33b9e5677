"""Clocks of different machines: real nodes whose clocks are shifted, and the rule for latencies between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hydrotest.analysis.limits.verdict import judge
from hydrotest.hosts.clocks import LEAD_S, ClockOffset, Clocks, Compared, Comparison
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.models import Objective
from hydrotest.verdicts.trial import ClocksDiffer
from tests.synthetic import SyntheticRun


class Apart(LocalHost):
    """A host of a machine of its own, whose clock is ahead."""

    def __init__(self, name: str, scratch: Path, ahead_s: float) -> None:
        super().__init__(name, scratch)
        self.clock_s = ahead_s

    @property
    def machine(self) -> str:
        return self.name

    def hub_command(self) -> list[str]:
        return ["env", f"HYDROTEST_CLOCK_AHEAD_S={self.clock_s}", *super().hub_command()]


@asynccontextmanager
async def machines(folder: Path, *ahead_s: float) -> AsyncIterator[list[Apart]]:
    hosts = [Apart(f"m{number}", folder, ahead) for number, ahead in enumerate(ahead_s)]
    try:
        yield hosts
    finally:
        for host in hosts:
            await host.close()


async def test_clocks_that_differ_are_known_to_within_the_stated_error(tmp_path: Path) -> None:
    async with machines(tmp_path, 0.25, -5.0, 0.0) as hosts:
        clocks = Clocks(hosts)
        for _ in range(3):
            found = await clocks.compare()
            for host, relative in zip(hosts[1:], (-5.25, -0.25), strict=True):
                offset = found.by_machine[host.machine]
                assert abs(offset.offset_s - relative) <= offset.error_s
                assert abs(found.ahead_s(host) - host.clock_s) <= offset.error_s + found.reference.error_s
            assert abs(found.ahead_s(hosts[0]) - 0.25) <= found.reference.error_s
        assert await clocks.close() is None


async def test_one_machine_asks_nobody(tmp_path: Path) -> None:
    here = [LocalHost(name, tmp_path) for name in ("a", "b")]
    clocks = Clocks(here)
    assert await clocks.compare() == Comparison()
    assert (await clocks.compare()).lead_s == LEAD_S
    assert all(host._hub is None for host in here)


def test_a_clock_that_is_set_within_a_trial_counts_as_wrong() -> None:
    before = Comparison({"b": ClockOffset(0.001, 0.0001)})
    after = Comparison({"b": ClockOffset(5.001, 0.0002)})
    assert Compared(before, before).error_s("b") == pytest.approx(0.0001)
    assert Compared(before, after).error_s("b") == pytest.approx(5.0002)
    assert Compared(before, after).error_s("a") == 0


@pytest.mark.parametrize(
    ("bound", "error_s", "is_void"), [(20.0, 0.0, False), (20.0, 0.02, True), (500.0, 0.02, False), (1.0, 0.0001, False)]
)
def test_a_latency_nearer_to_its_bound_than_the_clocks_are_known_decides_nothing(
    tmp_path: Path, bound: float, error_s: float, is_void: bool
) -> None:
    made = SyntheticRun(tmp_path / "run")
    made.trial("search", 1_000)
    measured = made.measured(made.folder.trials()[-1])
    between = replace(measured, load=measured.load.model_copy(update={"clock_error_s": error_s}))
    verdict = judge(between, Objective.model_validate({"p99": f"{bound:g} ms"}))
    assert isinstance(verdict.void, ClocksDiffer) is is_void
    assert not (is_void and verdict.accepted)
    assert (verdict.counted is None) is is_void
