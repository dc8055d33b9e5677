"""A host that is reached through its hub: its files, nodes and ports."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from hydrotest.hosts import ports
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.files import ANYBODY, Content
from hydrotest.hosts.hub import BinaryFor, Hub
from hydrotest.hosts.node import Node


class Reached(ABC):
    """Files, nodes and ports of a host, through one hub that is opened when it is first needed."""

    address: str

    def __init__(self, name: str) -> None:
        self.name = name
        self._hub: Hub | None = None
        self._is_closed = False
        self._opening = asyncio.Lock()
        self._reopened = asyncio.Event()

    @abstractmethod
    def hub_command(self) -> Sequence[str]:
        """The command that gives the stdin and stdout of this host's hub."""

    @abstractmethod
    def node_command(self) -> Sequence[str]:
        """How hydrotest-node is started by the hub, without its subcommand."""

    @property
    def lease_s(self) -> float | None:
        """Time without a word from us after which all that runs there ends; None where the end of the
        connection always shows there."""
        return None

    @property
    def binary_for(self) -> BinaryFor | None:
        """How hydrotest-node gets there; None where `hub_command` starts it."""
        return None

    async def hub(self) -> Hub:
        """The host's hub.

        Raises `MissingToolError` where it has another version, `ConnectionLostError` where it does not start, or where the
        host was given up: whoever still asks for something then must not bring it back.
        """
        async with self._opening:
            if self._is_closed:
                raise ConnectionLostError(f"the hub on {self.name} was closed")
            if self._hub is None:
                self._hub = await Hub.open(self.name, self.hub_command(), self.lease_s, self.binary_for)
            return self._hub

    async def until_lost(self) -> str:
        """Waits until the host cannot be reached any more; returns why."""
        return await asyncio.shield((await self.hub()).lost)

    async def until_reopened(self) -> None:
        """See `Host`."""
        self._reopened.clear()
        await self._reopened.wait()

    async def reopen(self) -> None:
        """See `Host`."""
        await self.close()
        self._is_closed = False
        await self.hub()
        self._reopened.set()

    async def close(self) -> str | None:
        """Ends the hub, and all that it still runs. Returns the problem, if any."""
        self._is_closed = True
        hub, self._hub = self._hub, None
        return None if hub is None else await hub.close()

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        """See `Host`."""
        return await (await self.hub()).start(subcommand, [*(program or self.node_command()), subcommand], settings)

    async def free_port(self) -> int:
        """See `Host`."""
        ephemeral = ports.ephemeral_ports((await self.get(ports.RANGE)).decode())
        # Tuned machines give all ports to connections (1024 to 65535): then one of these that is unused at
        # the moment.
        among = range(max(ports.FREE_PORT_MIN, ephemeral.start), ephemeral.stop)
        return await ports.free_among([*ports.safe_ports(ephemeral), among], self.reserve_port)

    async def reserve_port(self, port: int) -> bool:
        """See `Host`."""
        return bool(await (await self.hub()).ask("reserve", port=port))

    async def port_holder(self, port: int) -> str | None:
        """See `Host`."""
        return await (await self.hub()).ask("holder", address=self.address, port=port)  # type: ignore[no-any-return]

    async def put(self, path: PurePath, content: Content, mode: int = ANYBODY) -> None:
        """See `Files`."""
        await (await self.hub()).put(path, content, mode)

    async def append(self, path: PurePath, content: bytes) -> None:
        """See `Files`."""
        await (await self.hub()).ask("append", content, path=str(path))

    async def get(self, path: PurePath, start: int = 0) -> bytes:
        """See `Files`."""
        return b"".join([piece async for piece in self.open(path, start)])

    async def open(self, path: PurePath, start: int = 0) -> AsyncIterator[bytes]:
        """See `Files`."""
        async for piece in (await self.hub()).get(path, start):
            yield piece

    async def tail(self, path: PurePath, most: int) -> bytes:
        """See `Files`."""
        size = await self.size(path)
        return b"" if size is None else await self.get(path, max(0, size - most))

    async def size(self, path: PurePath) -> int | None:
        """See `Files`."""
        return await (await self.hub()).ask("size", path=str(path))  # type: ignore[no-any-return]

    async def glob(self, folder: PurePath, pattern: str) -> list[PurePath]:
        """See `Files`."""
        found = await (await self.hub()).ask("glob", folder=str(folder), pattern=pattern)
        return sorted(PurePath(path) for path in found)

    async def make_folder(self, path: PurePath, mode: int = 0o777) -> None:
        """See `Files`."""
        await (await self.hub()).ask("make_folder", path=str(path), mode=mode)

    async def remove(self, path: PurePath) -> None:
        """See `Files`."""
        await (await self.hub()).ask("remove", path=str(path))
