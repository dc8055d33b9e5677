"""A dataflow: log records from Kafka through steps of an engine into sinks. It has no system of its own."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.workload import WorkloadKind

KINDS = (
    WorkloadKind(
        name="dataflow",
        model=Ref("hydrotest.spec.dataflow:Dataflow"),
        run=Ref("hydrotest.run.workloads.flow:Flow"),
        system=None,
        needs_javac=True,
        unit="records/s",
    ),
)
