"""Levels of load applied by the systems' own tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePath

from hydrotest.hosts.base import Host
from hydrotest.hosts.command import run_command
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.load import stock
from hydrotest.load.cassandra import POPULATE_S_MAX, SATURATING_IN_FLIGHT
from hydrotest.load.stock_output import parse_consumer, parse_producer, parse_stress
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.trials.trial import TrialPlan, log_path
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.store import layout
from hydrotest.store.records import Load, StockResult, Trial
from hydrotest.systems.fetch import KAFKA, STRESS, Bundle, fetch
from hydrotest.systems.kafka.secured import TOOL_PROPERTIES, render_tool

SATURATED_GUESS_PER_S = 600_000
"""Assumed rate of ProducerPerformance without a rate limit, in records a second; it takes a number of
records, not a time."""
SATURATED_GUESS_BYTES_PER_S = 200e6
"""Assumed maximum in bytes a second: large records are slower, and their number takes free space of the
disk."""
RECORDS_PER_S_MIN, BYTES_PER_S_MIN = 1_000.0, 1e6
"""Assumed minimum rates.

Kafka's tools take a number of records; a broker with a tenth of a core is faster than this.
"""
SILENCE = Patience.of(a_line_every_five_seconds=SLOW * 60.0)
"""ProducerPerformance prints its progress, and so does cassandra-stress once it is warm."""
TOOL_S_MAX = SLOW * 100.0
"""Time for a JVM to start, and to sum up."""
STRESS_WARM_UP_S_MAX = 2 * 50_000 / 100.0
"""cassandra-stress warms up each operation 50,000 times; a ring with a small part of a core answers
hundreds a second."""
JVM_WARM_UP_S = 10.0
"""Left out of a stock tool's figures, where it has an option for that: its own code is compiled in that
time."""


@dataclass(frozen=True)
class Level:
    """A stock tool's task; without a rate and a number in flight: as fast as it can."""

    number: int
    """Number of its trial."""
    rate: float | None
    in_flight: int | None
    log: Path
    """Where its output goes."""


async def run_stock_level(bench: Bench, workload: Rated, plan: TrialPlan, rate: float | None, in_flight: int | None) -> Trial:
    """One level by the stock client. Without a rate and a count: as fast as it can."""
    number, kind = bench.runner.claim(), workload.spec.kind
    tool = WORKLOADS[kind].stock
    assert tool is not None  # the experiment's check refuses a stock client where there is none
    empty = [Load(workload=workload.name, kind=kind, client="stock", offered=rate, in_flight=in_flight)]
    log = log_path(bench.runner.folder, number, plan.slug, layout.stock_output(workload.name))

    async def body() -> list[Load]:
        result = await tool.run.load()(bench, workload, plan, Level(number, rate, in_flight, log))
        return [empty[0].model_copy(update={"stock": result})]

    bench.listener.trial_started(plan.start(number, f"{plan.purpose} {workload.name} by {tool.name}", {workload.name: rate}))
    return await bench.runner.record(number, plan, empty, body)


async def _run(
    bench: Bench, workload: Rated, command: stock.Command, log: Path, patience: Patience, silence: Patience | None = None
) -> tuple[str, float]:
    """Runs a tool on the host of its workload. Its output is in `log` in any case."""
    host = workload.host
    there = _folder(bench, workload, log) / log.name
    try:
        return await run_command(command.name, command.argv, host, there, patience, silence)
    finally:
        await fetch_file(host, there, log.parent)


def _folder(bench: Bench, workload: Rated, log: Path) -> PurePath:
    """Where a tool writes: beside its log, or on another machine in a folder there."""
    return workload.host.scratch(bench.run) / log.parent.name if workload.host.machine else log.parent


async def _jars(bench: Bench, workload: Rated, bundle: Bundle) -> PurePath:
    """A fetched bundle, as it is on the host of a workload."""
    return await workload.host.copy_of(await asyncio.to_thread(fetch, bundle, bench.listener.say))


