"""Windows in which a hypervisor took cores away, left out of what is known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

STEAL_MAX = 0.02
"""Share of a host's cores that may be stolen for a window to count: 120 ms of a core's time in a window of 6 s on one core.
Seen on shared machines: 0.001–0.005 when quiet, up to 0.5 for half a minute."""
LEVEL = 1.25
"""Rates that differ by less are one level: the more is done, the more there is to steal, and high rates must not be left out for low ones."""
Window = TypeVar("Window")


def level_of(rate: float) -> int:
    """Which level a rate above 0 is."""
    return round(math.log(rate) / math.log(LEVEL))


def quiet(windows: Sequence[Window], stolen: Callable[[Window], float], alike: Callable[[Window], object]) -> list[Window]:
    """Those in which no more than `STEAL_MAX` was stolen: a quota gives less otherwise, and the same work seems to need more. Of those that
    are alike the one of which least was stolen stays where no other would."""
    groups: dict[object, list[Window]] = defaultdict(list)
    for one in windows:
        groups[alike(one)].append(one)
    bounds = {key: max(STEAL_MAX, min(map(stolen, own))) for key, own in groups.items()}
    return [one for one in windows if stolen(one) <= bounds[alike(one)]]
