"""A kind of workload, as hydrotest knows it before any of it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import Advice


@dataclass(frozen=True)
class StockTool:
    """A system's own load generator."""

    name: str
    run: Ref
    """Measures a level with it: see `run.stock`."""


@dataclass(frozen=True)
class WorkloadKind:
    """A kind of workload."""

    name: str
    """The value of its key `kind`."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.workload.Workload`."""
    run: Ref
    """Its life in a run, a subclass of `run.workloads.base.Workload`."""
    system: str | None
    """The name of its system; None where it has none, or its settings name it."""
    unit: str | None = None
    """The unit of its limit; None where it has none."""
    stock: StockTool | None = None
    table: Literal["records", "operations"] | None = None
    """The form in which its levels are shown."""
    law: Ref | None = None
    """What its operations make each host of its system do (`analysis.demand.laws.base.Law`); None: nothing can be predicted from it."""
    program: tuple[str, ...] = ()
    """The command, before its subcommand, of its own generator, which uses the nodes' protocol
    (`hosts.protocol`). Empty: hydrotest-node."""
    needs_javac: bool = False
    """A program of ours is compiled for it, against its system."""
    advice: Mapping[str, Advice] = field(default_factory=dict)
    """Its own advice, where it differs from its system's."""
