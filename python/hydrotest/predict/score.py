"""A prediction compared with what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from pydantic import Field

from hydrotest.analysis.demand.piped import numbers_of, settings_of
from hydrotest.analysis.demand.windows import law_of
from hydrotest.errors import BadInputError
from hydrotest.predict.answer import OBJECTIVE, Answer, Job, Prediction
from hydrotest.predict.at_load import AXIS as LATENCY
from hydrotest.predict.basis import CORES, DISK, GROUPS, NETWORK, alike
from hydrotest.predict.jobs import CORES_OF_WORKERS, SLOTS, settings
from hydrotest.predict.known import Known, read_known
from hydrotest.predict.saved import read_saved
from hydrotest.predict.together import AXIS as TOGETHER
from hydrotest.summary.base import Number, Row

SAME = 1.05
"""Numbers that differ by less are the same: what hosts have is measured."""
SAME_BOUND = 1.25
"""The same of a link or a disk that binds: what one gives differs more from one time to the next."""


class Scored(Row):
    """A prediction compared with what was measured."""

    workload: str = Field(description="The workload.")
    what: str = Field("limit", description="`limit`; a percentile, e.g. `p99`; a test of a job; or `together`.")
    unit: str = Field("/s", description="Of the figures: `/s`, `s`, `ms`, or empty for a share.")
    predicted: Number = Field(description="What was predicted.")
    low: Number = Field(description="Lower end of its interval.")
    high: Number = Field(description="Upper end of it.")
    measured: Number = Field(description="What was measured.")
    log_error: Number = Field(description="log(measured ÷ predicted).")
    held: bool = Field(description="What was measured is in the interval.")
    axes: list[str] = Field(description="What had been moved.")


def read_prediction(path: Path) -> Answer:
    """A file that `predict --save` wrote. Raises `BadInputError`."""
    return read_saved(path, Answer, "predict --save")


def score(answer: Answer, run: Path) -> list[Scored]:
    """Each prediction whose workload the run has, as it was predicted. Raises `BadInputError` if there is none, or if the run is one that
    the prediction stands on."""
    if run.resolve() in [Path(one).resolve() for one in answer.runs]:
        raise BadInputError(
            "the prediction stands on this run: it shows nothing of its error", "Name a run that was made after it.", file=run
        )
    known = read_known(run)
    # A limit while others have a load is another one; a run's own are of each workload alone.
    found = [(one, "total load" if one.beside else _differs(one, known)) for one in answer.predictions]
    rows = [row for one, why in found if why is None and (row := _scored(one, known)) is not None]
    rows += [row for one, why in found if why is None for row in _percentiles(one, known)]
    rows += [row for one in answer.jobs if (row := _job(one, known)) is not None]
    rows += [row for row in [_share(answer, known, [one for one, why in found if why is None])] if row is not None]
    if not rows:
        why = next((f"{one.workload} has another {why}" for one, why in found if why), "it measured nothing of what was predicted")
        names = ", ".join([*(one.workload for one in answer.predictions), *(one.workload for one in answer.jobs)]) or "no workload"
        raise BadInputError(f"the run is not what was predicted: {why}", f"Name the run that has it as predicted: {names}.", file=run)
    return rows


def _differs(one: Prediction, known: Known) -> str | None:
    """What the run has in another way than the prediction holds for; None if nothing."""
    if one.workload in known.pipes_have:
        numbers = numbers_of(known.experiment, one.workload, known.pipes_have[one.workload])
        fixed = settings_of(known.experiment, one.workload)
    else:
        spec = known.experiment.workloads.get(one.workload)
        law = None if spec is None else law_of(spec.kind)
        system = None if spec is None else spec.presses_on
        if spec is None or law is None or system is None or system not in known.has:
            return "name"
        numbers = {f"{one.workload}.{key}": axis(spec) for key, axis in law.axes.numbers.items()}
        numbers |= {f"{system}.hosts": len(known.experiment.systems.present()[system].hosts), CORES: known.has[system].cores}
        has = known.has[system]
        # Links and disks are measured anew each time: where they do not bind, they make no difference.
        other = {"network": (NETWORK, has.link), "disk": (DISK, has.disk)}.get(one.binds.resource)
        if other is not None and other[1] and abs(math.log(other[1] / one.at.get(other[0], other[1]))) > math.log(SAME_BOUND):
            return other[0]
        fixed = alike(spec, law, known.experiment, system)
    off = [axis for axis, value in numbers.items() if axis in one.at and abs(math.log(value / one.at[axis])) > math.log(SAME)]
    return next(iter([*off, *(key for key, value in one.alike.items() if fixed.get(key) != value)]), None)


def _scored(one: Prediction, known: Known) -> Scored | None:
    groups = round(one.at.get(f"{one.workload}.{GROUPS}", 0.0))
    # A limit at an objective is searched while nobody reads.
    at_objective = None if groups else known.limits.get(one.workload)
    measured = at_objective if one.by == OBJECTIVE else median(_closed_rates(known, one.workload, groups) or [0.0])
    if not measured:
        return None
    error = math.log(measured / one.limit)
    return Scored(workload=one.workload, predicted=one.limit, low=one.low, high=one.high, measured=measured, log_error=error,
                  held=one.low <= measured <= one.high, axes=[moved.axis for moved in one.moved])  # fmt: skip


def _row(workload: str, what: str, unit: str, predicted: float, low: float, high: float, measured: float, axes: Sequence[str]) -> Scored:
    return Scored(workload=workload, what=what, unit=unit, predicted=predicted, low=low, high=high, measured=measured,
                  log_error=math.log(measured / predicted), held=low <= measured <= high, axes=list(axes))  # fmt: skip


def _percentiles(one: Prediction, known: Known) -> list[Scored]:
    """Of windows at the load that was asked for."""
    found = one.latency
    if found is None:
        return []
    windows = [seen.percentiles for every in known.seen.values() for seen in every
               if seen.percentiles and set(seen.rates) == {one.workload} and abs(math.log(seen.rates[one.workload] / found.rate)) <= math.log(SAME)]  # fmt: skip
    return [_row(one.workload, part.name, "ms", part.ms, part.low_ms, part.high_ms, median(seen[part.name] for seen in windows), [LATENCY])
            for part in found.percentiles if windows]  # fmt: skip


def _job(one: Job, known: Known) -> Scored | None:
    """Of a run of it on as many slots and cores, with as much data."""
    for ran in known.jobs:
        numbers = {f"{one.workload}.scale_factor": ran.spec.scale_factor, f"{one.workload}.data_scale": ran.spec.data_scale,
                   SLOTS: ran.place.slots, CORES_OF_WORKERS: ran.place.cores}  # fmt: skip
        is_same = all(abs(math.log(value / one.at[axis])) <= math.log(SAME) for axis, value in numbers.items())
        if ran.test == one.test and ran.workload == one.workload and is_same and settings(known, ran.spec) == one.alike:
            return _row(one.workload, one.test, "s", one.seconds, one.low, one.high, ran.seconds, [moved.axis for moved in one.moved])
    return None


def _share(answer: Answer, known: Known, same: Sequence[Prediction]) -> Scored | None:
    """Of a `combined` test of the same workloads."""
    found = answer.together
    if found is None or not known.share or not found.share or set(found.workloads) != set(known.together) or not set(found.workloads) <= {
        one.workload for one in same}:  # fmt: skip
        return None
    return _row(", ".join(found.workloads), TOGETHER, "", found.share, found.low, found.high, known.share, [TOGETHER])


def _closed_rates(known: Known, workload: str, groups: int) -> Sequence[float]:
    return [seen.rates[workload] for windows in known.seen.values() for seen in windows if seen.is_saturated_by(workload, groups)]
