"""What other machines have written, into the run folder."""

from __future__ import annotations

from pathlib import Path, PurePath

from hydrotest.hosts.base import Host

BYTES_MAX = 1 << 30
"""Of each file, its end."""


async def fetch_file(host: Host, path: PurePath, folder: Path) -> None:
    """Copies the end of a file of another machine into a folder here; what is on this machine is there already.

    Raises `OSError` or `TrialFailedError` where that cannot be done.
    """
    if not host.machine:
        return
    start = max(0, (await host.size(path) or 0) - BYTES_MAX)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / path.name).open("wb") as file:
        async for piece in host.open(path, start):
            file.write(piece)
