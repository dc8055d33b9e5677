"""What hydrotest knows of a kind of workload before any of it runs."""

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
    """What its key `kind` says."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.workload.Workload`."""
    run: Ref
    """Its life in a run, a subclass of `run.workloads.base.Workload`."""
    system: str | None
    """The system that it presses on, by name; None where it has none, or its settings say which."""
    unit: str | None = None
    """Of its limit; None where it has none."""
    stock: StockTool | None = None
    table: Literal["records", "operations"] | None = None
    """In which form its levels are shown."""
    program: tuple[str, ...] = ()
    """A generator of its own, which speaks the nodes' protocol (`hosts.protocol`): the command, before its subcommand. Not given: hydrotest-node."""
    needs_javac: bool = False
    """A program of ours is compiled for it, against its system."""
    advice: Mapping[str, Advice] = field(default_factory=dict)
    """Where it differs from its system's."""
