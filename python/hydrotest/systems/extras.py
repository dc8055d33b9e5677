"""Extras that an experiment needs and this installation lacks."""

from __future__ import annotations

from hydrotest.hosts.extras import LAB, SPARK, Extra
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import Spark
from hydrotest.systems.spark.home import needs_package


def missing_extras(experiment: Experiment) -> list[Extra]:
    """The extras that are needed and not installed."""
    needed = []
    spark = experiment.systems.of(Spark)
    if spark is not None and needs_package(spark.home, spark.release):
        needed.append(SPARK)
    if experiment.hosts_of(NetnsHost):
        needed.append(LAB)
    return [extra for extra in needed if not extra.is_installed]


def check_extras(experiment: Experiment) -> None:
    """Raises `MissingToolError` for the first extra that is needed and not installed."""
    for extra in missing_extras(experiment):
        raise extra.missing()
