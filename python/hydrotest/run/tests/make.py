"""Makes the tests of an experiment from the registry. Trials of an earlier run are not repeated."""

from __future__ import annotations

from typing import Protocol

from hydrotest.kinds.registry import TESTS
from hydrotest.run.workloads.base import Bench, Workload
from hydrotest.store.records import Trial


class Test(Protocol):
    """One test of an experiment."""

    async def run(self) -> None:
        """Carries it out."""


def make_test(index: int, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> Test:
    """The test at `index` of the experiment; `done` are the trials of an earlier run."""
    settings = bench.experiment.tests[index]
    test: Test = TESTS[settings.test].run.load()(index, settings, bench, workloads, done)
    return test
