"""How fast machines are at several kinds of work, one against the other: what a vCPU of another machine is worth."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Self

import numpy as np
from pydantic import Field, ValidationError

from hydrotest.errors import BadInputError
from hydrotest.summary.base import Count, Number, Row

JVM = "jvm"
"""The kind of work that only machines with Java do."""


class KindRate(Row):
    """Of one kind of work."""

    per_s: Number = Field(gt=0, description="Units a second on one processor: the median of slices of a fifth of a second.")
    low: Number = Field(description="25th percentile of the slices.")
    high: Number = Field(description="75th percentile.")
    slices: Count = Field(description="How many there were.")

    @classmethod
    def of(cls, slices: Sequence[float]) -> Self:
        """From the units a second of each slice."""
        low, middle, high = (float(value) for value in np.quantile(slices, [0.25, 0.5, 0.75]))
        return cls(per_s=middle, low=low, high=high, slices=len(slices))


class Rating(Row):
    """What `hydrotest rate` measured."""

    version: str = Field(description="Of hydrotest.")
    cpu_model: str = Field(description="What the processor calls itself.")
    processors: Count = Field(description="Processors that the kernel has.")
    parallel_cores: Number = Field(
        gt=0, description="How many times as much all of them do at once as one: of two hyper-threads less than 2."
    )
    rates: dict[str, KindRate] = Field(min_length=1, description="By kind of work.")


class Compared(Row):
    """A machine against another."""

    here: Rating = Field(description="The one.")
    there: Rating = Field(description="The other, which it is compared with.")
    ratios: dict[str, Number] = Field(description="How many times as fast the one is, by kind of work.")
    share: Number = Field(description="The same of what a processor has left of its speed while all others work, too.")
    speed: Number = Field(
        description="A processor's speed as a multiple of the other's, all of them at work: geometric mean over all kinds."
    )
    low: Number = Field(description="The kind of work at which it is slowest against the other.")
    high: Number = Field(description="At which it is fastest.")


def compared(here: Rating, there: Rating) -> Compared:
    """Raises `BadInputError` if they were not measured with the same kinds of work. That of a JVM is left out where one has no Java."""
    if not set(here.rates) ^ set(there.rates) <= {JVM}:
        raise BadInputError(
            "the machines were measured with other kinds of work", f"Measure both with the same hydrotest: {here.version}, {there.version}."
        )
    ratios = {name: own.per_s / there.rates[name].per_s for name, own in here.rates.items() if name in there.rates}
    share = (here.parallel_cores / here.processors) / (there.parallel_cores / there.processors)
    mean = math.exp(fmean(math.log(ratio) for ratio in ratios.values()))
    return Compared(
        here=here,
        there=there,
        ratios=ratios,
        share=share,
        speed=mean * share,
        low=min(ratios.values()) * share,
        high=max(ratios.values()) * share,
    )


def read_rating(file: Path) -> Rating:
    """A file that `hydrotest rate --out` wrote. Raises `BadInputError`."""
    try:
        return Rating.model_validate(json.loads(file.read_text()))
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", "Name a file of `hydrotest rate --out`.", file=file) from error
    except (ValueError, ValidationError) as error:
        raise BadInputError("the file is none of `hydrotest rate`", "Name a file of `hydrotest rate --out`.", file=file) from error
