"""A cluster that is there already (`attach`): how it is reached, and the most that hydrotest may do to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import narrowed
from hydrotest.spec.fields import BitsPerS, Count, DurationS, RatePerS, SizeBytes, written
from hydrotest.spec.lines import Path_
from hydrotest.spec.system import Security

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

_ENDPOINT = re.compile(r"^[A-Za-z0-9._-]+:[0-9]{1,5}$")


def _endpoint(value: str) -> str:
    if _ENDPOINT.fullmatch(value) is None:
        raise ValueError(f"{value!r} is not `host:port`; write e.g. b1:9092")
    return value


Endpoint = Annotated[str, AfterValidator(_endpoint), written(_ENDPOINT.pattern, "b1:9092")]
"""`host:port`."""


_HOURS = re.compile(r"^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])$")
MINUTES_A_DAY = 24 * 60


@dataclass(frozen=True)
class Hours:
    """A part of each day, in minutes since midnight, local time. It may go over midnight."""

    begin: int
    end: int

    def left_s(self, now: datetime) -> float | None:
        """Seconds until its end; None outside of it."""
        at = now.hour * 60 + now.minute + now.second / 60
        length, since = (self.end - self.begin) % MINUTES_A_DAY, (at - self.begin) % MINUTES_A_DAY
        return (length - since) * 60 if since < length else None


def _hours(value: object) -> object:
    match = _HOURS.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] + match[2] == match[3] + match[4]:
        raise ValueError(f"{value!r} is not a part of the day; write e.g. '01:00-05:00'")
    first, last = (int(match[at]) * 60 + int(match[at + 1]) for at in (1, 3))
    return Hours(first, last)


HoursField = Annotated[Hours, BeforeValidator(_hours), written(_HOURS.pattern, "01:00-05:00")]


class ClientSecurity(Security):
    """Encryption and logins of clients: made for the run, or those of a cluster that is there already."""

    authority: str | None = Field(
        None, description="With `attach`: file of the certificates that sign those of the cluster, PEM; this machine's own if not given."
    )
    certificate: str | None = Field(None, description="With `attach`: file of a certificate of ours, PEM.")
    key: str | None = Field(None, description="With `attach`: file of its private key, PEM.")
    user: str | None = Field(None, description="With `attach`: the user who logs in.")

    of_attached: ClassVar[tuple[str, ...]] = ("authority", "certificate", "key", "user")
    login_keys: ClassVar[tuple[str, ...]] = ("user", "password")
    """All of them make a login."""
    example: ClassVar[str] = "user: hydrotest, password: {env: PASSWORD}"

    def check_access(self, name: str, is_attached: bool, checker: Checker) -> None:
        """Raises `BadInputError` for what a cluster that is there needs, or what a new one makes itself; `name` is the system's."""
        place: Path_ = ("systems", name, "security")
        given = [key for key in self.of_attached if getattr(self, key) is not None]
        if not is_attached:
            if given:
                raise checker.fail((*place, given[0]), f"hydrotest makes `{given[0]}` itself for a system that it starts",
                                   "Leave it out, or use `attach` for one that is there.")  # fmt: skip
            return
        if "client_certificates" in self.model_fields_set:
            raise checker.fail((*place, "client_certificates"), "a cluster that is there needs a certificate that you give",
                               "Write `certificate` and `key` instead.")  # fmt: skip
        if any(key in given for key in ("authority", "certificate", "key")) and not self.tls:
            raise checker.fail((*place, given[0]), f"`{given[0]}` is for encrypted connections", "Add `tls: true`.")
        if (self.certificate is None) != (self.key is None):
            raise checker.fail(place, "a certificate is used with its key", "Give both `certificate` and `key`.")
        login = [key for key in self.login_keys if getattr(self, key)]
        if login and len(login) < len(self.login_keys):
            raise checker.fail(place, f"a login needs {', '.join(f'`{key}`' for key in self.login_keys)}", f"Write all of them, e.g. `{self.example}`.")  # fmt: skip


