"""Which workloads there are."""

from __future__ import annotations

from hydrotest.run.workloads.base import Bench, Workload
from hydrotest.run.workloads.batch import Batch, Neighbour
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.files import Files
from hydrotest.run.workloads.flow import Flow
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.spec.workloads import (
    AnyWorkload,
    CassandraLoad,
    Command,
    Dataflow,
    HdfsRead,
    HdfsWrite,
    KafkaConsume,
    KafkaProduce,
    SparkPerf,
)


def make_workloads(bench: Bench) -> dict[str, Workload]:
    """All workloads of the experiment, by name, in the order of the file."""
    made: dict[str, Workload] = {}
    # What reads comes last: each needs its producer.
    for name, spec in sorted(bench.experiment.workloads.items(), key=lambda item: isinstance(item[1], KafkaConsume | Dataflow)):
        made[name] = _make(name, spec, bench, made)
    return {name: made[name] for name in bench.experiment.workloads}


def _make(name: str, spec: AnyWorkload, bench: Bench, made: dict[str, Workload]) -> Workload:
    match spec:
        case KafkaProduce():
            return Produce(name, spec, bench)
        case KafkaConsume():
            source = made[spec.reads]
            assert isinstance(source, Produce)
            return Consume(name, spec, source, bench)
        case Dataflow():
            source = made[spec.reads]
            assert isinstance(source, Produce)
            return Flow(name, spec, source, bench)
        case CassandraLoad():
            return Store(name, spec, bench)
        case HdfsWrite():
            return Files(name, spec, spec, name, bench)
        case HdfsRead():
            written = bench.experiment.workloads[spec.reads]
            assert isinstance(written, HdfsWrite)
            return Files(name, spec, written, name, bench)
        case SparkPerf():
            return Batch(name, spec, bench)
        case Command():
            return Neighbour(name, spec, bench)
