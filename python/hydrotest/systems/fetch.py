"""Systems from Maven Central into a cache outside the project, by one pinned POM each.

The SHA-256 of every file is pinned next to its POM. A set is used only if it has these files and no
others. So interrupted, damaged or exchanged files are found, on the way, in a mirror or in the cache.
Fetching again corrects them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hydrotest.errors import MissingToolError, RunFailedError
from hydrotest.hosts.command import run_here
from hydrotest.places import cache_home
from hydrotest.store.lock import Lock

OLD_MANIFEST = "manifest.json"
"""A file in sets that earlier versions have fetched; it is ignored."""
ProgressCallback = Callable[[str], None]


@dataclass(frozen=True)
class Bundle:
    """Something to fetch: a POM of ours, and the jar whose name contains its version."""

    name: str
    package: str
    pom: str
    version_jar: str

    def pom_bytes(self) -> bytes:
        """The pinned POM."""
        return resources.files(self.package).joinpath(self.pom).read_bytes()

    def pins(self) -> dict[str, str]:
        """The SHA-256 of each of its files, by name below its folder; in the format of `sha256sum`."""
        text = resources.files(self.package).joinpath(Path(self.pom).with_suffix(".sha256").name).read_text()
        return {name: digest for digest, name in (line.split(maxsplit=1) for line in text.splitlines())}

    @property
    def folder(self) -> Path:
        """Its folder in the cache; another POM has another folder."""
        return cache_home() / f"{self.name}-{hashlib.sha256(self.pom_bytes()).hexdigest()[:12]}"

    def fetched(self, say: ProgressCallback) -> Path:
        """See `fetch`."""
        return fetch(self, say)


KAFKA = Bundle("kafka", "hydrotest.systems.kafka", "pom.xml", "kafka-clients")
KAFKA_3_9 = Bundle("kafka-3.9", "hydrotest.systems.kafka", "pom-3.9.xml", "kafka-clients")
CASSANDRA = Bundle("cassandra", "hydrotest.systems.cassandra", "pom.xml", "cassandra-all")
STRESS = Bundle("cassandra-stress", "hydrotest.systems.cassandra", "stress.xml", "apache-cassandra")
EXPORTER = Bundle("exporter", "hydrotest.systems.exporter", "pom.xml", "jmx_prometheus_javaagent")
SPARK_KAFKA = Bundle("spark-kafka", "hydrotest.systems.spark", "kafka.xml", "spark-sql-kafka-0-10_2.13")
"""Kafka as a source and sink of Structured Streaming, without the jars that Spark itself has."""
SPARK_CASSANDRA = Bundle("spark-cassandra", "hydrotest.systems.spark", "cassandra.xml", "java-driver-core-shaded")
"""Cassandra's own driver, for Spark's writes to Cassandra."""
HDFS = Bundle("hdfs", "hydrotest.systems.hdfs", "pom.xml", "hadoop-hdfs")
S3_CLIENT = Bundle("s3-client", "hydrotest.systems.s3", "client.xml", "s3")
"""Amazon's own client of S3, for programs of ours."""


def fetch(bundle: Bundle, say: ProgressCallback) -> Path:
    """The bundle's folder of jars; fetched if it is missing or incomplete. Safe against a concurrent call.

    Raises `MissingToolError` without Maven, `RunFailedError` with Maven's message.
    """
    folder = bundle.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Lock(folder.with_name(folder.name + ".lock")):
        flaw = find_flaw(folder, bundle.pins())
        if flaw is None:
            return folder
        if folder.exists():
            say(f"{bundle.name}: the cached copy is damaged ({flaw}); fetching it again")
            if folder.is_symlink():
                folder.unlink()  # the target of the link is not ours
            else:
                shutil.rmtree(folder)
        say(f"{bundle.name}: fetching {folder.name}")
        _fetch_into(bundle, folder)
        say(f"{bundle.name}: {len(list(folder.rglob('*.jar')))} jars in the cache")
    return folder


def find_flaw(folder: Path, pins: Mapping[str, str]) -> str | None:
    """The flaw of a set; None if it is as pinned."""
    if not folder.exists():
        return "it is not there"
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file() and path.name != OLD_MANIFEST}
    for name, digest in pins.items():
        if name not in found:
            return f"{name} is missing"
        if _digest(found[name]) != digest:
            return f"{name} has changed"
    added = sorted(found.keys() - pins.keys())
    return f"{added[0]} does not belong to it" if added else None


def version_in(folder: Path, jar: str) -> str | None:
    """The version in the name of the newest `jar` below a folder."""
    return newest_version((path.name for path in folder.rglob(f"{jar}-*.jar")), jar)


def newest_version(names: Iterable[str], jar: str) -> str | None:
    """The newest version among these file names."""
    found = [re.fullmatch(rf"{re.escape(jar)}-(\d.*)\.jar", name) for name in names]
    return max((match[1] for match in found if match), key=_by_number, default=None)


def _by_number(version: str) -> list[tuple[int, str]]:
    """3.10 is behind 3.9, and a release behind its candidates (4.0-rc1)."""
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|[a-zA-Z]+", version)]
    return [*parts, (0, "")]


def _fetch_into(bundle: Bundle, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingToolError(
            "Maven (mvn) is not installed", "Install it (Debian: apt-get install maven), or give `home:` in the experiment."
        )
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left)  # of a killed fetch: we hold the lock, so no other process works in it
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        pom = partial / "pom.xml"
        pom.write_bytes(bundle.pom_bytes())
        jars, own = partial / "jars", partial / "repository"
        flaw = _resolve(maven, bundle, pom, jars, None)
        if flaw is not None:
            # Maven's own repository may hold a damaged file: leave it alone and resolve into a fresh one.
            shutil.rmtree(jars)
            flaw = _resolve(maven, bundle, pom, jars, own)
        if flaw is not None:
            raise RunFailedError(
                f"{bundle.name}: what Maven has fetched is not what hydrotest was made for: {flaw}",
                "Look for what serves other files in Maven's settings (a mirror, a proxy); or give a distribution of your own as `home:`.",
            )
        jars.rename(folder)
    finally:
        shutil.rmtree(partial)


def _resolve(maven: str, bundle: Bundle, pom: Path, jars: Path, repository: Path | None) -> str | None:
    """Fetches a set into a folder; returns its flaw, if any."""
    _copy_dependencies(maven, pom, jars, repository)
    for archive in jars.glob("*.tar.gz"):
        try:
            with tarfile.open(archive) as tar:
                # Only the jars of a distribution are needed; the rest is documentation.
                members = [member for member in tar.getmembers() if member.name.endswith(".jar")]
                tar.extractall(jars, members=members, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            return f"{archive.name} cannot be unpacked ({error})"
        archive.unlink()
    return find_flaw(jars, bundle.pins())


def _copy_dependencies(maven: str, pom: Path, into: Path, repository: Path | None) -> None:
    argv = [
        maven,
        "-q",
        "-B",
        "--strict-checksums",
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={into}",
        "-DincludeScope=runtime",
    ]
    if repository is not None:
        argv.append(f"-Dmaven.repo.local={repository}")
    code, output = run_here(argv, pom.with_name("maven.log"))
    if code != 0:
        errors = [line for line in output.splitlines() if line.startswith("[ERROR]")]
        said = "\n  ".join(errors[:3]) or output.strip()[-500:]
        raise RunFailedError(
            f"Maven could not fetch it:\n  {said}", "Check the network and Maven's settings, then call `hydrotest fetch` again."
        )


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
