"""A machine whose counters a Prometheus collects: they are fetched after each trial, as they were scraped."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.monitored.gauges import known, names, read_gauges
from hydrotest.hosts.monitored.node_exporter import NAMES, TURN_ON, read_hardware, read_host
from hydrotest.hosts.monitored.series import Series, by_moment
from hydrotest.hosts.monitored.source import Known, Reading, reading
from hydrotest.hosts.monitored.web import Web
from hydrotest.spec.monitored import PrometheusHost

LOOKED_BACK_S = 300.0
"""To see how often it scrapes."""
PIECE_S = 600.0
"""The longest time that is asked for at once: a node with many cores has thousands of series."""
SCRAPES_BEFORE = 2
"""So many before a window: its first interval begins with the last one of them."""

Moments = list[tuple[float, list[Series]]]


@dataclass(frozen=True)
class _Server:
    """One Prometheus."""

    url: str
    web: Web

    async def ask(self, query: str, at_s: float | None = None) -> Any:
        """The result of a query (`/api/v1/query`, which gives raw samples of a range selector), at a time of its clock. Raises
        `TrialFailedError`."""
        asked = {"query": query} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
        page = await self.web.get(f"{self.url.rstrip('/')}/api/v1/query?{urlencode(asked)}")
        try:
            # Megabytes: other work goes on meanwhile.
            return (await asyncio.to_thread(json.loads, page))["data"]["result"]
        except (ValueError, LookupError, TypeError) as error:
            raise TrialFailedError(f"{urlsplit(self.url).netloc} is no Prometheus: it answers {page[:80]!r}") from error

    async def ahead_s(self) -> float:
        """How far its clock is ahead of the controller's."""
        asked = time.time()
        result = await self.ask("vector(time())")
        heard = time.time()
        try:
            stated = float(result[0]["value"][1])
        except (ValueError, LookupError, TypeError) as error:
            raise TrialFailedError(f"{urlsplit(self.url).netloc} does not say what time it is") from error
        return stated - (asked + heard) / 2


class Prometheus:
    """See `source.Source`."""

    def __init__(self, name: str, spec: PrometheusHost) -> None:
        """Raises `BadInputError` where its login is not there."""
        self._name = name
        self._spec = spec
        self._server = _Server(spec.server, Web.of(name, spec))
        self._theirs = known(spec.map)
        self._every_s = 0.0
        """Time between two scrapes; `known` finds it."""

    async def known(self) -> Known:
        """See `source.Source`."""
        spec = self._spec
        try:
            now = time.time() + await self._server.ahead_s()
            moments = await self._range(spec.instance, NAMES, now - LOOKED_BACK_S, now)
            services = {service: await self._gauges(service, now - LOOKED_BACK_S, now) for service in spec.services}
        except TrialFailedError as error:
            raise BadInputError(f"{self._name}: {error.message}", "Correct its `server`, or what the network lets pass.") from error
        if len(moments) < 2:
            raise BadInputError(f"{self._name}: {spec.server} has no samples of node_exporter with instance={spec.instance!r} in the last {LOOKED_BACK_S:g} s",
                                "Correct its `instance`: its page Status, Targets shows it.")  # fmt: skip
        for service, seen in services.items():
            if not seen:
                raise BadInputError(f"{self._name}: {spec.server} has no gauges that hydrotest knows with instance={service!r}",
                                    "Correct `services`, or map its own names with `map`.")  # fmt: skip
        newest = moments[-1][1]
        if missing := read_host(newest).missing:
            raise BadInputError(f"{self._name}: {spec.server} lacks {', '.join(missing)} with instance={spec.instance!r}",
                                TURN_ON)  # fmt: skip
        self._every_s = median(later - sooner for sooner, later in pairwise(at for at, _ in moments))
        gauges = {gauge for seen in services.values() for _, found in seen for gauge in found}
        return Known(read_hardware(newest), self._every_s, tuple(sorted(gauges)))

    async def follow(self, add: Callable[[Reading], None], warn: Callable[[str], None]) -> None:
        """Nothing comes while it is looked at."""

    async def kept(self, begin_s: float, end_s: float) -> Sequence[Reading]:
        """See `source.Source`."""
        ahead_s = await self._server.ahead_s()
        begin, end = begin_s + ahead_s - SCRAPES_BEFORE * self._every_s, end_s + ahead_s
        readings = [
            reading(at - ahead_s, host.counters, {})
            for at, series in await self._range(self._spec.instance, NAMES, begin, end)
            if not (host := read_host(series)).missing
        ]
        for service in self._spec.services:
            readings += [reading(at - ahead_s, {}, {service: gauges}) for at, gauges in await self._gauges(service, begin, end)]
        return readings

    async def _gauges(self, instance: str, begin: float, end: float) -> list[tuple[float, dict[str, float]]]:
        found = [(at, read_gauges(series, self._theirs)) for at, series in await self._range(instance, names(self._theirs), begin, end)]
        return [(at, gauges) for at, gauges in found if gauges]

    async def _range(self, instance: str, wanted: frozenset[str], begin: float, end: float) -> Moments:
        """All samples of some series after `begin` until `end`, by its clock."""
        moments: Moments = []
        while begin < end:
            piece_s = min(PIECE_S, end - begin)
            selector = f'{{instance="{instance}",__name__=~"{"|".join(sorted(wanted))}"}}[{max(1, round(piece_s * 1e3))}ms]'
            found = await self._server.ask(selector, begin + piece_s)
            try:
                moments += await asyncio.to_thread(lambda one: list(by_moment(one)), found)
            except (ValueError, LookupError, TypeError) as error:
                raise TrialFailedError(f"{urlsplit(self._spec.server).netloc} answers in another form than Prometheus does") from error
            begin += piece_s
        return moments
