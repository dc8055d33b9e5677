"""Where systems come from, and how they are configured; starting them is tested in tests/real."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from hydrotest.errors import BadInputError, MissingToolError
from hydrotest.hosts.base import Host
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.models import Cassandra, Kafka
from hydrotest.systems import fetch as fetching
from hydrotest.systems.base import jars_of, shared_port
from hydrotest.systems.cassandra.system import CassandraSystem, Place
from hydrotest.systems.kafka.system import KafkaSystem, Ports, cluster_id
from hydrotest.systems.properties import properties_text


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
