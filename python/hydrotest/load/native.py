"""hydrotest's own generators: settings in; outcome, histograms and second-by-second counters out."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.clocks import Comparison
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.node import Event, Node
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.spec.workload import Scheduled
from hydrotest.store import layout
from hydrotest.store.histograms import HEADER
from hydrotest.store.merging import merged_load
from hydrotest.store.records import Load, Outcome
from hydrotest.store.trial_lines import TrialLines

NICE = -10
"""Requested where allowed; the actual value is kept with the trial."""

CONNECT_S = SLOW * 100.0
"""The generator itself waits for leaders, transactions and each connection at most so long in total."""
PRODUCER_S = 0.1
"""One of many producers has its connections within this time, also where 50 a second are opened."""
SILENT_S_MAX = 60.0
"""A generator reports once a second while it applies load."""
DRAIN_S = SLOW * 60.0
"""From the end of its load: the generator waits 15 s for missing answers, up to 30 s for transactions,
and writes its account."""


@dataclass(frozen=True)
class GeneratorShare:
    """One generator's share of a workload."""

    number: int
    host: Host
    load: dict[str, Any]
    """`LoadSettings` of rust/core/src/wire.rs."""


def shared(load: dict[str, Any], threads: int, hosts: Sequence[Host]) -> list[GeneratorShare]:
    """A generator with so many threads on each of the hosts, all sharing one schedule.

    `load` has neither shares nor priority.
    """
    return [
        GeneratorShare(
            number, host, {**load, "threads": threads, "shares": threads * len(hosts), "first_share": threads * number, "nice": NICE}
        )
        for number, host in enumerate(hosts)
    ]


class Handled(Protocol):
    """Parts of a running generator that faults strike."""

    def run_by(self, node: Node | None) -> None:
        """The node that runs them; None: they are gone."""

    def on_event(self, event: Event) -> None:
        """Takes in that something that was asked for is done."""


@dataclass(frozen=True)
class Generator:
    """A generator ready to be started for one trial."""

    workload: str
    kind: str
    host: Host
    subcommand: str
    settings: dict[str, Any] = field(repr=False)
    """For the node's stdin; it may hold a password."""
    number: int = 0
    """Index among the workload's generators. Rate and number in flight are for the complete workload."""
    offered: float | None = None
    in_flight: int | None = None
    client: Literal["native", "driver"] = "native"
    is_even: bool = True
    """False where operations come at random, in bursts, or at a changing rate: a window has more or less
    than its share."""

    burst: int = 0
    """Operations that come at once."""

    follows: bool = False
    """True if it reads the others' records, until they have ended and all is read."""
    program: tuple[str, ...] = ()
    """The command, before its subcommand; if empty, that of its kind of workload."""
    members: Handled | None = field(default=None, compare=False)
    """What it runs that can be taken away and brought back."""

    @property
    def seconds(self) -> float:
        """The longest time for which it applies load, or reads."""
        return float(self.settings.get("load", self.settings)["seconds"])

    @property
    def drain_s(self) -> float:
        """How long a follower itself waits for what was written last, where its settings say so."""
        return float(self.settings.get("drain_s", 0.0))

    @property
    def connects_within(self) -> Patience:
        """How long it may take until it is connected."""
        return Patience.of(connections_to_all_nodes_by_a_slow_machine=CONNECT_S,
                           connections_of_many_producers=PRODUCER_S * self.settings.get("producers", 0))  # fmt: skip

    @property
    def give_up_s(self) -> float:
        """The age at which its oldest operation ends its load."""
        return float(self.settings.get("load", {}).get("give_up_s") or 0.0)

    @classmethod
    def of_share(cls, name: str, workload: Scheduled, share: GeneratorShare, subcommand: str, settings: dict[str, Any],
                 client: Literal["native", "driver"] = "native") -> Generator:  # fmt: skip
        """A generator for its share of the load; its `load` becomes part of the settings."""
        model = share.load["model"]
        offered: float | None = model.get("open", {}).get("rate_per_s")
        if "profile" in model:
            stretches = model["profile"]["stretches"]
            due = sum((s["from_per_s"] + s["to_per_s"]) / 2 * s["seconds"] for s in stretches)
            offered = due / sum(s["seconds"] for s in stretches)
        is_even = workload.arrivals.shape == "even" and "profile" not in model
        return cls(name, workload.kind, share.host, subcommand, {**settings, "load": share.load}, share.number, offered,
                   model.get("closed", {}).get("in_flight"), client, is_even, workload.arrivals.size or 0)  # fmt: skip


OnSecond = Callable[[Generator, Event], None]
ONE_CLOCK = Comparison()
"""Generators on the controller's machine have its clock."""


