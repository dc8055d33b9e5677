"""The soak: one level for a long time."""

from __future__ import annotations

from hydrotest.run.trials.one_trial import OneLevelTest
from hydrotest.store.purposes import Purpose

PATIENCE_S = 30.0
"""A soak goes on through stalls that would make a search's trial hopeless."""


class SoakTest(OneLevelTest):
    """Some workloads at one level."""

    purpose = Purpose.SOAK

    @property
    def patience_s(self) -> float:
        """See `TrialPlan`."""
        return PATIENCE_S
