"""The scenario file of `hydrotest simulate`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from hydrotest.errors import BadInputError
from hydrotest.percentiles import PERCENTILES
from hydrotest.predict.needs import ZONES_MAX
from hydrotest.spec.base import Model
from hydrotest.spec.fields import DAY_S, BitsPerS, DurationS, Moment, Multiple, Name, RatePerS, Share, SizeBytes, SpanS, TimeOfDay
from hydrotest.spec.hosts import Burst
from hydrotest.spec.lines import Document, read_document
from hydrotest.spec.load import translated
from hydrotest.spec.tests.profile import Stretch

HOSTS_MAX = 5_000
GROUPS_MAX = 100
SEEDS_MAX = 1_000
_HOST = re.compile(r"^(.+)-(\d+)$")


class SimulatedDisk(Model):
    """A disk of each host."""

    size: SizeBytes = Field(description="Its size, e.g. 2 TiB.")
    speed: BitsPerS | None = Field(None, description="What it writes for as long as one likes; that of the type if not given.")


class HostGroup(Model):
    """Hosts that are alike; they are named after it: broker-0, broker-1, …"""

    count: int = Field(ge=1, le=HOSTS_MAX, description="How many.")
    type: str | None = Field(None, description="Type of machine of the catalogue, e.g. aws/m7g.xlarge. As in the run if not given.")
    cores: float | None = Field(None, gt=0, le=1024, description="Cores of each, of the speed of those that were measured.")
    network: BitsPerS | None = Field(None, description="What each link carries for as long as one likes.")
    burst: Burst | None = Field(None, description="What a link carries until so much has gone through. By default of the type.")
    disk: SimulatedDisk | None = Field(None, description="The disk of each host; without one disks do not fill.")
    zones: int = Field(1, ge=1, le=ZONES_MAX, description="Zones over which they are spread in turn.")

    @model_validator(mode="after")
    def _one_source(self) -> HostGroup:
        if self.type is not None and self.cores is not None:
            raise ValueError("`type` says how many cores there are; write one of both")
        if self.zones > self.count:
            raise ValueError(f"{self.count} {'host is' if self.count == 1 else 'hosts are'} not in {self.zones} zones; write fewer zones")
        return self


class SimulatedCompaction(Model):
    """How a system rewrites what it has written."""

    rewrites: float = Field(
        ge=1,
        le=100,
        description="How often each byte is rewritten in all. Of size-tiered tables about the logarithm to the base of 4 of what a node stores over "
        "what it flushes at once: 6 for 500 GB of 128 MB each.",
    )
    speed: BitsPerS | None = Field(
        None,
        description="What each host rewrites at most, e.g. 67 MB/s, which is the 64 MiB/s that Cassandra has by itself.",
    )
    behind: SpanS | None = Field(
        None, description="The objective: what is to be rewritten may take so long at most, if nothing more were written."
    )


class SimulatedSystem(Model):
    """A system of the run, on some of the hosts."""

    on: Name = Field(description="Its group of hosts.")
    takeover: DurationS | None = Field(
        None,
        description="Until others serve what a host served that fails. By default the run's `broker.session.timeout.ms` (9 s) of Kafka, 2 s of Cassandra.",
    )
    catch_up: BitsPerS | None = Field(
        None, description="At which speed a host that comes back fetches what it missed. Half of its link if not given."
    )
    compaction: SimulatedCompaction | None = Field(
        None, description="How it rewrites what it has written, of Cassandra; without it, that is not simulated."
    )


class Daily(Model):
    """A day's course: a cosine between two rates."""

    low: RatePerS = Field(description="The lowest rate, twelve hours from the peak.")
    high: RatePerS = Field(description="The highest rate.")
    peak: TimeOfDay = Field(20 * 3600.0, description="When it is highest, e.g. 20:00.")

    @model_validator(mode="after")
    def _low_is_lower(self) -> Daily:
        if self.low > self.high:
            raise ValueError("`low` is more than `high`; write e.g. {low: 100K, high: 400K}")
        return self


