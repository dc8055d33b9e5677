"""hydrotest's own programs against an object store: compiled here, carried out on a host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, ask, ask_while_it_speaks
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.jobs.jars import job_jar
from hydrotest.load.native import Generator
from hydrotest.spec.s3 import program_heap
from hydrotest.systems.fetch import S3_CLIENT, ProgressCallback, fetch
from hydrotest.systems.s3.client import S3Client, client_version

PREFIXES = "hydrotest.jobs.Prefixes"
REMOVES_AT_ONCE = 8
"""Objects, with two requests each, which are tried again within their time."""
ANSWERED_S = 60.0
"""Longest time of a request without content (`Bucket.java`)."""
ASKED = Patience.of(a_JVM=SLOW * 20.0, a_few_requests_to_a_slow_store=SLOW * 60.0)


def answered_s(under_way: int, bytes_per_s: float) -> float:
    """Longest time of a request, where requests for so many bytes share the slowest link."""
    return ANSWERED_S + under_way / bytes_per_s


async def program(client: S3Client, host: Host, main: str, say: ProgressCallback, buffered: int = 0) -> list[str]:
    """The command that carries out a program of `jobs/objects` on a host, without its arguments. `buffered`: bytes that it keeps."""
    classpath = await client.class_path(host, say)
    jar = await host.copy_of(await asyncio.to_thread(_jar, say))
    heap = f"-Xmx{program_heap(buffered) >> 20}m"
    return [str(await host.java()), heap, "-cp", f"{jar}:{classpath}", main]


def _jar(say: ProgressCallback) -> Path:
    return job_jar("objects", f"{fetch(S3_CLIENT, say)}/*", f"s3-{client_version(say)}")


@dataclass(frozen=True)
class Refused:
    """Why a bucket cannot be used, by the step at which that showed (`Prefixes.java`), and what the store calls it."""

    step: str
    code: str
    said: str
    key: str | None = None
    """Of the upload that stays, as it could not be aborted."""
    upload: str | None = None


class Prefixes:
    """Prefixes of our own in a bucket that others use; each is known by the identity in its marker."""

    def __init__(self, client: S3Client, host: Host, say: ProgressCallback) -> None:
        self._client = client
        self._host = host
        self._say = say
        paced = 0.0 if client.requests_per_s is None else SLOW * 2 * REMOVES_AT_ONCE / client.requests_per_s
        self._silence = Patience.of(a_JVM=SLOW * 20.0, an_object=SLOW * 2 * ANSWERED_S, requests_by_their_rate=paced)
        """Without a word of how far a removal is: it may take as long as it goes on."""

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
        """Removes all that proves to be ours below a prefix. Returns keys that do not, which stay: the first ones; their marker
        stays with those that have our identity. Raises `TrialFailedError`, also where the store refused something."""
        settings = {**self._settings, "do": "remove", "prefix": prefix, "identity": identity}
        done = await ask_while_it_speaks(self._host, "query", settings, self._silence, await self._program())
        if done["failed"]:
            codes = ", ".join(f"{code} {count:,} times" for code, count in done["failed"].items())
            raise TrialFailedError(f"the store refused to remove something: {codes}; {done['removed']:,} are removed")
        return list(done["kept"])

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
