"""Clusters that are there already: what they say of themselves, before anything is asked of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, ClassVar

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster, Identity, Login, Tls
from hydrotest.hosts.secrets import authorities, file_text
from hydrotest.spec.attach import ClientSecurity
from hydrotest.systems.base import Ready, System
from hydrotest.systems.fetch import ProgressCallback


@dataclass(frozen=True)
class Disk:
    """A disk of a node, bytes."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class NodeFacts:
    """A broker or node, as the cluster names it."""

    name: str
    address: str
    rack: str | None = None
    disks: tuple[Disk, ...] = ()
    unknown: str | None = None
    """Why its disks are not known."""


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster that is there."""

    system: str
    identity: str
    """Its own id, by which it is known again."""
    nodes: tuple[NodeFacts, ...]
    counts: dict[str, int] = field(default_factory=dict)
    """What there is, by name: topics, partitions."""
    behind: int = 0
    """Partitions with copies that are behind, or nodes that do not answer."""
    offline: int = 0
    """Partitions without a leader; 1 for a file system that takes nothing."""
    waiting: int = 0
    """Applications of others that wait for cores."""
    data_center: str | None = None
    """That of the node that was asked; None where there is none."""

    @property
    def free_share(self) -> tuple[float, str] | None:
        """The least free share of a disk, and whose; None where no node says."""
        shares = [(disk.free_bytes / disk.total_bytes, node.name) for node in self.nodes for disk in node.disks]
        return min(shares, default=None)

    def data(self) -> dict[str, Any]:
        """As in environment.json."""
        return {"system": self.system, "identity": self.identity, "nodes": [vars(node) | {"disks": [vars(d) for d in node.disks]} for node in self.nodes],
                "counts": self.counts, "behind": self.behind, "offline": self.offline}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What a cluster shows of itself while it is watched."""

    behind: int
    """As in `ClusterFacts`."""
    gauges: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Gauges by broker or node, named as those that hydrotest's own exporters show."""
    unknown: str | None = None
    """Why there are none."""
    waiting: int = 0
    """As in `ClusterFacts`."""


CONNECTS_PER_S = 50.0
"""Other users of a cluster should not notice that hundreds of clients come."""
NOWHERE = PurePath()


class AttachedSystem(System):
    """A cluster that is there already: nothing of it is started, configured or stopped."""

    version = "as it is"
    shows_itself: ClassVar[bool] = True
    """It can be looked at while it is loaded, without a request of the kind that load is made of."""

    def __init__(self, access: Cluster, askers: Sequence[Host], seen: Sequence[Host] = (), run: str = "", logs: PurePath = NOWHERE) -> None:
        """`access`: how its clients reach it; `seen`: those of its machines whose counters are read; `logs`: of clients of ours."""
        super().__init__(seen, run, logs, lambda _: None)
        self._access = access
        self.askers = list(askers)
        """Hosts that reach it: those of the generators."""
        self.facts: ClusterFacts | None = None
        """What it said of itself when it was first asked."""

    @property
    def endpoints(self) -> list[str]:
        return self._access.addresses

    @property
    def cluster(self) -> Cluster:
        return self._access

    async def contact(self, asker: Host) -> ClusterFacts:
        """What it says of itself to one host. Raises `BadInputError` where it cannot be used from there."""
        try:
            return await self._ask(asker)
        except TrialFailedError as error:
            raise BadInputError(f"{self.name} at {', '.join(self.endpoints)} cannot be used from {asker.name}: {error.message}",
                                "Correct `attach` and `security`, or what the network between them lets pass.") from error  # fmt: skip

    def check_room(self) -> None:
        """Raises `BadInputError` where what is allowed was not there when it was last asked."""

    @abstractmethod
    async def _ask(self, asker: Host) -> ClusterFacts:
        """What it says of itself. Raises `TrialFailedError` where it does not answer, `BadInputError` where a node is out of reach."""

    def looking(self) -> dict[str, Any]:
        """The settings of `hydrotest-node look`."""
        return {self.name: {"cluster": self._access.wire()}}

    @abstractmethod
    def seen(self, looked: Mapping[str, Any]) -> Look:
        """What a look shows (the event `looked`)."""

    @property
    def data_center(self) -> str | None:
        return None if self.facts is None else self.facts.data_center

    async def start(self, say: ProgressCallback) -> None:
        """Makes contact from each host that will apply load. Raises `BadInputError` for a cluster that is not whole."""
        for asker in self.askers:
            found = await self.contact(asker)
            self.facts = self.facts or found
        assert self.facts is not None
        check_whole(self.facts)
        self.check_room()
        say(f"{self.name}: {len(self.facts.nodes)} nodes are there")

    def ready(self) -> list[Ready]:
        return []

    async def stop(self) -> list[str]:
        return []


def client_access(endpoints: Sequence[str], security: ClientSecurity, name: str, login: Login | None) -> Cluster:
    """How clients reach a cluster. Raises `BadInputError` where a certificate is not there."""
    if not security.tls:
        return Cluster(list(endpoints), None, login, CONNECTS_PER_S)
    authority = authorities() if security.authority is None else file_text(security.authority, f"`authority` of {name}")
    own = None
    if security.certificate is not None and security.key is not None:
        own = Identity(file_text(security.certificate, f"`certificate` of {name}"), file_text(security.key, f"`key` of {name}"))
    return Cluster(list(endpoints), Tls(authority, own), login, CONNECTS_PER_S)


def check_whole(facts: ClusterFacts) -> None:
    """Raises `BadInputError` where a cluster is sick before anything is asked of it."""
    if facts.offline or facts.behind or facts.waiting:
        sick = [f"{facts.offline} partitions have no leader, or it takes nothing"] if facts.offline else []
        sick += [f"{facts.behind} partitions or blocks have copies that are behind, or nodes do not answer"] if facts.behind else []
        sick += [f"{facts.waiting} applications wait for cores"] if facts.waiting else []
        raise BadInputError(f"{facts.system} is not whole, and is left alone: {', '.join(sick)}", "Repair the cluster first.")
