"""The generator: a program that speaks the nodes' protocol. Lines of JSON come in on stdin, and go out on stdout; when stdin ends, so does it.

controller                          generator
{"protocol": 4}                →
                               ←    {"event": "hello", "protocol": 4}
settings, with `load`          →
                               ←    {"event": "ready", …} once it is connected
{"command": "go", …}           →
                               ←    {"event": "second", …} each second
                               ←    {"event": "histogram", …}, {"event": "done", …}
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from hdrh.histogram import HdrHistogram

from hydrotest.hosts.protocol import PROTOCOL
from hydrotest.store.histograms import empty

READING_S = 0.1
DRAIN_S = 5.0
"""After the load: for what is on its way."""
TIMES = ("response", "service", "wait")
"""From the intended start, from the true one, and between them."""


def emit(event: str, **fields: Any) -> None:
    """Sends an event to the controller."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


class Connection(asyncio.Protocol):
    """Messages on their way to one server, oldest first: they come back in order."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.open: deque[tuple[int, float, float]] = deque()
        self.transport: asyncio.Transport
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        size, now = self.load.message_bytes, time.time()
        whole = len(self._rest) // size * size
        for at in range(0, whole, size):
            number, intended, started = self.open.popleft()
            self.load.ended(self._rest[at : at + size] == self.load.message(number), intended, started, now)
        self._rest = self._rest[whole:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(len(self.open))
        self.open.clear()


class Load:
    """The load, and its results."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.message_bytes: int = settings["message_bytes"]
        self.addresses = [address.rpartition(":") for address in settings["addresses"]]
        self.per_server: int = settings["connections"]
        self.load: dict[str, Any] = settings["load"]
        self.connections: list[Connection] = []
        self.counts: Counter[str] = Counter(started=0, completed=0, failed=0, bytes=0, skipped=0, cap_hits=0)
        self.errors: Counter[str] = Counter()
        self.histograms: dict[tuple[str, int], HdrHistogram] = defaultdict(empty)
        self.begin = 0.0
        self.gave_up = self.is_over = False
        self._answered = asyncio.Event()

    def message(self, number: int) -> bytes:
        return number.to_bytes(8, "big").ljust(self.message_bytes, b".")

    @property
    def in_flight(self) -> int:
        return sum(len(connection.open) for connection in self.connections)

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        for address, _, port in self.addresses * self.per_server:
            _, connection = await loop.create_connection(lambda: Connection(self), address, int(port))
            self.connections.append(connection)

    def ended(self, is_right: bool, intended: float, started: float, now: float) -> None:
        self.counts["completed" if is_right else "failed"] += 1
        self.counts["bytes"] += self.message_bytes * is_right
        self.errors.update([] if is_right else ["CORRUPTED"])
        self._record(intended, started, now)
        self._answered.set()

    def lost(self, messages: int) -> None:
        self.counts["failed"] += messages
        self.errors.update({"CONNECTION_LOST": messages} if messages else {})

    def _record(self, intended: float, started: float, now: float) -> None:
        second = int(intended - self.begin)
        for which, value in zip(TIMES, (now - intended, now - started, started - intended), strict=True):
            self.histograms[which, second].record_value(max(1, round(value * 1e6)))

    def _due(self) -> Iterator[float]:
        """When messages of an open loop are due, seconds since the beginning: of all shares of the schedule the own ones."""
        rate, shares, own = self.load["model"]["open"]["rate_per_s"], self.load["shares"], self.load["first_share"]
        number = own
        while number / rate < self.load["seconds"]:
            yield number / rate
            number += shares

    async def press(self) -> None:
        way = cycle(self.connections)
        end = self.begin + self.load["seconds"]
        await asyncio.sleep(max(0.0, self.begin - time.time()))
        if "open" in self.load["model"]:
            for due in self._due():
                intended = self.begin + due
                if intended > time.time():
                    await asyncio.sleep(intended - time.time())
                elif self.counts["started"] % 64 == 0:
                    await asyncio.sleep(0)  # late: answers must be taken in all the same
                if self._is_hopeless() or self.is_over:
                    break
                while self.in_flight >= self.load["in_flight_max"]:
                    self.counts["cap_hits"] += 1
                    await self._an_answer(end)
                self._send(next(way), intended)
        else:
            most = max(1, self.load["model"]["closed"]["in_flight"] // self.load["shares"])
            while time.time() < end and not self.is_over:
                while self.in_flight < most:
                    self._send(next(way), time.time())
                await self._an_answer(end)

    async def _an_answer(self, end: float) -> None:
        self._answered.clear()
        try:
            await asyncio.wait_for(self._answered.wait(), max(0.0, end - time.time()))
        except TimeoutError:
            return

    def _is_hopeless(self) -> bool:
        oldest = min((connection.open[0][1] for connection in self.connections if connection.open), default=time.time())
        self.gave_up = self.load["give_up_s"] is not None and time.time() - oldest > self.load["give_up_s"]
        return self.gave_up

    def _send(self, connection: Connection, intended: float) -> None:
        number = self.counts["started"]
        self.counts["started"] += 1
        connection.open.append((number, intended, time.time()))
        connection.transport.write(self.message(number))

    async def report(self) -> None:
        """Counters once a second, with ten readings of it."""
        readings: list[tuple[int, int, int, float]] = []
        while True:
            await asyncio.sleep(max(0.0, self.begin + (len(readings) + 1) * READING_S - time.time()))
            readings.append((self.in_flight, self.counts["completed"], self.counts["failed"], time.time() - self.begin))
            if len(readings) % 10 == 0:
                in_flight, completed, failed, at_s = (list(series) for series in zip(*readings[-10:], strict=True))
                last = self.histograms.get(("response", len(readings) // 10 - 1))
                p99_ms = None if last is None else last.get_value_at_percentile(99.0) / 1e3
                emit("second", wall_s=time.time(), counts=dict(self.counts), in_flight=in_flight, completed=completed, failed=failed, at_s=at_s,
                     p99_ms=p99_ms, threads=[thread()])  # fmt: skip

    async def drain(self) -> int:
        """Waits for what is on its way; how much never came. It counts with its age."""
        until = time.time() + DRAIN_S
        while self.in_flight and time.time() < until:
            await self._an_answer(until)
        left = [message for connection in self.connections for message in connection.open]
        for _, intended, started in left:
            self._record(intended, started, time.time())
        return len(left)

    def histogram_lines(self) -> Iterator[tuple[str, str]]:
        for (which, second), histogram in sorted(self.histograms.items()):
            yield which, f"{self.begin + second:.3f},1.000,{histogram.get_max_value() / 1e6:.3f},{histogram.encode().decode()}"


def thread() -> dict[str, Any]:
    """What the one thread has used of a core, and how long it waited for one."""
    with open("/proc/self/schedstat") as file:
        cpu_ns, run_delay_ns, _ = file.read().split()
    return {"name": f"load-0/{os.getpid()}", "cpu_ns": int(cpu_ns), "run_delay_ns": int(run_delay_ns)}


async def main() -> None:
    """Greets, applies the load, and reports the results."""
    stdin = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    greeting = json.loads(await stdin.readline())
    emit("hello", protocol=PROTOCOL)
    if greeting["protocol"] != PROTOCOL:
        return
    load = Load(json.loads(await stdin.readline()))
    await load.connect()
    with contextlib.suppress(PermissionError):  # the actual value is reported, and kept with the trial
        os.nice(load.load["nice"] - os.nice(0))
    emit("ready", pid=os.getpid(), nice=os.nice(0), real_time=False)
    go = json.loads(await stdin.readline())
    load.begin = float(go["start_wall_s"])  # `ahead_s` is 0: it runs on the controller's machine
    commands = asyncio.create_task(follow(stdin, load))
    reports = asyncio.create_task(load.report())
    await load.press()
    ended, unanswered = time.time(), await load.drain()
    reports.cancel()
    for which, line in load.histogram_lines():
        emit("histogram", which=which, op=None, line=line)
    emit("done", result={
        "counts": dict(load.counts), "started_wall_s": load.begin, "ended_wall_s": ended, "errors": dict(load.errors), "unanswered": unanswered,
        "completed_late": 0, "overflows": 0, "gave_up": load.gave_up,
        "memory_bytes_max": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, "extra": {},
    })  # fmt: skip
    commands.cancel()


async def follow(stdin: asyncio.StreamReader, load: Load) -> None:
    """Ends the load on command, and everything when stdin ends: the controller is gone then."""
    while line := await stdin.readline():
        load.is_over = json.loads(line)["command"] == "stop"
    os._exit(1)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (OSError, KeyError, ValueError) as error:
        emit("failed", error=f"{type(error).__name__}: {error}")
        sys.exit(1)
