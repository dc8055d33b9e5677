"""Which test carries out which part of an experiment. What a resumed run has already is not done again."""

from __future__ import annotations

from typing import Protocol

from hydrotest.run.combined import CombinedTest
from hydrotest.run.doubling import DoublingTest
from hydrotest.run.fault import FaultTest
from hydrotest.run.isolated import IsolatedTest
from hydrotest.run.levels import LevelsTest
from hydrotest.run.profile import ProfileTest
from hydrotest.run.soak import SoakTest
from hydrotest.run.workloads.base import Bench, Workload
from hydrotest.spec.tests import Combined, Doubling, Fault, Isolated, Profile, Soak
from hydrotest.store.records import Trial


class Test(Protocol):
    """One test of an experiment."""

    async def run(self) -> None:
        """Carries it out."""


def make_test(index: int, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> Test:
    """The test at `index` of the experiment; `done` are the trials of an earlier run."""
    test = bench.experiment.tests[index]
    if isinstance(test, Isolated):
        return IsolatedTest(index, test, bench, workloads, done)
    if isinstance(test, Combined):
        return CombinedTest(index, test, bench, workloads, done)
    if isinstance(test, Soak):
        return SoakTest(index, test, bench, workloads, done)
    if isinstance(test, Fault):
        return FaultTest(index, test, bench, workloads, done)
    if isinstance(test, Profile):
        return ProfileTest(index, test, bench, workloads, done)
    if isinstance(test, Doubling):
        return DoublingTest(index, test, bench, workloads, done)
    return LevelsTest(index, test, bench, workloads, done)
