"""Files in HDFS: written, and read back, some at once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.command import GRACE_S, run_command
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.jobs.jars import MAINS
from hydrotest.run.lifecycle.evicting import evict
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Workload, remove_quietly
from hydrotest.run.workloads.hadoop import Folders, program
from hydrotest.spec.attach import FilesMost
from hydrotest.spec.check_attached import most_of
from hydrotest.spec.choice import expected, narrowed
from hydrotest.spec.hdfs import HdfsRead, HdfsWrite
from hydrotest.store import layout
from hydrotest.store.records import FilesPass, Load, Trial
from hydrotest.systems.hdfs.client import HdfsAccess
from hydrotest.systems.properties import property_text

BYTES_PER_S_MIN = 1e6
"""Of one copy; only a disk or link that is slowed down on purpose is slower."""
JVM_S_MAX = SLOW * 60.0


class Files(Workload):
    """Passes over a number of files, each with another number of files at once."""

    @classmethod
    def bind(cls, name: str, spec: HdfsWrite | HdfsRead, bench: Bench, made: Mapping[str, Workload]) -> Workload:  # noqa: ARG003 - its settings suffice
        written = expected(bench.experiment.workloads[spec.source or name], HdfsWrite)
        return cls(name, spec, written, bench)

    def __init__(self, name: str, spec: HdfsWrite | HdfsRead, written: HdfsWrite, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: HdfsWrite | HdfsRead = spec
        self.written = written
        self.client = expected(bench.systems["hdfs"], HdfsAccess).client
        self.folder = self.client.path(f"hydrotest-{bench.run}-{name}")
        self._most = most_of(bench.experiment, name)
        """What its owner allows; None for a file system of our own."""
        self._passes = 0

    @property
    def op(self) -> str:
        """`write` or `read`."""
        return "write" if self.spec.source is None else "read"

    async def _prepare(self) -> None:
        await self.bench.runner.guarded(self._set_up())

    async def _set_up(self) -> None:
        if self._most is not None:
            await self.bench.own.make_folder(self._folders, self.folder)
        if self.op == "read":
            self.bench.listener.phase(f"writing the files for {self.name}")
            await self._press("write", self.written.at_once if self._at_once_max is None else min(self.written.at_once, self._at_once_max))

    async def measure(self, plan: TrialPlan, at_once: int) -> Trial:
        """One pass, as one trial. It fails if files differ from what was written."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(
            plan.start(number, f"{self.name}: {self.written.files} files, {at_once} at once", {self.name: None})
        )

        async def body() -> list[Load]:
            if self._is_cold:
                await evict(self.bench.systems["hdfs"].hosts, self.bench.run)
            done = await self._press(self.op, at_once)
            wrong = sum(not one.correct for one in done.files)
            if wrong:
                raise TrialFailedError(f"{self.name}: {wrong} of {len(done.files)} files are not what was written")
            return [self._load(done)]

        return await self.bench.runner.record(number, plan, [self._load(None)], body)

    def _load(self, done: FilesPass | None) -> Load:
        return Load(workload=self.name, kind=self.spec.kind, client="hadoop", files=done)

    async def _press(self, what: str, at_once: int) -> FilesPass:
        output = await self._run(what, at_once)
        return FilesPass.model_validate({
            "at_once": at_once, "operation_bytes": self.spec.operation, "operations_per_s": self.spec.rate,
            "is_random": self._is_random, "is_cold": what == "read" and self._is_cold, "allowed_bytes_per_s": None if self._most is None else self._most.rate_per_s,
            **json.loads(output.strip().splitlines()[-1]),
        })  # fmt: skip

    async def _run(self, what: str, at_once: int = 1) -> str:
        self._passes += 1
        label = f"{self.name}-{what}-{self._passes}"
        folder = self.host.scratch(self.bench.run) / label
        # To write what is read afterwards is no measurement.
        spec = self.spec if what == self.op else self.written
        rate = spec.rate if what == self.op else None
        settings = {"do": what, "operation_bytes": spec.operation, "operations_per_s": rate,
                    "is_random": self._is_random, "folder": f"{self.client.url}{self.folder}", "files": self.written.files, "file_bytes": self.written.file_size,
                    "at_once": at_once, "replication": self._copies, "block_bytes": self.written.block_size, "seed": self.written.seed,
                    "bytes_per_s": None if self._most is None else self._most.rate_per_s, "makes_folder": self._most is None,
                    "properties": {key: property_text(value) for key, value in self.client.properties.items()}}  # fmt: skip
        await place(self.host, folder, {"settings.json": json.dumps(settings)})
        argv = [*await program(self.client, self.host, MAINS["files"], self.bench.listener.say), str(folder / "settings.json")]
        logs = (self.bench.runner.folder.path / layout.SYSTEM_LOGS).resolve()
        log = (logs if not self.host.machine else folder) / f"{label}.log"
        try:
            # Beside others it ends at once: asked to, it would first write what it has taken in.
            grace_s = GRACE_S if self._most is None else 0.0
            output, _ = await run_command(label, argv, self.host, log, self._patience(), grace_s=grace_s)
        finally:
            await fetch_file(self.host, log, logs)
        return output

    @property
    def _is_cold(self) -> bool:
        return isinstance(self.spec, HdfsRead) and self.spec.cold

    @property
    def _is_random(self) -> bool:
        return isinstance(self.spec, HdfsRead) and self.spec.order == "random"

    @property
    def _at_once_max(self) -> int | None:
        """What its owner allows."""
        most = narrowed(self._most, FilesMost)
        return None if most is None else most.at_once

    @property
    def _copies(self) -> int:
        return self.written.replication or self.client.replication

    @property
    def _folders(self) -> Folders:
        return Folders(self.client, self.host, self.bench.listener.say)

    def _patience(self) -> Patience:
        """Time for a pass over all files, on the slowest host."""
        shares = [host.shares for host in self.bench.experiment.hosts.values()]
        given = [bits / 8 for share in shares for bits in (share.get("disk"), share.get("network")) if bits is not None]
        allowed = [] if self._most is None or self._most.rate_per_s is None else [self._most.rate_per_s]
        total = self.written.files * self.written.file_size * self._copies
        operations = self.written.files * max(1, math.ceil(self.written.file_size / self.spec.operation))
        scheduled = 0.0 if self.spec.rate is None else operations / self.spec.rate
        return Patience.of(
            a_JVM=JVM_S_MAX,
            operations_by_their_rate=scheduled,
            all_files_at_the_slowest_speed=SLOW * total / min([BYTES_PER_S_MIN, *given, *allowed]),
        )

    async def finish(self) -> None:
        if self._passes:
            await remove_quietly(self.bench, self._remove(), f"{self.folder} of {self.name}")

    async def _remove(self) -> None:
        if self._most is None:
            await self._run("remove")
        else:
            await self.bench.own.remove_folder(self._folders, self.folder)
