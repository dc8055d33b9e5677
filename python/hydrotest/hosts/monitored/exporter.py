"""A machine whose exporters are read each second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from urllib.parse import urlsplit

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.monitored.gauges import known, names, read_gauges
from hydrotest.hosts.monitored.node_exporter import NAMES, TURN_ON, read_hardware, read_host
from hydrotest.hosts.monitored.series import Series, parse
from hydrotest.hosts.monitored.source import Known, Reading, reading
from hydrotest.hosts.monitored.web import Web
from hydrotest.spec.monitored import ExporterHost

EVERY_S = 1.0
SERVICES_EVERY_S = 2.0
"""The pages of JVMs are long."""
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

    async def known(self) -> Known:
        """See `source.Source`."""
        try:
            series = await self._node()
            gauges = {service: await self._gauges(page) for service, page in self._services.items()}
        except TrialFailedError as error:
            raise BadInputError(
                f"{self._name}: {error.message}", "Correct its `metrics` or `services`, or what the network lets pass."
            ) from error
        if missing := read_host(series).missing:
            raise BadInputError(f"{self._name}: {self._spec.metrics} is not node_exporter's page, or lacks {', '.join(missing)}",
                                TURN_ON)  # fmt: skip
        for service, found in gauges.items():
            if not found:
                raise BadInputError(f"{self._name}: the page of {service} has no gauge that hydrotest knows",
                                    "Correct `services`, or map its own names with `map`.")  # fmt: skip
        return Known(read_hardware(series), EVERY_S, tuple(sorted({gauge for found in gauges.values() for gauge in found})))

    async def follow(self, add: Callable[[Reading], None], warn: Callable[[str], None]) -> None:
        """See `source.Source`. A page that does not come holds up no other."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_each(EVERY_S, self._name, self._read, add, warn))
            for service, page in self._services.items():
                read = partial(self._read_service, service, page)
                group.create_task(_each(SERVICES_EVERY_S, f"{service} of {self._name}", read, add, warn))

    async def kept(self, begin_s: float, end_s: float) -> Sequence[Reading]:
        """None: an exporter keeps nothing."""
        return ()

    async def _read(self) -> Reading:
        asked = time.time()
        series = await self._node()
        wall_s = (asked + time.time()) / 2
        host = read_host(series)
        if host.missing:
            raise TrialFailedError(f"{self._spec.metrics} lacks {', '.join(host.missing)}")
        return reading(wall_s, host.counters, {})

    async def _read_service(self, service: str, page: str) -> Reading:
        asked = time.time()
        gauges = await self._gauges(page)
        return reading((asked + time.time()) / 2, {}, {service: gauges})

    async def _node(self) -> list[Series]:
        return parse(await self._web.get(self._spec.metrics, PAGE), NAMES)

    async def _gauges(self, page: str) -> dict[str, float]:
        return read_gauges(parse(await self._web.get(page, PAGE), names(self._theirs)), self._theirs)


async def _each(
    every_s: float, what: str, read: Callable[[], Awaitable[Reading]], add: Callable[[Reading], None], warn: Callable[[str], None]
) -> None:
    """Reads something again and again. When it begins to fail, that is said once."""
    is_silent, due = False, time.monotonic()
    while True:
        try:
            one = await read()
        except Exception as error:  # noqa: BLE001 - whatever a foreign page does, the next one may be whole
            if not is_silent:
                said = error.message if isinstance(error, TrialFailedError) else f"{type(error).__name__}: {error}"
                warn(f"{what} is not seen: {said}")
            is_silent = True
        else:
            is_silent = False
            add(one)
        # Times that were missed are gone.
        due = max(due + every_s, time.monotonic())
        await asyncio.sleep(due - time.monotonic())


def service_name(page: str) -> str:
    """What a service is called by the address of its exporter: `b1:9404`."""
    return urlsplit(page).netloc
