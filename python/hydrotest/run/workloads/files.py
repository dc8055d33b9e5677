"""Files in HDFS: written, and read back, some at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from hydrotest.jobs.jars import MAINS
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.hadoop import Folders, program
from hydrotest.run.workloads.passes import Passes
from hydrotest.spec.choice import expected
from hydrotest.spec.hdfs import HdfsWrite
from hydrotest.spec.passes import PassesWorkload
from hydrotest.systems.hdfs.client import HdfsAccess
from hydrotest.systems.properties import property_text


class Files(Passes):
    """Passes over files."""

    client_name = "hadoop"

    def __init__(self, name: str, spec: PassesWorkload, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.client = expected(bench.systems["hdfs"], HdfsAccess).client
        self.folder = self.client.path(f"hydrotest-{bench.run}-{name}")

    async def _make(self) -> None:
        if self.most is not None:
            await self.bench.own.make_folder(self._folders, self.folder)

    async def _remove(self) -> None:
        if self.most is None:
            await self._run("remove")
        else:
            await self.bench.own.remove_folder(self._folders, self.folder)

    def _settings(self) -> Mapping[str, Any]:
        written = expected(self.written, HdfsWrite)
        return {"folder": f"{self.client.url}{self.folder}", "replication": self._copies, "block_bytes": written.block_size,
                "makes_folder": self.most is None,
                "properties": {key: property_text(value) for key, value in self.client.properties.items()}}  # fmt: skip

    async def _command(self, buffered: int, settings: PurePath) -> list[str]:
        return [*await program(self.client, self.host, MAINS["files"], self.bench.listener.say), str(settings)]

    @property
    def _copies(self) -> int:
        return expected(self.written, HdfsWrite).replication or self.client.replication

    @property
    def _folders(self) -> Folders:
        return Folders(self.client, self.host, self.bench.listener.say)
