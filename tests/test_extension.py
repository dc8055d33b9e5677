"""Kinds of others: found by their entry points, refused with the reason where they cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from hydrotest.kinds.registry import HOSTS, SYSTEMS, TESTS, WORKLOADS
from hydrotest.spec.lines import parse_document
from hydrotest.systems.pip import PipBundle

ECHO = Path(__file__).parent / "extension"
HYDROTEST = Path(sys.executable).parent / "hydrotest"
EXPERIMENT = (ECHO / "echo.yaml").read_text()


def with_path(*folders: Path) -> dict[str, str]:
    """An environment in which these folders are searched for packages."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}


def checked(tmp_path: Path, text: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "experiment.yaml"
    file.write_text(text)
    return subprocess.run([HYDROTEST, "check", file], env=with_path(*folders), capture_output=True, text=True, check=False)


def registering(folder: Path, kinds: str) -> Path:
    """A package with an entry point that names `kinds`."""
    info = folder / "flawed-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flawed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[hydrotest.kinds]\nflawed = flawed_kinds:KINDS\n")
    (folder / "flawed_kinds.py").write_text(kinds)
    return folder


def test_the_products_own_kinds_are_whole() -> None:
    for registry in (SYSTEMS, WORKLOADS, TESTS, HOSTS):
        for name, kind in registry.items():
            assert kind.name == name
            kind.model.load()
    made = [*(kind.make for kind in SYSTEMS.values()), *(kind.make for kind in HOSTS.values()), *(kind.run for kind in WORKLOADS.values()),
            *(kind.run for kind in TESTS.values()), *(one for kind in TESTS.values() for one in (*kind.sheets, *kind.figures)),
            *(one for kind in SYSTEMS.values() for one in kind.bundles),
            *(kind.stock.run for kind in WORKLOADS.values() if kind.stock is not None)]  # fmt: skip
    loaded = [one.load() for one in made]
    assert all(callable(one) or (one.version if isinstance(one, PipBundle) else one.pins()) for one in loaded)


def test_an_extension_is_checked_and_planned(tmp_path: Path) -> None:
    done = checked(tmp_path, EXPERIMENT, ECHO)
    assert done.returncode == 0, done.stderr
    assert "echo-0" in done.stdout


def test_without_it_its_kinds_are_unknown(tmp_path: Path) -> None:
    done = checked(tmp_path, EXPERIMENT)
    assert done.returncode == 2
    assert "experiment.yaml:3" in done.stderr
    assert "'echo'" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "line", "meant"),
    [
        ("message_size", "mesage_size", 4, "'message_size'"),
        ("echo-messages", "echo-mesages", 4, "'echo-messages'"),
        ("systems: {echo:", "systems: {ecko:", 3, "'echo'"),
        ("message_size: 100 B", "message_size: 4 B", 4, "8 B"),
        ("hosts: [here]", "hosts: [her]", 3, "'here'"),
        ("message_size: 100 B", "client: stock", 4, "client: native"),
    ],
)
def test_its_errors_are_as_good_as_the_products(tmp_path: Path, old: str, new: str, line: int, meant: str) -> None:
    done = checked(tmp_path, EXPERIMENT.replace(old, new), ECHO)
    assert done.returncode == 2
    told = done.stderr.replace("\n", " ")
    assert f"experiment.yaml:{line} " in told
    assert meant in told


def test_editors_know_its_kinds() -> None:
    done = subprocess.run([HYDROTEST, "init", "--schema"], env=with_path(ECHO), capture_output=True, text=True, check=True)
    editor = Draft7Validator(json.loads(done.stdout))
    assert list(editor.iter_errors(parse_document(EXPERIMENT, ECHO / "echo.yaml").value)) == []
    (error,) = editor.iter_errors(parse_document(EXPERIMENT.replace("message_size", "mesage_size"), ECHO / "echo.yaml").value)
    assert "message_size" in error.schema["properties"]


HOST_KIND = """
from typing import Literal
from hydrotest.hosts.catalogue import Group
from hydrotest.hosts.local import LocalHost
from hydrotest.kinds.host import HostKind
from hydrotest.kinds.ref import Ref
from hydrotest.spec.hosts import Placed

class Twin(Placed):
    connect: Literal["twin"]
    port: int = 22

async def make(specs, scratch):
    return Group({name: LocalHost(name, scratch / str(spec.port)) for name, spec in specs.items()})

KINDS = (HostKind("twin", Ref("flawed_kinds:Twin"), Ref("flawed_kinds:make")),)
"""
MADE = """
import asyncio, sys
from pathlib import Path
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.spec.load import load_experiment
experiment, _ = load_experiment(Path(sys.argv[1]))
site = asyncio.run(make_host_pool(experiment, Path("/data")))
print(*(f"{name} {host.data_directory}" for name, host in site.hosts.items()), sep=chr(10))
"""


def test_a_kind_of_host_is_one_package_and_one_registration(tmp_path: Path) -> None:
    folder = registering(tmp_path / "hosts", HOST_KIND)
    text = EXPERIMENT.replace("{here: {connect: local}}", "{here: {connect: twin, port: 23}, there: {connect: local}}")
    assert checked(tmp_path, text, ECHO, folder).returncode == 0
    made = subprocess.run(
        [sys.executable, "-c", MADE, tmp_path / "experiment.yaml"], env=with_path(ECHO, folder), capture_output=True, text=True, check=True
    )
    assert made.stdout.splitlines() == ["here /data/23", "there /data"]
    unknown = checked(tmp_path, text.replace("port: 23", "prot: 23"), ECHO, folder)
    assert "'port'" in unknown.stderr


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ("import no_such_package", "ModuleNotFoundError"),
        ("KINDS = (3,)", "not a kind"),
        ("from hydrotest.kinds.builtin.kafka import KINDS", "a second time"),
    ],
)
def test_a_flawed_extension_is_named(tmp_path: Path, kinds: str, words: str) -> None:
    done = checked(tmp_path, EXPERIMENT, registering(tmp_path / "flawed", kinds))
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert "flawed_kinds:KINDS" in told
    assert words in told
