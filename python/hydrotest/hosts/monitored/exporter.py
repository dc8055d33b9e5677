"""A machine whose exporters are read each second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.monitored.gauges import known, names, read_gauges
from hydrotest.hosts.monitored.node_exporter import NAMES, read_hardware, read_host
from hydrotest.hosts.monitored.series import Series, parse
from hydrotest.hosts.monitored.source import Known, Reading, reading
from hydrotest.hosts.monitored.web import Web
from hydrotest.spec.monitored import ExporterHost

EVERY_S = 1.0
SERVICES_EVERY = 2
"""The pages of JVMs are long: they are read with every second reading."""
PAGE = Patience.of(a_reading_each_second=5.0)


class Exporter:
    """See `source.Source`."""

    def __init__(self, name: str, spec: ExporterHost) -> None:
        """Raises `BadInputError` where its login is not there."""
        self._name = name
        self._spec = spec
        self._web = Web.of(name, spec)
        self._theirs = known(spec.map)
        self._services = {service_name(page): page for page in spec.services}

    @property
    def name(self) -> str:
        """See `source.Source`."""
        return self._name

    async def known(self) -> Known:
        """See `source.Source`."""
        try:
            series = await self._node()
            gauges = [gauge for page in self._services.values() for gauge in await self._gauges(page)]
        except TrialFailedError as error:
            raise BadInputError(
                f"{self._name}: {error.message}", "Correct its `metrics` or `services`, or what the network lets pass."
            ) from error
        if missing := read_host(series).missing:
            raise BadInputError(f"{self._name}: {self._spec.metrics} is not node_exporter's page, or lacks {', '.join(missing)}",
                                "Turn on its collectors cpu, meminfo, vmstat, diskstats, netdev, netstat and stat.")  # fmt: skip
        return Known(read_hardware(series), EVERY_S, tuple(sorted(gauges)))

    async def follow(self, add: Callable[[Reading], None], warn: Callable[[str], None]) -> None:
        """See `source.Source`."""
        number, is_silent, due = 0, False, time.monotonic()
        while True:
            try:
                add(await self._read(with_services=number % SERVICES_EVERY == 0))
                is_silent = False
            except TrialFailedError as error:
                if not is_silent:
                    warn(f"{self._name} is not seen: {error.message}")
                is_silent = True
            number += 1
            # Seconds that were missed are gone.
            due = max(due + EVERY_S, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    async def kept(self, begin_s: float, end_s: float) -> Sequence[Reading]:
        """None: an exporter keeps nothing."""
        return ()

    async def _read(self, *, with_services: bool) -> Reading:
        asked = time.time()
        series = await self._node()
        wall_s = (asked + time.time()) / 2
        host = read_host(series)
        if host.missing:
            raise TrialFailedError(f"{self._spec.metrics} lacks {', '.join(host.missing)}")
        gauges, errors = {}, {}
        for service, page in self._services.items() if with_services else ():
            try:
                gauges[service] = await self._gauges(page)
            except TrialFailedError as error:
                errors[service] = error.message
        return reading(wall_s, host.counters, gauges, errors)

    async def _node(self) -> list[Series]:
        return parse(await self._web.get(self._spec.metrics, PAGE), NAMES)

    async def _gauges(self, page: str) -> dict[str, float]:
        return read_gauges(parse(await self._web.get(page, PAGE), names(self._theirs)), self._theirs)


def service_name(page: str) -> str:
    """What a service is called by the address of its exporter: `b1:9404`."""
    return urlsplit(page).netloc
