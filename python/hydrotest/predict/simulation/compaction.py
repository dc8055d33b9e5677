"""What a system has written, and has yet to rewrite: of each host so many bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydrotest.predict.simulation.fleet import EPSILON_BYTES, Flags, Values

DISK_SHARE = 0.5
"""Of its disk: what is served goes on. Assumed."""


@dataclass
class Compaction:
    """What is written is rewritten so often: in a log-structured store once for each level, or tier, that it moves through (O'Neil et al.,
    "The log-structured merge-tree", Acta Informatica 33, 1996). Old versions of rows stay on the disk until it is."""

    rewrites: float
    speed: float
    """Bytes a second that a host rewrites at most."""
    debt: Values
    """Bytes that each host has yet to rewrite."""
    superseded: Values
    """Bytes of old versions that are on each disk until then."""
    fresh: Values
    """Bytes a second that each wrote in the last step."""

    def wanted(self, up: Flags, fresh: Values, disk: Values, seconds: float) -> Values:
        """Bytes a second that each host rewrites in a step in which it writes so much, on a disk that takes so much."""
        most = np.minimum(self.speed, disk * DISK_SHARE)
        found: Values = np.where(up, np.minimum(most, self.debt / seconds + fresh * self.rewrites), 0.0)
        return found

    def take(self, fresh: Values, replacing: Values, rewritten: Values, seconds: float) -> None:
        """A step in which so many bytes a second were written, some of which replace others, and rewritten."""
        had = self.debt + fresh * self.rewrites * seconds
        left = np.maximum(had - rewritten * seconds, 0.0)
        # What is rewritten is a mixture of all that is to be.
        share = np.where(had > EPSILON_BYTES, left / np.maximum(had, EPSILON_BYTES), 0.0)
        self.superseded = (self.superseded + replacing * seconds) * share
        self.debt, self.fresh = left, fresh

    def spread(self, members: Flags) -> None:
        """All data is spread anew over its members, and what is to be done goes with it."""
        self.debt = np.where(members, self.debt.sum() / members.sum(), 0.0)
        self.superseded = np.where(members, self.superseded.sum() / members.sum(), 0.0)

    def behind_s(self) -> Values:
        """How long each host would rewrite, if nothing more were written."""
        return self.debt / self.speed
