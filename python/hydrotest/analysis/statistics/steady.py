"""Has a system settled? Warm-up ends when a repeated level no longer gets better."""

from __future__ import annotations

from collections.abc import Sequence

PATIENCE = 2
"""So many stretches in a row must bring no clear gain: a single one may be a slow moment of the machine."""


def is_settled(costs: Sequence[float], gain_min: float) -> bool:
    """True if none of the last stretches was clearly cheaper than the best before them.

    `costs` are what an operation takes, one for each stretch of warm-up (some seconds each): CPU, time or a
    latency. A fall by the share `gain_min` below the best so far is a clear gain. False with too few of them.
    Source of the rule: a fresh broker fell from 3.65 to 0.42 CPU-seconds per million records over its first 15
    million, in steps, with slow moments of the machine between.
    """
    if len(costs) <= PATIENCE:
        return False
    best_before = min(costs[:-PATIENCE])
    return min(costs[-PATIENCE:]) >= best_before * (1 - gain_min)
