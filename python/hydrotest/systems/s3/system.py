"""SeaweedFS: an object store in one process, for rehearsal.

Source: `weed server -h`, and the wiki of SeaweedFS, "Amazon S3 API".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import PurePath

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import Private
from hydrotest.spec.s3 import BUCKET, S3
from hydrotest.systems.base import Command, Placement, Ready, System, claim_port
from hydrotest.systems.credentials import USER, Authority, new_password
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.pip import SEAWEED
from hydrotest.systems.s3.attached import AttachedS3
from hydrotest.systems.s3.client import Key, Place, S3Access, S3Client
from hydrotest.systems.service import OnDeath

SERVICE = "s3-0"
INNER = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3.grpc")
"""Ports on which its parts speak among themselves."""
PARTS = ("master", "volume", "filer", "s3")
SOCKETS = PurePath("/tmp")
"""Where its parts listen for each other, whatever is said; some of these sockets stay when it ends."""
VOLUME_MIB = 1024
"""A bucket begins with seven volumes, and none may be larger than the disk: by default they are of 30 GB."""
FILER = """\
[leveldb2]
enabled = true
dir = "./filer"
"""
"""In its own folder, so that none of this machine's in /etc/seaweedfs is used."""
NOTHING = "# nothing is signed or checked among its own parts, which listen where only this machine reaches them\n"


class S3System(System, S3Access):
    """A running SeaweedFS with a bucket for us."""

    name = "s3"
    version = "unknown"

    def __init__(self, spec: S3, hosts: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.ends_in_order = False
        self._ports: dict[str, int] = {}
        self._key = Key(USER, new_password())
        self._authority = Authority() if spec.security is not None and spec.security.tls else None
        certificate = None if self._authority is None else str(self._authority.certificate)
        self.client = S3Client(Place(BUCKET), self._key, certificate, makes_bucket=True)

    @property
    def endpoints(self) -> list[str]:
        return [self.client.endpoint]

    @property
    def _host(self) -> Host:
        (host,) = self.hosts
        return host

    async def start(self, say: ProgressCallback) -> None:
        host = self._host
        weed = PurePath(await asyncio.to_thread(SEAWEED.fetched, say)) / "bin/weed"
        self.version = f"SeaweedFS {SEAWEED.version}"
        say(f"s3 {self.version}: starting")
        self._ports["api"] = await claim_port(host, self.spec.port, "s3")
        for one in (*INNER, "plain"):
            self._ports[one] = await host.free_port()
        self.client.endpoint = f"{host.address}:{self._ports['api']}"
        await self._place(host, SERVICE, self.render(), ["data"])
        await self._start(host, SERVICE, self.command(weed))
        await self.until_ready()

    async def stop(self) -> list[str]:
        problems = await super().stop()
        for part in PARTS if self._ports else ():
            await self._host.remove(SOCKETS / f"seaweedfs-{part}-grpc-{self._ports[f'{part}.grpc']}.sock")
        return problems

    def render(self) -> dict[str, str]:
        """Its files: the only user, where it keeps what, and its certificate."""
        credentials = [{"accessKey": self._key.access, "secretKey": self._key.secret}]
        users = {"identities": [{"name": USER, "credentials": credentials, "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
        certificate = {} if self._authority is None else self._authority.issue("s3", [self._host.address]).render()
        return {"s3.json": Private(json.dumps(users)), "filer.toml": FILER, "security.toml": NOTHING, **certificate}

    def command(self, weed: PurePath) -> Command:
        """How it is started."""
        host, folder, ports = self._host, self.folder_of(self._host, SERVICE), self._ports
        options = {
            "ip": host.address, "ip.bind": host.address, "dir": folder / "data",
            "master.port": ports["master"], "master.port.grpc": ports["master.grpc"], "master.volumeSizeLimitMB": VOLUME_MIB,
            # Sockets are named from its own folder: their paths have at most 107 bytes (unix(7)). It would report to its makers once a day.
            "master.telemetry": "false",
            "volume.port": ports["volume"], "volume.port.grpc": ports["volume.grpc"], "volume.max": 0, "volume.preStopSeconds": 0,
            "filer": "true", "filer.port": ports["filer"], "filer.port.grpc": ports["filer.grpc"], "filer.localSocket": "filer.sock",
            "s3": "true", "s3.port": ports["api"] if self._authority is None else ports["plain"], "s3.port.grpc": ports["s3.grpc"],
            "s3.config": folder / "s3.json", "s3.localSocket": "s3.sock", "s3.port.iceberg": 0, "s3.port.lance": 0,
        }  # fmt: skip
        if self._authority is not None:
            options |= {"s3.port.https": ports["api"], "s3.cert.file": folder / "s3.pem", "s3.key.file": folder / "s3.key"}
        # `-logtostderr` comes before the command: its log is ours.
        argv = [str(weed), "-logtostderr=true", "server", *(f"-{name}={value}" for name, value in options.items())]
        cores = {} if host.processors is None else {"GOMAXPROCS": str(host.processors)}
        return Command(argv, {"GOMEMLIMIT": f"{self.spec.memory >> 20}MiB", **cores})

    def ready(self) -> list[Ready]:
        port = self._ports["api"] if self._authority is None else self._ports["plain"]
        return [Ready({"http": {"url": f"http://{self._host.address}:{port}/healthz"}}, lambda answer: "body" in answer)]


def make(spec: S3, placement: Placement) -> System:
    """See `kinds.system.SystemKind`."""
    if spec.is_attached:
        return AttachedS3(spec, placement.askers("s3"), placement.at(spec.hosts))
    return S3System(spec, placement.at(spec.hosts), placement.run, placement.logs, placement.on_death)