async def _tool_config(bench: Bench, workload: Produce, host: Host) -> PurePath | None:
    """A tool's credentials on the host that it runs on; next to the systems' own files, not in the run folder: it may hold a password."""
    folder = host.scratch(bench.run)
    rendered = render_tool(workload.cluster, folder)
    await place(host, folder, rendered)
    return folder / TOOL_PROPERTIES if rendered else None


def _for_records(records: int, source: Produce, planned_per_s: float = RECORDS_PER_S_MIN) -> Patience:
    """For a Kafka tool that has so many records to write or to read."""
    slowest = min(planned_per_s, RECORDS_PER_S_MIN, BYTES_PER_S_MIN / source.spec.record_bytes)
    return Patience.of(its_records=records / slowest, the_tool_itself=TOOL_S_MAX)


async def produce(bench: Bench, workload: Produce, plan: TrialPlan, level: Level) -> StockResult:
    """By ProducerPerformance."""
    rate, topic = level.rate, workload.topic(level.number)
    await workload.make_topic(topic)
    try:
        speed = rate or min(SATURATED_GUESS_PER_S, SATURATED_GUESS_BYTES_PER_S / workload.spec.record_size.low)
        warm_up = round(speed * max(plan.warm_up_s, JVM_WARM_UP_S))
        records = warm_up + round(speed * plan.window_s)
        java, jars = await workload.host.java(), await _jars(bench, workload, KAFKA)
        command = stock.producer_command(java, f"{jars}/*", workload.cluster.addresses, await _tool_config(bench, workload, workload.host), topic, workload.spec,
                                         records, rate, warm_up)  # fmt: skip
        patience = _for_records(records, workload, speed)
        return parse_producer(*await _run(bench, workload, command, level.log, patience, SILENCE), asked=records)
    finally:
        await workload.remove_topic(topic)


async def consume(bench: Bench, workload: Consume, _plan: TrialPlan, level: Level) -> StockResult:
    """By ConsumerPerformance."""
    group = f"hydrotest-{bench.run}-{level.number}"
    source = workload.source
    java, jars = await workload.host.java(), await _jars(bench, workload, KAFKA)
    command = stock.consumer_command(java, f"{jars}/*", source.cluster.addresses, await _tool_config(bench, source, workload.host),
                                     workload.topic, workload.records, group)  # fmt: skip
    # It prints nothing before its end, and ends itself when nothing arrives for a minute.
    patience = _for_records(workload.records, source)
    return parse_consumer(*await _run(bench, workload, command, level.log, patience))


async def stress(bench: Bench, workload: Store, plan: TrialPlan, level: Level) -> StockResult:
    """By cassandra-stress."""
    log = level.log
    here, there = await asyncio.to_thread(fetch, STRESS, bench.listener.say), await _jars(bench, workload, STRESS)
    folder = there / next(here.glob("apache-cassandra-*")).name
    # A newer HdrHistogram first: the bundled one needs a package that Java 11 removed.
    newer = [there / jar.name for jar in here.glob("HdrHistogram-*.jar")]
    classpath = ":".join([*map(str, newer), f"{folder}/tools/lib/*", f"{folder}/lib/*"])
    java, endpoint = await workload.host.java(), workload.cluster.addresses[0]
    scratch = _folder(bench, workload, log)
    threads = level.in_flight or SATURATING_IN_FLIGHT
    keyspace = workload.stock_keyspace
    if not workload.stock_filled:
        filling = stock.stress_populate_command(java, classpath, endpoint, keyspace, workload.spec, threads, scratch)
        filled = Patience.of(all_rows=POPULATE_S_MAX, the_tool_itself=TOOL_S_MAX)
        await _run(bench, workload, filling, log.with_suffix(".populate.out"), filled, SILENCE)
        workload.stock_filled = True
    command = stock.stress_command(java, classpath, endpoint, keyspace, workload.spec, plan.window_s, threads, level.rate, scratch)
    patience = Patience.of(its_window=plan.window_s, its_warm_up=STRESS_WARM_UP_S_MAX, the_tool_itself=TOOL_S_MAX)
    return parse_stress(*await _run(bench, workload, command, log, patience))
