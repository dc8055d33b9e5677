"""What a remote host has, as its hub's process may use it."""

from __future__ import annotations

import math
from pathlib import Path, PurePath

from hydrotest.hosts.base import HostFacts
from hydrotest.hosts.files import Files
from hydrotest.hosts.limits import Limits, total_memory_bytes

PROC = PurePath("/proc")


class _MissError(Exception):
    """A file that has not been fetched yet."""

    def __init__(self, path: Path) -> None:
        self.path = path


class _Fetched:
    """`hosts.limits.Look` for files that were fetched from a host."""

    def __init__(self) -> None:
        self.texts: dict[Path, str | None] = {}

    def text(self, path: Path) -> str | None:
        """See `Look`."""
        if path not in self.texts:
            raise _MissError(path)
        return self.texts[path]

    def is_folder(self, path: Path) -> bool:
        """See `Look`: a control group lists its processes."""
        return self.text(path / "cgroup.procs") is not None


async def limits_of(files: Files) -> Limits:
    """The limits of the control groups that the host's hub is in."""
    look = _Fetched()
    while True:
        try:
            return Limits.find(look=look)
        except _MissError as miss:  # which files are read follows from what the others hold
            look.texts[miss.path] = await _text(files, PurePath(miss.path))


async def facts_of(files: Files, arch: str) -> tuple[HostFacts, Limits]:
    """The host's hardware, and what limits its use."""
    memory = total_memory_bytes(await _text(files, PROC / "meminfo") or "")
    status = await _text(files, PROC / "self/status") or ""
    allowed = next((count_of(line.partition(":")[2]) for line in status.splitlines() if line.startswith("Cpus_allowed_list:")), 1)
    limits = (await limits_of(files)).below(allowed, memory)
    models = [
        line.partition(":")[2].strip()
        for line in (await _text(files, PROC / "cpuinfo") or "").splitlines()
        if line.startswith("model name")
    ]
    kernel = (await _text(files, PROC / "sys/kernel/osrelease") or "").strip()
    cores = math.ceil(min(float(allowed), limits.cores or math.inf))
    return HostFacts(cores, min(memory, limits.memory_bytes or memory), kernel, models[0] if models else arch), limits


def count_of(listed: str) -> int:
    """How many there are in a list of the kernel, as `0-3,7`."""
    ends = [part.split("-") for part in listed.split(",")]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


async def _text(files: Files, path: PurePath) -> str | None:
    try:
        return (await files.get(path)).decode(errors="replace")
    except OSError:  # not there, or not for us
        return None
