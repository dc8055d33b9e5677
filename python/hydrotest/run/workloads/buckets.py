"""hydrotest's own programs against an object store: compiled here, carried out on a host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.jobs.jars import job_jar
from hydrotest.load.native import Generator
from hydrotest.systems.fetch import S3_CLIENT, ProgressCallback, fetch
from hydrotest.systems.s3.client import S3Client, client_version

HEAP_BYTES = 192 << 20
"""Of a program, beside what it reads."""
HEAP_SHARE = 1.25
"""A byte that is read takes so many of the heap."""
PREFIXES = "hydrotest.jobs.Prefixes"
REMOVED_PER_S_MIN = 5.0
"""Two requests each, eight at once, to a store far away."""
ASKED = Patience.of(a_JVM=SLOW * 20.0, a_few_requests_to_a_slow_store=SLOW * 60.0)


async def program(client: S3Client, host: Host, main: str, say: ProgressCallback, buffered: int = 0) -> list[str]:
    """The command that carries out a program of `jobs/objects` on a host, without its arguments. `buffered`: bytes that it keeps."""
    classpath = await client.class_path(host, say)
    jar = await host.copy_of(await asyncio.to_thread(_jar, say))
    heap = f"-Xmx{(HEAP_BYTES + round(HEAP_SHARE * buffered)) >> 20}m"
    return [str(await host.java()), heap, "-cp", f"{jar}:{classpath}", main]


def _jar(say: ProgressCallback) -> Path:
    return job_jar("objects", f"{fetch(S3_CLIENT, say)}/*", f"s3-{client_version(say)}")


@dataclass(frozen=True)
class Refused:
    """Why a bucket cannot be used, by the step at which that showed (`Prefixes.java`), and what the store calls it."""

    step: str
    code: str
    said: str


class Prefixes:
    """Prefixes of our own in a bucket that others use; each is known by the identity in its marker."""

    def __init__(self, client: S3Client, host: Host, say: ProgressCallback, objects: int = 0) -> None:
        """`objects`: about so many are below one, where it is removed."""
        self._client = client
        self._host = host
        self._say = say
        self._removed = Patience.of(a_JVM=SLOW * 20.0, its_objects=SLOW * (60.0 + objects / REMOVED_PER_S_MIN))

    async def reach(self) -> Refused | None:
        """Why its user may not do what a run does; None if nothing hinders it. Raises `TrialFailedError`."""
        found = await self._ask("reach", prefix=self._client.place.prefix)
        return Refused(**found) if found else None

    async def make(self, prefix: str, identity: str) -> None:
        """Begins a prefix. Raises `TrialFailedError`, also where there is something below it."""
        await self._ask("make", prefix=prefix, identity=identity)

    async def ids(self, names: Sequence[str]) -> dict[str, str | None]:
        """What prefixes are known by, by name; None for one that is not there."""
        return await self._ask("ids", names=list(names))  # type: ignore[no-any-return]

    async def remove(self, prefix: str, identity: str) -> list[str]:
        """Removes all that proves to be ours below a prefix. Returns keys that do not, which stay: the first ones. Raises
        `TrialFailedError`."""
        return list((await self._ask("remove", self._removed, prefix=prefix, identity=identity))["kept"])

    async def canaries(self, pattern: str) -> list[str]:
        """Prefixes of that pattern in which a canary of some run lives."""
        return list(await self._ask("canaries", pattern=pattern))

    async def generator(self, name: str, prefix: str, identity: str, rate_per_s: float) -> Generator:
        """The canary in a prefix of ours."""
        whole = {**self._settings, "prefix": prefix, "identity": identity, "rate_per_s": rate_per_s}
        return Generator(name, "s3-write", self._host, "canary", whole, offered=rate_per_s, program=tuple(await self._program()))

    @property
    def _settings(self) -> Mapping[str, Any]:
        return {**self._client.settings, "credentials": self._client.credentials}

    async def _program(self) -> list[str]:
        return await program(self._client, self._host, PREFIXES, self._say)

    async def _ask(self, what: str, patience: Patience = ASKED, **settings: Any) -> Any:
        return await ask(self._host, "query", {**self._settings, "do": what, **settings}, patience, program=await self._program())
