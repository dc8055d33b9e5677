"""The driver of a dataflow: its control file instructs it, one step after the other."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

from hydrotest.analysis.spark.failure import in_brief
from hydrotest.errors import OverdueError, TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.files import Files
from hydrotest.hosts.node import Node
from hydrotest.load.spark import POLL_S, READY_S_MAX, Application, Submitted


class FlowDriver(Submitted):
    """A running driver. `progress` keeps its queries' reports of their batches."""

    OUT = "flow.jsonl"

    def __init__(self, name: str, node: Node, files: Files, folder: PurePath, log: PurePath, application: Application) -> None:
        super().__init__(name, node, files, folder, log, application)
        self._asked = 0
        self.progress: list[dict[str, Any]] = []
        """Of each batch: query, wall_s, batch, rows, seconds, ms (by part), behind (records; null if the
        source does not report it)."""
        self.endings: list[dict[str, Any]] = []
        """Of each query that an error has ended: query, wall_s, error (in brief)."""

    @classmethod
    async def start(cls, name: str, application: Application, host: Host, folder: PurePath, log: PurePath) -> FlowDriver:
        """Starts a driver and waits until its session is there.

        Raises `TrialFailedError` with the end of its log.
        """
        driver = await cls.submit(name, application, host, folder, log, {}, json.dumps({"number": 0}))
        try:
            ready = await driver._await("ready", 0, READY_S_MAX)
        except BaseException:  # a cancelled start must not leave its driver behind
            await driver.stop()
            raise
        driver.application = ready["application"]
        return driver

    async def ask(self, what: str, seconds_max: float, **fields: Any) -> dict[str, Any]:
        """Has it do something (see jobs/flow/Flow.java) and returns the result.

        Raises `TrialFailedError` if it fails, dies, or takes longer.
        """
        self._asked += 1
        await self.instruct(json.dumps({"number": self._asked, "do": what, **fields}))
        answer = await self._await("done", self._asked, seconds_max)
        result: dict[str, Any] = answer["result"]
        return result

    async def _await(self, wanted: str, number: int, seconds_max: float) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            while (line := await self._line_or_death()) is not None:
                if self._note(line) or line.get("number", 0) != number:
                    continue  # an unrequested report, or a late answer to an abandoned request
                if line["event"] == "failed":
                    raise TrialFailedError(f"{self.name}: {in_brief(line['error'], self._hosts)}")
                if line["event"] == wanted:
                    return line
            return None

        try:
            patience = Patience.of(what_it_was_asked_to_do=seconds_max)
            return await until(look, patience, f"the driver of {self.name}, see {self._log},", "come to an end with it", POLL_S)
        except OverdueError:
            # It does one thing after the other: a hanging step would keep all others waiting, too.
            await self.stop()
            raise

    def _note(self, line: dict[str, Any]) -> bool:
        """Keeps an unrequested report. False if the line is an answer."""
        stated = {"progress": self.progress, "ended": self.endings}.get(line["event"])
        if stated is None:
            return False
        stated.append({key: in_brief(value, self._hosts) if key == "error" else value for key, value in line.items() if key != "event"})
        return True

    async def take_in(self) -> None:
        """Keeps its reports so far, before requests to it end."""
        while (line := await self._next_line()) is not None:
            self._note(line)
