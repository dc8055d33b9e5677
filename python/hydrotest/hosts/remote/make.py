"""The remote hosts of a run: opened at once, each with a folder of the run's own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hydrotest.errors import BadInputError, OverdueError
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.group import Group
from hydrotest.hosts.remote.host import RemoteHost
from hydrotest.hosts.remote.ssh import meaning_of
from hydrotest.spec.hosts import CommandHost, SshHost

T = TypeVar("T")
Specs = Mapping[str, SshHost | CommandHost]


async def remote_hosts(specs: Specs, scratch: Path) -> Group:
    """See `kinds.host.HostKind`.

    Raises `BadInputError` that names each host that cannot be reached, and why; nothing is left then.
    """
    hosts = {
        # By its name, too: several may be on one machine.
        name: RemoteHost(name, spec, f"{scratch.name}-{name}", known_hosts(name, spec, scratch))
        for name, spec in specs.items()
    }

    async def remove() -> Sequence[str]:
        left = await asyncio.gather(*(host.leave() for host in hosts.values()), return_exceptions=True)
        return [f"{name}: {problem}" for name, problem in zip(hosts, left, strict=True) if problem is not None]

    try:
        await _all({name: host.prepare() for name, host in hosts.items()})
    except BaseException:
        await remove()
        raise
    return Group(hosts, remove=remove)


async def sweep(specs: Specs) -> dict[str, list[str]]:
    """Removes what killed runs left on these hosts; returns the folders' names by host.

    Raises `BadInputError` for hosts that cannot be reached.
    """
    with tempfile.TemporaryDirectory() as folder:
        hosts = {name: RemoteHost(name, spec, "", known_hosts(name, spec, Path(folder))) for name, spec in specs.items()}
        try:
            return await _all({name: host.sweep() for name, host in hosts.items()})
        finally:
            await asyncio.gather(*(host.close() for host in hosts.values()))


async def _all(works: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, T]:
    """Does something with each host, at once."""
    done = await asyncio.gather(*works.values(), return_exceptions=True)
    failed = {name: error for name, error in zip(works, done, strict=True) if isinstance(error, BaseException)}
    for name, error in failed.items():
        if isinstance(error, (OSError, OverdueError)):
            raise BadInputError(
                f"{name}: {error}", "See `data:` of the host: a directory there that you may write to, on a disk that answers."
            ) from error
        if not isinstance(error, ConnectionLostError):
            raise error
    if failed:
        raise _unreached(failed)
    return dict(zip(works, done, strict=True))  # type: ignore[arg-type]


def known_hosts(name: str, spec: SshHost | CommandHost, scratch: Path) -> Path | None:
    """A file that knows the host by its own name only, so that an address that was another's does no harm."""
    if not isinstance(spec, SshHost) or spec.host_key is None:
        return None
    file = scratch / f"known-host-{name}"
    file.write_text(f"{file.name} {spec.host_key}\n")
    return file


def _unreached(failed: Mapping[str, BaseException]) -> BadInputError:
    meanings = {name: meaning_of(error.said if isinstance(error, ConnectionLostError) else str(error)) for name, error in failed.items()}
    what = "; ".join(f"{name}: {meanings[name].what} ({error})" for name, error in failed.items())
    remedies = list(dict.fromkeys(meaning.remedy for meaning in meanings.values()))
    return BadInputError(what, " ".join(remedies))
