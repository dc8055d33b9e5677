"""This machine."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from hydrotest.errors import MissingToolError, TrialFailedError
from hydrotest.hosts.base import HostFacts
from hydrotest.hosts.files import LocalFiles
from hydrotest.hosts.limits import Limits, usable_cores, usable_memory_bytes
from hydrotest.hosts.node import LINE_BYTES_MAX, Node
from hydrotest.hosts.ports import reserve_port

NODE = "hydrotest-node"
_LISTEN = "0A"
"""State LISTEN in /proc/net/tcp."""


def node_binary() -> Path:
    """The Rust binary: next to the running Python, or on the PATH."""
    beside = Path(sys.executable).parent / NODE
    if beside.exists():
        return beside
    found = shutil.which(NODE)
    if found is None:
        raise MissingToolError(f"{NODE} is not installed", "Run `make install`, or `pip install .` with cargo on the PATH.")
    return Path(found)


async def start_node(
    host: str, subcommand: str, settings: Mapping[str, Any], options: Sequence[str] = (), program: Sequence[str] = ()
) -> Node:
    """Starts hydrotest-node on this machine, or `program`, and sends it its settings.

    `options` name the host that it belongs to. Raises `MissingToolError` where it has another version of
    the protocol.
    """
    process = await asyncio.create_subprocess_exec(
        *(program or [str(node_binary())]), *options, subcommand,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        # The controller handles Ctrl-C: nodes end when their stdin does.
        start_new_session=True,
    )  # fmt: skip
    node = Node(f"{subcommand} on {host}", process, float(settings.get("grace_s", 0.0)))
    try:
        await node.greet()
    except BaseException:  # a cancelled start must not leave its node behind either
        await node.close()
        raise
    await node.send(dict(settings))
    return node


class LocalHost(LocalFiles):
    """The machine that the controller runs on."""

    def __init__(self, name: str, scratch: Path, address: str = "127.0.0.1", may_squeeze: bool = False) -> None:
        self.name = name
        self._may_squeeze = may_squeeze
        self._cpu_hog: Node | None = None
        self.address = address
        self._scratch = scratch.resolve()

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        return await start_node(self.name, subcommand, settings, program=program)

    @property
    def processors(self) -> int | None:
        return None

    @property
    def data_directory(self) -> PurePath:
        return self._scratch

    def emulated(self) -> dict[str, Any] | None:
        # In a container, it is a part of the machine.
        return Limits.here().wire()

    def queue_drops(self) -> None:
        """See `Host`."""
        return

    @property
    def squeezable(self) -> list[str]:
        return ["cpu"] if self._may_squeeze else []

    @property
    def relievable(self) -> bool:
        return False

    async def give(self, resource: str, factor: float) -> None:
        """See `Host`. Takes cores from all processes of this machine except generators.

        Raises `TrialFailedError` where that is refused.
        """
        if self._cpu_hog is not None:
            cpu_hog, self._cpu_hog = self._cpu_hog, None
            has_lasted = cpu_hog.is_running
            problem = await cpu_hog.close()
            if not has_lasted:
                raise TrialFailedError(await cpu_hog.exit_status_text())
            if problem is not None:
                raise TrialFailedError(problem)
        if factor < 1:
            cpu_hog = await self.node("cpu-hog", {"left": factor})
            try:
                await cpu_hog.expect("ready")
            except BaseException as error:  # refused, or a run that is being ended: it takes nothing any longer
                await cpu_hog.close()
                if isinstance(error, TrialFailedError) and os.geteuid() != 0:
                    raise TrialFailedError(
                        f"taking cores away needs root (real-time scheduling): run it with sudo. {error.message}"
                    ) from error
                raise
            self._cpu_hog = cpu_hog

    async def facts(self) -> HostFacts:
        return HostFacts(
            cores=cores(),
            memory_bytes=memory_bytes(),
            kernel=platform.release(),
            cpu_model=cpu_model(),
        )

    def free_port(self) -> int:
        return reserve_port()

    def port_holder(self, port: int) -> str | None:
        inodes = _listening_inodes(self.address, port)
        if not inodes:
            return None
        for process in Path("/proc").glob("[0-9]*"):
            try:
                links = [os.readlink(link) for link in (process / "fd").iterdir()]
                name = (process / "comm").read_text().strip()
            except OSError:
                continue  # it ended, or is not ours to look into
            if any(link == f"socket:[{inode}]" for link in links for inode in inodes):
                return f"{name} (pid {process.name})"
        return "a process of another user"

    def scratch(self, run: str) -> PurePath:
        return self._scratch / run / self.name


def cores() -> int:
    """Cores that this process and all that it starts may use, the last of them perhaps partly."""
    return math.ceil(usable_cores(Limits.here()))


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that holds a folder, or will hold it."""
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def memory_bytes() -> int:
    """Memory that this process and all that it starts may use: the machine's, or its control groups'
    limit."""
    return usable_memory_bytes(Limits.here())


def cpu_model() -> str:
    """The kernel's name for this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _listening_inodes(address: str, port: int) -> set[str]:
    """Inodes of the sockets that listen on a port of an address, or of all addresses."""
    # As the kernel prints it: four bytes, the last first; behind a prefix where the socket takes IPv6 too.
    wanted = socket.inet_aton(address)[::-1].hex().upper()
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            fields = line.split()
            at, _, number = fields[1].rpartition(":")
            if fields[3] == _LISTEN and int(number, 16) == port and (at.endswith(wanted) or not at.strip("0")):
                inodes.add(fields[9])
    return inodes
