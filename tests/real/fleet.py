"""Machines with file systems, networks, names and processes of their own on one, each with a real sshd. Three, if not said:

    controller ── bridge ── jump, alpha          (ssh)
    jump ── bridge ── beta                       (ssh, reached through jump only)
    alpha ── bridge ── beta ── jump              (data, as in a cloud: other addresses than ssh's)

Not separate are kernel, clock, cores and page cache, and what /proc says of the machine; a machine may have a share of cores, memory,
disk and link. Debian's sshd is unpacked, not installed: installed it would listen on all addresses of this machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydrotest.hosts.deadlines import Patience, until_here
from hydrotest.hosts.lab.disk import Disk, make_disk, remove_disk
from hydrotest.hosts.lab.groups import Group, Trees
from hydrotest.hosts.lab.network import QUEUE_S, burst_bytes

USER, UID = "alice", 12001
SOON = Patience.of(a_slow_machine=60.0)
PACKAGES = ("openssh-server", "libwrap0", "sudo")
DISK_BYTES = 16 << 30
SIZE = "6g"
"""Of all that the machines write, in memory."""


@dataclass(frozen=True)
class Share:
    """What a machine gets."""

    cores: float
    memory_bytes: int
    disk_bytes_per_s: float
    network_bits_per_s: float


@dataclass(frozen=True)
class Place:
    """A machine that is to be."""

    name: str
    addresses: dict[str, str]
    """By bridge: the first one is ssh's, the last one the data's."""
    through: str | None = None
    """The machine that ssh jumps over."""
    share: Share | None = None


THREE = (
    Place("jump", {"br1": "10.214.1.2", "br2": "10.214.2.2", "br3": "10.214.3.2"}),
    Place("alpha", {"br1": "10.214.1.3", "br3": "10.214.3.3"}),
    Place("beta", {"br2": "10.214.2.3", "br3": "10.214.3.4"}, through="jump"),
)
CONTROLLER = "10.214.1.1"


@dataclass
class Machine:
    """One of them."""

    place: Place
    number: int
    root: Path
    """Its files, as seen from here."""
    log: Path
    """What its sshd says."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def ssh_address(self) -> str:
        return next(iter(self.place.addresses.values()))

    @property
    def data_address(self) -> str:
        return list(self.place.addresses.values())[-1]

    @property
    def sshd(self) -> int:
        """The first process of the machine: with it everything there ends."""
        assert self.process is not None
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)

    def pids(self) -> list[int]:
        """All processes there but sshd's own."""
        mine = os.readlink(f"/proc/{self.sshd}/ns/pid")
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_sshd = (entry / "comm").read_text().strip() == "sshd"
                if os.readlink(entry / "ns/pid") == mine and not is_sshd:
                    found.append(int(entry.name))
        return found

    def sessions(self) -> list[int]:
        """The processes of sshd that carry a session."""
        mine = os.readlink(f"/proc/{self.sshd}/ns/pid")
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "ns/pid") == mine and f"sshd: {USER}" in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
        return found

    def inside(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Carries something out there as root, not by ssh."""
        enter = ["nsenter", "--target", str(self.sshd), "--all", "--root", "--wd=/", *argv]
        return subprocess.run(enter, capture_output=True, text=True, check=True)

    def logins(self) -> int:
        """Sessions that it has let in."""
        return self.log.read_text(errors="replace").count("Accepted publickey")


@dataclass
class Fleet:
    """The machines, and how to do something as their controller."""

    base: Path
    tag: str
    machines: dict[str, Machine] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    """Of the machines that have a share of this one."""

    def namespace(self, who: str | int) -> str:
        """Of a machine by its number, of the switch (`s`), or of the controller (`c`)."""
        return f"{self.tag}{who}"

    def plug(self, name: str) -> str:
        """The switch's end of a machine's ssh link."""
        return f"{self.tag}{self.machines[name].number}eth0"

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """A command as it is carried out on the controller's place: its network, and its ~/.ssh."""
        home = Path.home() / ".ssh"
        script = f'mount --bind "{self.base}/keys" "{home}" && exec "$@"'
        return ["ip", "netns", "exec", self.namespace("c"), "sh", "-c", script, "sh", *argv]

    def run(self, argv: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        """Carries it out."""
        return subprocess.run(self.wrap(argv), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]

    def cut(self, name: str, is_up: bool = False) -> None:
        """Takes a machine's ssh link away, or gives it back; no connection ends by that."""
        _ip("-n", self.namespace("s"), "link", "set", self.plug(name), "up" if is_up else "down")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _unpacked(cache: Path) -> Path:
    """Debian's sshd, unpacked once."""
    folder = cache / "sshd"
    if not all((folder / program).exists() for program in ("usr/sbin/sshd", "usr/bin/sudo")):
        work = cache / "debs"
        work.mkdir(parents=True, exist_ok=True)
        download = ["apt-get", "download", *PACKAGES]
        if subprocess.run(download, cwd=work, check=False, capture_output=True).returncode != 0:
            # The list of packages may be older than the packages that there are.
            subprocess.run(["apt-get", "update"], check=True, capture_output=True)
            subprocess.run(download, cwd=work, check=True, capture_output=True)
        for package in work.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
    return folder


@contextlib.contextmanager
def open_fleet(base: Path, cache: Path, sshd_options: str = "", places: Sequence[Place] = THREE) -> Iterator[Fleet]:
    """The machines, for as long as the block lasts. Needs root."""
    fleet = Fleet(base, f"f{os.getpid() % 100_000:x}")
    sshd = _unpacked(cache)
    (base / "keys").mkdir(parents=True)
    (base / "machines").mkdir()
    created = not (Path.home() / ".ssh").exists()
    (Path.home() / ".ssh").mkdir(mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as down:
        if created:
            down.callback((Path.home() / ".ssh").rmdir)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "fleet", str(base / "machines")], check=True)
        down.callback(lambda: subprocess.run(["umount", "-l", str(base / "machines")], check=True))
        _network(fleet, places, down)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "keys/id")], check=True)
        for number, place in enumerate(places):
            machine = _machine(fleet, sshd, place, number, sshd_options, down)
            fleet.machines[place.name] = machine
            down.callback(end, machine)
        (base / "keys/config").write_text(_config(fleet))
        for name in fleet.machines:
            until_here(lambda: fleet.run(["ssh", name, "true"]).returncode == 0, SOON, name, "answer")  # noqa: B023 - called here
        yield fleet


