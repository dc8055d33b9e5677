"""Packages that only some experiments need.

Each comes with an extra, so that a plain installation stays small.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hydrotest.errors import MissingToolError


@dataclass(frozen=True)
class Extra:
    """An extra of hydrotest's, and the package behind it."""

    name: str
    package: str
    purpose: str
    alternative: str = ""
    """The end of the remedy: how to do without it, if possible."""

    @property
    def folder(self) -> Path | None:
        """The package's folder, if it is installed; it is not imported."""
        found = find_spec(self.package)
        return None if found is None or found.origin is None else Path(found.origin).parent

    @property
    def is_installed(self) -> bool:
        """True if the package is there."""
        return self.folder is not None

    @property
    def remedy(self) -> str:
        """How to install it."""
        return f"Run `pip install 'hydrotest[{self.name}]'` (`make install` in a source tree){self.alternative}."

    @property
    def lack(self) -> str:
        """The message where it is missing."""
        return f"the package {self.package} is not installed; {self.purpose} needs it"

    def missing(self) -> MissingToolError:
        """The error of an experiment that needs it."""
        return MissingToolError(self.lack, self.remedy)


SPARK = Extra("spark", "pyspark", "Spark", ", or give `home:` or SPARK_HOME")
LAB = Extra("lab", "pyroute2", "an emulated host (`connect: netns`)")
EXTRAS = (SPARK, LAB)
