"""Where Spark is: the installed pyspark package, an older release in the cache, or the user's own
distribution."""

from __future__ import annotations

import os
from pathlib import Path

from hydrotest.errors import BadInputError
from hydrotest.hosts.extras import SPARK
from hydrotest.systems.fetch import ProgressCallback, version_in
from hydrotest.systems.pip import PipBundle

CORE_JARS = ("spark-core_2.13", "spark-core_2.12")
"""By the version of Scala; the package of Spark 3.5 is for 2.12."""
OLDER = {"3.5": PipBundle("spark", "hydrotest.systems.spark", "pyspark-3.5.txt", "Give `home:` or SPARK_HOME.")}
"""Releases in addition to the installed one, some 300 MB each."""


def needs_package(home: str | None, release: str | None) -> bool:
    """True if Spark is the installed pyspark: neither the user's own distribution nor an older release in
    the cache."""
    return (home or os.environ.get("SPARK_HOME")) is None and release not in OLDER


def find_spark(home: str | None, release: str | None = None, say: ProgressCallback = lambda text: None) -> tuple[Path, str]:
    """Spark's folder and version.

    In this order: `home:` of the experiment, SPARK_HOME, the older `release` from the cache, the installed
    pyspark. Raises `BadInputError` for a folder that is not a Spark, `MissingToolError` where there is
    none, `RunFailedError` if it cannot be fetched.
    """
    own = home or os.environ.get("SPARK_HOME")
    if own is not None:
        folder = Path(own).expanduser()
    elif release in OLDER:
        folder = OLDER[release].fetched(say) / "pyspark"
    else:
        if SPARK.folder is None:
            raise SPARK.missing()
        folder = SPARK.folder
    version = next((found for jar in CORE_JARS if (found := version_in(folder / "jars", jar)) is not None), None)
    if version is None or not (folder / "bin" / "spark-class").exists():
        raise BadInputError(f"the folder is no Spark distribution: it lacks bin/spark-class or jars/{CORE_JARS[0]}-*.jar",
                            "Give the folder that a Spark 3.5 or 4 release unpacks to, or drop `home:`.", file=folder)  # fmt: skip
    return folder, version
