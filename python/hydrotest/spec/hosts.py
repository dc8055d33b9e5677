"""Hosts of an experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from hydrotest.kinds.registry import HOSTS
from hydrotest.spec.base import Model
from hydrotest.spec.choice import OneOf
from hydrotest.spec.fields import Address, BitsPerS, DurationS, Loopback, Name, PortRange, SizeBytes
from hydrotest.units import show_bytes

if TYPE_CHECKING:
    from hydrotest.spec.scale import MachineType, Scale

GIB = 1 << 30
GivenResource = Literal["cores", "disk", "network"]
"""Resources of a machine that an emulated host may get a part of, by key in the file. Memory in use cannot be
taken away."""
Sudo = Literal["never", "generators", "all"]
"""What of hydrotest runs as root on a machine of its own."""
WholeCores = Annotated[str, Field(pattern=r"^(whole|[1-9][0-9]{0,3} whole)$")]
"""`whole`, or a number of them."""
PAYLOAD = 1448 / 1514
"""Of a full frame: what a link is said to carry counts its headers, what is measured through it does not."""
BURST_S_MAX = 270.0
"""The kernel keeps a burst as the time that its bytes take at the sustained speed, in 2³² steps of 64 ns."""
QUOTA_PERIOD_S = 0.1
"""An emulated host's cores are a quota of CPU time in each such period. This length delivers nearly the full
quota (99 % seen; 80 % at 10 ms)."""


class Placed(Model):
    """What every host has."""

    data: str | None = Field(
        None,
        description="Directory for the data of the systems on all hosts (given at one host, it holds for all). The disk that it "
        "is on is measured. If not given: `~/.cache/hydrotest/data`, or below XDG_CACHE_HOME.",
    )
    data_center: Name = Field("datacenter1", description="The host's data centre, for Cassandra.")
    rack: Name = Field("rack1", description="The host's rack in the data centre.")
    type: str | None = Field(None, max_length=40, description="Type of machine, for tables and the drawing.")

    is_emulated: ClassVar[bool] = False
    """A part of this machine, with a network that does not include the machine itself. Needs root."""
    is_remote: ClassVar[bool] = False
    """Another machine, with files of its own."""
    is_monitored: ClassVar[bool] = False
    """A machine that nothing runs on for hydrotest: its counters are somebody else's."""
    reach: ClassVar[Literal["loopback", "emulated", "real"]] = "loopback"
    """Hosts in different networks do not reach each other."""

    if TYPE_CHECKING:
        connect: str

    @property
    def has_whole_cores(self) -> bool:
        """It shares its cores with no other host, and has no quota of them."""
        return True

    @property
    def shares(self) -> dict[str, float | None]:
        """Its resources: cores, bytes of memory, bits a second of disk and network; None: all of the
        machine's."""
        return {}

    @property
    def gets(self) -> str:
        """Its cores, memory and disk in words; empty if it has all of the machine."""
        return ""

    @property
    def link(self) -> str:
        """The speed of its link in words; empty if the link is not emulated."""
        return ""

    @property
    def needs_root_to_squeeze(self) -> bool:
        """True if a run that squeezes it does not begin without root."""
        return False

    @property
    def may_run_cpu_hog(self) -> bool | None:
        """True if cores may be taken from all that runs on it; None if it is squeezed in another way."""
        return None

    def has_share(self, resource: GivenResource, machine: MachineType | None) -> bool:
        """True if it has its own share of the resource, from its settings or from its machine type."""
        return False

    def scaled(self, machine: MachineType, scale: Scale, needed: int) -> Placed:
        """The host with resources from its type and the scale where it sets none itself; at least `needed`
        bytes of memory."""
        return self

    def machine(self, name: str) -> str:
        """The machine that it is from the point of view of its systems; `name` is the host's."""
        return name

    def listens_at(self, name: str) -> str:
        """What identifies its services."""
        return name


class Whole(Placed):
    """A complete machine: its cores are taken away by occupying them."""

    squeeze: Literal["allow", "try"] | None = Field(
        None, description="`allow`: a squeeze may take part of the machine's cores away for seconds, from everything that runs "
                          "on it except the generators. Needs root there. `try`: as `allow`; without root the run goes on without "
                          "squeezes, and says so.")  # fmt: skip

    @property
    def may_run_cpu_hog(self) -> bool | None:
        return self.squeeze is not None


