"""Where systems come from, and how they are configured; starting them is tested in tests/real."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from hydrotest.errors import BadInputError, MissingToolError, RunFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.models import Cassandra, Hdfs, Kafka, Spark
from hydrotest.systems import fetch as fetching
from hydrotest.systems.base import jars_of, shared_port
from hydrotest.systems.cassandra.system import CassandraSystem, Place
from hydrotest.systems.credentials import write_private
from hydrotest.systems.hdfs.system import CLIENT, HdfsSystem
from hydrotest.systems.kafka.system import RELEASES, KafkaSystem, Ports, cluster_id
from hydrotest.systems.properties import properties_text
from hydrotest.systems.spark.home import OLDER, requirements
from hydrotest.systems.spark.system import SparkSystem


def nothing(_text: str) -> None: ...


def test_a_users_own_distribution_serves_instead(tmp_path: Path) -> None:
    libs = tmp_path / "opt" / "kafka" / "libs"
    libs.mkdir(parents=True)
    (libs / "kafka-clients-3.9.0.jar").touch()
    assert jars_of(fetching.KAFKA, str(tmp_path / "opt" / "kafka"), None, "libs", nothing) == ([libs], "3.9.0")
    # The experiment's word comes before the environment's.
    assert jars_of(fetching.KAFKA, str(tmp_path / "opt" / "kafka"), "/elsewhere", "libs", nothing)[1] == "3.9.0"


def test_a_home_without_the_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is no kafka distribution"):
        jars_of(fetching.KAFKA, str(tmp_path), None, "libs", nothing)


def test_the_experiments_config_has_the_last_word(tmp_path: Path) -> None:
    host: Host = LocalHost("here", tmp_path)
    kafka = KafkaSystem(
        Kafka(hosts=["here"], config={"num.io.threads": 2, "log.dirs": "/x", "auto.create.topics.enable": True}),
        [host],
        "r",
        tmp_path,
        nothing,
    )
    kafka._ports = [Ports(client=9092, controller=9093, exporter=9094, internal=9095)]
    properties = properties_text(kafka.properties(0, tmp_path / "data")).splitlines()
    assert "num.io.threads=2" in properties
    assert "log.dirs=/x" in properties
    assert "auto.create.topics.enable=true" in properties
    assert "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093" in properties
    place = Place(dc="datacenter1", rack="rack1")
    cassandra = CassandraSystem(Cassandra(hosts=["here"], config={"concurrent_writes": 1}), [host], [place], "r", tmp_path, nothing)
    settings = cassandra.settings(0, tmp_path)
    assert settings["concurrent_writes"] == 1
    assert settings["rpc_address"] == "127.0.0.1"


def test_what_authenticates_spark_is_in_private_files_only(tmp_path: Path) -> None:
    """In those of services and applications alike, and the experiment's own properties do not take it away."""
    host: Host = LocalHost("here", tmp_path)
    spec = Spark(master="here", workers=["here"], config={"spark.ui.enabled": True, "spark.authenticate": False})
    spark = SparkSystem(spec, host, [host], "r", tmp_path, nothing)
    service = spark._configuration(tmp_path / "service") / "spark-defaults.conf"
    application = spark.write_application(tmp_path / "spark.conf", host, tmp_path / "events", {"spark.cores.max": 1})
    secrets = set()
    for file in (service, application):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        properties = dict(line.split("=", 1) for line in file.read_text().splitlines())
        assert properties["spark.authenticate"] == "true"
        secrets.add(properties["spark.authenticate.secret"])
    assert len(secrets) == 1
    assert [len(bytes.fromhex(secret)) for secret in secrets] == [32]
    assert "spark.ui.enabled=true" in application.read_text().splitlines()
    assert "spark.authenticate.secret" not in spark.application(host, tmp_path / "events", {})


