"""Where systems come from. How they are configured is in tests/test_system_files.py; starting them is tested in tests/real."""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import subprocess
from pathlib import Path, PurePath
from typing import get_args

import pytest

from hydrotest.errors import BadInputError, MissingToolError, RunFailedError
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.spark import Spark
from hydrotest.systems import fetch as fetching
from hydrotest.systems.base import Distribution, jars_of, shared_port
from hydrotest.systems.catalogue import bundles
from hydrotest.systems.kafka.system import RELEASES
from hydrotest.systems.pip import PipBundle
from hydrotest.systems.spark.home import OLDER
from tests.fake_host import FakeHost


def nothing(_text: str) -> None: ...


async def test_a_users_own_distribution_serves_instead() -> None:
    host = FakeHost()
    libs = PurePath("/opt/kafka/libs")
    await host.put(libs / "kafka-clients-3.9.0.jar", b"")
    assert await jars_of(host, Distribution(fetching.KAFKA, "/opt/kafka", None, "libs"), nothing) == (libs, "3.9.0")
    # The experiment's word comes before the environment's.
    assert await jars_of(host, Distribution(fetching.KAFKA, "/opt/kafka", "/elsewhere", "libs"), nothing) == (libs, "3.9.0")


async def test_a_home_without_the_system_is_refused() -> None:
    with pytest.raises(BadInputError, match="is no kafka distribution"):
        await jars_of(FakeHost(), Distribution(fetching.KAFKA, "/opt/kafka", None, "libs"), nothing)


async def test_a_port_is_held_by_address(tmp_path: Path) -> None:
    one, two = LocalHost("one", tmp_path), LocalHost("two", tmp_path, "127.0.0.2")
    port = await two.free_port()
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((two.address, port))
        listening.listen()
        assert await two.port_holder(port) is not None
        assert await one.port_holder(port) is None
        assert await shared_port([one, two], None, "test") != port
        with pytest.raises(BadInputError, match=f"port {port} for test is taken"):
            await shared_port([one, two], port, "test")
    with socket.socket() as everywhere:
        everywhere.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        everywhere.bind(("", port))
        everywhere.listen()
        assert await one.port_holder(port) is not None


def test_poms_are_pinned_and_name_no_repository() -> None:
    for found in bundles().values():
        for bundle in (one for one in found if isinstance(one, fetching.Bundle)):
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
    every = {one for found in bundles().values() for one in found if isinstance(one, fetching.Bundle)} | set(RELEASES.values())
    for bundle in every:
        pins = bundle.pins()
        assert any(Path(name).name.startswith(f"{bundle.version_jar}-") for name in pins)
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in pins.values())


def test_what_pip_fetches_is_pinned_for_each_kind_of_machine() -> None:
    every = {one for found in bundles().values() for one in found if isinstance(one, PipBundle)}
    assert every
    for bundle in every:
        assert re.fullmatch(r"[\w-]+==[\d.]+( --hash=sha256:[0-9a-f]{64}){2}\n", bundle.text())


def test_older_releases_of_spark_are_pinned() -> None:
    for release in OLDER:
        assert re.fullmatch(rf"pyspark=={re.escape(release)}\.\d+ --hash=sha256:[0-9a-f]{{64}}\n", OLDER[release].text())
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
