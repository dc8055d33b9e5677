"""How clients reach an HDFS, whoever started it: its address, their settings, and Hadoop's jars on their hosts."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from pathlib import PurePath

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host
from hydrotest.spec.fields import PropertyValue
from hydrotest.systems.base import Distribution, jars_of
from hydrotest.systems.fetch import ProgressCallback


class HdfsClient:
    """What programs need that read and write its files."""

    def __init__(
        self,
        distribution: Distribution,
        properties: Mapping[str, PropertyValue],
        folder: str = "",
        replication: int = 1,
        user: str | None = None,
    ) -> None:
        """`properties`: of hdfs-site.xml; `folder`: where its files are, empty for the root; `replication`: copies of a block where a
        file does not say; `user`: who reads and writes, None for the one who runs it."""
        self.url = ""
        """The prefix of paths, without the folder."""
        self.version: str | None = None
        """Of the jars."""
        self.properties = dict(properties)
        self.folder = folder
        self.replication = replication
        self.options = [] if user is None else [f"-DHADOOP_USER_NAME={user}"]
        """Of the JVMs of its clients."""
        self._distribution = distribution
        self._class_paths: dict[str, str] = {}
        """By machine."""

    def path(self, name: str) -> str:
        """A path of ours."""
        return f"{self.folder}/{name}"

    async def class_path(self, host: Host, say: ProgressCallback) -> str:
        """Hadoop's jars on a host, which are found, or brought there."""
        if host.machine not in self._class_paths:
            folder, found = await jars_of(host, self._distribution, say)
            if self.version not in (None, found):
                raise BadInputError(f"{host.name} has hdfs {found}, the others {self.version}", "Give all hosts the same release.")
            self.version = found
            below = {PurePath(jar).parent for jar in await host.glob(folder, "**/*.jar")} - {folder}
            self._class_paths[host.machine] = ":".join(f"{jars}/*" for jars in (folder, *sorted(below)))
        return self._class_paths[host.machine]


class HdfsAccess(ABC):
    """An HDFS that clients reach."""

    client: HdfsClient
