"""Controller and node refuse each other where they are not of one version, before anything is started."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from hydrotest.errors import EXIT_BAD_INPUT, MissingToolError, OverdueError, TrialFailedError
from hydrotest.hosts import command, local
from hydrotest.hosts import node as node_module
from hydrotest.hosts.command import run_here
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.protocol import PROTOCOL, understood
from hydrotest.places import node_binary

Plant = Callable[[str], None]
SUBCOMMANDS = ["produce", "consume", "cql", "sample", "ceiling", "supervise", "sink", "clock", "cpu-hog", "query"]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Puts a shell script in the place of hydrotest-node."""

    real = node_binary()

    def put(script: str) -> None:
        path = tmp_path / "hydrotest-node"
        path.write_text(f'#!/bin/sh\n[ "$1" = hub ] && exec {real} hub\n{script}\n')
        path.chmod(0o700)
        for module in (local, command):
            monkeypatch.setattr(module, "node_binary", lambda: path)

    return put


def said(**event: object) -> str:
    return f"echo '{json.dumps(event)}'"


NEWER = said(event="hello", protocol=PROTOCOL + 41)
OLDER = said(event="failed", error="settings do not fit: unknown field `protocol`")


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
@pytest.mark.parametrize(("script", "theirs"), [(NEWER, f"version {PROTOCOL + 41}"), (OLDER, "no version"), ("exit 2", "no version")])
async def test_a_node_of_another_version_is_refused_at_its_start(script: str, theirs: str, subcommand: str, plant: Plant) -> None:
    plant(script)
    with pytest.raises(MissingToolError) as refused:
        await LocalHost("here", Path("/tmp")).node(subcommand, {})
    assert theirs in refused.value.message
    assert f"version {PROTOCOL}" in refused.value.message
    assert "make install" in (refused.value.hint or "")
    assert refused.value.exit_code == EXIT_BAD_INPUT


async def test_one_that_says_nothing_is_late_and_not_of_another_version(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant("exec sleep 600")
    monkeypatch.setattr(node_module, "ANSWER", Patience(0.2, "a test"))
    with pytest.raises(OverdueError):
        await LocalHost("here", Path("/tmp")).node("query", {})


@pytest.mark.parametrize("script", [NEWER, OLDER, "exit 2"])
def test_so_is_one_that_runs_a_command_here(script: str, plant: Plant, tmp_path: Path) -> None:
    plant(script)
    with pytest.raises(MissingToolError, match=f"version {PROTOCOL}"):
        run_here(["true"], tmp_path / "log")


async def test_an_event_that_is_not_known_is_an_error(plant: Plant) -> None:
    plant(f"{said(event='hello', protocol=PROTOCOL)}; {said(event='dance')}; cat")
    node = await LocalHost("here", Path("/tmp")).node("query", {})
    with pytest.raises(MissingToolError, match="dance"):
        await node.expect("done")
    await node.close()


@pytest.mark.parametrize("line", ["[]", "1", "no JSON"])
def test_what_is_no_event_is_none(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        understood("a node", line)


async def test_a_command_that_the_node_does_not_know_is_raised() -> None:
    node = await LocalHost("here", Path("/tmp")).node("clock", {})
    await node.command("dance")
    with pytest.raises(TrialFailedError, match="dance"):
        await node.expect("clock")
    await node.close()


def test_programs_in_java_and_the_page_on_extensions_speak_the_same_version() -> None:
    java = resources.files("hydrotest.jobs").joinpath("press/Talk.java").read_text()
    assert re.findall(r"PROTOCOL = (\d+);", java) == [str(PROTOCOL)]
    for page in ("docs/how-to/extend.md", "tests/extension/hydrotest_echo/generator.py"):
        assert set(re.findall(r'"protocol": (\d+)', Path(page).read_text())) == {str(PROTOCOL)}
