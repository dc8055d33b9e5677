"""Which parts of a new ring its nodes are given."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.systems.cassandra.ring import Place, even_tokens

LEAST, COUNT = -(2**63), 2**64


def held(places: list[Place], tokens: list[list[int]], copies: int) -> Counter[int]:
    """The part of the ring that each node holds, as NetworkTopologyStrategy places so many copies in each data center."""
    ring = sorted((token, node) for node, own in enumerate(tokens) for token in own)
    parts: Counter[int] = Counter()
    for dc in {place.dc for place in places}:
        racks = len({place.rack for place in places if place.dc == dc})
        for at, (token, _) in enumerate(ring):
            size = (token - ring[at - 1][0]) % COUNT or COUNT
            seen: list[int] = []
            repeats = max(0, copies - racks)
            for _, node in ring[at:] + ring[:at]:
                if len(seen) == copies:
                    break
                if places[node].dc != dc or node in seen:
                    continue
                if places[node].rack in {places[one].rack for one in seen}:
                    if not repeats:
                        continue
                    repeats -= 1
                seen.append(node)
            for node in seen:
                parts[node] += size
    return parts


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2), st.integers(1, 3), st.integers(1, 5), st.randoms()
)
def test_nodes_of_a_data_center_hold_the_same(dcs: list[tuple[int, int]], copies: int, each: int, random: Any) -> None:
    places = [Place(f"dc{dc}", f"r{rack}") for dc, (racks, size) in enumerate(dcs) for rack in range(racks) for _ in range(size)]
    random.shuffle(places)
    tokens = even_tokens(places, {"num_tokens": each})
    assert tokens is not None
    every = [token for own in tokens for token in own]
    assert len(every) == len(set(every)) == each * len(places)
    assert all(LEAST < token < LEAST + COUNT for token in every)
    parts = held(places, tokens, copies)
    for dc, (racks, size) in enumerate(dcs):
        own = [parts[node] for node, place in enumerate(places) if place.dc == f"dc{dc}"]
        wanted = COUNT * min(copies, racks * size) / (racks * size)
        assert own == pytest.approx([wanted] * len(own), rel=1e-9)


@pytest.mark.parametrize(
    "config", [{"initial_token": "1"}, {"partitioner": "RandomPartitioner"}, {"num_tokens": "many"}, {"num_tokens": 0}]
)
def test_parts_that_an_experiment_chooses_are_its_own(config: dict[str, Any]) -> None:
    assert even_tokens([Place("dc", "r")] * 3, config) is None


def test_racks_of_different_sizes_are_left_to_cassandra() -> None:
    assert even_tokens([Place("dc", "a"), Place("dc", "a"), Place("dc", "b")], {}) is None
