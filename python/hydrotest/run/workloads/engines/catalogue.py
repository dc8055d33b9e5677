"""Which engines there are."""

from __future__ import annotations

from hydrotest.hosts.base import Host
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.engines.base import Engine
from hydrotest.run.workloads.engines.program import JobEngine, PlainEngine
from hydrotest.run.workloads.engines.spark import SparkEngine
from hydrotest.spec.dataflow import Dataflow


def make_engine(name: str, spec: Dataflow, bench: Bench, host: Host) -> Engine:
    """The one that the experiment asks for."""
    if spec.submit is not None:
        return JobEngine(name, spec, bench, host)
    return {"spark": SparkEngine, "kafka": PlainEngine}[spec.engine](name, spec, bench, host)