class SimulatedLoad(Model):
    """What a workload of the run is asked for; exactly one of `rate`, `daily`, `stretches`, `trace` and `follows`."""

    rate: RatePerS | None = Field(None, description="Always this rate.")
    daily: Daily | None = Field(None, description="A day's course.")
    stretches: list[Stretch] | None = Field(None, min_length=1, description="As in a profile; the last rate stays.")
    trace: str | None = Field(None, description="A CSV file with the columns `seconds` and `rate`; rates between change evenly.")
    follows: Name | None = Field(None, description="Another workload, whose rate it follows.")
    ratio: Multiple = Field(1.0, description="How many operations for each of those.")
    noise: Share = Field(0.0, description="Standard deviation of what five minutes have more or less, as a share.")
    weekend: Multiple = Field(1.0, description="Its rate on the sixth and the seventh day of each week, as a share.")
    gives_up: SpanS | None = Field(None, description="After waiting so long an operation is given up. Never if not given.")
    retain: SpanS | None = Field(None, description="How long its records are kept. For ever if not given.")
    groups: int = Field(0, ge=0, le=GROUPS_MAX, description="Consumer groups that read each of its records as soon as it is served.")

    @model_validator(mode="after")
    def _one_course(self) -> SimulatedLoad:
        given = [key for key in ("rate", "daily", "stretches", "trace", "follows") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError("a load has exactly one of rate, daily, stretches, trace and follows; write e.g. {rate: 100K}")
        if self.follows is None and "ratio" in self.model_fields_set:
            raise ValueError("`ratio` is of a load that follows another one; write e.g. {follows: ingest, ratio: 2}")
        return self


class WaitObjective(Model):
    """What is asked of a workload."""

    wait: DurationS = Field(description="How long its oldest operation may wait until it is served.")

    @model_validator(mode="before")
    @classmethod
    def _no_percentile(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(one.name in value for one in PERCENTILES):
            raise ValueError("percentiles of latencies are not simulated, since no prediction of them held; write e.g. {wait: 10 s}")
        return value


class Event(Model):
    """Something that happens: at a time, or at random."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    at: Moment | None = Field(None, description="When, e.g. '3d 20:05'.")
    mtbf: SpanS | None = Field(None, description="At random instead: mean time between failures of each host of `fail`.")
    fail: str | None = Field(None, description="A host that fails, e.g. broker-7; with `mtbf` a group.")
    cut: str | None = Field(
        None,
        description="A host that nobody reaches any more, e.g. broker-7: unlike one that fails, it refuses no connection, so that clients of Kafka "
        "wait for it, for 30 s at most (`request.timeout.ms`), whatever has been taken over.",
    )
    zone: int | None = Field(None, ge=0, description="A zone, all hosts of which fail.")
    roll: Name | None = Field(None, description="A system whose hosts are restarted one after the other.")
    add: Name | None = Field(None, description="A group that gets `count` more hosts.")
    count: int | None = Field(None, ge=1, le=HOSTS_MAX, description="How many are added: one if not given.")
    rebalance: BitsPerS | None = Field(None, description="At which speed each new host gets its share. Half of its link if not given.")
    lasts: SpanS | None = Field(
        None, alias="for", description="How long it is away. For ever if not given; of a restart a minute for each host."
    )

    @model_validator(mode="after")
    def _one_thing(self) -> Event:
        if sum(value is not None for value in (self.fail, self.cut, self.zone, self.roll, self.add)) != 1:
            raise ValueError(
                "an event has exactly one of fail, cut, zone, roll and add; write e.g. {at: 3d 20:05, fail: broker-7, for: 40 min}"
            )
        if (self.at is None) == (self.mtbf is None):
            raise ValueError("an event has either `at` or `mtbf`; write e.g. {at: 3d, …} or {fail: broker, mtbf: 90 d, …}")
        if self.mtbf is not None and self.fail is None:
            raise ValueError("`mtbf` is of hosts that fail; write e.g. {fail: broker, mtbf: 90 d, for: 40 min}")
        if self.count is not None and self.add is None:
            raise ValueError("`count` is of hosts that are added; write e.g. {at: 3d, add: broker, count: 3}")
        if self.rebalance is not None and self.add is None:
            raise ValueError("`rebalance` is of hosts that are added; write e.g. {at: 3d, add: broker, rebalance: 50 MB/s}")
        if self.lasts is not None and self.add is not None:
            raise ValueError("hosts that are added stay; leave `for` out")
        return self

    @property
    def added(self) -> int:
        """Hosts that it adds."""
        return 0 if self.add is None else self.count or 1


class Scenario(Model):
    """The whole file."""

    name: Name = Field(description="Its name.")
    model: list[str] | str = Field(
        min_length=1, description="The folder of a run that shows what operations cost, best of a `calibrate` test; or several."
    )
    hosts: dict[Name, HostGroup] = Field(min_length=1, description="Groups of hosts.")
    systems: dict[Name, SimulatedSystem] = Field(min_length=1, description="Systems of the run, each on a group.")
    load: dict[Name, SimulatedLoad] = Field(min_length=1, description="Workloads of the run that are under way.")
    events: list[Event] = Field(default_factory=list, description="What happens.")
    objectives: dict[Name, WaitObjective] = Field(default_factory=dict, description="What is asked of workloads.")
    fill: Share = Field(0.8, gt=0, description="How full a disk may be.")
    duration: SpanS = Field(DAY_S, description="How long is simulated; `--for` goes first.")
    seeds: int = Field(20, ge=1, le=SEEDS_MAX, description="How many courses of what is random; `--seeds` goes first.")
    speed: float = Field(
        1.0, ge=0.25, le=4.0, description="Speed of a vCPU of a type, as a multiple of a core that was measured: an assumption."
    )
    far: bool = Field(False, description="Also more than four times the cores or hosts that were measured.")


def most_hosts(scenario: Scenario, group: str) -> int:
    """Hosts of a group, with all that are added."""
    return scenario.hosts[group].count + sum(event.added for event in scenario.events if event.add == group)


def read_scenario(file: Path) -> tuple[Scenario, Document]:
    """The scenario in a file. Raises `BadInputError` with line and remedy."""
    document = read_document(file)
    if not isinstance(document.value, dict):
        raise BadInputError("the file is no scenario: it must be a mapping with name, model, hosts, systems, load", "docs/how-to/simulate-a-fleet.md has one.",
                            file=file, line=1)  # fmt: skip
    try:
        scenario = Scenario.model_validate(document.value)
    except ValidationError as error:
        raise translated(error, document, Scenario) from error
    _check(scenario, document)
    return scenario, document


def group_and_index(name: str) -> tuple[str, int] | None:
    """`broker-7`: the group and the number of a host."""
    found = _HOST.match(name)
    return None if found is None else (found[1], int(found[2]))


def _check(scenario: Scenario, document: Document) -> None:
    """What refers to something must find it. Raises `BadInputError`."""

    def fail(path: tuple[str | int, ...], message: str, hint: str) -> BadInputError:
        return BadInputError(message, hint, file=document.file, line=document.line(path))

    groups = ", ".join(scenario.hosts)
    used = {system.on for system in scenario.systems.values()}
    for name, group in scenario.hosts.items():
        if name not in used and used <= set(scenario.hosts):
            raise fail(("hosts", name), f"no system is on {name}", "Leave the group out, or name it in `on` of a system.")
        if group.burst is not None and group.network is not None and group.burst.network <= group.network:
            raise fail(("hosts", name, "burst"), "a burst goes beyond `network`, which is what the link sustains", "Write a faster one.")
    for name, system in scenario.systems.items():
        if system.on not in scenario.hosts:
            raise fail(("systems", name, "on"), f"there is no group of hosts {system.on}", f"There is {groups}.")
    for name, load in scenario.load.items():
        target = None if load.follows is None else scenario.load.get(load.follows)
        if load.follows is not None and (target is None or target.follows is not None):
            raise fail(("load", name, "follows"), f"{load.follows} is no load with a course of its own", "Name one that has a rate.")
    for name in scenario.objectives:
        if name not in scenario.load:
            raise fail(("objectives", name), f"there is no load {name}", f"There is {', '.join(scenario.load)}.")
    names = scenario.model if isinstance(scenario.model, list) else []
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise fail(("model",), f"{twice} is named twice: it would count twice", "Name each once.")
    for at, event in enumerate(scenario.events):
        place = ("events", at)
        if event.roll is not None and event.roll not in scenario.systems:
            raise fail((*place, "roll"), f"there is no system {event.roll}", f"There is {', '.join(scenario.systems)}.")
        if event.add is not None and event.add not in scenario.hosts:
            raise fail((*place, "add"), f"there is no group of hosts {event.add}", f"There is {groups}.")
        if event.zone is not None and event.zone >= max(group.zones for group in scenario.hosts.values()):
            raise fail(
                (*place, "zone"), f"there is no zone {event.zone}", "Zones are counted from 0; `zones` of a group says how many there are."
            )
        key, named = ("cut", event.cut) if event.cut is not None else ("fail", event.fail)
        if named is not None:
            found = (named, 0) if event.mtbf is not None else group_and_index(named)
            if found is None or found[0] not in scenario.hosts or found[1] >= scenario.hosts[found[0]].count:
                what = "group of hosts" if event.mtbf is not None else "host"
                first = next(iter(scenario.hosts))
                example = first if event.mtbf is not None else f"{first}-0 to {first}-{scenario.hosts[first].count - 1}"
                raise fail((*place, key), f"there is no {what} {named}", f"There is {groups if event.mtbf is not None else example}.")