class LocalHost(Whole):
    """This machine."""

    connect: Literal["local"] = Field(description="How the host is reached: `local`.")
    address: Loopback = Field("127.0.0.1", description="Where its services listen: an address of the loopback network, 127.0.0.0/8. "
                              "Nodes of one ring need an address each.")  # fmt: skip

    @property
    def needs_root_to_squeeze(self) -> bool:
        return self.squeeze == "allow"

    def machine(self, name: str) -> str:
        # It is one machine, whatever its names are.
        return self.connect

    def listens_at(self, name: str) -> str:
        return self.address


class Burst(Model):
    """More than what a link sustains, for a while: the machines of clouds have it."""

    network: BitsPerS = Field(description="What the link carries until the burst is spent, e.g. 200 Mbit/s.")
    size: SizeBytes = Field(
        description="How much passes beyond `network` of the host until it is spent, e.g. 400 MB. What the link does not use fills it again."
    )


class NetnsHost(Placed):
    """A host that is emulated on this machine: a network namespace with its own address, and a share of the
    machine. Needs root."""

    connect: Literal["netns"] = Field(description="How the host is reached: `netns`.")
    cores: Annotated[float, Field(gt=0, le=1024)] | WholeCores | None = Field(
        None, description="Cores that its processes get, e.g. 0.5; all of the machine's if not given. `whole`, or e.g. `2 whole`: cores of "
        "the machine that it has to itself, without a quota. Only then are latencies those of a machine.")  # fmt: skip
    memory: SizeBytes | None = Field(
        None, description="Memory of all its processes, page cache included; all of the machine's if not given."
    )
    disk: BitsPerS | None = Field(None, description="Speed of its disk, for reads and for writes, e.g. 200 MB/s; the disk is then a "
                                                    "separate file system. The machine's disk if not given.")  # fmt: skip
    disk_size: SizeBytes = Field(16 * GIB, description="Size of that disk; its file grows with what is written.")
    network: BitsPerS | None = Field(None, description="Speed of its link in each direction, e.g. 1 Gbit/s; unbounded if not given.")
    burst: Burst | None = Field(
        None, description="What its link carries in each direction beyond `network`, until it is spent. Full at first."
    )

    @model_validator(mode="after")
    def _bursts_beyond(self) -> NetnsHost:
        if self.burst is not None and (self.network is None or self.burst.network <= self.network):
            raise ValueError(
                "a burst goes beyond `network`, which is what the link sustains; write e.g. network: 50 Mbit/s, burst: {network: 200 Mbit/s, size: 400 MB}"
            )
        if self.burst is not None and self.network is not None and self.burst.size * 8 / self.network > BURST_S_MAX:
            raise ValueError(f"what `network` sustains would take more than {BURST_S_MAX:g} s for a burst of that size, which is more than the kernel "
                             f"counts; write at most {show_bytes(BURST_S_MAX * self.network / 8)}")  # fmt: skip
        return self

    is_emulated: ClassVar[bool] = True
    reach: ClassVar[Literal["loopback", "emulated", "real"]] = "emulated"

    @property
    def whole(self) -> int:
        """Cores of the machine that it has to itself."""
        words = self.cores.split() if isinstance(self.cores, str) else []
        return 0 if not words else int(words[0]) if len(words) > 1 else 1

    @property
    def has_whole_cores(self) -> bool:
        return self.whole > 0

    @property
    def quota(self) -> float | None:
        """Cores that it has by a quota."""
        return None if isinstance(self.cores, str) else self.cores

    @property
    def core_count(self) -> float | None:
        """Its cores, however it has them; None: all of the machine's."""
        return float(self.whole) or self.quota

    @property
    def shares(self) -> dict[str, float | None]:
        return {"cores": self.core_count, "memory": self.memory, "disk": self.disk, "network": self.network}

    def has_share(self, resource: GivenResource, machine: MachineType | None) -> bool:
        # Of whole cores there is no more and no less.
        return (resource != "cores" or not self.whole) and any(
            getattr(one, resource) is not None for one in (self, machine) if one is not None
        )

    def scaled(self, machine: MachineType, scale: Scale, needed: int) -> Placed:
        given: dict[str, Any] = {
            "cores": machine.cores * scale.cores,
            "memory": max(needed, round(machine.memory * scale.memory)),
            "disk": None if machine.disk is None else machine.disk * scale.disk,
            "network": machine.network * scale.network,
        }
        return self.model_copy(update={key: value for key, value in given.items() if getattr(self, key) is None})

    @property
    def gets(self) -> str:
        cores = f"{self.whole} whole" if self.whole else None if self.quota is None else f"{self.quota:.3g}"
        parts = [f"{cores} cores" if cores is not None else "", show_bytes(self.memory) if self.memory is not None else "",
                 f"disk {show_bytes(self.disk / 8)}/s" if self.disk is not None else ""]  # fmt: skip
        return ", ".join(part for part in parts if part)

    @property
    def link(self) -> str:
        if self.network is None:
            return "unbounded"
        burst = "" if self.burst is None else f", {self.burst.network / 1e6:,.4g} until {show_bytes(self.burst.size)} beyond"
        return f"{self.network / 1e6:,.4g} Mbit/s{burst}"


