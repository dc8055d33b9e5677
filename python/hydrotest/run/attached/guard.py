"""Watches a cluster that is not hydrotest's own for as long as anything is asked of it.

A few requests a second of ours go to every node (`canary`). Where they get slow, where copies fall behind or a disk fills, or
where nothing is heard any more, all load ends.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hydrotest.errors import HydrotestError, RunFailedError, TrialFailedError
from hydrotest.hosts.clocks import Comparison
from hydrotest.hosts.deadlines import Patience, cancelled, within
from hydrotest.hosts.node import Node
from hydrotest.load.native import RunningGenerator
from hydrotest.report.wording.guard import breach_words
from hydrotest.run.attached.dealings import Dealings
from hydrotest.run.attached.own import OwnThings
from hydrotest.spec.attach import Guard
from hydrotest.systems.attached import AttachedSystem, Look
from hydrotest.verdicts.guard import Breach, Breached

BAD_SECONDS = 3
"""So many in a row are a breach; a single one may be an election."""
LOOK_S = 1.0
"""Between two questions about copies; the disks are asked for with every tenth."""
DISKS_EVERY = 10
SILENT_S = 5.0
"""Without an answer for so long the guard no longer guards."""
LOOKED = Patience.of(a_node_that_hangs_is_left_for_another=2.5)
HEARD = Patience.of(a_canary_that_reports_each_second=SILENT_S)
MARGIN_S = 120.0
"""The canary outlives the time that is allowed, so that it is there while the last trial is accounted for."""


class GuardBreachedError(RunFailedError):
    """The cluster was no longer as its owner wants it, and all load was ended."""

    exit_code = 4


def breach_error(breach: Breach) -> RunFailedError:
    """The error that ends a run."""
    kept = "What was measured before is kept."
    if breach.code is Breached.LATE:
        return RunFailedError(breach_words(breach), f"{kept} Raise `most.time`, widen `between`, or ask for less.")
    return GuardBreachedError(f"all load was ended: {breach_words(breach)}", kept)


@dataclass
class Baseline:
    """How the cluster was before anything else was asked of it."""

    seconds: float = 0.0
    p99_ms: list[float] = field(default_factory=list)
    behind: int = 0
    free: float | None = None
    """The least free share of a disk; None where no broker says."""

    def data(self) -> dict[str, float | int | None]:
        """As in environment.json."""
        return {"seconds": self.seconds, "p99_ms": max(self.p99_ms, default=None), "behind": self.behind, "free": self.free}


class CanarySeconds:
    """The canary's seconds, one after the other. Its own p99 knows only what was answered."""

    def __init__(self, per_s: float, bound_s: float) -> None:
        self._late_from = per_s * bound_s + 1
        """With so many unanswered, the oldest is older than the bound (J. D. C. Little's law, 1961)."""
        self._before = (0, 0)

    def p99_ms(self, event: Mapping[str, Any]) -> float | None:
        """The p99 of a second; None where requests failed, nothing was answered, or too many are not answered yet."""
        counts = event["counts"]
        (completed, failed), self._before = self._before, (counts["completed"], counts["failed"])
        unanswered = counts["started"] - counts["completed"] - counts["failed"]
        if counts["failed"] > failed or counts["completed"] == completed or unanswered > self._late_from:
            return None
        return event["p99_ms"]  # type: ignore[no-any-return]


