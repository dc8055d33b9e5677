"""Files in HDFS: written, and read back, some at once."""

from __future__ import annotations

import json

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.command import run_command
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Workload, remove_quietly
from hydrotest.spec.workloads import HdfsRead, HdfsWrite
from hydrotest.store import layout
from hydrotest.store.records import FilesPass, Load, Trial
from hydrotest.systems.hdfs.system import CLIENT, HdfsSystem
from hydrotest.systems.java import find_java
from hydrotest.systems.properties import property_text

HEAP = "-Xmx256m"
BYTES_PER_S_MIN = 1e6
"""Of one copy; no disk or link that is not made slower on purpose brings less."""
JVM_S_MAX = SLOW * 60.0


class Files(Workload):
    """Passes over a number of files, each pass with another number at once."""

    def __init__(self, name: str, spec: HdfsWrite | HdfsRead, written: HdfsWrite, writer: str, bench: Bench) -> None:
        super().__init__(name, bench)
        self.spec = spec
        self.written = written
        system = bench.systems["hdfs"]
        assert isinstance(system, HdfsSystem)
        self.system = system
        self.folder = f"{system.url}/hydrotest-{bench.run}-{writer}"
        self._passes = 0

    @property
    def op(self) -> str:
        """`write` or `read`."""
        return "write" if isinstance(self.spec, HdfsWrite) else "read"

    async def _prepare(self) -> None:
        if self.op == "read":
            self.bench.listener.phase(f"writing the files for {self.name}")
            await self._press("write", self.written.at_once)

    async def measure(self, plan: TrialPlan, at_once: int) -> Trial:
        """One pass, as one trial. Files that are not what was written fail it."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(number, f"{self.name}: {self.written.files} files, {at_once} at once", plan.seconds)

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
        classpath = ":".join(self.system.classpath)
        jar = job_jar("files", classpath, f"hdfs-{self.system.version}")
        argv = [str(find_java()), HEAP, "-cp", f"{jar}:{classpath}", MAINS["files"], str(folder / "settings.json")]
        log = (self.bench.runner.folder.path / layout.SYSTEM_LOGS / f"{label}.log").resolve()
        output, _ = await run_command(label, argv, self.host, log, self._patience())
        return output

    def _patience(self) -> Patience:
        """For a pass over all files, by the slowest of the hosts."""
        specs = [host.spec for host in self.bench.hosts.values() if isinstance(host, NetnsHost)]
        given = [bits / 8 for spec in specs for bits in (spec.disk, spec.network) if bits is not None]
        copies = self.written.replication or self.system.spec.replication
        total = self.written.files * self.written.file_size * copies
        return Patience.of(a_JVM=JVM_S_MAX, all_files_at_the_slowest_speed=SLOW * total / min([BYTES_PER_S_MIN, *given]))

    async def finish(self) -> None:
        if self._passes:
            await remove_quietly(self.bench, self._remove(), f"{self.folder} of {self.name}")

    async def _remove(self) -> None:
        await self._run("remove")
