"""How a program of ours is submitted to the Spark under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hydrotest.hosts.base import Host
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.load.spark import Application
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.fields import PropertyValue
from hydrotest.store import layout
from hydrotest.store.folder import write_whole
from hydrotest.systems.spark.system import SparkSystem, properties_text


def submission(
    bench: Bench,
    system: SparkSystem,
    host: Host,
    folder: Path,
    job: str,
    jars: Sequence[Path] = (),
    extra: Mapping[str, PropertyValue] | None = None,
) -> Application:
    """A program of `jobs/` as an application whose driver runs on `host`, with its files in `folder`. `jars`: folders of what it needs beside
    Spark; `extra`: properties of its own; the experiment's `config`
    has the last word."""
    events = (bench.runner.folder.path / layout.SPARK_EVENTS).resolve()
    events.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    properties = folder / "spark.conf"
    write_whole(properties, properties_text(dict(extra or {}) | system.application(host, events)))
    jar = job_jar(job, ":".join(f"{path}/*" for path in (system.home / "jars", *jars)), system.version)
    argv = [str(system.home / "bin" / "spark-class"), "org.apache.spark.deploy.SparkSubmit",
            "--properties-file", str(properties), "--class", MAINS[job], str(jar)]  # fmt: skip
    return Application(argv, system.environment(host, system.conf, folder), system.names)
