"""A kind of test, as hydrotest knows it before any of it runs."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.kinds.ref import Ref


@dataclass(frozen=True)
class TestKind:
    """A kind of test."""

    __test__ = False
    """Not a test class of pytest's."""

    name: str
    """Its key in the list of tests."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.tests.base.Test`."""
    run: Ref
    """Carries it out: made of (index, settings, bench, workloads, trials of an earlier run), with `run()`."""
    sheets: tuple[Ref, ...] = ()
    """Its tables: from a summary to a `report.table.Table`, each."""
    figures: tuple[Ref, ...] = ()
    """Its figures: from a summary to a list of `report.figures.theme.Figure`, each."""
    is_short: bool = False
    """May be written as a list of workloads alone."""
