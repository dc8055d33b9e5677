"""Modules that are imported when they are first used: those that take tenths of a second of CPU and that most commands do not need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """Stands for a module. Where types are wanted, import the module itself under `TYPE_CHECKING`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
