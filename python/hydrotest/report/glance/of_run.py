"""Everything that one sees first, from a summary."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.report.doubts import not_valid
from hydrotest.report.glance.actions import actions_of
from hydrotest.report.glance.cards import Objectives, cards_of
from hydrotest.report.glance.model import Glance
from hydrotest.report.glance.together import together_of
from hydrotest.summary.model import Summary


def glance(summary: Summary, kinds: Mapping[str, str], objectives: Objectives | None = None) -> Glance:
    """`kinds`: the kind of each workload, in the order of the experiment."""
    return Glance(cards_of(summary, kinds, objectives), together_of(summary), actions_of(summary), not_valid(summary))
