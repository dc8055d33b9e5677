"""Spark workloads: a driver that stays up for a complete run and runs its tests on request."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Self

from hydrotest.analysis.spark.failure import means
from hydrotest.analysis.spark.watch import STALL_S, Beat, JobWatch
from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import last_lines, log_text
from hydrotest.hosts.deadlines import Patience, cancelled, until
from hydrotest.hosts.files import Files, place
from hydrotest.hosts.node import Node, how_it_ended
from hydrotest.spec.spark import SparkPerf
from hydrotest.store.records import Iteration

SETTINGS, CONTROL, BEATS = "settings.json", "control", "beats.jsonl"
"""Files in a driver's folder."""
READY_S_MAX = 300.0
"""Time for executors to start and the data to be made."""
REGISTERED_S_MAX = 30.0
"""A driver reports nothing before its executors are there, or this is over
(`spark.scheduler.maxRegisteredResourcesWaitingTime`)."""
POLL_S = 0.05
GRACE_S = 10.0


@dataclass(frozen=True)
class Application:
    """How a driver is started: made by `run` from the system's own settings."""

    argv: Sequence[str]
    """Up to the program's own arguments."""
    env: Mapping[str, str]
    hosts: Mapping[str, str]
    """Host names by address, for Spark's reports of its executors."""
    ends: asyncio.Future[Any] | None = None
    """Once this is resolved, the driver is killed, whatever it does: on a cluster of others, what no longer may go on."""


class JobHungError(TrialFailedError):
    """A test that does not end; the message gives the reason."""

    def __init__(self, message: str, began_s: float) -> None:
        super().__init__(message)
        self.began_s = began_s
        """When it began, wall time."""


class Submitted:
    """A running driver of ours.

    It follows its control file, and ends when that is gone. It reports in a file of JSON lines.
    """

    OUT: ClassVar[str]

    def __init__(self, name: str, node: Node, files: Files, folder: PurePath, log: PurePath, application: Application) -> None:
        """`files`: of the host that has `node`, `folder` and `log`."""
        self.name = name
        self._files = files
        self._hosts = application.hosts
        self.application = ""
        self.pid = node.pid
        """The supervisor's pid: the driver is below it."""
        self._node = node
        self._control = folder / CONTROL
        self._out = folder / self.OUT
        self._log = log
        self._read = 0
        self._told: deque[dict[str, Any]] = deque()
        """Lines that were read and not yet handled."""
        self._death: str | None = None
        self._watch = asyncio.create_task(self._follow())
        self._end = None if application.ends is None else asyncio.create_task(self._killed_once(application.ends))

    async def _killed_once(self, ends: asyncio.Future[Any]) -> None:
        await asyncio.wait([ends, self._watch], return_when=asyncio.FIRST_COMPLETED)
        if ends.done() and self.is_alive:
            await self._node.command("signal", name="kill")

    @classmethod
    async def submit(
        cls, name: str, application: Application, host: Host, folder: PurePath, log: PurePath, settings: Mapping[str, Any], first: str
    ) -> Self:
        """Starts a driver with these settings, without waiting for it; `first` is the first content of
        its control file."""
        await host.remove(folder / cls.OUT)
        whole = {"control": str(folder / CONTROL), "out": str(folder / cls.OUT), **settings}
        await place(host, folder, {SETTINGS: json.dumps(whole), CONTROL: first})
        service = Service(name, [*application.argv, str(folder / SETTINGS)], folder, log, application.env, GRACE_S)
        return cls(name, await host.node("supervise", service.settings()), host, folder, log, application)

    async def instruct(self, what: str) -> None:
        """Writes its next task into its control file."""
        await self._files.put(self._control, what.encode())

    @property
    def is_alive(self) -> bool:
        """False once the driver has ended."""
        return self._death is None

    @property
    def death(self) -> str | None:
        """How it ended; None while it lives."""
        return self._death

    async def signal(self, name: Literal["kill", "term", "stop", "cont"]) -> None:
        """Signals the driver; returns when it has ended, if that ends it."""
        await self._node.command("signal", name=name)
        if name in ("kill", "term"):
            await asyncio.wait([self._watch], timeout=GRACE_S)

    async def stop(self) -> None:
        """Ends it; its control file goes first, so that it can close its event log.

        Raises `TrialFailedError` where it had to be killed, or hangs.
        """
        if self._end is not None:
            await cancelled(self._end)
        await self._files.remove(self._control)
        await asyncio.wait([self._watch], timeout=GRACE_S)
        problem = await self._node.close()
        await cancelled(self._watch, GRACE_S)
        if problem is not None:
            raise TrialFailedError(f"the driver of {self.name}: {problem}")

    async def _follow(self) -> None:
        how = "its supervisor ended"
        try:
            async for event in self._node.events():
                if event["event"] == "exited":
                    how = how_it_ended(event)
                elif event["event"] == "failed":
                    how = event["error"]
        except Exception as error:  # noqa: BLE001 - the only report from this task: a driver that is not followed counts as dead
            how = f"as far as is known: {error}"
        ended = f"the driver of {self.name} ended {how}"
        try:
            said = await log_text(self._files, self._log)
        except (OSError, TrialFailedError) as error:
            self._death = f"{ended}; its log cannot be read: {error}"
        else:
            cause = means(said, self._hosts)
            self._death = f"{ended}: {'' if cause is None else f'{cause}: '}{last_lines(said)}"

    async def _line_or_death(self) -> dict[str, Any] | None:
        """The next line that it has written; None if there is none yet.

        Raises `TrialFailedError` if there will be none.
        """
        death = self._death  # read before the file: its last lines count
        line = await self._next_line()
        if line is None and death is not None:
            raise TrialFailedError(death)
        return line

    async def _next_line(self) -> dict[str, Any] | None:
        """The next line that it has written; None if there is none yet."""
        if not self._told:
            texts, self._read = await _whole_lines(self._files, self._out, self._read)
            try:
                self._told.extend(json.loads(text) for text in texts)
            except ValueError as error:  # a full disk has cut a line
                raise TrialFailedError(f"the driver of {self.name} wrote a line that is no JSON to {self._out}: {error}") from error
        return self._told.popleft() if self._told else None


