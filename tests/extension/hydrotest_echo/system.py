"""The running servers: how they are started, and asked whether they serve."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.systems.base import Command, Placement, Ready, System
from hydrotest.systems.fetch import ProgressCallback

from .spec import Echo

START = Patience(30.0, "a Python process to start on a slow machine")
POLL_S = 0.05
QUESTION = b"are you there?"


class EchoSystem(System):
    """A server on each of its hosts."""

    name = "echo"
    version = "0.1"

    def __init__(self, spec: Echo, placement: Placement) -> None:
        super().__init__(placement.at(spec.hosts), placement.run, placement.logs, placement.on_death)
        self._ports: list[int] = []

    @property
    def endpoints(self) -> list[str]:
        return [f"{host.address}:{port}" for host, port in zip(self.hosts, self._ports, strict=True)]

    async def start(self, say: ProgressCallback) -> None:
        say(f"echo {self.version}: starting {len(self.hosts)} server(s)")
        for index, host in enumerate(self.hosts):
            self._ports.append(await host.free_port())
            gauges, name = await host.free_port(), f"echo-{index}"
            argv = [sys.executable, str(Path(__file__).with_name("server.py")), host.address, str(self._ports[-1]), str(gauges)]
            await self._place(host, name, {})
            await self._start(host, name, Command(argv, gauges_url=f"http://{host.address}:{gauges}/metrics"))
        await self.until_ready()

    def ready(self) -> list[Ready]:
        """Nothing of it can be asked by hydrotest-node: see `until_ready`."""
        return []

    async def until_ready(self) -> None:
        for endpoint in self.endpoints:
            await until(lambda: self._answers(endpoint), START, endpoint, "send back what it was sent", POLL_S)  # noqa: B023 - awaited here

    async def _answers(self, endpoint: str) -> bool:
        dead = next((service.death for service in self.services if service.death is not None), None)
        if dead is not None:
            raise SystemFailedError(f"echo did not start: {dead}")
        address, _, port = endpoint.rpartition(":")
        try:
            reader, writer = await asyncio.open_connection(address, int(port))
        except ConnectionRefusedError:
            return False
        writer.write(QUESTION)
        answer = await reader.readexactly(len(QUESTION))
        writer.close()
        return answer == QUESTION


def make(spec: Echo, placement: Placement) -> EchoSystem:
    """See `SystemKind`."""
    return EchoSystem(spec, placement)
