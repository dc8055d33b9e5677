"""A lab's network: a namespace for each host, joined by a bridge without an address: unreachable from
outside."""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.lab import netlink

if TYPE_CHECKING:
    from pyroute2 import IPRoute

NAMESPACES = Path("/run/netns")
INSIDE = "eth0"
"""The name of a host's device inside its namespace."""
SUBNET = "10.213.0"
"""Any subnet works: a lab's addresses are known only in its own namespaces."""
PREFIX_LENGTH = 24
HOSTS_MAX = 254
SMALL_BURST_BYTES, LARGE_BURST_BYTES = 32_000, 128_000
LARGE_BURST_FROM_BITS_PER_S = 200e6
"""Link speed from which a large burst is needed.

A burst smaller than one timer interrupt's traffic slows the link. A burst that shrinks on a live
change hangs it, so it depends only on the initial speed.
"""
QUEUE_S = 0.05
"""Packets that wait longer for the link are dropped."""
BURSTING, BURSTING_CLASS, WAITING = 0x10000, 0x10001, 0x20000
"""Handles of a queue, its class, and what waits for it."""


def address_of(index: int) -> str:
    """The address of a lab's host by its place in the experiment."""
    return f"{SUBNET}.{index + 1}"


def burst_bytes(bits_per_s: float) -> int:
    """Bytes that pass at once."""
    return LARGE_BURST_BYTES if bits_per_s >= LARGE_BURST_FROM_BITS_PER_S else SMALL_BURST_BYTES


def _device(run: str, what: str) -> str:
    """A device's name, of at most fifteen characters: ours, this run's, and its role."""
    return f"hyt{hashlib.sha256(run.encode()).hexdigest()[:7]}{what}"


@dataclass(frozen=True)
class Network:
    """The network of one lab. Names of its namespaces begin with its run's name."""

    run: str

    @property
    def bridge(self) -> str:
        """The bridge's name."""
        return _device(self.run, "br")

    def namespace(self, index: int) -> str:
        """A host's namespace."""
        return f"{self.run}-{index}"

    def namespaces(self) -> list[str]:
        """The namespaces that exist."""
        return [name for name in netlink.netns.listnetns() if name.startswith(f"{self.run}-")]

    def outer(self, index: int) -> str:
        """A host's device on the bridge."""
        return _device(self.run, f"h{index}")

    def make(self, count: int) -> None:
        """Makes the bridge and a namespace with a device on it for each host."""
        _netlink(partial(_make_bridge, name=self.bridge))
        for index in range(count):
            netlink.netns.create(self.namespace(index))
            _netlink(partial(_make_cable, bridge=self.bridge, outer=self.outer(index), namespace=self.namespace(index)))
            _netlink(partial(_take_address, address=address_of(index)), self.namespace(index))

    def limit(self, index: int, bits_per_s: float, burst: int) -> None:
        """Bounds a host's link in both directions, at once; connections stay."""
        settings: dict[str, int | str] = {"rate": f"{round(bits_per_s)}bit", "burst": burst, "latency": f"{round(QUEUE_S * 1000)}ms"}
        for device, namespace in self.ends(index):
            _netlink(partial(_queue, device=device, kind="tbf", **settings), namespace)

    def burst(self, index: int, bits_per_s: float, beyond_bits_per_s: float, size: int) -> None:
        """Bounds a host's link in both directions, with a burst that is full: as `limit`, but until `size` bytes beyond that went through
        it carries more."""
        for device, namespace in self.ends(index):
            _netlink(
                partial(_bursting_queue, device=device, bits_per_s=bits_per_s, beyond_bits_per_s=beyond_bits_per_s, size=size), namespace
            )

    def unlimit(self, index: int) -> None:
        """Removes the bound of a host's link."""
        for device, namespace in self.ends(index):
            _netlink(partial(_no_queue, device=device), namespace)

    def silence(self, index: int, is_outward: bool) -> None:
        """Loses all packets from the host, or all packets to it: a queue that holds nothing."""
        outer, inner = self.ends(index)
        device, namespace = inner if is_outward else outer
        _netlink(partial(_queue, device=device, kind="pfifo", limit=0), namespace)

    def connect(self, index: int, is_connected: bool) -> None:
        """Takes a host's cable out, or puts it back."""
        _netlink(lambda ip: ip.link("set", index=_index(ip, self.outer(index)), state="up" if is_connected else "down"))

    def remove(self) -> None:
        """Removes its parts as far as they exist.

        A namespace with a process in it would live on without a name.
        """
        for name in self.namespaces():
            netlink.netns.remove(name)
        _netlink(partial(_remove_devices, prefix=_device(self.run, "")))

    def ends(self, index: int) -> list[tuple[str, str | None]]:
        """Both ends of a host's cable, each with its namespace: traffic that leaves the outer one arrives
        at the host."""
        return [(self.outer(index), None), (INSIDE, self.namespace(index))]