class Driver(Submitted):
    """The driver of a batch workload. It is idle until `press`."""

    OUT = "iterations.jsonl"

    def __init__(self, name: str, node: Node, files: Files, folder: PurePath, log: PurePath, application: Application) -> None:
        super().__init__(name, node, files, folder, log, application)
        self._beats = folder / BEATS
        self.iterations = 0
        """Number of ended tests, including those cut short."""
        self._heard = 0

    @classmethod
    async def start(cls, name: str, workload: SparkPerf, application: Application, host: Host, folder: PurePath, log: PurePath) -> Driver:
        """Starts a driver and waits until its executors are up and its data are in memory.

        Raises `TrialFailedError` with the end of its log.
        """
        settings = {"beats": str(folder / BEATS), "tests": list(workload.tests),
                    "scale_factor": workload.scale_factor, "data_scale": workload.data_scale, "seed": workload.seed,
                    "unique_keys": workload.unique_keys, "skew": workload.skew}  # fmt: skip
        await host.remove(folder / BEATS)
        driver = await cls.submit(name, application, host, folder, log, settings, "pause")
        try:
            ready = await driver._watched("ready", READY_S_MAX, REGISTERED_S_MAX + STALL_S)
            await driver.rested()
        except BaseException:  # a cancelled start must not leave its driver behind
            await driver.stop()
            raise
        driver.application = ready["application"]
        return driver

    async def press(self) -> None:
        """Lets it run its tests one after the other until `rest`."""
        await self.instruct("run")

    async def rest(self) -> None:
        """Cuts the running test short."""
        await self.instruct("pause")

    async def next_iteration(self, seconds_max: float) -> Iteration:
        """The next test that ends.

        Raises `TrialFailedError` if the driver dies. Raises `JobHungError` if none ends in that time, or if
        it becomes clear earlier that none will.
        """
        line = await self._watched("iteration", seconds_max)
        self.iterations += 1
        del line["event"]
        return Iteration.model_validate(line)

    async def _watched(self, wanted: str, seconds_max: float, first_word_s: float = STALL_S) -> dict[str, Any]:
        """The next line of this kind, while its beats show that one will come.

        `first_word_s`: limit without any beat.
        """
        await self._new_beats()  # drops earlier beats, which are about something else
        watch = JobWatch(seconds_max, time.time(), self._hosts, first_word_s)

        async def look() -> dict[str, Any] | None:
            line = await self._line_or_death()
            if line is not None and line["event"] == wanted:
                return line
            for beat in await self._new_beats():
                watch.tell(beat)
            why = watch.look(time.time())
            if why is not None:
                raise JobHungError(why, watch.began_s)
            return None

        # The watch has precedence: it knows the reason.
        patience = Patience.of(the_job=seconds_max, its_driver_to_begin=first_word_s, the_watch_over_it=STALL_S)
        return await until(look, patience, f"the driver of {self.name}", f"tell of its {wanted}", POLL_S)

    async def _new_beats(self) -> list[Beat]:
        texts, self._heard = await _whole_lines(self._files, self._beats, self._heard)
        try:
            return [Beat.model_validate_json(text) for text in texts]
        except ValueError as error:
            raise TrialFailedError(f"the driver of {self.name} wrote a line that is not a heartbeat to {self._beats}: {error}") from error

    async def rested(self, seconds_max: float = 60.0) -> list[Iteration]:
        """Waits until nothing runs any more, so that nothing runs into what follows; returns the tests
        that ended meanwhile."""
        ended: list[Iteration] = []

        async def look() -> bool:
            while (line := await self._line_or_death()) is not None:
                if line.pop("event") == "resting":
                    return True
                ended.append(Iteration.model_validate(line))
                self.iterations += 1
            return False

        patience = Patience.of(a_task_to_be_cut_short=seconds_max)
        await until(look, patience, f"the driver of {self.name}, see {self._log},", "become idle", POLL_S)
        return ended


async def _whole_lines(files: Files, path: PurePath, start: int) -> tuple[list[bytes], int]:
    """The complete lines of a file behind `start`, and the start of the next one; none if there is no
    such file."""
    if (await files.size(path) or 0) <= start:
        return [], start
    whole, _, _ = (await files.get(path, start)).rpartition(b"\n")
    texts = [text for text in whole.split(b"\n") if text]
    return texts, start + sum(len(text) + 1 for text in texts)
