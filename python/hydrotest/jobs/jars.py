"""hydrotest's own programs, compiled against the Spark, Hadoop or client that runs them: one jar per version of it
and source, in the cache.

By javac alone, not Maven: the compile classpath is Spark's own jars, which are there already. Resolving Spark
once more would fetch 200 MB.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from importlib import resources
from pathlib import Path

from hydrotest.errors import MissingToolError, RunFailedError
from hydrotest.hosts.command import last_lines, run_here
from hydrotest.hosts.java import find_java
from hydrotest.places import cache_home
from hydrotest.store.lock import Lock

MAINS = {
    "core": "hydrotest.jobs.Batch", "flow": "hydrotest.jobs.Flow", "files": "hydrotest.jobs.FilePress", "objects": "hydrotest.jobs.ObjectPress",
    "plain": "hydrotest.jobs.Plain", "group": "hydrotest.jobs.Member",
}  # fmt: skip
"""The programs, each in its own folder, and their main classes."""
SHARED = {"files": "press", "objects": "press"}
"""Folders of what several programs have in common."""


def job_jar(job: str, classpath: str, version: str) -> Path:
    """A program's jar, compiled against `classpath`, named by `version`, if it is not in the cache. Raises
    `MissingToolError` without a JDK."""
    folders = [resources.files("hydrotest.jobs").joinpath(one) for one in (job, *([SHARED[job]] if job in SHARED else []))]
    sources = {path.name: path.read_bytes() for folder in folders for path in folder.iterdir() if path.name.endswith(".java")}
    digest = hashlib.sha256(b"".join(name.encode() + text for name, text in sorted(sources.items()))).hexdigest()[:12]
    jar = cache_home() / f"jobs-{job}-{version}-{digest}.jar"
    jar.parent.mkdir(parents=True, exist_ok=True)
    with Lock(jar.with_name(jar.name + ".lock")):
        if not jar.exists():
            _compile(sources, classpath, jar)
    return jar


def _compile(sources: dict[str, bytes], classpath: str, jar: Path) -> None:
    compiler = find_javac()
    for left in jar.parent.glob(f".{jar.stem}-*"):
        shutil.rmtree(left)  # of a killed call: the lock is ours, so no other process works in it
    work = Path(tempfile.mkdtemp(prefix=f".{jar.stem}-", dir=jar.parent))
    try:
        for name, text in sources.items():
            (work / name).write_bytes(text)
        classes = work / "classes"
        argv = [
            str(compiler),
            "--release",
            "17",
            "-nowarn",
            "-cp",
            classpath,
            "-d",
            str(classes),
            *(str(work / name) for name in sources),
        ]
        code, output = run_here(argv, work / "javac.log")
        if code != 0:
            raise RunFailedError(f"hydrotest's programs do not compile against {classpath}: {last_lines(output)}",
                                 "Give a Spark 3.5 or 4, or Hadoop 3 release.")  # fmt: skip
        partial = work / "jar"
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes))
        partial.rename(jar)
    finally:
        shutil.rmtree(work)


def find_javac() -> Path:
    """The compiler next to the Java that runs Spark, else the PATH's. Raises `MissingToolError` without
    one."""
    beside = find_java().resolve().parent / "javac"
    found = str(beside) if beside.exists() else shutil.which("javac")
    if found is None:
        raise MissingToolError("javac is missing: hydrotest's programs are compiled once, against your Spark or Hadoop, or a client of S3",
                               "Install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless), or set JAVA_HOME to one.")  # fmt: skip
    return Path(found)
