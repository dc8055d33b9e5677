"""A system in a simulation: its hosts, the parts of its data, and which of them are served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hydrotest.predict.simulation.compaction import Compaction
from hydrotest.predict.simulation.effects import Effects
from hydrotest.predict.simulation.fleet import EPSILON_BYTES, Flags, Fleet, Hosts, Values

T = TypeVar("T", np.bool_, np.float64)


@dataclass(frozen=True)
class Copies:
    """Of a workload's data."""

    count: int
    needed: int
    """So many must be there for its operations to succeed."""
    waited: int
    """For so many an operation waits, while they belong to it."""


@dataclass
class Service:
    """A system. Its data is in as many parts as it has hosts: each is led by its home, and copied to the next hosts, which are in other
    zones as far as there are zones."""

    name: str
    at: Hosts
    """Its hosts, as indices of the fleet; also those that may be added."""
    member: Flags
    """Hosts that have their part."""
    effects: Mapping[str, Effects]
    copies: Mapping[str, Copies]
    takeover_s: float
    catch_up: float | None
    """Bytes a second."""
    fixed: float
    """Cores without any load."""
    full: float
    """Share of the cores that can be used."""
    held_until: Values
    """Until then what a host led waits for it, though it is away."""
    client_waits_s: float
    """For how long clients wait for a host that the network has cut off."""
    waited_until: Values
    """Until then clients wait for a host that they do not reach, whoever leads what it led."""
    compaction: Compaction | None = None
    """Of what it rewrites, where that is simulated."""
    _holders_of: dict[tuple[bytes, int], npt.NDArray[np.intp]] = field(default_factory=dict)

    def ready(self, fleet: Fleet) -> Flags:
        """Hosts that are up and have all that they should."""
        found: Flags = self.member & fleet.up[self.at] & (fleet.missing[self.at] <= EPSILON_BYTES)
        return found

    def served(self, workload: str, ready: Flags, now_s: float) -> Flags:
        """Parts whose operations succeed."""
        copies = self.copies[workload]
        count = min(copies.count, int(self.member.sum()))
        here = self._over_copies(ready, count)
        held = self._over_copies(self.member & ~ready & (now_s < self.held_until), count)
        live, held_copies = here.sum(axis=0), held.sum(axis=0)
        enough = (live >= np.minimum(copies.waited, live + held_copies)) & (live >= min(copies.needed, count)) & (live > 0)
        found: Flags = self.member & enough & (ready | (now_s >= self.held_until)) & (now_s >= self.waited_until)
        return found

    def slowest(self, workload: str, ready: Flags, scale: Values) -> Values:
        """Of each part: what the host gives of what is wanted for which its operations wait."""
        copies = self.copies[workload]
        count = min(copies.count, int(self.member.sum()))
        if count <= 1:
            return scale
        there = self._over_copies(np.where(ready, scale, -1.0), count)
        ordered = -np.sort(-there, axis=0)
        live = (there >= 0).sum(axis=0)
        rank = np.clip(np.minimum(copies.waited, live) - 1, 0, count - 1)
        waited: Values = np.take_along_axis(ordered, rank[None, :], axis=0)[0]
        return np.where(ready, np.minimum(scale, np.maximum(waited, 0.0)), 0.0)

    def _over_copies(self, values: npt.NDArray[T], count: int) -> npt.NDArray[T]:
        """For each part the values of the hosts that have its copies, home first; of hosts that are no members nothing."""
        found = np.zeros((max(count, 1), len(values)), dtype=values.dtype)
        if count:
            holders = self._holders(count)
            found[:, holders[0]] = values[holders]
        return found

    def _holders(self, count: int) -> npt.NDArray[np.intp]:
        """The hosts that have a copy of each member's part: a row for each copy. Members change seldom, and it is asked for at each step."""
        key = self.member.tobytes(), count
        if key not in self._holders_of:
            order = np.flatnonzero(self.member)
            self._holders_of[key] = np.array([np.roll(order, -copy) for copy in range(count)])
        return self._holders_of[key]
