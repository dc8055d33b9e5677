"""Files in HDFS: written, and read back, some at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.command import run_command
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Workload, remove_quietly
from hydrotest.spec.choice import expected
from hydrotest.spec.hdfs import HdfsRead, HdfsWrite
from hydrotest.store import layout
from hydrotest.store.records import FilesPass, Load, Trial
from hydrotest.systems.fetch import HDFS, fetch
from hydrotest.systems.hdfs.system import CLIENT, HdfsSystem
from hydrotest.systems.properties import property_text

HEAP = "-Xmx256m"
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
        self.system = expected(bench.systems["hdfs"], HdfsSystem)
        self.folder = f"{self.system.url}/hydrotest-{bench.run}-{name}"
        self._passes = 0

    @property
    def op(self) -> str:
        """`write` or `read`."""
        return "write" if self.spec.source is None else "read"

    async def _prepare(self) -> None:
        if self.op == "read":
            self.bench.listener.phase(f"writing the files for {self.name}")
            await self._press("write", self.written.at_once)

    async def measure(self, plan: TrialPlan, at_once: int) -> Trial:
        """One pass, as one trial. It fails if files differ from what was written."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(
            plan.start(number, f"{self.name}: {self.written.files} files, {at_once} at once", {self.name: None})
        )

        async def body() -> list[Load]:
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
        return FilesPass.model_validate({"at_once": at_once, **json.loads(output.strip().splitlines()[-1])})

    async def _run(self, what: str, at_once: int = 1) -> str:
        self._passes += 1
        label = f"{self.name}-{what}-{self._passes}"
        folder = self.host.scratch(self.bench.run) / label
        settings = {"do": what, "folder": self.folder, "files": self.written.files, "file_bytes": self.written.file_size, "at_once": at_once,
                    "replication": self.written.replication or self.system.spec.replication, "block_bytes": self.written.block_size,
                    "seed": self.written.seed, "properties": {key: property_text(value) for key, value in CLIENT.items()}}  # fmt: skip
        await place(self.host, folder, {"settings.json": json.dumps(settings)})
        classpath = await self.system.class_path(self.host, self.bench.listener.say)
        jar = await self.host.copy_of(await asyncio.to_thread(self._jar, classpath))
        argv = [str(await self.host.java()), HEAP, "-cp", f"{jar}:{classpath}", MAINS["files"], str(folder / "settings.json")]
        logs = (self.bench.runner.folder.path / layout.SYSTEM_LOGS).resolve()
        log = (logs if not self.host.machine else folder) / f"{label}.log"
        try:
            output, _ = await run_command(label, argv, self.host, log, self._patience())
        finally:
            await fetch_file(self.host, log, logs)
        return output

    def _jar(self, classpath: str) -> Path:
        """The program, compiled here: against the jars that run it, or where they are on another machine against the fetched ones."""
        if self.host.machine:
            folder = fetch(HDFS, self.bench.listener.say)
            below = sorted({jar.parent for jar in folder.rglob("*.jar")} - {folder})
            classpath = ":".join(f"{jars}/*" for jars in (folder, *below))
        return job_jar("files", classpath, f"hdfs-{self.system.version}")

    def _patience(self) -> Patience:
        """Time for a pass over all files, on the slowest host."""
        shares = [host.shares for host in self.bench.experiment.hosts.values()]
        given = [bits / 8 for share in shares for bits in (share.get("disk"), share.get("network")) if bits is not None]
        copies = self.written.replication or self.system.spec.replication
        total = self.written.files * self.written.file_size * copies
        return Patience.of(a_JVM=JVM_S_MAX, all_files_at_the_slowest_speed=SLOW * total / min([BYTES_PER_S_MIN, *given]))

    async def finish(self) -> None:
        if self._passes:
            await remove_quietly(self.bench, self._remove(), f"{self.folder} of {self.name}")

    async def _remove(self) -> None:
        await self._run("remove")