def end(machine: Machine) -> None:
    """Power off."""
    if machine.process is not None and machine.process.poll() is None:
        machine.process.send_signal(signal.SIGKILL)  # `--kill-child`: all that is there goes with it
        machine.process.wait()


def _network(fleet: Fleet, places: Sequence[Place], down: contextlib.ExitStack) -> None:
    for who in ("s", "c", *range(len(places))):
        _ip("netns", "add", fleet.namespace(who))
        down.callback(_ip, "netns", "del", fleet.namespace(who))
        _ip("-n", fleet.namespace(who), "link", "set", "lo", "up")
    switch = fleet.namespace("s")
    for bridge in ("br1", "br2", "br3"):
        _ip("-n", switch, "link", "add", bridge, "type", "bridge")
        _ip("-n", switch, "link", "set", bridge, "up")
    ends: list[tuple[str | int, dict[str, str]]] = [("c", {"br1": CONTROLLER}), *enumerate(place.addresses for place in places)]
    for who, addresses in ends:
        for number, (bridge, address) in enumerate(addresses.items()):
            device, outer = f"eth{number}", f"{fleet.tag}{who}eth{number}"
            _ip("-n", switch, "link", "add", outer, "type", "veth", "peer", "name", device, "netns", fleet.namespace(who))
            _ip("-n", switch, "link", "set", outer, "master", bridge, "up")
            _ip("-n", fleet.namespace(who), "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", fleet.namespace(who), "link", "set", device, "up")
    for who, place in enumerate(places):
        if place.share is not None:
            number, rate = len(place.addresses) - 1, place.share.network_bits_per_s
            for namespace, device in ((switch, f"{fleet.tag}{who}eth{number}"), (fleet.namespace(who), f"eth{number}")):
                queue = ["rate", f"{round(rate)}bit", "burst", str(burst_bytes(rate)), "latency", f"{round(QUEUE_S * 1000)}ms"]
                subprocess.run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", *queue], check=True)


def _share(fleet: Fleet, name: str, number: int, share: Share, down: contextlib.ExitStack) -> tuple[Group, Disk]:
    """Control groups and a disk, as the lab's hosts have them."""
    group = fleet.groups[name] = Group(f"{fleet.tag}-{number}", Trees.find())
    group.make()
    down.callback(group.remove)
    group.limit_cores(share.cores)
    group.limit_memory(share.memory_bytes)
    folder = fleet.base / f"disk-{number}"
    folder.mkdir()
    disk = make_disk(folder / "image", folder / "disk", DISK_BYTES)
    down.callback(remove_disk, disk, group.trees)
    disk.limit(share.disk_bytes_per_s, group)
    os.chown(disk.mount, UID, UID)
    return group, disk


