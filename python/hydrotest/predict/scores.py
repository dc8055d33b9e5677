"""How wrong predictions were: on the held-out cases of benchmarks/predictions.py, and on the user's own runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from hydrotest.errors import BadInputError
from hydrotest.places import cache_home

OWN_MIN = 10
"""Scored predictions of the user's own that moved an axis, from which on they alone count for it."""
ASSUMED = {
    "cores": 0.10,
    "hosts": 0.20,
    "network": 0.08,
    "disk": 0.12,
    "speed": 0.25,
    "latency": 0.4,
    "slots": 0.20,
    "worker_cores": 0.20,
    "together": 0.25,
}
ASSUMED_OTHER = 0.20
"""|log error| of an axis without held-out cases, as was expected before any was measured."""
CASES_MIN = 4
"""Held-out cases of an axis from which on they count."""
COVERAGE = 0.9
BIASED = 0.25
"""Mean log error of a model from which on it is not chance: twice the speed is 0.69."""
FLAG_MIN = 3
RATE = "limit"
"""What most scores are of."""


@dataclass(frozen=True)
class AxisError:
    """The error of an axis."""

    error: float
    """90th percentile of |log(measured ÷ predicted)|."""
    cases: int


@dataclass(frozen=True)
class Scores:
    """Log errors by axis."""

    shipped: Mapping[str, tuple[float, ...]]
    own: tuple[tuple[tuple[str, ...], float], ...] = ()
    """Of the user's runs: the axes that were moved, and log(measured ÷ predicted) of a rate."""
    others: tuple[tuple[tuple[str, ...], float], ...] = ()
    """The same of what is no rate: latencies, seconds, shares. They say nothing of the errors of rates."""

    def of(self, axis: str) -> AxisError:
        """The error of an axis, by its last part: of `ingest.linger` that of `linger`. Of a prediction that moved several, the error
        counts for each of them: that is too much rather than too little."""
        key = axis.rpartition(".")[2]
        mine = [abs(error) for axes, error in (*self.own, *self.others) if key in axes]
        cases = mine if len(mine) >= OWN_MIN else self.shipped.get(key, ())
        if len(cases) >= CASES_MIN:
            return AxisError(float(np.quantile(np.abs(cases), COVERAGE)), len(cases))
        # A few cases do not show that an error is small, but may show that it is large.
        return AxisError(max([ASSUMED.get(key, ASSUMED_OTHER), *(abs(one) for one in cases)]), 0)

    @property
    def bias(self) -> float | None:
        """Factor by which the user's runs gave more than was predicted, if all of the last ones agree that the model is wrong."""
        last = [error for _, error in self.own[-5:]]
        if len(last) < FLAG_MIN or abs(float(np.mean(last))) < BIASED or not (min(last) > 0 or max(last) < 0):
            return None
        return float(np.exp(np.mean(last)))


def own_scores() -> Path:
    """Where the scores of the user's own runs are kept."""
    return cache_home() / "scores.jsonl"


def shipped_scores() -> Scores:
    """Those of the held-out cases alone."""
    file = resources.files("hydrotest.predict") / "errors.json"
    return Scores({axis: tuple(errors) for axis, errors in json.loads(file.read_text()).items()})


def read_scores(own: Path | None = None) -> Scores:
    """The shipped ones, and the user's. Raises `BadInputError` where those are damaged."""
    path = own or own_scores()
    entries: dict[bool, list[tuple[tuple[str, ...], float]]] = {True: [], False: []}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        try:
            entry = json.loads(line)
            entries[entry.get("what", RATE) == RATE].append((tuple(map(str, entry["axes"])), float(entry["log_error"])))
        except (ValueError, KeyError, TypeError) as error:
            raise BadInputError("the line is no score", "Remove it.", file=path, line=number) from error
    return Scores(shipped_scores().shipped, tuple(entries[True]), tuple(entries[False]))


def add_score(axes: list[str], log_error: float, prediction: str, run: str, own: Path | None = None, what: str = RATE) -> None:
    """Adds a score of the user's own, unless it is there already. `prediction`: what identifies it; `what`: `RATE`, or what it is of."""
    path = own or own_scores()
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {
        "axes": sorted({axis.rpartition(".")[2] for axis in axes}),
        "log_error": log_error,
        "prediction": prediction,
        "run": run,
        "what": what,
    }
    line = json.dumps(entry)
    if path.exists() and line in path.read_text().splitlines():
        return
    with path.open("a") as handle:
        handle.write(line + "\n")
