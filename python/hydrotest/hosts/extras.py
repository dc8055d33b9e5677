"""Packages that only some experiments need. Each comes with an extra of ours, so that an installation without them stays small."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from hydrotest.errors import MissingToolError


@dataclass(frozen=True)
class Extra:
    """An extra of hydrotest's, and the package that it stands for."""

    name: str
    package: str
    purpose: str

    @property
    def is_installed(self) -> bool:
        """Whether the package is there; it is not imported."""
        return find_spec(self.package) is not None

    @property
    def remedy(self) -> str:
        """How to get it."""
        return f"Run `pip install 'hydrotest[{self.name}]'` (`make install` in a source tree)."

    def missing(self, alternative: str = "") -> MissingToolError:
        """The error of an experiment that needs it. `alternative`: a sentence on how to do without."""
        return MissingToolError(
            f"the package {self.package} is not installed; {self.purpose} needs it", " ".join(filter(None, [self.remedy, alternative]))
        )


SPARK = Extra("spark", "pyspark", "Spark of the pinned release")
LAB = Extra("lab", "pyroute2", "an emulated host (`connect: netns`)")
EXTRAS = (SPARK, LAB)