def _netlink(work: Callable[[IPRoute], object], namespace: str | None = None) -> None:
    """Does something in a namespace (none: ours), in a thread that only this call uses.

    pyroute2 needs a thread without an event loop. Its own way into a namespace is a forked process, which
    it ends by SIGTERM. The fork still has our signals' wake-up socket, so an early SIGTERM would end us.
    """

    def body() -> None:
        if namespace is not None:
            netlink.netns.setns(namespace, flags=0)
        with netlink.IPRoute() as ip:
            work(ip)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(body).result()


def _index(ip: IPRoute, device: str) -> int:
    return int(ip.link_lookup(ifname=device)[0])


def _make_bridge(ip: IPRoute, name: str) -> None:
    ip.link("add", ifname=name, kind="bridge")
    ip.link("set", index=_index(ip, name), state="up")


def _make_cable(ip: IPRoute, bridge: str, outer: str, namespace: str) -> None:
    ip.link("add", ifname=outer, kind="veth", peer={"ifname": INSIDE, "net_ns_fd": namespace})
    ip.link("set", index=_index(ip, outer), master=_index(ip, bridge), state="up")


def _take_address(ip: IPRoute, address: str) -> None:
    ip.addr("add", index=_index(ip, INSIDE), address=address, prefixlen=PREFIX_LENGTH)
    for device in (INSIDE, "lo"):
        ip.link("set", index=_index(ip, device), state="up")


ROOT = 0xFFFFFFFF
"""The queue that a device sends from (TC_H_ROOT); without it the kernel finds none to delete."""


def _queue(ip: IPRoute, device: str, kind: str, **settings: int | str) -> None:
    ip.tc("replace", kind, _index(ip, device), **settings)


def _bursting_queue(ip: IPRoute, device: str, bits_per_s: float, beyond_bits_per_s: float, size: int) -> None:
    """A token bucket of `size` that fills at `bits_per_s`, behind a small one for the peak: HTB with one class and no parent, which has
    both. TBF has them, too, but pyroute2 cannot set its peak."""
    _no_queue(ip, device)
    index = _index(ip, device)
    ip.tc("add", "htb", index, BURSTING, default=1)
    ip.tc("add-class", "htb", index, BURSTING_CLASS, parent=BURSTING, rate=f"{round(bits_per_s)}bit", ceil=f"{round(beyond_bits_per_s)}bit",
          burst=size, cburst=burst_bytes(beyond_bits_per_s))  # fmt: skip
    # What waits is bounded in bytes, as elsewhere: pyroute2 has no queue but TBF that is.
    ip.tc("add", "tbf", index, WAITING, parent=BURSTING_CLASS, rate=f"{round(beyond_bits_per_s)}bit", burst=burst_bytes(beyond_bits_per_s),
          latency=f"{round(QUEUE_S * 1000)}ms")  # fmt: skip


def _no_queue(ip: IPRoute, device: str) -> None:
    try:
        ip.tc("del", index=_index(ip, device), parent=ROOT)
    except netlink.NetlinkError as error:
        if error.code != errno.ENOENT:  # it has none of ours
            raise


def _remove_devices(ip: IPRoute, prefix: str) -> None:
    for link in [link for link in ip.get_links() if str(link.get_attr("IFLA_IFNAME")).startswith(prefix)]:
        with contextlib.suppress(netlink.NetlinkError):  # the other end of a removed cable
            ip.link("del", index=link["index"])


def processes_in(namespace: str) -> list[int]:
    """Processes in a namespace."""
    path = NAMESPACES / namespace
    if not path.exists():
        return []
    wanted = path.stat()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            own = (process / "ns/net").stat()
        except OSError:
            continue  # it has ended
        if (own.st_dev, own.st_ino) == (wanted.st_dev, wanted.st_ino):
            found.append(int(process.name))
    return found


def check_count(count: int) -> None:
    """Raises `SystemFailedError` where there are more hosts than addresses."""
    if count > HOSTS_MAX:
        raise SystemFailedError(f"a lab has at most {HOSTS_MAX} hosts", "Take fewer.")