class Most(Model):
    """The most that hydrotest may do to a cluster that is not its own. All tests are planned within it."""

    time: DurationS = Field(900.0, description="Time from the first load to the last.")

    less_disk: ClassVar[str] = "Ask for less"
    """How tests take less of its disks."""

    @property
    def disk_bytes(self) -> int | None:
        """Disk that its data takes at any time, all copies together; None where nothing of it stays on a disk."""
        return None

    @property
    def rate_per_s(self) -> float | None:
        """Payload, bytes a second; None without a bound."""
        return None

    @property
    def connections_max(self) -> int | None:
        """Connections to the cluster; None where it has as many as it makes itself."""
        return None

    @property
    def in_flight_max(self) -> int | None:
        """Operations of a workload that are not answered yet; None where load has none in flight."""
        return None

    def rate_for(self, operation_bytes: float) -> float | None:
        """The highest rate of operations of that payload, 1/s; None where load has no rate."""
        return None


class DataMost(Most):
    """The most that hydrotest may do to a cluster that keeps data."""

    bytes: BitsPerS = Field(description="Payload that a workload moves a second, e.g. 20 MB/s.")
    disk: SizeBytes = Field(description="Disk that its data takes at any time, all copies together.")

    @property
    def disk_bytes(self) -> int:
        return self.disk

    @property
    def rate_per_s(self) -> float:
        return self.bytes / 8


class RequestsMost(DataMost):
    """The most that hydrotest may do to a cluster that answers requests."""

    rate: RatePerS = Field(gt=0, description="Operations a second of a workload.")
    in_flight: Count = Field(100_000, description="Operations of a workload that are not answered yet.")
    connections: Count = Field(200, description="Connections to the cluster.")
    partitions: Count = Field(64, description="Kafka: partitions of all topics of a workload.")

    less_disk: ClassVar[str] = "Lower `most.rate` or `most.bytes`, shorten the windows"

    @property
    def connections_max(self) -> int:
        return self.connections

    @property
    def in_flight_max(self) -> int:
        return self.in_flight

    def rate_for(self, operation_bytes: float) -> float:
        return min(self.rate, self.rate_per_s / operation_bytes if operation_bytes > 0 else self.rate)


class AtOnceMost(DataMost):
    """The most that hydrotest may do to what keeps files or objects."""

    at_once: Count = Field(8, description="Written or read at once.")

    @property
    def requests_per_s(self) -> float | None:
        """Requests of a workload a second; None without a bound."""
        return None


class FilesMost(AtOnceMost):
    """The most that hydrotest may do to a file system."""

    at_once: Count = Field(8, description="Files that are written or read at once.")

    less_disk: ClassVar[str] = "Write fewer or smaller files, or fewer copies"


class ObjectsMost(AtOnceMost):
    """The most that hydrotest may do to an object store."""

    rate: RatePerS = Field(gt=0, description="Requests a second of a workload.")
    disk: SizeBytes = Field(
        description="Bytes of its objects at any time, each counted once: what the store adds for copies or erasure codes is not known."
    )
    at_once: Count = Field(8, description="Objects that are written or read at once.")

    less_disk: ClassVar[str] = "Write fewer or smaller objects"

    @property
    def requests_per_s(self) -> float:
        return self.rate


class CoresMost(Most):
    """The most that hydrotest may take of a cluster that runs applications."""

    cores: Count = Field(description="Cores that an application of ours gets, of all workers together.")
    memory: SizeBytes = Field(description="Memory of its executors, of all workers together.")


class Guard(Model):
    """What is watched each second. Where it is no longer met, all load ends within two seconds, and with it the run."""

    baseline: DurationS = Field(
        60.0, ge=5, description="Time for which the cluster and its machines are watched before anything else is asked of them: what others "
        "use of them is shown with the results.")  # fmt: skip

    @property
    def p99_s(self) -> float | None:
        """Longest p99 of our own few requests; None where there are none."""
        return None

    @property
    def free_share(self) -> float | None:
        """Least free share of each disk; None where no data is kept."""
        return None


class DataGuard(Guard):
    """What is watched of a cluster that keeps data."""

    free: float = Field(0.2, ge=0, lt=1, description="Least share of each disk that stays free, where the cluster says so.")

    @property
    def free_share(self) -> float:
        return self.free


