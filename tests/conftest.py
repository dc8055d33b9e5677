"""What all tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from hydrotest.places import node_binary
from tests.unstable import pytest_sessionfinish, pytest_terminal_summary

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden` writes the golden files of tests/golden anew, for a diff to be looked at."""
    parser.addoption("--golden", action="store_true", help="write the golden files anew")


# Matrices of a limit's posterior are small: several threads for one only wait for each other. Before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What is printed is as wide as without a terminal, whoever runs the tests.
os.environ.pop("COLUMNS", None)

# A machine that is busy with something else makes no property wrong.
settings.register_profile("hydrotest", deadline=None)
settings.load_profile("hydrotest")

FAKE_NODE = f"""#!{sys.executable} -IS
import json, os, signal, sys, time

HUB = {{hub!r}}

def say(event, **more):
    print(json.dumps({{"event": event, **more}}), flush=True)

def hang():
    while True:
        time.sleep(3600)

subcommand = sys.argv[1]
if subcommand == "hub":  # the way to the host is the real one
    os.execv(HUB, [HUB, subcommand])
say("hello", protocol=json.loads(sys.stdin.readline())["protocol"])
settings = json.loads(sys.stdin.readline())
"""


@pytest.fixture
def fake_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces hydrotest-node by a script that is started, instructed and ended like the real one.

    Its body has `subcommand`, `settings`, and helpers for misbehaviour.
    """

    def make(body: str) -> None:
        script = tmp_path / "fake-node"
        script.write_text(FAKE_NODE.replace("{hub!r}", repr(str(node_binary()))) + body)
        script.chmod(0o755)
        for module in ("local", "command"):
            monkeypatch.setattr(f"hydrotest.hosts.{module}.node_binary", lambda: script)

    return make
