"""Systems from Maven Central into a cache outside the project, by one pinned POM each.

A cached set is used only if every file has the size and checksum that it was fetched with, so an
interrupted or damaged fetch is found and mended by fetching again.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hydrotest.errors import MissingToolError, RunFailedError
from hydrotest.hosts.command import run_here
from hydrotest.places import cache_home
from hydrotest.store.folder import write_whole
from hydrotest.store.lock import Lock

MANIFEST = "manifest.json"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Bundle:
    """Something to fetch: a POM of ours, and the jar whose name tells its version."""

    name: str
    package: str
    pom: str
    version_jar: str

    def pom_bytes(self) -> bytes:
        """The pinned POM."""
        return resources.files(self.package).joinpath(self.pom).read_bytes()

    @property
    def folder(self) -> Path:
        """Where it lies in the cache; another POM is another folder."""
        return cache_home() / f"{self.name}-{hashlib.sha256(self.pom_bytes()).hexdigest()[:12]}"


KAFKA = Bundle("kafka", "hydrotest.systems.kafka", "pom.xml", "kafka-clients")
KAFKA_3_9 = Bundle("kafka-3.9", "hydrotest.systems.kafka", "pom-3.9.xml", "kafka-clients")
CASSANDRA = Bundle("cassandra", "hydrotest.systems.cassandra", "pom.xml", "cassandra-all")
STRESS = Bundle("cassandra-stress", "hydrotest.systems.cassandra", "stress.xml", "apache-cassandra")
EXPORTER = Bundle("exporter", "hydrotest.systems.exporter", "pom.xml", "jmx_prometheus_javaagent")
SPARK_KAFKA = Bundle("spark-kafka", "hydrotest.systems.spark", "kafka.xml", "spark-sql-kafka-0-10_2.13")
"""Kafka as a source and sink of Structured Streaming, without what Spark itself has."""
SPARK_CASSANDRA = Bundle("spark-cassandra", "hydrotest.systems.spark", "cassandra.xml", "java-driver-core-shaded")
"""Cassandra's own driver, for what Spark writes there."""
HDFS = Bundle("hdfs", "hydrotest.systems.hdfs", "pom.xml", "hadoop-hdfs")
BUNDLES: dict[str, list[Bundle]] = {
    "kafka": [KAFKA, EXPORTER],
    "cassandra": [CASSANDRA, STRESS, EXPORTER],
    "spark": [SPARK_KAFKA, SPARK_CASSANDRA],
    "hdfs": [HDFS, EXPORTER],
}
"""What `hydrotest fetch NAME` fetches."""


def fetch(bundle: Bundle, say: Say) -> Path:
    """The bundle's folder of jars; fetched if it is not there whole. Safe against a second call at once.

    Raises `MissingToolError` without Maven, `RunFailedError` with Maven's own words.
    """
    folder = bundle.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Lock(folder.with_name(folder.name + ".lock")):
        flaw = find_flaw(folder)
        if flaw is None:
            return folder
        if folder.exists():
            say(f"{bundle.name}: the cached copy is damaged ({flaw}); fetching it again")
            shutil.rmtree(folder)
        say(f"{bundle.name}: fetching {folder.name}")
        _fetch_into(bundle, folder)
        say(f"{bundle.name}: {len(list(folder.rglob('*.jar')))} jars in the cache")
    return folder


def find_flaw(folder: Path) -> str | None:
    """What is wrong with a cached set; None if nothing is."""
    try:
        manifest: dict[str, list[object]] = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return "it has no manifest" if folder.exists() else "it is not there"
    for name, (size, digest) in manifest.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size or _digest(path) != digest:
            return f"{name} has changed"
    return None


def version_in(folder: Path, jar: str) -> str | None:
    """The version in the name of the newest `jar` below a folder."""
    found = [re.fullmatch(rf"{re.escape(jar)}-(\d.*)\.jar", path.name) for path in sorted(folder.rglob(f"{jar}-*.jar"))]
    versions = [match[1] for match in found if match]
    return versions[-1] if versions else None


def _fetch_into(bundle: Bundle, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingToolError(
            "Maven (mvn) is not installed", "Install it (Debian: apt-get install maven), or give `home:` in the experiment."
        )
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left)  # of a killed fetch: the lock is ours, so nobody works in it
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        pom = partial / "pom.xml"
        pom.write_bytes(bundle.pom_bytes())
        jars = partial / "jars"
        _copy_dependencies(maven, pom, jars, None)
        if any(_is_damaged(path) for path in jars.iterdir()):
            # Maven's own repository holds a damaged file: leave it alone and resolve into a fresh one.
            shutil.rmtree(jars)
            _copy_dependencies(maven, pom, jars, partial / "repository")
            shutil.rmtree(partial / "repository")
        for archive in jars.glob("*.tar.gz"):
            with tarfile.open(archive) as tar:
                # Of a distribution only the jars are needed; the rest is documentation.
                members = [member for member in tar.getmembers() if member.name.endswith(".jar")]
                tar.extractall(jars, members=members, filter="data")
            archive.unlink()
        files = [path for path in sorted(jars.rglob("*")) if path.is_file()]
        manifest = {str(path.relative_to(jars)): [path.stat().st_size, _digest(path)] for path in files}
        write_whole(jars / MANIFEST, json.dumps(manifest, indent=1))
        jars.rename(folder)
    finally:
        shutil.rmtree(partial)


def _copy_dependencies(maven: str, pom: Path, into: Path, repository: Path | None) -> None:
    argv = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={into}", "-DincludeScope=runtime"]
    if repository is not None:
        argv.append(f"-Dmaven.repo.local={repository}")
    code, output = run_here(argv, pom.with_name("maven.log"))
    if code != 0:
        errors = [line for line in output.splitlines() if line.startswith("[ERROR]")]
        said = "\n  ".join(errors[:3]) or output.strip()[-500:]
        raise RunFailedError(
            f"Maven could not fetch it:\n  {said}", "Check the network and Maven's settings, then call `hydrotest fetch` again."
        )


def _is_damaged(path: Path) -> bool:
    if path.name.endswith(".tar.gz"):
        try:
            with tarfile.open(path) as archive:
                return not archive.getmembers()
        except (tarfile.TarError, EOFError, OSError):
            return True
    if path.suffix != ".jar":
        return False
    try:
        with zipfile.ZipFile(path) as jar:
            return jar.testzip() is not None
    except zipfile.BadZipFile:
        return True


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
