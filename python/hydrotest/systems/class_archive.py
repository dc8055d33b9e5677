"""Archives of a system's classes, as a JVM has them in memory: with one a service starts with a quarter to a third less CPU.

`hydrotest fetch` makes them (`run.lifecycle.class_archives`), for the machine that it runs on. A JVM does without one that another JVM has
made, or that is of other jars.
Source: the JDK's description of `java`, "Application Class Data Sharing" (`-XX:ArchiveClassesAtExit`, from JDK 13 on).
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath

from hydrotest.places import cache_home


def archive_of(java: PurePath, jars: PurePath) -> Path:
    """Where the archive of the classes in a folder of jars has its place, for a JVM on the controller's machine."""
    release = Path(java).parents[1] / "release"
    built = release.read_text(encoding="utf-8") if release.is_file() else ""
    # A JVM holds the times and sizes of its jars against those in the archive.
    there = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(jars).glob("*.jar"))]
    key = hashlib.sha256(repr((str(java), built, str(jars), there)).encode()).hexdigest()[:12]
    return cache_home() / f"classes-{PurePath(jars).name}-{key}.jsa"


def archive_there(java: PurePath, jars: PurePath) -> Path | None:
    """The archive, if there is one."""
    archive = archive_of(java, jars)
    return archive if archive.exists() else None
