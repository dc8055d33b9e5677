"""When a system's law is none, or does not show what a load needs: then nothing is predicted, and no machine is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from hydrotest.analysis.demand.body import Body
from hydrotest.predict.answer import Why
from hydrotest.predict.axes import BEYOND_MAX, REFUSED, Reached, beyond

FIT_ERROR_MAX = 0.25
"""A law that misses half of its windows by more is none."""
LAW_ERROR_MAX = 0.75
"""Half of the interval of the CPU that a load needs, as a share: a wider one says nothing."""
CPU_ONLY = 0.05
"""Error of the law alone, at least: two windows that are alike differ by that."""
BYTES_ONLY = {"network": 0.03, "disk": 0.25}
"""The same of links and disks. Held-out disks of 4 and 10 MB/s were off by 4 %, in labs, which bound what waits to be written. Elsewhere
what a disk gives was measured as 0.2 and as 2.5 GB/s on one machine: in a short run the page cache takes what is written."""
WIDE_MAX = 10.0
"""Times the lower end of an interval that its upper end may be: a wider one says nothing."""


class Gate(NamedTuple):
    """Why nothing is said."""

    why: Why
    about: Sequence[str]
    reach: float | None = None


def is_wide(low: float, high: float) -> bool:
    """Whether an interval says nothing."""
    return low <= 0 or high > WIDE_MAX * low


def no_fit(body: Body, system: str) -> Gate | None:
    """Whether the law misses too many of its own windows."""
    return Gate(Why.NO_FIT, [system], body.demands.error) if body.demands.error > FIT_ERROR_MAX else None


def is_cpu_bound_known(body: Body) -> bool:
    """Whether the hosts' CPU was full in some window, or nothing shows that something else bound."""
    return body.is_full_seen or body.unexplained is None


def too_far(numbers: Iterable[Reached], kind: Callable[[str], str] = str) -> Gate | None:
    """Whether a number is too far from what was measured, or too many are beyond it. `kind`: axes of one kind count as one."""
    moved = beyond(numbers)
    far = [one for one in moved if one.reach > REFUSED]
    if far:
        return Gate(Why.TOO_FAR, [one.axis for one in far], max(one.reach for one in far))
    return Gate(Why.TOO_MANY, [one.axis for one in moved]) if len({kind(one.axis) for one in moved}) > BEYOND_MAX else None


def inseparable(body: Body, drivers: Mapping[str, float], cores: float = 0.0) -> Gate | None:
    """Whether the windows do not show what this load needs of the CPU. `cores`: of each host, where the question is whether it fits: of a load
    that needs less than half of them the error counts as a share of that half."""
    if outside := body.demands.outside(drivers):
        return Gate(Why.INSEPARABLE, list(outside))
    return (
        Gate(Why.INSEPARABLE, list(body.demands.least_known(drivers)))
        if body.demands.relative_error(drivers, cores / 2) > LAW_ERROR_MAX
        else None
    )
