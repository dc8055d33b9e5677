"""Where Spark lies: the pyspark package beside hydrotest, an older release in the cache, or a distribution of the user's own."""

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
"""Releases beside the one that is installed with hydrotest, each pinned by version and SHA-256 in a file of pip's; each is a package of some 300 MB."""


def needs_package(home: str | None, release: str | None) -> bool:
    """True if Spark is the installed pyspark: neither a distribution of the user's own nor an older release in the cache."""
    return (home or os.environ.get("SPARK_HOME")) is None and release not in OLDER


def find_spark(home: str | None, release: str | None = None, say: ProgressCallback = lambda text: None) -> tuple[Path, str]:
    """Spark's folder and version: `home:` of the experiment, else SPARK_HOME, else the older `release` from the cache, else the installed pyspark.

    Raises `BadInputError` for a folder that is no Spark, `MissingToolError` where there is none, `RunFailedError` if it cannot be fetched.
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
        raise BadInputError(f"{folder} is no Spark distribution: it lacks bin/spark-class or jars/{CORE_JARS[0]}-*.jar",
                            "Give the folder that a Spark 3.5 or 4 release unpacks to, or drop `home:`.")  # fmt: skip
    return folder, version


def requirements(release: str) -> str:
    """What pip is to install for an older release."""
    return resources.files("hydrotest.systems.spark").joinpath(OLDER[release]).read_text()


def fetch_older(release: str, say: ProgressCallback) -> Path:
    """A release's folder in the cache; fetched by pip, whole or not at all."""
    wanted = requirements(release)
    version = wanted.split()[0].removeprefix("pyspark==")
    target = cache_home() / f"spark-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with Lock(target.with_name(target.name + ".lock")):
        if not target.exists():
            for left in target.parent.glob(f".{target.name}-*"):
                shutil.rmtree(left)  # of a killed fetch: the lock is ours, so nobody works in it
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
