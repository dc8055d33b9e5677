"""Rates that are asked for over time."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hydrotest.errors import BadInputError
from hydrotest.predict.simulation.scenario import SimulatedLoad
from hydrotest.spec.fields import DAY_S
from hydrotest.spec.tests.profile import Stretch

SAMPLES = 2_000
TRACE_RATE_MAX = 1e9
"""Operations a second, as of any other load."""
NOISE_S = 300.0
"""So long a noise lasts."""
WEEK_DAYS, WEEKEND_FROM = 7, 5

Values = npt.NDArray[np.float64]
Course = Callable[[float], float]
"""Operations a second at a moment in seconds since the beginning; before it, below 0."""


def courses(loads: Mapping[str, SimulatedLoad], duration_s: float, folder: Path, seed: int) -> dict[str, Course]:
    """The course of each load. Raises `BadInputError` for a trace that is none."""
    found: dict[str, Course] = {}
    for at, (name, load) in enumerate(sorted(loads.items(), key=lambda one: one[1].follows is not None)):
        own = _scaled(found[load.follows], load.ratio) if load.follows is not None else _plain(load, folder)
        noise = np.ones(1)
        if load.noise:
            random = np.random.default_rng((seed, at))
            # Log-normal with a mean of 1: a rate is never below 0.
            sigma = math.sqrt(math.log1p(load.noise**2))
            noise = np.exp(random.normal(-(sigma**2) / 2, sigma, math.ceil(duration_s / NOISE_S) + 1))
        found[name] = _varied(own, noise, load.weekend)
    return found


def bends_of(load: SimulatedLoad, folder: Path) -> list[float]:
    """Moments at which its course has a bend."""
    if load.trace is not None:
        return [float(at) for at in _read_trace(folder / load.trace)[0]]
    return [float(at) for at in np.cumsum([one.duration for one in load.stretches])] if load.stretches else []


def highest_rate(course: Course, duration_s: float, bends: Sequence[float]) -> float:
    """The highest rate of a course, as far as samples show it."""
    return max(course(float(at)) for at in [*np.linspace(0.0, duration_s, SAMPLES), *bends])


def _plain(load: SimulatedLoad, folder: Path) -> Course:
    if load.rate is not None:
        rate = load.rate
        return lambda at_s: rate
    if load.daily is not None:
        low, high, peak = load.daily.low, load.daily.high, load.daily.peak
        return lambda at_s: (low + high) / 2 + (high - low) / 2 * math.cos(2 * math.pi * (at_s - peak) / DAY_S)
    if load.stretches is not None:
        return _through(*_of_stretches(load.stretches))
    assert load.trace is not None
    return _through(*_read_trace(folder / load.trace))


def _through(times: Values, rates: Values) -> Course:
    return lambda at_s: float(np.interp(at_s, times, rates))


def _of_stretches(stretches: list[Stretch]) -> tuple[Values, Values]:
    times, rates, at = [], [], 0.0
    for one in stretches:
        times += [at, at + one.duration]
        rates += [one.rate, one.end_rate]
        at += one.duration
    # A step is one: of two values at one moment the later counts from there on.
    return np.array(times) + np.tile([0.0, -1e-9], len(stretches)), np.array(rates)


def _read_trace(file: Path) -> tuple[Values, Values]:
    try:
        with file.open(newline="") as text:
            rows = list(csv.DictReader(text))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError("the trace cannot be read", "Name a CSV file, relative to the scenario.", file=file) from error
    times: list[float] = []
    rates: list[float] = []
    for line, row in enumerate(rows, 2):
        try:
            at, rate = float(row["seconds"]), float(row["rate"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError("the line is no row of a trace", "Write `seconds` and `rate` as plain numbers, e.g. 3600,100000.", file=file,
                                line=line) from error  # fmt: skip
        if rate > TRACE_RATE_MAX:
            raise BadInputError(f"a rate is at most {TRACE_RATE_MAX:,.0f}/s (given: {rate:.3g})", "Correct it.", file=file, line=line)
        if not (math.isfinite(at) and math.isfinite(rate)) or rate < 0 or (times and at <= times[-1]):
            raise BadInputError("seconds must grow from line to line, and rates not be below 0", "Correct it.", file=file, line=line)
        times.append(at)
        rates.append(rate)
    if not times:
        raise BadInputError("the trace is empty", "Write the columns `seconds` and `rate`, and a line for each moment.", file=file)
    return np.array(times), np.array(rates)


def _scaled(course: Course, ratio: float) -> Course:
    return lambda at_s: course(at_s) * ratio


def _varied(course: Course, noise: Values, weekend: float) -> Course:
    def at(at_s: float) -> float:
        is_weekend = int(at_s // DAY_S) % WEEK_DAYS >= WEEKEND_FROM
        return course(at_s) * float(noise[min(max(int(at_s // NOISE_S), 0), len(noise) - 1)]) * (weekend if is_weekend else 1.0)

    return at
