"""Something that is named now and imported when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Ref:
    """`package.module:name`. A lower layer holds it as data; who uses it stands above what it names."""

    path: str

    def load(self) -> Any:
        """What it names. Raises `ImportError` or `AttributeError` where that is not there."""
        return _load(self.path)


@cache
def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
