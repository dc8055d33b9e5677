"""Locations of everything but runs: by the XDG base directory specification, never in the project."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """Fetched systems, and the data of systems while they run."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hydrotest"


def data_root() -> Path:
    """Where systems keep their data unless a host names a directory."""
    return cache_home() / "data"
