"""Spark workloads: a driver that stays up for a whole run and is told when to press."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from hydrotest.analysis.job_watch import STALL_S, Beat, JobWatch
from hydrotest.analysis.spark_failure import means
from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import last_lines
from hydrotest.hosts.deadlines import Patience, cancelled, until
from hydrotest.hosts.node import Node, how_it_ended
from hydrotest.spec.workloads import SparkPerf
from hydrotest.store.folder import write_whole
from hydrotest.store.records import Iteration

READY_S_MAX = 300.0
"""For executors to come up and the data to be made."""
REGISTERED_S_MAX = 30.0
"""A driver says nothing before its executors are there, or this is over (`spark.scheduler.maxRegisteredResourcesWaitingTime`)."""
POLL_S = 0.05
GRACE_S = 10.0


@dataclass(frozen=True)
class Application:
    """How a driver is started: made by `run` from the system's own settings."""

    argv: Sequence[str]
    """Up to the program's own arguments."""
    env: Mapping[str, str]
    hosts: Mapping[str, str]
    """Names by address, for what Spark says of its executors."""


class JobHungError(TrialFailedError):
    """A test that does not come to its end; the message says why."""

    def __init__(self, message: str, began_s: float) -> None:
        super().__init__(message)
        self.began_s = began_s
        """When it began, wall time."""


