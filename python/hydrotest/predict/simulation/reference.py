"""The scenario's reference and its JSON Schema, from the models: docs/reference/scenario.md, contract/scenario.schema.json."""

from __future__ import annotations

import sys

from hydrotest.predict.simulation.scenario import (
    Daily,
    Event,
    HostGroup,
    Scenario,
    SimulatedCompaction,
    SimulatedDisk,
    SimulatedLoad,
    SimulatedSystem,
    WaitObjective,
)
from hydrotest.spec.base import Model
from hydrotest.spec.hosts import Burst
from hydrotest.spec.reference import described
from hydrotest.spec.schema import schema
from hydrotest.spec.tests.profile import Stretch

PARTS: dict[str, type[Model]] = {
    "`hosts: {NAME: {…}}`": HostGroup, "`hosts: {NAME: {disk: {…}}}`": SimulatedDisk, "`hosts: {NAME: {burst: {…}}}`": Burst,
    "`systems: {NAME: {…}}`": SimulatedSystem, "`systems: {NAME: {compaction: {…}}}`": SimulatedCompaction,
    "`load: {NAME: {…}}`": SimulatedLoad, "`load: {NAME: {daily: {…}}}`": Daily,
    "`load: {NAME: {stretches: [{…}]}}`": Stretch, "`events: [{…}]`": Event, "`objectives: {NAME: {…}}`": WaitObjective,
}  # fmt: skip
INTRODUCTION = """\
The file that [`hydrotest simulate`](../how-to/simulate-a-fleet.md) plays: YAML, as an experiment
file is. This page is generated from the models (`make docs`)."""


def reference() -> str:
    """The whole page as Markdown."""
    out = ["# The scenario file", "", INTRODUCTION, "", *described(Scenario)]
    for title, model in PARTS.items():
        out += described(model, title)
    return "\n".join(out)


if __name__ == "__main__":
    print(schema(Scenario, "hydrotest scenario") if sys.argv[1:] == ["--schema"] else reference(), end="")
