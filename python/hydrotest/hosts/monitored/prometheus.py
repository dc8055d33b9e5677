"""A machine whose counters a Prometheus collects: they are fetched after each trial, as they were scraped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any
from urllib.parse import urlencode

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.monitored.gauges import known, names, read_gauges
from hydrotest.hosts.monitored.node_exporter import NAMES, read_hardware, read_host
from hydrotest.hosts.monitored.series import Series, by_moment
from hydrotest.hosts.monitored.source import Known, Reading, reading
from hydrotest.hosts.monitored.web import Web
from hydrotest.spec.monitored import PrometheusHost

LOOKED_BACK_S = 300.0
"""To see how often it scrapes."""
MARGIN_S = 120.0
"""Before a window: its first interval begins with the scrape before it."""


@dataclass(frozen=True)
class _Server:
    """One Prometheus."""

    url: str
    web: Web

    async def ask(self, query: str) -> Any:
        """The result of a query (`/api/v1/query`, which gives raw samples of a range selector). Raises `TrialFailedError`."""
        page = await self.web.get(f"{self.url.rstrip('/')}/api/v1/query?{urlencode({'query': query})}")
        try:
            return json.loads(page)["data"]["result"]
        except (ValueError, LookupError, TypeError) as error:
            raise TrialFailedError(f"{self.url} is no Prometheus: it answers {page[:80]!r}") from error

    async def ahead_s(self) -> float:
        """How far its clock is ahead of the controller's."""
        asked = time.time()
        at, _ = await self.ask("time()")
        return float(at) - (asked + time.time()) / 2


class Prometheus:
    """See `source.Source`."""

    def __init__(self, name: str, spec: PrometheusHost) -> None:
        """Raises `BadInputError` where its login is not there."""
        self._name = name
        self._spec = spec
        self._server = _Server(spec.server, Web.of(name, spec))
        self._theirs = known(spec.map)

    @property
    def name(self) -> str:
        """See `source.Source`."""
        return self._name

    async def known(self) -> Known:
        """See `source.Source`."""
        spec = self._spec
        try:
            moments = await self._range(spec.instance, NAMES, LOOKED_BACK_S)
            services = {service: await self._gauges(service, LOOKED_BACK_S) for service in spec.services}
        except TrialFailedError as error:
            raise BadInputError(f"{self._name}: {error.message}", "Correct its `server`, or what the network lets pass.") from error
        if len(moments) < 2:
            raise BadInputError(f"{self._name}: {spec.server} has no samples of node_exporter with instance={spec.instance!r} in the last {LOOKED_BACK_S:g} s",
                                "Correct its `instance`: its page Status, Targets shows it.")  # fmt: skip
        for service, seen in services.items():
            if not seen:
                raise BadInputError(f"{self._name}: {spec.server} has no gauges that hydrotest knows with instance={service!r}",
                                    "Correct `services`, or map its own names with `map`.")  # fmt: skip
        times, newest = [at for at, _ in moments], moments[-1][1]
        if missing := read_host(newest).missing:
            raise BadInputError(f"{self._name}: {spec.server} lacks {', '.join(missing)} with instance={spec.instance!r}",
                                "Turn on the collectors cpu, meminfo, vmstat, diskstats, netdev, netstat and stat of its node_exporter.")  # fmt: skip
        every_s = median(later - sooner for sooner, later in pairwise(times))
        return Known(
            read_hardware(newest), every_s, tuple(sorted({gauge for seen in services.values() for _, found in seen for gauge in found}))
        )

    async def follow(self, add: Callable[[Reading], None], warn: Callable[[str], None]) -> None:
        """Nothing comes while it is looked at."""

    async def kept(self, begin_s: float, end_s: float) -> Sequence[Reading]:
        """See `source.Source`."""
        ahead_s = await self._server.ahead_s()
        back_s = time.time() - begin_s + MARGIN_S
        readings = [
            reading(at - ahead_s, host.counters, {}, {})
            for at, series in await self._range(self._spec.instance, NAMES, back_s)
            if not (host := read_host(series)).missing
        ]
        for service in self._spec.services:
            readings += [reading(at - ahead_s, {}, {service: gauges}, {}) for at, gauges in await self._gauges(service, back_s)]
        return [one for one in readings if begin_s - MARGIN_S <= one["wall_s"] <= end_s + MARGIN_S]

    async def _gauges(self, instance: str, back_s: float) -> list[tuple[float, dict[str, float]]]:
        found = [(at, read_gauges(series, self._theirs)) for at, series in await self._range(instance, names(self._theirs), back_s)]
        return [(at, gauges) for at, gauges in found if gauges]

    async def _range(self, instance: str, wanted: frozenset[str], back_s: float) -> list[tuple[float, list[Series]]]:
        selector = f'{{instance="{instance}",__name__=~"{"|".join(sorted(wanted))}"}}[{round(back_s)}s]'
        found: list[Mapping[str, Any]] = await self._server.ask(selector)
        return list(by_moment([dict(one) for one in found]))
