"""Where Spark is: the installed pyspark package, an older release in the cache, or the user's own
distribution."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from hydrotest.errors import BadInputError, RunFailedError
from hydrotest.hosts.command import last_lines, run_here
from hydrotest.hosts.extras import SPARK
from hydrotest.places import cache_home
from hydrotest.store.lock import Lock
from hydrotest.systems.fetch import ProgressCallback, version_in

CORE_JARS = ("spark-core_2.13", "spark-core_2.12")
"""By the version of Scala; the package of Spark 3.5 is for 2.12."""
OLDER = {"3.5": "pyspark-3.5.txt"}
"""Releases in addition to the installed one, some 300 MB each.

A pip file pins each by version and SHA-256.
"""


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
        folder = fetch_older(release, say)
    else:
        if SPARK.folder is None:
            raise SPARK.missing()
        folder = SPARK.folder
    version = next((found for jar in CORE_JARS if (found := version_in(folder / "jars", jar)) is not None), None)
    if version is None or not (folder / "bin" / "spark-class").exists():
        raise BadInputError(f"the folder is no Spark distribution: it lacks bin/spark-class or jars/{CORE_JARS[0]}-*.jar",
                            "Give the folder that a Spark 3.5 or 4 release unpacks to, or drop `home:`.", file=folder)  # fmt: skip
    return folder, version


def requirements(release: str) -> str:
    """The requirements file for pip of an older release."""
    return resources.files("hydrotest.systems.spark").joinpath(OLDER[release]).read_text()


def fetch_older(release: str, say: ProgressCallback) -> Path:
    """A release's folder in the cache; fetched by pip, completely or not at all."""
    wanted = requirements(release)
    version = wanted.split()[0].removeprefix("pyspark==")
    target = cache_home() / f"spark-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with Lock(target.with_name(target.name + ".lock")):
        if not target.exists():
            for left in target.parent.glob(f".{target.name}-*"):
                shutil.rmtree(left)  # of a killed fetch: we hold the lock, so no other process works in it
            say(f"spark: fetching {version}")
            work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            try:
                (work / "requirements.txt").write_text(wanted)
                argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--require-hashes",
                        "--target", str(work / "packages"), "--requirement", str(work / "requirements.txt")]  # fmt: skip
                code, output = run_here(argv, work / "pip.log")
                if code != 0:
                    raise RunFailedError(f"pyspark {version} cannot be fetched: {last_lines(output)}", "Give `home:` or SPARK_HOME.")
                (work / "packages").rename(target)
            finally:
                shutil.rmtree(work)
    return target / "pyspark"
