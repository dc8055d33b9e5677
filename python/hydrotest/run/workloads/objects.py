"""Objects in a store that speaks S3: written, and read back, some at once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from hydrotest.jobs.jars import MAINS
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.buckets import Prefixes, answered_s, program
from hydrotest.run.workloads.passes import Passes
from hydrotest.spec.choice import expected
from hydrotest.spec.passes import PassesWorkload
from hydrotest.systems.s3.client import S3Access

REQUESTS_PER_S_MIN = 5.0
"""Only a store far away, or one that is slowed down on purpose, answers fewer."""


class Objects(Passes):
    """Passes over objects."""

    client_name = "aws-sdk"

    def __init__(self, name: str, spec: PassesWorkload, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.client = expected(bench.systems["s3"], S3Access).client
        self.prefix = self.client.key_of(f"hydrotest-{bench.run}-{name}")
        self._own_identity = secrets.token_hex(16)
        """Of its prefix in a store of our own."""

    async def _make(self) -> None:
        if self.most is None:
            await self._run("make")
        else:
            await self.bench.own.make_prefix(self._prefixes, self.prefix)

    async def _remove(self) -> None:
        if self.most is None:
            await self._run("remove")
        else:
            await self.bench.own.remove_prefix(self._prefixes, self.prefix)

    def _settings(self) -> Mapping[str, Any]:
        identity = self._own_identity if self.most is None else self.bench.own.identity_of(self.prefix)
        return {**self.client.settings, "prefix": self.prefix, "identity": identity, "answered_s": self._answered_s}

    async def _command(self, buffered: int, settings: PurePath) -> list[str]:
        return [*await program(self.client, self.host, MAINS["objects"], self.bench.listener.say, buffered), str(settings)]

    def _requests_s_max(self, spec: PassesWorkload) -> float:
        return spec.requests_of(self.written) / min(REQUESTS_PER_S_MIN, self.client.requests_per_s or REQUESTS_PER_S_MIN)

    @property
    def _answered_s(self) -> float:
        """A request that takes longer has failed: beside others, each of its size, on the slowest link."""
        return answered_s(self.spec.operation * max(self.spec.at_once, self.written.at_once), self._bytes_per_s_min)

    def _environment(self) -> Mapping[str, str]:
        return self.client.environment

    @property
    def _prefixes(self) -> Prefixes:
        return Prefixes(self.client, self.host, self.bench.listener.say)