class Watch:
    """The guard of one cluster."""

    def __init__(self, dealings: Dealings[Any], guard: Guard, allowed_s: Callable[[], float], looked: Callable[[Look], None]) -> None:
        """`allowed_s`: how long load is allowed from the moment on at which it is called; `looked`: takes each look."""
        self.baseline = Baseline()
        self.breached: asyncio.Future[Breach] = asyncio.get_running_loop().create_future()
        self.ends_s = math.inf
        """When load must be over, by `time.monotonic`."""
        self._dealings = dealings
        self._system: AttachedSystem = dealings.system
        self._host = dealings.host
        self._guard = guard
        self._allowed_s = allowed_s
        self._looked = looked
        self._looker: Node | None = None
        self._unknown: str | None = None
        self._canary: RunningGenerator | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._bad_seconds = 0
        self._per_s = 0.0
        self._is_baseline = True
        self._p99_s = guard.p99_s or math.inf

    async def begin(self, clocks: Comparison, own: OwnThings, run: str, copies: int) -> None:
        """Starts the canary, and watches the cluster alone for a while. `copies`: those of each of the canary's partitions
        or rows.

        Raises `GuardBreachedError` where it is not fit for load.
        """
        seconds = self._guard.baseline + self._allowed_s() + MARGIN_S
        generator = await self._dealings.canary(own, run, seconds, copies)
        if generator is not None:
            self._per_s = generator.offered or 0.0
            self._canary = await RunningGenerator.start(generator)
            await self._canary.node.command("go", start_wall_s=time.time() + clocks.lead_s, ahead_s=clocks.ahead_s(self._host))
            self._tasks.append(asyncio.create_task(self._guarded(self._follow(self._canary))))
        if self._system.shows_itself:
            self._tasks.append(asyncio.create_task(self._guarded(self._look())))
        await asyncio.wait([self.breached], timeout=self._guard.baseline)
        if not self.breached.done():
            await self._dealings.check_alone(run)  # one that began at the same moment
        self._is_baseline = False
        self.baseline.seconds = self._guard.baseline
        if self.breached.done():
            raise breach_error(self.breached.result())
        left_s = self._allowed_s()
        self.ends_s = time.monotonic() + left_s
        self._tasks.append(asyncio.create_task(self._until_late(left_s)))

    @property
    def has_canary(self) -> bool:
        """True if a few requests of ours show how fast it answers."""
        return self._canary is not None

    def data(self) -> dict[str, Any]:
        """The cluster, and how it was before any load, as in environment.json."""
        assert self._system.facts is not None
        return {**self._system.facts.data(), "baseline": self.baseline.data(), "gauges_unknown": self._unknown}

    async def end(self) -> list[str]:
        """Ends the watch. Returns the problems."""
        for task in self._tasks:
            await cancelled(task)
        nodes = [None if self._canary is None else self._canary.node, self._looker]
        return [problem for node in nodes if node is not None and (problem := await node.close()) is not None]

    def _breach(self, breach: Breach) -> None:
        if not self.breached.done():
            self.breached.set_result(breach)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """A guard that fails is one that is silent."""
        try:
            await work
        except HydrotestError as error:
            self._breach(Breach(Breached.SILENT, self._system.name, SILENT_S, SILENT_S, detail=error.message))
        except Exception as error:  # noqa: BLE001 - whatever it is: nobody watches any more
            self._breach(Breach(Breached.SILENT, self._system.name, SILENT_S, SILENT_S, detail=f"{type(error).__name__}: {error}"))

    async def _follow(self, canary: RunningGenerator) -> None:
        """Takes in the canary's seconds."""
        seconds = CanarySeconds(self._per_s, self._p99_s)
        while (event := await canary.node.next_event(HEARD)) is not None:
            if event["event"] == "second":
                self._judge(seconds.p99_ms(event))
            elif event["event"] in ("failed", "done"):
                self._breach(Breach(Breached.FAILED, self._system.name, detail=str(event.get("error") or "the canary has ended")))
                return
        self._breach(Breach(Breached.FAILED, self._system.name, detail="the canary has ended"))

    def _judge(self, p99_ms: float | None) -> None:
        if self._is_baseline and p99_ms is not None:
            self.baseline.p99_ms.append(p99_ms)
        is_bad = p99_ms is None or p99_ms > self._p99_s * 1e3
        self._bad_seconds = self._bad_seconds + 1 if is_bad else 0
        if self._bad_seconds >= BAD_SECONDS:
            self._breach(Breach(Breached.SLOW, self._system.name, None if p99_ms is None else p99_ms / 1e3, self._p99_s))

    async def _look(self) -> None:
        """Asks the cluster how its copies and disks are."""
        bad, waiting, number, heard_s = 0, 0, 0, time.monotonic()
        while True:
            try:
                look, disks = await within(self._ask(number % DISKS_EVERY == 0), HEARD, self._system.name, "answer the guard")
            except HydrotestError:
                # One that is elected, or restarted, may not answer for a moment.
                if time.monotonic() - heard_s >= SILENT_S:
                    raise
                await asyncio.sleep(LOOK_S)
                continue
            heard_s = time.monotonic()
            if self._is_baseline:
                self.baseline.behind = max(self.baseline.behind, look.behind)
            bad = bad + 1 if look.behind > self.baseline.behind else 0
            if bad >= BAD_SECONDS:
                self._breach(Breach(Breached.BEHIND, self._system.name, look.behind, self.baseline.behind))
            waiting = waiting + 1 if look.waiting else 0
            if waiting >= BAD_SECONDS:
                self._breach(Breach(Breached.WAITING, self._system.name, look.waiting, 0))
            if disks is not None and self._guard.free_share is not None:
                free, where = disks
                self.baseline.free = free if self.baseline.free is None else self.baseline.free
                if free < self._guard.free_share:
                    self._breach(Breach(Breached.FULL, self._system.name, free, self._guard.free_share, where))
            number += 1
            await asyncio.sleep(LOOK_S)

    async def _ask(self, with_disks: bool) -> tuple[Look, tuple[float, str] | None]:
        if with_disks:
            facts = await self._system.contact(self._host)
            return Look(facts.behind, waiting=facts.waiting), facts.free_share
        looked = await self._look_once()
        if "error" in looked:
            raise TrialFailedError(looked["error"])
        look = self._system.seen(looked)
        self._unknown = look.unknown
        self._looked(look)
        return look, None

    async def _look_once(self) -> Mapping[str, Any]:
        """What a node of ours sees that stays; another one is asked the next time where it does not answer."""
        if self._looker is None:
            self._looker = await self._host.node("look", self._system.looking())
        try:
            await self._looker.command("report")
            return (await self._looker.expect("looked", LOOKED))["result"]  # type: ignore[no-any-return]
        except BaseException as error:
            looker, self._looker = self._looker, None
            await looker.kill()
            if isinstance(error, OSError):
                raise TrialFailedError(f"what looks at it has ended: {error}") from error
            raise

    async def _until_late(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._breach(Breach(Breached.LATE, self._system.name, seconds, seconds))