class RunningGenerator:
    """A started generator: `ready`, then `go`, then `finish`."""

    def __init__(self, generator: Generator, node: Node) -> None:
        self.generator = generator
        self.node = node
        self.nice: int | None = None
        self.hangs = False

    @classmethod
    async def start(cls, generator: Generator) -> RunningGenerator:
        """Starts the node and waits until it is connected. Raises `TrialFailedError` with its message."""
        program = generator.program or WORKLOADS[generator.kind].program
        node = await generator.host.node(generator.subcommand, generator.settings, program)
        running = cls(generator, node)
        try:
            ready = await node.expect("ready", generator.connects_within)
        except BaseException:  # a cancelled start must not leave its node behind either
            await node.close()
            raise
        running.nice = ready["nice"]
        if generator.members is not None:
            generator.members.run_by(node)
        return running

    async def finish(self, folder: Path, on_second: OnSecond, patience_s: float = 0.0) -> Load:
        """Takes in everything until the node is done. `patience_s`: how long it may be paused on purpose.

        Raises `TrialFailedError` if it fails, dies, or falls silent under load; the caller that waits for all
        handles the time after that.
        """
        generator = self.generator
        files = TrialLines(folder)
        name, number = generator.workload, generator.number
        outcome: Outcome | None = None
        silence = Patience.of(a_word_each_second=SILENT_S_MAX, what_is_held_still_on_purpose=patience_s)
        # Near its end it may already drain, and be silent for good reason.
        speaks_until = time.monotonic() + generator.seconds - silence.seconds
        try:
            while (event := await self.node.next_event(silence if time.monotonic() < speaks_until else None)) is not None:
                match event.pop("event"):
                    case "second":
                        files.write(layout.seconds(name, number), json.dumps(event))
                        on_second(generator, event)
                    case "histogram":
                        files.write(layout.histogram(name, event["which"], number), event["line"], HEADER)
                    case "member" if generator.members is not None:
                        generator.members.on_event(event)
                    case "done":
                        outcome = Outcome.model_validate(event["result"])
                        break
                    case "failed":
                        raise TrialFailedError(f"{self.node.name}: {event['error']}")
        finally:
            files.close()
        if outcome is None:
            raise TrialFailedError(await self.node.exit_status_text())
        fatal = outcome.extra.get("fatal")
        if fatal:
            raise TrialFailedError(f"{self.node.name}: {fatal}")
        return Load(workload=name, kind=generator.kind, client=generator.client, offered=generator.offered,
                    in_flight=generator.in_flight, is_even=generator.is_even, burst=generator.burst, outcome=outcome, nice=self.nice,
                    hosts=[generator.host.name])  # fmt: skip

    async def end(self) -> None:
        """Ends its node; one that hangs is killed at once."""
        if self.generator.members is not None:
            self.generator.members.run_by(None)
        if self.hangs:
            await self.node.kill()
        await self.node.close()


async def run_generators(generators: list[Generator], folder: Path, on_go: Callable[[], None], on_second: OnSecond,
                         drains: Sequence[Callable[[], Awaitable[None]]] = (), patience_s: float = 0.0,
                         clocks: Comparison = ONE_CLOCK) -> list[Load]:  # fmt: skip
    """Runs generators together: all are connected before the first record, and all begin at one time.

    The generators of one workload give one load. `drains` complete what is under way for followers, when
    the others have ended. `patience_s`: how long generators may be paused on purpose. `clocks`: those of
    their hosts. Raises `TrialFailedError`, also where one does not end. None is left behind in any case.
    """
    running: list[RunningGenerator] = []
    try:
        for generator in generators:
            running.append(await RunningGenerator.start(generator))
        on_go()
        start_wall_s = time.time() + clocks.lead_s
        going = [one.node.command("go", start_wall_s=start_wall_s, ahead_s=clocks.ahead_s(one.generator.host)) for one in running]
        await asyncio.gather(*going)
        async with asyncio.TaskGroup() as group:
            tasks = {one: group.create_task(one.finish(folder, on_second, patience_s)) for one in running}
            followers = [one for one in running if one.generator.follows]
            leading = {one: task for one, task in tasks.items() if one not in followers}
            await _ended(leading, _patience([one.generator for one in leading], patience_s))
            for drain in drains:
                await drain()
            for one in followers:
                await one.node.command("written")
            longest = max((one.generator.drain_s for one in followers), default=0.0)
            await _ended(
                {one: tasks[one] for one in followers}, Patience.of(what_was_written_last=DRAIN_S + longest, what_is_held_still=patience_s)
            )
        by_workload: dict[str, list[Load]] = defaultdict(list)
        for task in tasks.values():
            by_workload[task.result().workload].append(task.result())
        return [merged_load(loads) for loads in by_workload.values()]
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures
    finally:
        # All at once, since each may take its time.
        await asyncio.gather(*(one.end() for one in running))


def _patience(generators: Sequence[Generator], held_s: float) -> Patience:
    """How long generators may take from `go` to their accounts."""
    return Patience.of(the_load=max((one.seconds for one in generators), default=0.0),
                       operations_to_become_hopeless=max((one.give_up_s for one in generators), default=0.0),
                       what_is_held_still=held_s, answers_and_accounts=DRAIN_S)  # fmt: skip


async def _ended(tasks: Mapping[RunningGenerator, asyncio.Task[Load]], patience: Patience) -> None:
    """Waits until all of them are over. Raises an `OverdueError` that names the late ones.

    If one fails, its task group cancels this wait.
    """
    if not tasks:
        return
    _, hanging = await asyncio.wait(tasks.values(), timeout=patience.seconds)
    if hanging:
        late = [one for one, task in tasks.items() if task in hanging]
        for one in late:
            one.hangs = True
        raise patience.overdue(", ".join(one.node.name for one in late), "end")


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The failure to report: a generator's own message if there is one."""
    stated = failures.subgroup(TrialFailedError)
    one: BaseException = stated or failures
    while isinstance(one, BaseExceptionGroup):
        one = one.exceptions[0]
    return one
