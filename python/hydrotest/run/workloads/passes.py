"""Passes over files or objects: written, and read back, some at once, by a program of ours."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Literal

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.command import GRACE_S, run_command
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.run.lifecycle.evicting import evict
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Workload, remove_quietly
from hydrotest.spec.attach import AtOnceMost
from hydrotest.spec.check_attached import most_of
from hydrotest.spec.choice import narrowed
from hydrotest.spec.passes import PassesWorkload, ReadsWorkload, WritesWorkload
from hydrotest.store import layout
from hydrotest.store.records import FilesPass, Load, Trial

BYTES_PER_S_MIN = 1e6
"""Of one copy; only a disk or link that is slowed down on purpose is slower."""
JVM_S_MAX = SLOW * 60.0
PassesClient = Literal["hadoop", "aws-sdk"]


class Passes(Workload):
    """Passes over a number of files or objects, each with another number of them at once."""

    client_name: PassesClient
    """The library that applies the load."""

    @classmethod
    def bind(cls, name: str, spec: PassesWorkload, bench: Bench, made: Mapping[str, Workload]) -> Workload:  # noqa: ARG003 - its settings suffice
        return cls(name, spec, bench)

    def __init__(self, name: str, spec: PassesWorkload, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: PassesWorkload = spec
        self.written: WritesWorkload = spec.written(name, bench.experiment)
        self.most = narrowed(most_of(bench.experiment, name), AtOnceMost)
        """What its owner allows; None for a system of our own."""
        self._passes = 0

    @property
    def op(self) -> str:
        """`write` or `read`."""
        return "write" if self.spec.source is None else "read"

    async def _prepare(self) -> None:
        await self.bench.runner.guarded(self._set_up())

    async def _set_up(self) -> None:
        await self._make()
        if self.op == "read":
            self.bench.listener.phase(f"writing the {self.spec.things} for {self.name}")
            done = await self._press("write", self.written.at_once if self.most is None else min(self.written.at_once, self.most.at_once))
            if done.errors:
                raise TrialFailedError(f"{self.name}: what is to be read cannot be written: {_listed(done.errors)}")

    async def measure(self, plan: TrialPlan, at_once: int) -> Trial:
        """One pass, as one trial. It fails if content differs from what was written, or if nothing was answered."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(
            plan.start(number, f"{self.name}: {self.written.count} {self.spec.things}, {at_once} at once", {self.name: None})
        )

        async def body() -> list[Load]:
            if self._is_cold:
                await evict(self.bench.systems[self.spec.presses_on or ""].hosts, self.bench.run)
            done = await self._press(self.op, at_once)
            check_pass(self.name, self.spec.things, done)
            return [self._load(done)]

        return await self.bench.runner.record(number, plan, [self._load(None)], body)

    def _load(self, done: FilesPass | None) -> Load:
        return Load(workload=self.name, kind=self.spec.kind, client=self.client_name, files=done)

    async def _press(self, what: str, at_once: int) -> FilesPass:
        output = await self._run(what, at_once)
        return FilesPass.model_validate({
            "at_once": at_once, "operation_bytes": self.spec.operation, "operations_per_s": self.spec.rate,
            "is_random": self._is_random, "is_cold": what == "read" and self._is_cold,
            "allowed_bytes_per_s": None if self.most is None else self.most.rate_per_s,
            "allowed_requests_per_s": None if self.most is None else self.most.requests_per_s,
            **json.loads(output.strip().splitlines()[-1]),
        })  # fmt: skip

    async def _run(self, what: str, at_once: int = 1) -> str:
        self._passes += 1
        label = f"{self.name}-{what}-{self._passes}"
        folder = self.host.scratch(self.bench.run) / label
        # To write what is read afterwards is no measurement.
        spec = self.spec if what == self.op else self.written
        rate = spec.rate if what == self.op else None
        settings = {"do": what, "operation_bytes": spec.operation, "operations_per_s": rate, "is_random": self._is_random,
                    "files": self.written.count, "file_bytes": self.written.each_bytes, "at_once": at_once, "seed": self.written.seed,
                    "bytes_per_s": None if self.most is None else self.most.rate_per_s, **self._settings()}  # fmt: skip
        await place(self.host, folder, {"settings.json": json.dumps(settings)})
        # What is written is computed as it goes.
        argv = await self._command(spec.operation * at_once if what == "read" else 0, folder / "settings.json")
        logs = (self.bench.runner.folder.path / layout.SYSTEM_LOGS).resolve()
        log = (logs if not self.host.machine else folder) / f"{label}.log"
        try:
            # Beside others it ends at once: asked to, it would first write what it has taken in.
            grace_s = GRACE_S if self.most is None else 0.0
            output, _ = await run_command(label, argv, self.host, log, self._patience(spec), grace_s=grace_s, env=self._environment())
        finally:
            await fetch_file(self.host, log, logs)
        return output

    @property
    def _is_cold(self) -> bool:
        reads = narrowed(self.spec, ReadsWorkload)
        return reads is not None and reads.cold

    @property
    def _is_random(self) -> bool:
        reads = narrowed(self.spec, ReadsWorkload)
        return reads is not None and reads.order == "random"

    @property
    def _copies(self) -> int:
        """Of what is written."""
        return self.written.copies

    def _patience(self, spec: PassesWorkload) -> Patience:
        """Time for a pass over everything, on the slowest host."""
        allowed = [] if self.most is None or self.most.rate_per_s is None else [self.most.rate_per_s]
        total = self.written.count * self.written.each_bytes * self._copies
        scheduled = 0.0 if self.spec.rate is None else spec.operations_of(self.written) / self.spec.rate
        return Patience.of(
            a_JVM=JVM_S_MAX,
            operations_by_their_rate=scheduled,
            all_bytes_at_the_slowest_speed=SLOW * total / min([self._bytes_per_s_min, *allowed]),
            all_requests_of_it=SLOW * self._requests_s_max(spec),
        )

    @property
    def _bytes_per_s_min(self) -> float:
        """Of the slowest disk or link."""
        shares = [host.shares for host in self.bench.experiment.hosts.values()]
        return min(
            [BYTES_PER_S_MIN, *(bits / 8 for share in shares for bits in (share.get("disk"), share.get("network")) if bits is not None)]
        )

    def _requests_s_max(self, spec: PassesWorkload) -> float:
        """Seconds that requests of a pass take beside their bytes, on a slow system."""
        return 0.0

    async def finish(self) -> None:
        if self._passes:
            await remove_quietly(self.bench, self._remove(), f"what {self.name} made")

    @abstractmethod
    async def _make(self) -> None:
        """Makes what it writes into. May be called again."""

    @abstractmethod
    async def _remove(self) -> None:
        """Removes it. Raises `TrialFailedError`."""

    @abstractmethod
    def _settings(self) -> Mapping[str, Any]:
        """Of the program, in addition to those of `Press`. No secrets: they are in a file."""

    @abstractmethod
    async def _command(self, buffered: int, settings: PurePath) -> list[str]:
        """How the program is called, which may keep so many bytes at once."""

    def _environment(self) -> Mapping[str, str]:
        """Of the program; it may hold secrets."""
        return {}


def check_pass(name: str, things: str, done: FilesPass) -> None:
    """Raises `TrialFailedError` where content is not what was written, whatever else failed, or where no operation succeeded."""
    if wrong := sum(not one.correct for one in done.files):
        raise TrialFailedError(f"{name}: {wrong} of {len(done.files)} {things} are not what was written")
    if not done.operations_us:
        raise TrialFailedError(f"{name}: no operation succeeded: {_listed(done.errors)}")


def _listed(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {count:,} times" for code, count in sorted(errors.items(), key=lambda one: -one[1]))
