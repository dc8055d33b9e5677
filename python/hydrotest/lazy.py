"""Modules that are imported on first use: they take tenths of a second of CPU, and most commands do not need
them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """Stands for a module. For types, import the module itself under `TYPE_CHECKING`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
