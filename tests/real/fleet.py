"""Three machines with file systems, networks, names and processes of their own on one, each with a real sshd.

    controller ── bridge ── jump, alpha          (ssh)
    jump ── bridge ── beta                       (ssh, reached through jump only)
    alpha ── bridge ── beta ── jump              (data, as in a cloud: other addresses than ssh's)

Not separate are kernel, clock, cores and page cache, and what /proc says of the machine. Debian's sshd is
unpacked, not installed: installed it would listen on all addresses of this machine.
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

USER, UID = "alice", 12001
SOON = Patience.of(a_slow_machine=60.0)
PACKAGES = ("openssh-server", "libwrap0", "sudo")
SIZE = "6g"
"""Of all that the machines write, in memory."""


@dataclass
class Machine:
    """One of them."""

    name: str
    ssh_address: str
    data_address: str
    root: Path
    """Its files, as seen from here."""
    log: Path
    """What its sshd says."""
    process: subprocess.Popen[bytes] | None = None

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

    def namespace(self, who: str) -> str:
        return f"{self.tag}{who}"

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
        _ip("-n", self.namespace("s"), "link", "set", f"{self.tag}{name[0]}eth0", "up" if is_up else "down")


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
def open_fleet(base: Path, cache: Path, sshd_options: str = "") -> Iterator[Fleet]:
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
        _network(fleet, down)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "keys/id")], check=True)
        for index, (name, ssh_address) in enumerate((("jump", "10.214.1.2"), ("alpha", "10.214.1.3"), ("beta", "10.214.2.3"))):
            machine = _machine(fleet, sshd, name, ssh_address, f"10.214.3.{index + 2}", sshd_options)
            fleet.machines[name] = machine
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


def _network(fleet: Fleet, down: contextlib.ExitStack) -> None:
    for who in "scjab":
        _ip("netns", "add", fleet.namespace(who))
        down.callback(_ip, "netns", "del", fleet.namespace(who))
        _ip("-n", fleet.namespace(who), "link", "set", "lo", "up")
    switch = fleet.namespace("s")
    for bridge in ("br1", "br2", "br3"):
        _ip("-n", switch, "link", "add", bridge, "type", "bridge")
        _ip("-n", switch, "link", "set", bridge, "up")
    plugs = (
        ("c", "eth0", "br1", "10.214.1.1"), ("j", "eth0", "br1", "10.214.1.2"), ("a", "eth0", "br1", "10.214.1.3"),
        ("j", "eth1", "br2", "10.214.2.2"), ("b", "eth0", "br2", "10.214.2.3"),
        ("j", "eth2", "br3", "10.214.3.2"), ("a", "eth2", "br3", "10.214.3.3"), ("b", "eth2", "br3", "10.214.3.4"),
    )  # fmt: skip
    for who, device, bridge, address in plugs:
        outer = f"{fleet.tag}{who}{device}"
        _ip("-n", switch, "link", "add", outer, "type", "veth", "peer", "name", device, "netns", fleet.namespace(who))
        _ip("-n", switch, "link", "set", outer, "master", bridge, "up")
        _ip("-n", fleet.namespace(who), "addr", "add", f"{address}/24", "dev", device)
        _ip("-n", fleet.namespace(who), "link", "set", device, "up")


def _machine(fleet: Fleet, sshd: Path, name: str, ssh_address: str, data_address: str, options: str) -> Machine:
    folder = fleet.base / "machines" / name
    upper, work, root = folder / "up", folder / "work", folder / "root"
    for one in (upper, work, root, upper / "etc/ssh", upper / f"home/{USER}/.ssh", upper / "run/sshd", upper / "usr/sbin", upper / "tmp"):
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
    _append(upper / "etc/hosts", f"{data_address} {name}\n")
    _append(upper / "etc/passwd", f"sshd:x:10022:65534::/run/sshd:/usr/sbin/nologin\n{USER}:x:{UID}:{UID}::/home/{USER}:/bin/sh\n")
    _append(upper / "etc/group", f"{USER}:x:{UID}:\n")
    _append(upper / "etc/shadow", f"{USER}:*:19000:0:99999:7:::\n")
    home = upper / f"home/{USER}"
    shutil.copy2(fleet.base / "keys/id.pub", home / ".ssh/authorized_keys")
    for one in (home, home / ".ssh", home / ".ssh/authorized_keys"):
        os.chown(one, UID, UID)
        one.chmod(0o600 if one.name == "authorized_keys" else 0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(upper / "etc/ssh/key")], check=True)
    (upper / "etc/ssh/fleet").write_text(
        f"Port 22\nHostKey /etc/ssh/key\nUsePAM no\nPasswordAuthentication no\nAllowUsers {USER}\nPidFile none\n{options}\n"
    )
    key = (upper / "etc/ssh/key.pub").read_text().split()
    _append(fleet.base / "keys/known_hosts", f"{ssh_address} {key[0]} {key[1]}\n")
    log = fleet.base / f"{name}.log"
    # A network namespace's own /sys is mounted there, so that the machine sees its links only.
    script = (
        f"mount -t overlay overlay -o lowerdir=/,upperdir={upper},workdir={work} {root} && "
        f"mount -t proc proc {root}/proc && mount --bind /dev {root}/dev && mount -t sysfs sysfs {root}/sys && "
        f"hostname {name} && exec chroot {root} /usr/sbin/sshd -D -e -f /etc/ssh/fleet"
    )
    unshared = ["unshare", "-m", "-p", "-u", "-i", "-f", "--propagation", "private", "--kill-child", "sh", "-c", script]
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["ip", "netns", "exec", fleet.namespace(name[0]), *unshared], stdout=said, stderr=said, start_new_session=True
        )
    return Machine(name, ssh_address, data_address, upper, log, process)


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _config(fleet: Fleet) -> str:
    home = Path.home() / ".ssh"
    names = {one.name: f"HostName {one.ssh_address}" for one in fleet.machines.values()}
    names["beta"] += "\n  ProxyJump jump"
    # Alpha by a name under which nobody has seen its key.
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
