"""Locations of everything but runs: of files by the XDG base directory specification, never in the project."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from hydrotest.errors import MissingToolError

NODE = "hydrotest-node"


def cache_home() -> Path:
    """Fetched systems, and the data of systems while they run."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hydrotest"


def node_binary() -> Path:
    """The Rust binary: next to the running Python, or on the PATH. Raises `MissingToolError` where it is nowhere."""
    beside = Path(sys.executable).parent / NODE
    if beside.exists():
        return beside
    found = shutil.which(NODE)
    if found is None:
        raise MissingToolError(f"{NODE} is not installed", "Run `make install`, or `pip install .` with cargo on the PATH.")
    return Path(found)


def data_root() -> Path:
    """Where systems keep their data unless a host names a directory."""
    return cache_home() / "data"
