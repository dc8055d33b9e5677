"""Another machine for real: Debian's kernel, systemd and sshd under QEMU, with control groups of version 2 only.

It is made from Debian's packages, once. The files of this machine are mounted there, read-only, at /host: so
hydrotest itself can run there, in a copy of this machine that keeps nothing. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.hosts.deadlines import Patience, until_here

USER = "alice"
ADDRESS = "10.0.2.15"
"""In QEMU's own network, which nothing else reaches."""
CORES, MEMORY_MB = 2, 6144
PACKAGES = ("systemd", "systemd-sysv", "udev", "dbus", "openssh-server", "iproute2", "kmod", "initramfs-tools", "procps", "ca-certificates")
LATER = ("linux-image-amd64", "openjdk-17-jre-headless")
DISK = "6G"
BOOTED = Patience.of(a_processor_that_is_emulated=600.0)
TOOLS = ("qemu-system-x86_64", "debootstrap", "mke2fs")
COPY = "/copy"
"""This machine as it is seen there: its files, with what is written kept in memory."""
SET_UP = f"""
set -eu
useradd -m -s /bin/sh {USER}
mkdir -p /home/{USER}/.ssh ~root/.ssh /host {COPY} /changes
cp /tmp/key.pub /home/{USER}/.ssh/authorized_keys
cp /tmp/key.pub ~root/.ssh/authorized_keys
chown -R {USER}: /home/{USER}/.ssh
chmod 700 /home/{USER}/.ssh ~root/.ssh
chmod 600 /home/{USER}/.ssh/authorized_keys ~root/.ssh/authorized_keys
printf '[Match]\\nName=e*\\n[Network]\\nDHCP=yes\\n' > /etc/systemd/network/10-all.network
systemctl enable systemd-networkd ssh
printf 'host /host 9p ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose 0 0\\nchanges /changes tmpfs size=2g,mode=755 0 0\\n' >> /etc/fstab
echo vm > /etc/hostname
printf '127.0.0.1 localhost\\n{ADDRESS} vm\\n' > /etc/hosts
printf 'UseDNS no\\nPasswordAuthentication no\\n' > /etc/ssh/sshd_config.d/test.conf
passwd -d root
"""
MAKE_COPY = f"""
set -eu
mkdir -p /changes/up /changes/work
mountpoint -q {COPY} || mount -t overlay overlay -o lowerdir=/host,upperdir=/changes/up,workdir=/changes/work {COPY}
mount -t proc proc {COPY}/proc
mount --rbind /sys {COPY}/sys
mount --rbind /dev {COPY}/dev
mount -t tmpfs tmpfs {COPY}/run
mkdir -p {COPY}/tmp
"""


@dataclass
class Virtual:
    """The machine while it runs."""

    base: Path
    port: int
    console: Path

    @property
    def options(self) -> list[str]:
        """Of ssh, to reach it."""
        known = f"UserKnownHostsFile={self.base}/known_hosts"
        return [
            "-i",
            f"{self.base}/key",
            "-p",
            str(self.port),
            "-o",
            known,
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "BatchMode=yes",
            "-o",
            "LogLevel=ERROR",
            # One that restarts says no farewell.
            "-o",
            "ServerAliveInterval=15",
        ]

    def until_it_answers(self) -> None:
        """Waits until it has booted."""
        until_here(lambda: self.run("true", timeout=60).returncode == 0, BOOTED, "the virtual machine", "answer", every_s=1.0)

    def run(self, command: str, user: str = "root", **options: object) -> subprocess.CompletedProcess[str]:
        """Carries out a shell's command there."""
        argv = ["ssh", *self.options, f"{user}@127.0.0.1", command]
        return subprocess.run(argv, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def missing_tools() -> list[str]:
    """Programs that it takes and that are not here (Debian: apt-get install qemu-system-x86 debootstrap e2fsprogs)."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def _call(argv: Sequence[str], log: Path, **options: object) -> None:
    with log.open("ab") as out:
        subprocess.run(argv, check=True, stdout=out, stderr=out, **options)  # type: ignore[call-overload]


def made(cache: Path) -> Path:
    """The folder with kernel, initrd and disk; made once, from Debian's packages."""
    folder = cache / "vm"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    root, log = folder / "root", folder / "making.log"
    _call(["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "bookworm", str(root)], log)
    _call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], log)
    shutil.copy(folder / "key.pub", root / "tmp/key.pub")
    with (root / "etc/initramfs-tools/modules").open("a") as modules:
        modules.write("virtio_pci\nvirtio_blk\nvirtio_net\next4\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _call(["mount", "-t", "proc", "proc", str(root / "proc")], log)
    try:
        for script in (f"apt-get install -y -qq --no-install-recommends {' '.join(LATER)}", SET_UP):
            _call(["chroot", str(root), "sh", "-c", script], log, env=environment)
    finally:
        _call(["umount", str(root / "proc")], log)
    for kind in ("vmlinuz", "initrd.img"):
        shutil.copy(next((root / "boot").glob(f"{kind}-*")), folder / kind)
    key = (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2]
    (folder / "host_key").write_text(" ".join(key))
    _call(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(folder / "disk"), DISK], log)
    shutil.rmtree(root)
    (folder / "complete").touch()
    return folder


@contextlib.contextmanager
def open_machine(base: Path, cache: Path) -> Iterator[Virtual]:
    """The machine, for as long as the block lasts; what it writes to its disk is forgotten."""
    folder = made(cache)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    for name in ("key", "key.pub"):
        shutil.copy(folder / name, base / name)
    (base / "key").chmod(0o600)
    (base / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host_key').read_text()}\n")
    machine = Virtual(base, port, base / "console.log")
    argv = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(CORES), "-m", str(MEMORY_MB),
        "-display", "none", "-serial", f"file:{machine.console}", "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd.img"),
        "-append", "root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1 quiet",
        "-drive", f"file={folder / 'disk'},format=raw,if=virtio,snapshot=on",
        "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
        "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", "-device", "virtio-net-pci,netdev=net",
    ]  # fmt: skip
    with (base / "qemu.log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        machine.until_it_answers()
        yield machine
    finally:
        process.kill()
        process.wait()
