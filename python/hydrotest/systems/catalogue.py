"""Which systems there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from hydrotest.hosts.base import Host
from hydrotest.spec.models import Experiment
from hydrotest.systems.base import System
from hydrotest.systems.cassandra.system import CassandraSystem, Place
from hydrotest.systems.hdfs.system import HdfsSystem
from hydrotest.systems.kafka.system import KafkaSystem
from hydrotest.systems.service import OnDeath
from hydrotest.systems.spark.system import SparkSystem


def make_systems(experiment: Experiment, hosts: Mapping[str, Host], run: str, logs: PurePath, on_death: OnDeath) -> dict[str, System]:
    """The experiment's systems, not yet started, in the order in which they are to be started."""
    systems: dict[str, System] = {}
    if experiment.systems.kafka is not None:
        kafka = experiment.systems.kafka
        systems["kafka"] = KafkaSystem(kafka, [hosts[name] for name in kafka.hosts], run, logs, on_death)
    if experiment.systems.cassandra is not None:
        cassandra = experiment.systems.cassandra
        places = [Place(host.data_center, host.rack) for host in (experiment.hosts[name] for name in cassandra.hosts)]
        systems["cassandra"] = CassandraSystem(cassandra, [hosts[name] for name in cassandra.hosts], places, run, logs, on_death)
    if experiment.systems.hdfs is not None:
        hdfs = experiment.systems.hdfs
        data_nodes = [hosts[name] for name in hdfs.datanodes]
        systems["hdfs"] = HdfsSystem(hdfs, hosts[hdfs.namenode], data_nodes, run, logs, on_death)
    if experiment.systems.spark is not None:
        spark = experiment.systems.spark
        systems["spark"] = SparkSystem(spark, hosts[spark.master], [hosts[name] for name in spark.workers], run, logs, on_death)
    return systems
