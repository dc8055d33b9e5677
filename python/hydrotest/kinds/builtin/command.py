"""A neighbour: any program that runs next to the measured workloads."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.workload import WorkloadKind

KINDS = (
    WorkloadKind(
        name="command",
        model=Ref("hydrotest.spec.command:Command"),
        run=Ref("hydrotest.run.workloads.batch:Neighbour"),
        system=None,
    ),
)
