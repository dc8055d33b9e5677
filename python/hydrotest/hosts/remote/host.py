"""A machine of its own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from hydrotest.errors import BadInputError, MissingToolError, OverdueError, TrialFailedError
from hydrotest.hosts.base import HostFacts
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.command import run_command
from hydrotest.hosts.cpu_hog import CpuHog
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.hosts.frames import BODY_BYTES_MAX
from hydrotest.hosts.hub import OWN_BINARY, BinaryFor
from hydrotest.hosts.java import MAJOR_MIN, major_in
from hydrotest.hosts.limits import Limits
from hydrotest.hosts.node import Node
from hydrotest.hosts.ports import free_among
from hydrotest.hosts.reached import Reached
from hydrotest.hosts.remote import ssh
from hydrotest.hosts.remote.bootstrap import SCRIPT, binary_for
from hydrotest.hosts.remote.facts import facts_of
from hydrotest.spec.hosts import CommandHost, SshHost, Sudo

DATA = ".cache/hydrotest/data"
"""Where the systems' data are unless the experiment says, below the home of the user there."""
JAVA_REMEDY = "Install a JDK 17 there, or give the host `java_home:`."
REMOVAL = Patience.of(all_data_of_a_run_on_a_slow_disk=600.0)
SUDO = ("sudo", "-n", "--")
"""Without a terminal and without a question."""
GENERATORS = frozenset({"produce", "consume", "cql"})
AS_ROOT: Mapping[Sudo, frozenset[str]] = {
    "never": frozenset(),
    "generators": GENERATORS,
    "all": GENERATORS | {"sample", "cpu-hog"},
}
"""The subcommands of hydrotest-node that need root's rights for something. Systems and their tools never have them."""
SUDO_ANSWER = Patience.of(looking_up_who_may=3.0)
COPIES = "copies"
"""Folder of what was copied there, beside the runs' folders; it stays for later runs."""
COMPLETE = ".complete"
"""Marks a copy that is whole; it is put there last."""


