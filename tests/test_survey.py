"""Which hosts are measured at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hydrotest.run.lifecycle.survey import parts_of, waves
from hydrotest.spec.hosts import NetnsHost


@dataclass(frozen=True)
class Machine:
    """As much of a host as its turn depends on."""

    name: str
    machine: str


def waves_of(hosts: list[Any], linked: list[Any], parts: Mapping[str, float] | None = None) -> list[list[str]]:
    return [[host.name for host in wave] for wave in waves(hosts, linked, {host.name: host.machine for host in hosts}, parts or {})]


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 2), (4, 2), (5, 3), (100, 2)])
def test_machines_are_measured_while_others_are(count: int, expected: int) -> None:
    hosts = [Machine(f"m{number}", f"m{number}") for number in range(count)]
    found = waves_of(hosts, hosts)
    assert len(found) == expected
    assert sorted(name for wave in found for name in wave) == sorted(host.name for host in hosts)
    for wave in found:
        # Each sends to the next one, which is neither measured nor sent to by another.
        ends = [end for name in wave for end in (int(name[1:]), (int(name[1:]) + 1) % count)] if count > 1 else [0]
        assert len(set(ends)) == len(ends)


def test_hosts_of_one_machine_are_measured_one_after_the_other() -> None:
    hosts = [Machine(name, "") for name in ("a", "b", "c")]
    assert waves_of(hosts, hosts) == [["a"], ["b"], ["c"]]
    assert waves_of(hosts, []) == [["a"], ["b"], ["c"]]
    assert waves_of([*hosts, Machine("far", "far")], []) == [["a", "far"], ["b"], ["c"]]


def test_hosts_with_a_part_of_the_machine_are_measured_together_until_half_of_it_is_theirs() -> None:
    hosts = [Machine(name, "") for name in "abcdef"]
    parts = dict(zip("abcde", (0.08, 0.08, 0.08, 0.32, 0.32), strict=True))
    # Each sends to the next one; f has no part: all of the machine is its.
    assert waves_of(hosts, hosts, parts) == [["a", "c", "e"], ["b", "d"], ["f"]]
    assert waves_of(hosts, [], parts) == [["a", "b", "c"], ["d"], ["e"], ["f"]]
    assert waves_of(hosts, [], {**parts, "d": 0.26}) == [["a", "b", "c", "d"], ["e"], ["f"]]


def test_a_host_without_a_disk_or_a_link_of_its_own_has_no_part_of_the_machine() -> None:
    """Its disk would be measured while others of the machine use it."""
    own: dict[str, Any] = {"connect": "netns", "cores": 0.5, "disk": "10 MB/s", "network": "10 Mbit/s"}
    specs = {
        "all": own,
        **{f"no {what}": {key: value for key, value in own.items() if key != what} for what in ("cores", "disk", "network")},
    }
    assert parts_of({name: NetnsHost.model_validate(spec) for name, spec in specs.items()}, 2.0) == {"all": 0.25}
