"""A reference by name that is imported when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Ref:
    """`package.module:name`.

    A lower layer holds it as data; its user is in a layer above the named object.
    """

    path: str

    def load(self) -> Any:
        """The named object. Raises `ImportError` or `AttributeError` where it does not exist."""
        return _load(self.path)


@cache
def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