def test_a_private_file_is_private_whatever_was_there(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("a longer text than the one that comes")
    there.chmod(0o644)
    for path in (there, tmp_path / "new"):
        assert write_private(path, b"secret").read_bytes() == b"secret"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_hdfs_asks_who_comes(tmp_path: Path) -> None:
    host: Host = LocalHost("here", tmp_path)
    hdfs = HdfsSystem(Hdfs(namenode="here", datanodes=["here"]), host, [host], "r", tmp_path, nothing)
    site = ElementTree.parse(hdfs._folder(host, "hdfs-namenode", {}) / "conf" / "hdfs-site.xml")
    properties = {one.findtext("name"): one.findtext("value") for one in site.iter("property")}
    assert properties["dfs.permissions.enabled"] == "true"
    # Of clients: nobody else reads what is written.
    assert CLIENT["fs.permissions.umask-mode"] == "077"


def test_a_port_is_held_by_address(tmp_path: Path) -> None:
    one, two = LocalHost("one", tmp_path), LocalHost("two", tmp_path, "127.0.0.2")
    port = two.free_port()
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((two.address, port))
        listening.listen()
        assert two.port_holder(port) is not None
        assert one.port_holder(port) is None
        assert shared_port([one, two], None, "test") != port
        with pytest.raises(BadInputError, match=f"port {port} for test is taken"):
            shared_port([one, two], port, "test")
    with socket.socket() as everywhere:
        everywhere.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        everywhere.bind(("", port))
        everywhere.listen()
        assert one.port_holder(port) is not None


def test_poms_are_pinned_and_name_no_repository() -> None:
    for bundles in fetching.BUNDLES.values():
        for bundle in bundles:
            pom = bundle.pom_bytes().decode()
            assert "<repository" not in pom
            assert "LATEST" not in pom
            assert "RELEASE" not in pom
            assert "[" not in pom


def test_a_bundles_folder_changes_with_its_pom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetching.KAFKA.folder.parent == tmp_path / "hydrotest"
    assert fetching.KAFKA.folder != fetching.CASSANDRA.folder


def test_without_maven_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="apt-get install maven"):
        fetching.fetch(fetching.EXPORTER, nothing)


def test_a_failing_maven_is_told_in_its_own_words_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At the boundary a stand-in for mvn; the real one is used in tests/real/test_faults.py."""
    fake = tmp_path / "bin" / "mvn"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho '[ERROR] Could not transfer artifact x: Connection refused'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    with pytest.raises(Exception, match="Could not transfer artifact x"):
        fetching.fetch(fetching.EXPORTER, nothing)
    assert [path.name for path in (tmp_path / "cache" / "hydrotest").iterdir() if path.is_dir()] == []


def test_every_file_that_is_fetched_is_pinned() -> None:
    bundles = {bundle for bundles in fetching.BUNDLES.values() for bundle in bundles} | set(RELEASES.values())
    for bundle in bundles:
        pins = bundle.pins()
        assert any(Path(name).name.startswith(f"{bundle.version_jar}-") for name in pins)
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in pins.values())


def test_older_releases_of_spark_are_pinned() -> None:
    for release in OLDER:
        assert re.fullmatch(rf"pyspark=={re.escape(release)}\.\d+ --hash=sha256:[0-9a-f]{{64}}\n", requirements(release))
    assert set(OLDER) == set(get_args(Spark.model_fields["release"].annotation)) - {"4.2"}


MAVEN = """\
#!/bin/sh
for option; do case "$option" in -DoutputDirectory=*) into="${option#*=}" ;; esac; done
case "$*" in *--strict-checksums*) ;; *) exit 3 ;; esac
mkdir -p "$into" && cp -r SERVED/. "$into"
"""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What a stand-in for mvn copies; pinned are `a.jar` and `b.jar` with `a` and `b` in them."""
    folder = tmp_path / "served"
    (tmp_path / "bin").mkdir()
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jar").write_text(name)
    (tmp_path / "bin/mvn").write_text(MAVEN.replace("SERVED", str(folder)))
    (tmp_path / "bin/mvn").chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    pins = {f"{name}.jar": hashlib.sha256(name.encode()).hexdigest() for name in ("a", "b")}
    monkeypatch.setattr(fetching.Bundle, "pins", lambda self: pins)
    return folder


@pytest.mark.usefixtures("served")
def test_what_was_pinned_is_fetched_once() -> None:
    said: list[str] = []
    folder = fetching.fetch(fetching.EXPORTER, said.append)
    assert sorted(path.name for path in folder.iterdir()) == ["a.jar", "b.jar"]
    said.clear()
    fetching.fetch(fetching.EXPORTER, said.append)
    assert said == []


