"""Results that others published, and their machines."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml

Row = dict[str, Any]


@cache
def published() -> dict[str, Any]:
    """The published results by kind, as facts; each with its source and its inconsistencies."""
    text = resources.files("hydrotest.catalogue").joinpath("published.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)
    return found