class RemoteHost(Reached):
    """A machine that ssh or another command reaches. Its files are its own."""

    def __init__(self, name: str, spec: SshHost | CommandHost, run: str, known_hosts: Path | None = None) -> None:
        """`run`: name of the folder of the run's data there."""
        super().__init__(name)
        self.spec = spec
        self.address = spec.address
        self._run = run
        self._known_hosts = known_hosts
        self._data: PurePath | None = None
        self._is_claimed = False
        self._facts: tuple[HostFacts, Limits] | None = None
        self._binary = ""
        """The file of hydrotest-node there, where sudo must name it."""
        self._cpu_hog = CpuHog(self)
        self._java: PurePath | None = None
        self._finding = asyncio.Lock()
        self._copied: dict[Path, PurePath] = {}
        """What is there already, by what it is a copy of."""
        self._copying: dict[PurePath, asyncio.Lock] = {}

    def hub_command(self) -> Sequence[str]:
        if isinstance(self.spec, SshHost):
            return ssh.command(self.spec, self._known_hosts, SCRIPT)
        return [*self.spec.command, "sh", "-c", SCRIPT]

    def node_command(self) -> Sequence[str]:
        return [OWN_BINARY]

    @property
    def binary_for(self) -> BinaryFor:
        return binary_for

    @property
    def lease_s(self) -> float:
        return self.spec.lease

    async def sweep(self) -> list[str]:
        """Opens the host, and removes what killed runs left there; returns the names of their folders.

        Raises `ConnectionLostError` where it cannot be reached.
        """
        hub = await self.hub()
        wanted = str(self.spec.data or hub.hello.home / DATA)
        if wanted.startswith("~/"):
            wanted = str(hub.hello.home / wanted[2:])
        self._data = PurePath(await hub.ask("resolve", path=wanted))
        return list(await hub.ask("sweep", patience=REMOVAL, root=str(self._data)))

    async def prepare(self) -> None:
        """Opens the host, and makes the run's folder there."""
        await self.sweep()
        hub = await self.hub()
        await hub.ask("claim", path=str(self.data_directory))
        self._is_claimed = True
        self._facts = await facts_of(self, hub.hello.arch)
        if self.spec.sudo != "never":
            await self._try_sudo()

    async def _try_sudo(self) -> None:
        """Raises `BadInputError` where sudo refuses, or asks for something."""
        self._binary = await (await self.hub()).ask("resolve", path="/proc/self/exe")
        try:
            trying = super().node("clock", {"listen": None}, [*SUDO, self._binary])
            await (await within(trying, SUDO_ANSWER, f"sudo on {self.name}", "start hydrotest-node")).close()
        except ConnectionLostError:
            raise
        except (TrialFailedError, MissingToolError) as error:
            raise BadInputError(
                f"{self.name}: sudo does not let you run hydrotest-node there: {error.message}",
                f"Allow it there without a password (`USER ALL=(root) NOPASSWD: {self._binary}`), or leave `sudo:` out.",
            ) from error

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        """See `Host`."""
        if not program and subcommand in AS_ROOT[self.spec.sudo]:
            program = [*SUDO, self._binary]
        return await super().node(subcommand, settings, program)

    async def reopen(self) -> None:
        await self.close()
        # The folder is claimed anew: the hub that had it is gone, at the latest with its lease.
        await self.prepare()
        self._reopened.set()

    async def leave(self) -> str | None:
        """Removes the run's folder and gives the host up. Returns the problem, if any."""
        problem = None
        if self._hub is not None and self._is_claimed:
            try:
                await self._hub.ask("release", patience=REMOVAL, path=str(self.data_directory))
            except (OSError, TrialFailedError) as error:
                problem = f"{self.data_directory} on {self.name} stays ({error}); the next run there removes it"
        return await self.close() or problem

    async def facts(self) -> HostFacts:
        assert self._facts is not None, "it is prepared first"
        return self._facts[0]

    @property
    def processors(self) -> int | None:
        return None

    @property
    def data_directory(self) -> PurePath:
        assert self._data is not None, "it is prepared first"
        return self._data / self._run

    def scratch(self, run: str) -> PurePath:
        return self.data_directory / run

    def emulated(self) -> dict[str, Any] | None:
        assert self._facts is not None, "it is prepared first"
        return self._facts[1].wire()

    def queue_drops(self) -> None:
        """See `Host`."""
        return

    @property
    def squeezable(self) -> list[str]:
        return ["cpu"] if self.spec.squeeze is not None else []

    @property
    def relievable(self) -> bool:
        return False

    async def give(self, resource: str, factor: float) -> None:
        """See `Host`. Takes cores from all processes of the machine except generators."""
        is_root = self.spec.sudo == "all" or (await self.hub()).hello.uid == 0
        await self._cpu_hog.leave(factor, None if is_root else "give the host `sudo: all`")

    async def free_port(self) -> int:
        first, last = self.spec.ports
        return await free_among([range(first, last + 1)], self.reserve_port)

    @property
    def machine(self) -> str:
        return self.name

    async def java(self) -> PurePath:
        async with self._finding:
            if self._java is None:
                self._java = await self._find_java()
            return self._java

    async def _find_java(self) -> PurePath:
        named = self.spec.java_home
        log = self.data_directory / "java.log"
        script = 'java="${1:-$(command -v java)}"; readlink -f "$java" && "$java" -version'
        argv = ["/bin/sh", "-c", script, "sh", *([f"{named}/bin/java"] if named is not None else [])]
        try:
            output, _ = await run_command(f"java on {self.name}", argv, self, log)
        except (ConnectionLostError, OverdueError):
            raise
        except TrialFailedError as error:
            where = "no java is on the PATH there" if named is None else f"{named} there has no bin/java that runs"
            raise MissingToolError(f"{self.name}: {where}", JAVA_REMEDY) from error
        major = major_in(output)
        if major < MAJOR_MIN:
            raise MissingToolError(f"{self.name}: Java {major} there is too old; {MAJOR_MIN} or later is needed", JAVA_REMEDY)
        return PurePath(output.splitlines()[0].strip())

    async def copy_of(self, path: Path) -> PurePath:
        """See `Host`. By content: what is there already is not sent again."""
        if path in self._copied:
            return self._copied[path]
        files, digest = await asyncio.to_thread(_content, path)
        assert self._data is not None, "it is prepared first"
        target = self._data / COPIES / f"{path.name}-{digest[:16]}"
        async with self._copying.setdefault(target, asyncio.Lock()):
            if await self.size(target / COMPLETE) is None:
                for one in files:
                    there = target / (one.relative_to(path) if path.is_dir() else one.name)
                    if await self.size(there) != one.stat().st_size:
                        await self.put(there, _read(one), one.stat().st_mode & 0o777)
                await self.put(target / COMPLETE, b"")
        self._copied[path] = target if path.is_dir() else target / path.name
        return self._copied[path]


def _content(path: Path) -> tuple[list[Path], str]:
    """The files of a folder, or the one file, and what tells their content from another."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    stamps = ((one.stat().st_size, one.stat().st_mtime_ns) for one in files)
    return files, _digest(path, tuple(zip(files, stamps, strict=True)))


@cache
def _digest(path: Path, files: tuple[tuple[Path, tuple[int, int]], ...]) -> str:
    """Once for all hosts that get these files: Spark's have 500 MB."""
    digest = hashlib.sha256()
    for one, _ in files:
        with one.open("rb") as handle:
            digest.update(str(one.relative_to(path)).encode() + b"\0" + hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


async def _read(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as handle:
        while piece := handle.read(BODY_BYTES_MAX):
            yield piece