@pytest.mark.parametrize("change", ["exchanged", "added", "missing", "no archive"])
def test_what_was_not_pinned_is_not_used(served: Path, change: str) -> None:
    match change:
        case "exchanged":
            (served / "a.jar").write_text("A")
        case "added":
            (served / "c.jar").write_text("c")
        case "missing":
            (served / "b.jar").unlink()
        case _:
            (served / "c.tar.gz").write_text("c")
    with pytest.raises(RunFailedError) as caught:
        fetching.fetch(fetching.EXPORTER, nothing)
    assert "mirror" in (caught.value.hint or "")
    assert not fetching.EXPORTER.folder.exists()


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("change", ["exchanged", "added", "missing", "a link"])
def test_a_set_in_the_cache_that_has_changed_is_fetched_again(tmp_path: Path, change: str) -> None:
    folder = fetching.fetch(fetching.EXPORTER, nothing)
    match change:
        case "exchanged":
            (folder / "a.jar").write_text("A")
        case "added":
            (folder / "c.jar").write_text("c")
        case "missing":
            (folder / "b.jar").unlink()
        case _:
            folder.rename(tmp_path / "elsewhere")
            folder.symlink_to(tmp_path / "elsewhere")
            (folder / "a.jar").write_text("A")
    fetching.fetch(fetching.EXPORTER, nothing)
    assert fetching.find_flaw(folder, fetching.EXPORTER.pins()) is None
    assert change != "a link" or (tmp_path / "elsewhere/a.jar").read_text() == "A"


@pytest.mark.usefixtures("served")
def test_a_set_that_an_earlier_version_fetched_is_used() -> None:
    folder = fetching.fetch(fetching.EXPORTER, nothing)
    (folder / "manifest.json").write_text("{}")
    said: list[str] = []
    fetching.fetch(fetching.EXPORTER, said.append)
    assert said == []


@pytest.mark.parametrize(
    ("versions", "newest"),
    [
        (["3.9.1", "3.10.0"], "3.10.0"),
        (["4.0-rc1", "4.0"], "4.0"),
        (["4.0", "4.0.1"], "4.0.1"),
        (["5.0-beta1", "4.1.9"], "5.0-beta1"),
        ([], None),
    ],
)
def test_the_newest_jar_is_so_by_number(tmp_path: Path, versions: list[str], newest: str | None) -> None:
    for version in [*versions, *reversed(versions)]:
        (tmp_path / f"kafka-clients-{version}.jar").touch()
    assert fetching.version_in(tmp_path, "kafka-clients") == newest


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_make_names_a_missing_tool_with_its_remedy(tmp_path: Path) -> None:
    """Only python3 and the shell's own tools on the PATH: cargo is the first that is missing."""
    for name in ("python3", "bash", "sh", "env", "make"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    done = subprocess.run(
        [shutil.which("make") or "make", "tools"],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "missing. Install" in done.stderr


@pytest.mark.parametrize("first", [0x00, 0x7F, 0xF8, 0xFB, 0xFF])
def test_a_cluster_s_id_cannot_be_taken_for_an_option(first: int) -> None:
    name = cluster_id(bytes([first, *range(15)]))
    assert len(name) == 22
    assert not name.startswith("-")


async def test_a_page_that_is_no_status_yet_is_asked_for_again(tmp_path: Path, fake_node: Callable[[str], None]) -> None:
    """A web server can be up before what it serves."""
    fake_node(
        f"path = {str(tmp_path / 'asked')!r}\n"
        "with open(path, 'a') as handle: handle.write('x')\n"
        "pages = ['', '<html>', '{}', '{\"status\": \"ALIVE\"}']\n"
        "say('done', result={'body': pages[min(os.path.getsize(path), len(pages)) - 1]})\n"
    )
    host = LocalHost("here", tmp_path)
    spark = SparkSystem(Spark(master="here", workers=["here"]), host, [host], "r", tmp_path, nothing)
    await spark._await_ready({}, lambda answer: json.loads(answer["body"])["status"] == "ALIVE")
    assert (tmp_path / "asked").read_text() == "xxxx"