class RequestsGuard(DataGuard):
    """What is watched of a cluster that answers requests."""

    p99: DurationS = Field(
        1.0, description="Longest p99 of hydrotest's own few requests a second to every broker or node, for three seconds in a row."
    )

    @property
    def p99_s(self) -> float:
        return self.p99


class ObjectsGuard(Guard):
    """What is watched of an object store, which shows nothing of itself but its answers."""

    p99: DurationS = Field(1.0, description="Longest p99 of hydrotest's own ten small objects a second, for three seconds in a row.")

    @property
    def p99_s(self) -> float:
        return self.p99


class Attachable(Model):
    """A system that hydrotest starts on its hosts, or a cluster that is there already."""

    attach: list[Endpoint] = Field(
        default_factory=list,
        description="A cluster that is there already, by some of its `host:port`. Its configuration is not changed, nothing of it is "
        "stopped, and only what hydrotest has made itself is removed. `hosts` are then machines of it that are only looked at.",
    )
    most: Most | None = Field(None, description="With `attach`: the most that hydrotest may do to it.")
    guard: Guard = Field(default_factory=Guard, description="With `attach`: what ends the run.")
    tenancy: Literal["shared", "exclusive"] = Field(
        "shared", description="With `attach`: `exclusive`, nobody else uses the cluster, so that load without a rate limit is allowed."
    )
    between: HoursField | None = Field(
        None, description='With `attach`: the hours, local time, in which load is allowed, e.g. "01:00-05:00". It ends with them.'
    )

    only_started: ClassVar[frozenset[str]] = frozenset()
    """Settings of a system that hydrotest starts."""
    only_attached: ClassVar[frozenset[str]] = frozenset({"most", "guard", "tenancy", "between"})
    """Settings of a cluster that is there already."""
    most_example: ClassVar[str] = "rate: 20K, bytes: 20 MB/s, disk: 5 GB"
    """What `most` may be."""

    if TYPE_CHECKING:

        @property
        def hosts(self) -> list[str]: ...

    @property
    def is_attached(self) -> bool:
        """It is there already."""
        return bool(self.attach)

    def check_attached(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for settings that do not fit how the system is had."""
        place: Path_ = ("systems", name)
        if not self.is_attached:
            if not self.hosts:
                raise checker.fail(place, f"{name} has no hosts", "Write `hosts: [NAME]` to have it started, or `attach: [HOST:PORT]`.")
            given = sorted(self.model_fields_set & self.only_attached)
            if given:
                raise checker.fail(
                    (*place, given[0]),
                    f"`{given[0]}` is about a cluster that is there already",
                    "Add `attach: [HOST:PORT]`, or leave it out.",
                )
            return
        given = sorted(self.model_fields_set & self.only_started)
        if given:
            why = "nothing of a cluster that is there already is started or configured"
            raise checker.fail((*place, given[0]), f"`{given[0]}` and `attach` exclude each other: {why}", "Leave one of them out.")
        if self.most is None:
            raise checker.fail(place, f"`attach` needs `most`: what hydrotest may do to {name} at most",
                               f"Write e.g. `most: {{{self.most_example}}}`.")  # fmt: skip


class Answering(Attachable):
    """One that answers requests."""

    most: RequestsMost | None = Field(None, description="With `attach`: the most that hydrotest may do to it.")
    guard: RequestsGuard = Field(default_factory=RequestsGuard, description="With `attach`: what ends the run.")


def only_seen(experiment: Experiment) -> set[str]:
    """Hosts of clusters that are there already and carry no generator: their counters are read there, and nothing else is done."""
    seen = {host for system in attached(experiment).values() for host in system.hosts}
    return seen - monitored(experiment) - {host for name in experiment.workloads for host in experiment.generator_hosts(name)}


def monitored(experiment: Experiment) -> set[str]:
    """Hosts on which nothing runs, not even a sampler: somebody else's monitoring is asked."""
    return {name for name, host in experiment.hosts.items() if host.is_monitored}


def attached(experiment: Experiment) -> dict[str, Attachable]:
    """The systems that are there already, by name."""
    found = {name: narrowed(system, Attachable) for name, system in experiment.systems.present().items()}
    return {name: system for name, system in found.items() if system is not None and system.is_attached}