class Remote(Whole):
    """A machine of its own, which a command reaches."""

    address: Address = Field(description="Where its services listen, and where the other hosts reach it: an address of the private "
                             "network between them.")  # fmt: skip
    data: str | None = Field(
        None, pattern=r"^(/|~/)", description="Directory there for the data of its systems, e.g. /mnt/nvme/hydrotest. The disk that it is on is "
        "measured. If not given: `~/.cache/hydrotest/data`.")  # fmt: skip
    java_home: str | None = Field(
        None, pattern=r"^/", description="Directory there of the Java that its systems run on; if not given, the `java` on its PATH."
    )
    ports: PortRange = Field(
        (15_000, 15_999), description="The ports that its services may use: those that the network between the hosts lets pass."
    )
    lease: DurationS = Field(10.0, ge=2, le=300, description="Without a word from hydrotest for this long, all that it started there ends.")

    sudo: Sudo = Field(
        "never", description="What runs there as root, by `sudo -n`: nothing (`never`), the generators, which then go ahead of a JVM "
        "next to them (`generators`), or also the sampler, which then sees other users' processes whole, and what takes cores away in a "
        "squeeze (`all`). Systems never do.")  # fmt: skip

    is_remote: ClassVar[bool] = True
    reach: ClassVar[Literal["loopback", "emulated", "real"]] = "real"

    def listens_at(self, name: str) -> str:
        return self.address


class SshHost(Remote):
    """A machine that ssh reaches, with your own settings (`~/.ssh/config`), keys and agent. No root is needed there."""

    connect: Literal["ssh"] = Field(description="How the host is reached: `ssh`.")
    to: str = Field(
        min_length=1,
        pattern=r"^[^\s-][^\s]*$",
        description="What you would write after `ssh`: a name of `~/.ssh/config`, or `user@machine`.",
    )
    host_key: str | None = Field(
        None, pattern=r"^[a-z0-9@.-]+ [A-Za-z0-9+/=]+$", description="The machine's public key, `ssh-ed25519 AAAA…`: no other machine is "
        "accepted then. If not given, your `known_hosts` decides, strictly.")  # fmt: skip
    share: bool = Field(False, description="Use a connection that you have open already (`ControlMaster`), e.g. for a second factor.")

    @model_validator(mode="after")
    def _is_checked_by_one(self) -> SshHost:
        if self.share and self.host_key is not None:
            raise ValueError("a connection that is shared has checked its key already; write one of `share` and `host_key`")
        return self


class CommandHost(Remote):
    """A machine, a container or a pod that a command gives stdin and stdout in."""

    connect: Literal["command"] = Field(description="How the host is reached: `command`.")
    command: list[str] = Field(min_length=1, description="What stands before a command that is to be carried out there, and passes each of its words on as it is, e.g. "
                               "`[kubectl, exec, -i, -n, bench, hydrotest-0, --]`.")  # fmt: skip


Host = Annotated[Placed, OneOf(HOSTS, "connect")]
"""One of the registered kinds of host."""
