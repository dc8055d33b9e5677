"""How clients reach an HDFS, whoever started it: its address, their settings, and Hadoop's jars on their hosts."""

from __future__ import annotations

import json
import os
from abc import ABC
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host
from hydrotest.spec.fields import PropertyValue
from hydrotest.systems.base import Distribution, jars_of
from hydrotest.systems.fetch import HDFS, ProgressCallback


def distribution(home: str | None) -> Distribution:
    """Where Hadoop's jars come from; `home`: the user's own, as the experiment names it."""
    return Distribution(HDFS, home, os.environ.get("HADOOP_HOME"), "share/hadoop")


def beans_of(page: str) -> list[dict[str, Any]]:
    """The beans of a NameNode's page `/jmx`; empty until it has made them. Raises `ValueError` for what is no JSON."""
    beans: list[dict[str, Any]] = json.loads(page)["beans"]
    return beans


class HdfsClient:
    """What programs need that read and write its files."""

    def __init__(
        self,
        jars: Distribution,
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
        self._jars = jars
        self._class_paths: dict[str, str] = {}
        """By machine."""

    def path(self, name: str) -> str:
        """A path of ours."""
        return f"{self.folder}/{name}"

    async def class_path(self, host: Host, say: ProgressCallback) -> str:
        """Hadoop's jars on a host, which are found, or brought there."""
        if host.machine not in self._class_paths:
            folder, found = await jars_of(host, self._jars, say)
            if self.version not in (None, found):
                raise BadInputError(f"{host.name} has hdfs {found}, the others {self.version}", "Give all hosts the same release.")
            self.version = found
            below = {PurePath(jar).parent for jar in await host.glob(folder, "**/*.jar")} - {folder}
            self._class_paths[host.machine] = ":".join(f"{jars}/*" for jars in (folder, *sorted(below)))
        return self._class_paths[host.machine]


class HdfsAccess(ABC):
    """An HDFS that clients reach."""

    client: HdfsClient
