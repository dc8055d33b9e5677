"""Where a ring's nodes are, and which parts of it are theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOKENS = 16
"""Parts of the ring that a node has; Cassandra's own default."""
CHOSEN = frozenset({"initial_token", "partitioner", "allocate_tokens_for_keyspace", "allocate_tokens_for_local_replication_factor"})
"""Settings by which an experiment chooses these parts itself."""


@dataclass(frozen=True)
class Place:
    """A node's location, by the names in cassandra-rackdc.properties."""

    dc: str
    rack: str


def even_tokens(places: Sequence[Place], config: Mapping[str, Any]) -> list[list[int]] | None:
    """Tokens of each node of a new ring, of Murmur3Partitioner: the nodes of a data center own the same share of it, with any number of
    copies. None where that takes more than to deal the parts out in turn: racks of different sizes, or settings of the experiment's own.

    In turn, with the racks alternating, as in Cassandra's documentation for clusters without virtual nodes; here in `num_tokens` rounds.
    """
    each = config.get("num_tokens", TOKENS)
    if CHOSEN & config.keys() or not isinstance(each, int) or each < 1:
        return None
    tokens: list[list[int]] = [[] for _ in places]
    data_centers = list(dict.fromkeys(place.dc for place in places))
    for number, dc in enumerate(data_centers):
        racks = Counter(place.rack for place in places if place.dc == dc)
        if len(set(racks.values())) > 1:
            return None
        order = _alternating([(place.rack, index) for index, place in enumerate(places) if place.dc == dc], list(racks))
        for at, index in enumerate(order):
            # Between those of the other data centers, for strategies that know of none; the least one is no token.
            places_before = [(turn * len(order) + at) * len(data_centers) + number for turn in range(each)]
            tokens[index] = [one * 2**64 // (each * len(order) * len(data_centers)) - 2**63 + 1 + number for one in places_before]
    every = [token for own in tokens for token in own]
    return tokens if len(set(every)) == len(every) else None


def _alternating(nodes: Sequence[tuple[str, int]], racks: Sequence[str]) -> list[int]:
    """Racks of the same size: one node of each, then the next of each."""
    by_rack = [[index for own, index in nodes if own == rack] for rack in racks]
    return [index for turn in zip(*by_rack, strict=True) for index in turn]