class Submitted:
    """A running driver of ours: it does what its control file says, ends when that is gone, and tells what it did in a file of JSON lines."""

    OUT: ClassVar[str]

    def __init__(self, name: str, node: Node, folder: Path, log: Path, hosts: Mapping[str, str]) -> None:
        self.name = name
        self._hosts = hosts
        self.application = ""
        self.pid = node.pid
        """Of its supervisor: the driver is below it."""
        self._node = node
        self._control = folder / "control"
        self._out = folder / self.OUT
        self._log = log
        self._read = 0
        self._told: deque[dict[str, Any]] = deque()
        """Lines that were read and not looked at."""
        self._death: str | None = None
        self._watch = asyncio.create_task(self._follow())

    @classmethod
    async def submit(
        cls, name: str, application: Application, host: Host, folder: Path, log: Path, settings: Mapping[str, Any], first: str
    ) -> Self:
        """Starts a driver with these settings; `first` is what its control file says in the beginning. It is not awaited."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / cls.OUT).unlink(missing_ok=True)
        write_whole(folder / "settings.json", json.dumps({"control": str(folder / "control"), "out": str(folder / cls.OUT), **settings}))
        write_whole(folder / "control", first)
        service = Service(name, [*application.argv, str(folder / "settings.json")], folder, log, application.env, GRACE_S)
        return cls(name, await host.node("supervise", service.settings()), folder, log, application.hosts)

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
        """Ends it; its control file goes first, so that it can close its event log. Raises `TrialFailedError` where it had to be killed, or
        hangs."""
        self._control.unlink(missing_ok=True)
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
        except Exception as error:  # noqa: BLE001 - of this task nobody else hears: a driver that is not followed counts as dead
            how = f"as far as is known: {error}"
        self._death = f"the driver of {self.name} ended {how}"  # also where its log cannot be read
        said = self._log.read_text(errors="replace") if self._log.exists() else ""
        cause = means(said, self._hosts)
        self._death = f"{self._death}: {'' if cause is None else f'{cause}: '}{last_lines(said)}"

    def _line_or_death(self) -> dict[str, Any] | None:
        """The next line that it has written; None if there is none yet. Raises `TrialFailedError` if there will be none."""
        line = self._next_line()
        if line is None and self._death is not None:
            raise TrialFailedError(self._death)
        return line

    def _next_line(self) -> dict[str, Any] | None:
        """The next line that it has written; None if there is none yet."""
        if not self._told:
            texts, self._read = _whole_lines(self._out, self._read)
            try:
                self._told.extend(json.loads(text) for text in texts)
            except ValueError as error:  # a full disk has cut a line
                raise TrialFailedError(f"the driver of {self.name} wrote a line that is no JSON to {self._out}: {error}") from error
        return self._told.popleft() if self._told else None


class Driver(Submitted):
    """The driver of a batch workload. It rests until `press`."""

    OUT = "iterations.jsonl"

    def __init__(self, name: str, node: Node, folder: Path, log: Path, hosts: Mapping[str, str]) -> None:
        super().__init__(name, node, folder, log, hosts)
        self._beats = folder / "beats.jsonl"
        self.iterations = 0
        """That ended, cut short or not."""
        self._heard = 0

    @classmethod
    async def start(cls, name: str, workload: SparkPerf, application: Application, host: Host, folder: Path, log: Path) -> Driver:
        """Starts a driver and waits until its executors are up and its data lie in memory.

        Raises `TrialFailedError` with its last words.
        """
        settings = {"beats": str(folder / "beats.jsonl"), "tests": list(workload.tests),
                    "scale_factor": workload.scale_factor, "data_scale": workload.data_scale, "seed": workload.seed,
                    "unique_keys": workload.unique_keys, "skew": workload.skew}  # fmt: skip
        (folder / "beats.jsonl").unlink(missing_ok=True)
        driver = await cls.submit(name, application, host, folder, log, settings, "pause")
        try:
            ready = await driver._watched("ready", READY_S_MAX, REGISTERED_S_MAX + STALL_S)
            await driver.rested()
        except BaseException:  # a cancelled start must not leave its driver behind
            await driver.stop()
            raise
        driver.application = ready["application"]
        return driver

    def press(self) -> None:
        """Lets it run its tests in turn until `rest`."""
        write_whole(self._control, "run")

    def rest(self) -> None:
        """Cuts the running test short."""
        write_whole(self._control, "pause")

    async def next_iteration(self, seconds_max: float) -> Iteration:
        """The next one to end. Raises `TrialFailedError` if the driver dies, and `JobHungError` if none ends in that time or it is seen before
        that none will."""
        line = await self._watched("iteration", seconds_max)
        self.iterations += 1
        del line["event"]
        return Iteration.model_validate(line)

    async def _watched(self, wanted: str, seconds_max: float, first_word_s: float = STALL_S) -> dict[str, Any]:
        """The next line of this kind, while its beats say that one will come. `first_word_s`: without any beat."""
        self._new_beats()  # those of before tell nothing of it
        watch = JobWatch(seconds_max, time.time(), self._hosts, first_word_s)

        async def look() -> dict[str, Any] | None:
            line = self._line_or_death()
            if line is not None and line["event"] == wanted:
                return line
            for beat in self._new_beats():
                watch.tell(beat)
            why = watch.look(time.time())
            if why is not None:
                raise JobHungError(why, watch.began_s)
            return None

        # The watch has the first word: it knows why.
        patience = Patience.of(the_job=seconds_max, its_driver_to_begin=first_word_s, the_watch_over_it=STALL_S)
        return await until(look, patience, f"the driver of {self.name}", f"tell of its {wanted}", POLL_S)

    def _new_beats(self) -> list[Beat]:
        texts, self._heard = _whole_lines(self._beats, self._heard)
        try:
            return [Beat.model_validate_json(text) for text in texts]
        except ValueError as error:
            raise TrialFailedError(f"the driver of {self.name} wrote a line that is no beat to {self._beats}: {error}") from error

    async def rested(self, seconds_max: float = 60.0) -> list[Iteration]:
        """Waits until nothing runs any more, so that nothing runs into what comes next; what ended meanwhile."""
        ended: list[Iteration] = []

        async def look() -> bool:
            while (line := self._line_or_death()) is not None:
                if line.pop("event") == "resting":
                    return True
                ended.append(Iteration.model_validate(line))
                self.iterations += 1
            return False

        patience = Patience.of(a_task_to_be_cut_short=seconds_max)
        await until(look, patience, f"the driver of {self.name}, see {self._log},", "come to rest", POLL_S)
        return ended


def _whole_lines(path: Path, start: int) -> tuple[list[bytes], int]:
    """The whole lines of a file behind `start`, and where the next one begins; none of a file that is not there."""
    if not path.exists():
        return [], start
    with path.open("rb") as handle:
        handle.seek(start)
        whole, _, _ = handle.read().rpartition(b"\n")
    texts = [text for text in whole.split(b"\n") if text]
    return texts, start + sum(len(text) + 1 for text in texts)
