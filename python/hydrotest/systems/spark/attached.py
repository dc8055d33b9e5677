"""A standalone Spark that is there already: what its master shows of itself.

Source: `JsonProtocol.writeMasterState` of Spark's deploy package: the page `/json/` of a master.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.secrets import secret_text
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.spark import Spark
from hydrotest.systems.attached import NOWHERE, AttachedSystem, ClusterFacts, Look, NodeFacts
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.spark.client import SparkAccess, SparkClient

OWN = "hydrotest-"
"""The names of applications of ours begin so."""
_VERSION = re.compile(r'class="version[^"]*"[^>]*>\s*([0-9.]+)')
"""In the master's first page: no other tells it."""


class AttachedSpark(AttachedSystem, SparkAccess):
    """A running master and its workers that hydrotest did not start."""

    name = "spark"

    def __init__(self, spec: Spark, askers: Sequence[Host], seen: Sequence[Host] = (), run: str = "", logs: PurePath = NOWHERE) -> None:
        super().__init__(Cluster(spec.attach), askers, seen, run, logs)
        assert spec.most is not None
        self._status = spec.status
        authentication: dict[str, PropertyValue] = {}
        if spec.security is not None:
            authentication = {
                "spark.authenticate": True,
                "spark.authenticate.secret": secret_text(spec.security.secret, "the secret of spark"),
            }
        self.client = SparkClient(spec, authentication)
        self.client.url = f"spark://{','.join(spec.attach)}"
        self.client.slots = spec.most.cores
        self.client.own["spark.app.name"] = self._own = f"{OWN}{run}"
        self._most = spec.most
        self._alive: list[dict[str, Any]] = []
        """Its workers, when it was last asked."""

    def looking(self) -> dict[str, Any]:
        return {"pages": {"urls": [f"http://{self._status}/json/"]}}

    def seen(self, looked: Mapping[str, Any]) -> Look:
        state = json.loads(looked["pages"][0])
        return Look(_lost(state), waiting=_waiting(state, self._own))

    async def applications(self, asker: Host) -> list[str]:
        """The names of those that are under way."""
        return [one["name"] for one in (await self._state(asker))["activeapps"]]

    async def start(self, say: ProgressCallback) -> None:
        await super().start(say)
        await self.client.find(say)
        if self.version not in ("unknown", self.client.version):
            raise BadInputError(f"spark at {self.endpoints[0]} is {self.version}, and its client here is {self.client.version}",
                                "Give the same release: `release`, or `home`.")  # fmt: skip

    async def _state(self, asker: Host) -> dict[str, Any]:
        page = await ask(asker, "query", {"http": {"url": f"http://{self._status}/json/"}})
        try:
            state: dict[str, Any] = json.loads(page["body"])
            return {**state, "status": state["status"], "activeapps": state["activeapps"]}
        except (ValueError, KeyError, TypeError) as error:
            raise BadInputError(
                f"no master of Spark shows its state at {self._status}", "Correct `status`: the port of its web pages."
            ) from error

    async def _ask(self, asker: Host) -> ClusterFacts:
        state = await self._state(asker)
        if state["status"] != "ALIVE":
            raise BadInputError(f"the master at {self._status} is {state['status']}", "Name the one that leads.")
        page = await ask(asker, "query", {"http": {"url": f"http://{self._status}/"}})
        found = _VERSION.search(page["body"])
        self.version = "unknown" if found is None else found[1]
        alive = [worker for worker in state["workers"] if worker["state"] == "ALIVE"]
        nodes = tuple(NodeFacts(worker["id"], f"{worker['host']}:{worker['port']}", unknown="a worker keeps no data") for worker in alive)
        free = sum(worker["coresfree"] for worker in alive)
        counts = {"cores": state["cores"], "free cores": free, "applications": len(state["activeapps"])}
        self.client.names = {worker["host"]: worker["host"] for worker in alive}
        self._alive = alive
        return ClusterFacts("spark", state["url"], nodes, counts, _lost(state), waiting=_waiting(state, self._own))

    def check_room(self) -> None:
        alive, most = self._alive, self._most
        free = sum(worker["coresfree"] for worker in alive)
        if free < most.cores:
            raise BadInputError(f"spark has {free} free cores, and `most.cores` is {most.cores}: its application would wait, or take them from others",
                                "Take fewer, or wait until there are more.")  # fmt: skip
        memory = self.client.spec.memory
        takes = min(len(alive), most.cores) * memory
        if takes > most.memory:
            raise BadInputError(f"an executor of {memory >> 20} MiB on each of {min(len(alive), most.cores)} workers takes more than `most.memory` allows",
                                "Lower `memory`, or raise `most.memory`.")  # fmt: skip
        if lacking := [worker["id"] for worker in alive if worker["memoryfree"] << 20 < memory]:
            raise BadInputError(
                f"{lacking[0]} of spark has too little free memory for an executor of {memory >> 20} MiB", "Lower `memory`."
            )


def _lost(state: Mapping[str, Any]) -> int:
    """Workers that the master knows and does not hear."""
    return sum(worker["state"] not in ("ALIVE", "DECOMMISSIONED") for worker in state["workers"])


def _waiting(state: Mapping[str, Any], own: str) -> int:
    """Applications that have not got the cores that they want, but for the one of that name."""
    return sum(one["state"] == "WAITING" and one["name"] != own for one in state["activeapps"])
