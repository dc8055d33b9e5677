"""Which extras an experiment needs and this installation lacks."""

from __future__ import annotations

from hydrotest.errors import MissingToolError
from hydrotest.hosts.extras import LAB, SPARK
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.models import Experiment
from hydrotest.systems.spark.home import WITHOUT_PACKAGE, needs_package


def missing_extras(experiment: Experiment) -> list[MissingToolError]:
    """An error for each extra that is needed and not installed; none is raised."""
    missing = []
    spark = experiment.systems.spark
    if spark is not None and needs_package(spark.home, spark.release) and not SPARK.is_installed:
        missing.append(SPARK.missing(WITHOUT_PACKAGE))
    if any(isinstance(host, NetnsHost) for host in experiment.hosts.values()) and not LAB.is_installed:
        missing.append(LAB.missing())
    return missing


def check_extras(experiment: Experiment) -> None:
    """Raises `MissingToolError` for the first that is needed and not installed; nothing is started."""
    for error in missing_extras(experiment):
        raise error
