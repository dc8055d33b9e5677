"""Where Spark lies: the pyspark package beside hydrotest, or a distribution of the user's own."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from hydrotest.errors import BadInputError, MissingToolError
from hydrotest.systems.fetch import version_in

CORE_JAR = "spark-core_2.13"


def find_spark(home: str | None) -> tuple[Path, str]:
    """Spark's folder and version: `home:` of the experiment, else SPARK_HOME, else the installed pyspark.

    Raises `BadInputError` for a folder that is no Spark, `MissingToolError` where there is none.
    """
    own = home or os.environ.get("SPARK_HOME")
    if own is None:
        found = importlib.util.find_spec("pyspark")
        if found is None or found.origin is None:
            raise MissingToolError("Spark is missing: the package pyspark is not installed",
                                   "Run `make install` (or pip install pyspark), or give `home:` or SPARK_HOME.")  # fmt: skip
        folder = Path(found.origin).parent
    else:
        folder = Path(own).expanduser()
    version = version_in(folder / "jars", CORE_JAR)
    if version is None or not (folder / "bin" / "spark-class").exists():
        raise BadInputError(f"{folder} is no Spark distribution: it lacks bin/spark-class or jars/{CORE_JAR}-*.jar",
                            "Give the folder that a Spark 3.5 or 4 release (Scala 2.13) unpacks to, or drop `home:`.")  # fmt: skip
    return folder, version