def _machine(fleet: Fleet, sshd: Path, place: Place, number: int, options: str, down: contextlib.ExitStack) -> Machine:
    name = place.name
    folder = fleet.base / "machines" / name
    upper, work, root = folder / "up", folder / "work", folder / "root"
    log = fleet.base / f"{name}.log"
    machine = Machine(place, number, upper, log)
    for one in (
        upper,
        work,
        root,
        upper / "etc/ssh",
        upper / f"home/{USER}/.ssh",
        upper / f"home/{USER}/.cache",
        upper / "run/sshd",
        upper / "usr/sbin",
        upper / "tmp",
    ):
        one.mkdir(parents=True, exist_ok=True)
    (upper / "tmp").chmod(0o1777)
    shutil.copy2(sshd / "usr/sbin/sshd", upper / "usr/sbin/sshd")
    for path in ("usr/bin/sudo", "usr/libexec/sudo", "etc/sudoers", "etc/sudoers.d", "etc/pam.d/sudo"):
        # With its rights: one is root's to whoever starts it.
        (upper / path).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", str(sshd / path), str(upper / path)], check=True)
    for library in (sshd / "usr/lib/x86_64-linux-gnu").glob("libwrap*"):
        (upper / "usr/lib/x86_64-linux-gnu").mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, upper / "usr/lib/x86_64-linux-gnu", follow_symlinks=False)
    for file in ("passwd", "group", "shadow", "hosts"):
        shutil.copy2(f"/etc/{file}", upper / "etc")
    # As on most machines: each knows its own name. HDFS does not start without.
    _append(upper / "etc/hosts", f"{machine.data_address} {name}\n")
    _append(upper / "etc/passwd", f"sshd:x:10022:65534::/run/sshd:/usr/sbin/nologin\n{USER}:x:{UID}:{UID}::/home/{USER}:/bin/sh\n")
    _append(upper / "etc/group", f"{USER}:x:{UID}:\n")
    _append(upper / "etc/shadow", f"{USER}:*:19000:0:99999:7:::\n")
    home = upper / f"home/{USER}"
    shutil.copy2(fleet.base / "keys/id.pub", home / ".ssh/authorized_keys")
    for one in (home, home / ".cache", home / ".ssh", home / ".ssh/authorized_keys"):
        os.chown(one, UID, UID)
        one.chmod(0o600 if one.name == "authorized_keys" else 0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(upper / "etc/ssh/key")], check=True)
    (upper / "etc/ssh/fleet").write_text(
        f"Port 22\nHostKey /etc/ssh/key\nUsePAM no\nPasswordAuthentication no\nAllowUsers {USER}\nPidFile none\n{options}\n"
    )
    key = (upper / "etc/ssh/key.pub").read_text().split()
    _append(fleet.base / "keys/known_hosts", f"{machine.ssh_address} {key[0]} {key[1]}\n")
    limited, mounted = "", ""
    if place.share is not None:
        group, disk = _share(fleet, name, number, place.share, down)
        limited = "".join(f"echo $$ > {directory}/cgroup.procs && " for directory in group.directories)
        # Not from /sys, which `ip netns exec` hides.
        trees = fleet.base / "cgroup"
        if not trees.exists():
            trees.mkdir()
            subprocess.run(["mount", "--rbind", "--make-rprivate", "/sys/fs/cgroup", str(trees)], check=True)
            down.callback(lambda: subprocess.run(["umount", "-l", str(trees)], check=True))
        mounted = f"mount --rbind {trees} {root}/sys/fs/cgroup && mount --bind {disk.mount} {root}/home/{USER}/.cache && "
    # A network namespace's own /sys is mounted there, so that the machine sees its links only.
    script = (
        f"mount -t overlay overlay -o lowerdir=/,upperdir={upper},workdir={work} {root} && "
        f"mount -t proc proc {root}/proc && mount --bind /dev {root}/dev && mount -t sysfs sysfs {root}/sys && {mounted}"
        f"hostname {name} && exec chroot {root} /usr/sbin/sshd -D -e -f /etc/ssh/fleet"
    )
    unshared = ["unshare", "-m", "-p", "-u", "-i", "-f", "--propagation", "private", "--kill-child", "sh", "-c", script]
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["sh", "-c", f'{limited}exec "$@"', "sh", "ip", "netns", "exec", fleet.namespace(number), *unshared],
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    machine.process = process
    return machine


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _config(fleet: Fleet) -> str:
    home = Path.home() / ".ssh"
    names = {one.name: f"HostName {one.ssh_address}" for one in fleet.machines.values()}
    for one in fleet.machines.values():
        names[one.name] += "" if one.place.through is None else f"\n  ProxyJump {one.place.through}"
    if "alpha" in fleet.machines:
        # By a name under which nobody has seen its key.
        names["stranger"] = f"HostName {fleet.machines['alpha'].ssh_address}\n  HostKeyAlias stranger"
    hosts = "".join(f"Host {name}\n  {lines}\n" for name, lines in names.items())
    everywhere = ["User " + USER, f"IdentityFile {home}/id", "IdentitiesOnly yes", "ConnectTimeout 5", "StrictHostKeyChecking yes"]
    return hosts + "Host *\n" + "".join(f"  {line}\n" for line in everywhere)


def settled(look: object, seconds: float) -> float:
    """Seconds until `look` is true, at most so many."""
    begun = time.monotonic()
    while not look() and time.monotonic() - begun < seconds:  # type: ignore[operator]
        time.sleep(0.01)
    return time.monotonic() - begun
