"""hydrotest's own programs against an HDFS: compiled here, carried out on a host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydrotest.hosts.base import Host, ask
from hydrotest.jobs.jars import job_jar
from hydrotest.load.native import Generator
from hydrotest.systems.fetch import HDFS, ProgressCallback, fetch
from hydrotest.systems.hdfs.client import HdfsClient
from hydrotest.systems.properties import property_text

HEAP = "-Xmx256m"
FOLDERS = "hydrotest.jobs.Folders"


async def program(client: HdfsClient, host: Host, main: str, say: ProgressCallback) -> list[str]:
    """The command that carries out a program of `jobs/files` on a host, without its arguments."""
    classpath = await client.class_path(host, say)
    jar = await host.copy_of(await asyncio.to_thread(_jar, client, host, classpath, say))
    return [str(await host.java()), HEAP, *client.options, "-cp", f"{jar}:{classpath}", main]


def _jar(client: HdfsClient, host: Host, classpath: str, say: ProgressCallback) -> Path:
    """Compiled against the jars that run it, or where they are on another machine against the fetched ones."""
    if host.machine:
        folder = fetch(HDFS, say)
        below = sorted({jar.parent for jar in folder.rglob("*.jar")} - {folder})
        classpath = ":".join(f"{jars}/*" for jars in (folder, *below))
    return job_jar("files", classpath, f"hdfs-{client.version}")


class Folders:
    """Folders of our own in a file system that others use; each is known by its inode's number."""

    def __init__(self, client: HdfsClient, host: Host, say: ProgressCallback) -> None:
        self._client = client
        self._host = host
        self._say = say

    async def reach(self, folder: str) -> None:
        """Raises `TrialFailedError` where folders cannot be made in this one."""
        await self._ask("reach", folder=folder)

    async def make(self, folder: str) -> str:
        """Makes a folder; returns what it is known by. Raises `TrialFailedError`, also where there is one of that name."""
        return str((await self._ask("make", folder=folder))["id"])

    async def ids(self, names: Sequence[str]) -> dict[str, str | None]:
        """What folders are known by, by name; None for one that is not there."""
        return await self._ask("ids", names=list(names))  # type: ignore[no-any-return]

    async def remove(self, folder: str, identity: str) -> None:
        """Removes the folder that is known by that, with all that is in it, whatever else has its name."""
        await self._ask("remove", folder=folder, id=identity)

    async def canaries(self, pattern: str) -> list[str]:
        """Folders of that pattern in which a canary of some run lives."""
        return list(await self._ask("canaries", pattern=pattern))

    async def generator(self, name: str, folder: str, settings: Mapping[str, Any], rate_per_s: float) -> Generator:
        """The canary in a folder of ours."""
        whole = {**self._settings, "folder": folder, **settings}
        return Generator(name, "hdfs-write", self._host, "canary", whole, offered=rate_per_s, program=tuple(await self._program()))

    @property
    def _settings(self) -> dict[str, Any]:
        return {"url": self._client.url, "properties": {key: property_text(value) for key, value in self._client.properties.items()}}

    async def _program(self) -> list[str]:
        return await program(self._client, self._host, FOLDERS, self._say)

    async def _ask(self, what: str, **settings: Any) -> Any:
        return await ask(self._host, "query", {**self._settings, "do": what, **settings}, program=await self._program())
