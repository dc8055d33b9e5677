"""Paths with blanks, links and non-ASCII letters: their form for the systems, and those that are refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from hydrotest.hosts import locales
from hydrotest.hosts.base import Service
from hydrotest.hosts.local import LocalHost
from hydrotest.places import data_root
from hydrotest.run.lifecycle.scratch import scratch_root
from hydrotest.spec.check_paths import Roots, check_paths
from hydrotest.spec.hdfs import Hdfs
from hydrotest.spec.load import load_experiment
from hydrotest.systems.hdfs.system import HdfsSystem
from hydrotest.systems.properties import properties_text

EXPERIMENT = """\
name: paths
hosts:
  here: {{connect: local{data}}}
systems:
  {systems}
workloads: {{press: {{kind: kafka-produce}}}}
tests: [levels: {{workload: press, rates: [20K]}}]
"""
KAFKA = "kafka: {hosts: [here]}"
HDFS = KAFKA + "\n  hdfs: {namenode: here, datanodes: [here]}"
SPARK = KAFKA + "\n  spark: {master: here, workers: [here]}"
FINE = Path("/cache/hydrotest")


def written(tmp_path: Path, data: str = "", systems: str = KAFKA) -> Path:
    file = tmp_path / "paths.yaml"
    file.write_text(EXPERIMENT.format(data=data, systems=systems))
    return file


def test_the_default_place_of_data_is_a_whole_path_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "true place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "true place")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    experiment, _ = load_experiment(written(tmp_path))
    assert data_root() == tmp_path / "link/hydrotest/data"
    assert scratch_root(experiment) == tmp_path / "true place/hydrotest/data"
    named, _ = load_experiment(written(tmp_path, f', data: "{tmp_path}/link/own"'))
    assert scratch_root(named) == tmp_path / "true place/own"


@pytest.mark.parametrize("name", ["plain", "two words", "Größe Ω", "a%20b", "a=b", "a#b?c"])
@pytest.mark.parametrize("systems", [KAFKA, HDFS])
def test_paths_that_all_systems_take_are_taken(tmp_path: Path, name: str, systems: str) -> None:
    experiment, document = load_experiment(written(tmp_path, f", data: '/{name}'", systems))
    check_paths(experiment, document, Roots(data=Path(f"/{name}"), cache=FINE))


@pytest.mark.parametrize(
    ("data", "cache", "systems", "line"),
    [
        ("/a,b", "/c", KAFKA, 3),
        ("/a:b", "/c", HDFS, 3),
        ("/a:b", "/c", SPARK, 3),
        ("/a[b", "/c", SPARK, 3),
        ("/a\nb", "/c", KAFKA, 3),
        ("/d", "/a:b", KAFKA, 1),
        ("/d", "/a=b", KAFKA, 1),
        ("/d", "/c", "kafka: {hosts: [here], home: '/opt/a:b'}", 5),
    ],
)
def test_paths_that_a_system_would_misread_are_refused(tmp_path: Path, data: str, cache: str, systems: str, line: int) -> None:
    experiment, document = load_experiment(written(tmp_path, ", data: /d", systems))
    with pytest.raises(BadInputError) as caught:
        check_paths(experiment, document, Roots(Path(data), Path(cache)))
    assert caught.value.line == line
    assert caught.value.hint


def test_letters_need_a_locale_that_has_them(tmp_path: Path) -> None:
    experiment, document = load_experiment(written(tmp_path, ", data: /ä"))
    with pytest.raises(BadInputError) as caught:
        check_paths(experiment, document, Roots(Path("/ä"), FINE, takes_letters=False))
    assert caught.value.line == 3
    check_paths(experiment, document, Roots(Path("/a b"), FINE, takes_letters=False))


def test_check_looks_at_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, f", data: '{tmp_path}/a,b'")
    assert main(["check", str(file)]) == 2
    assert f"  --> {file}:3" in capsys.readouterr().err.splitlines()


def test_all_that_is_started_has_a_locale_with_letters(tmp_path: Path) -> None:
    """In the locale C Java writes `?` for them; figures keep their decimal points in this one."""
    env = Service("one", ["true"], tmp_path, tmp_path / "log", {"OWN": "1"}).settings()["env"]
    assert env["OWN"] == "1"
    done = subprocess.run(["locale", "charmap"], env=os.environ | env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "UTF-8"


def test_without_such_a_locale_letters_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    locales.utf8_locale.cache_clear()
    monkeypatch.setattr(locales, "CANDIDATES", ("no-such.UTF-8",))
    try:
        assert locales.utf8_environment() == {}
        assert not locales.takes_letters()
    finally:
        locales.utf8_locale.cache_clear()


def test_properties_are_in_ascii() -> None:
    text = properties_text({"log.dirs": "/a b/ü\\c", "a key": True, "lead": " x", "smile": "😀", "lines": "1\n2"})
    assert text.splitlines() == ["log.dirs=/a b/\\u00fc\\\\c", "a\\ key=true", "lead=\\ x", "smile=\\ud83d\\ude00", "lines=1\\n2"]


@pytest.mark.parametrize("name", ["plain", "two words", "Größe Ω", "a%20b"])
async def test_hdfs_is_told_of_directories_by_their_names(tmp_path: Path, name: str) -> None:
    """A DataNode takes the escapes of an URI for letters of the name, and writes elsewhere (seen with 3.5)."""
    host = LocalHost("here", tmp_path / name)
    system = HdfsSystem(Hdfs(namenode="here", datanodes=["here"]), host, [host], "r", tmp_path, lambda how: None)
    site = ElementTree.fromstring(system.render(await system._data_node(0, host))["conf/hdfs-site.xml"])
    told = {one.findtext("name"): one.findtext("value") for one in site.iter("property")}
    assert told["dfs.datanode.data.dir"] == str(tmp_path / name / "r/here/hdfs-datanode-0/data")
