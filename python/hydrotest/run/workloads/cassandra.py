"""Cassandra workloads: rows in a keyspace that lives as long as the run."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from hydrotest.analysis.integrity.ranges import normalised, rows_fates, size
from hydrotest.analysis.integrity.views import VIEWS_COMPARED, are_same
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.summary import ROWS_ACCOUNTED, ROWS_BEGUN, UNKNOWN_ROWS
from hydrotest.errors import TrialFailedError
from hydrotest.load import cassandra as load_cassandra
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.trial import Loads, Part, TrialPlan
from hydrotest.run.workloads.base import WARM_UP_CHUNK_S, Bench, LoadSpec, Rated, remove_quietly
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.check_attached import highest_rate, most_of
from hydrotest.spec.tables import has_views, may_index_vectors
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, Outcome, RecordAccounting, Trial

IN_FLIGHT_MAX = 4096
"""Of a generator; what a ring of 32 nodes has threads for."""
KEPT_MIN = 0.9
"""A rate that is so many times that with fewer in flight shows that more do no harm; these machines drift by as much."""
SATURATED_P99_MS_MAX = 1000.0
"""Half of `write_request_timeout`: beyond it replicas drop what waits."""
KEYSPACE_NAME_MAX = 48
"""Cassandra's own bound."""


class Store(Rated):
    """Reads and writes of single rows."""

    def __init__(self, name: str, spec: CassandraLoad, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: CassandraLoad = spec
        system = bench.systems["cassandra"]
        self.cluster = system.cluster
        self._data_center = system.data_center
        self._allowed = highest_rate(bench.experiment, name)
        """Operations a second at most, on a ring that others use."""
        # The number distinguishes what a keyspace's name cannot: `a-b` from `a_b`, and long names with the
        # same beginning.
        number = list(bench.experiment.workloads).index(name)
        self.keyspace = f"hydrotest_{bench.run}_{number}_{name}".replace("-", "_").lower()[:KEYSPACE_NAME_MAX]
        self.stock_keyspace = f"{self.keyspace[: KEYSPACE_NAME_MAX - 6]}_stock"
        self.stock_filled = False
        """cassandra-stress has a keyspace of its own, filled once."""
        self._filled = spec.is_filled_before
        """Each row is there before the load begins, as far as is known."""
        self._views_filled = False
        """Each view had the same rows as its table, when the table was filled."""
        self._saturating = load_cassandra.SATURATING_IN_FLIGHT
        """Operations in flight of each generator without a rate limit."""
        self._written: list[Outcome] = []
        self._has_begun = False

    async def _prepare(self) -> None:
        await self.fill()
        await self._warm("cassandra")

    async def _settle(self) -> None:
        """Takes as many in flight as all nodes have threads, rather than as many as one has, unless that brings less.

        Seen of three nodes of 0.4 core: half reads, half writes at QUORUM 940 and 1,350/s with 128, 1,460 and 2,080 with 512 and as many with
        2,048, since an operation waits for the next period of a node that has used up its quota. The CPU is full all the same: threads that
        find no work look for it in a loop. With 2,048 writes at ONE timed out, and what replicas then owed each other took a ring two thirds
        of its rate for minutes; more than threads of a node only wait there. Of 11 workloads 384 brought 1.06 to 2.1 times as much as 128:
        workloads that one law is to hold for must not differ in that.
        """
        one_node = load_cassandra.SATURATING_IN_FLIGHT
        of_all = min(IN_FLIGHT_MAX, math.ceil(one_node * len(self.bench.systems["cassandra"].hosts) / self.generator_count))
        if of_all <= one_node or most_of(self.bench.experiment, self.name) is not None:
            return  # there is no more to be had; or others use the ring, which gets no load without a rate limit
        few, many = await self._rate_with(one_node), await self._rate_with(of_all)
        self._saturating = of_all if few is not None and many is not None and many >= KEPT_MIN * few else one_node
        self.bench.runner.folder.journal("saturating", workload=self.name, in_flight=self._saturating, rates={one_node: few, of_all: many})

    async def _rate_with(self, in_flight: int) -> float | None:
        """Operations a second with so many in flight of each generator; None where some fail, or wait for too long."""
        self.bench.listener.phase(f"finding how many in flight saturate {self.name}: {in_flight}")
        plan = TrialPlan(f"saturating-{self.name}", Purpose.WARM_UP, 0.0, WARM_UP_CHUNK_S)
        trial = await until_done(self.bench, partial(self.trial, plan, LoadSpec(in_flight=in_flight * self.generator_count)))
        measured = Measured.read(self.bench.runner.folder, trial, self.name)
        p99 = (measured.latency or {}).get("p99")
        return None if measured.errors or p99 is None or p99 > SATURATED_P99_MS_MAX else measured.achieved

    async def fill(self) -> None:
        """Makes the table, with every row in it where that is needed."""
        await self.bench.own.make_keyspace(self.host, self.cluster, self.keyspace, self.spec, self._data_center)
        if self.spec.is_filled_before:
            await self._populate()
            if has_views(self.spec.table):
                await self._follow_views()

    async def _populate(self) -> None:
        self.bench.listener.phase(f"populating {self.spec.keys.size:,} rows for {self.name}")
        self._begin()
        plan = TrialPlan(f"populate-{self.name}", Purpose.POPULATE, 0.0, self.spec.keys.size / 10_000)

        in_flight = await self._filling_in_flight()

        async def attempt() -> Trial:
            number = self.bench.runner.claim()
            filling = load_cassandra.populators(
                self.name, self.spec, self.hosts, self.cluster, self.keyspace, number, self._allowed, in_flight
            )
            return await self.bench.runner.press(number, plan, [Part(self.name, self.spec.kind, filling, account=self._noted)])

        outcome = (await until_done(self.bench, attempt)).load(self.name).outcome
        written = 0 if outcome is None else size(normalised(outcome.extra["acked_keys"]))
        self._filled = written == self.spec.keys.size
        if not self._filled:
            errors = {} if outcome is None else outcome.errors
            self.bench.runner.folder.journal(
                "not wholly populated", workload=self.name, written=written, rows=self.spec.keys.size, errors=errors
            )
            why = ", ".join(f"{name} {count:,}×" for name, count in errors.items())
            self.bench.listener.say(f"{self.name}: {written:,} of {self.spec.keys.size:,} rows were written before{f' ({why})' if why else ''}: "
                                    "whether rows are there is not checked")  # fmt: skip

    async def _filling_in_flight(self) -> int:
        """Rows that are written at a time: as many as keep the ring busy.

        Into an index of vectors only as many as a node has processors. Cassandra 5.0.9 refuses a write that finds more of them
        under way, and once it is refused, the row's vector is not found any more, not even when it is written again without an error
        (CASSANDRA-21644).
        """
        if not may_index_vectors(self.spec.table):
            return load_cassandra.SATURATING_IN_FLIGHT
        nodes = self.bench.systems["cassandra"].hosts
        return min([host.processors or (await host.facts()).cores for host in nodes])

    async def _follow_views(self) -> None:
        """Waits until the views hold the rows that the tables were filled with."""
        found = await self._compared_views()
        self._views_filled = are_same(found["views"]) and "reason" not in found
        if not self._views_filled:
            self.bench.runner.folder.journal("views not filled", workload=self.name, **found)
            self.bench.listener.say(f"{self.name}: its views do not hold the rows of their tables: whether rows are there is not checked")

    async def _compared_views(self) -> dict[str, Any]:
        """The views (`views`) against their tables, read from all replicas; without any where they cannot be, and why (`reason`)."""
        self.bench.listener.phase(f"comparing the views of {self.name} with their tables")
        try:
            return {"views": await load_cassandra.compare_views(self.host, self.cluster, self.keyspace, self.spec)}
        except TrialFailedError as error:
            self.bench.listener.warn(f"{self.name}: its views could not be compared with their tables: {error.message}", error.hint)
            return {"views": [], "reason": error.message}

    def _begin(self) -> None:
        """Records that rows are written from here on and need an account: also where the run ends before
        it can be made."""
        if not self._has_begun:
            self._has_begun = True
            self.bench.runner.folder.journal(ROWS_BEGUN, workload=self.name, keyspace=self.keyspace)

    def _account(self, fates: RecordAccounting, **why: str) -> None:
        self.bench.runner.folder.journal(ROWS_ACCOUNTED, workload=self.name, keyspace=self.keyspace, fates=fates.model_dump(), **why)

    async def _noted(self, load: Load, loads: Loads) -> Load:
        """Keeps what was written for the account at the end."""
        if load.outcome is not None:
            self._written.append(load.outcome)
        return load

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        self._begin()
        load = load_spec.load(self.spec.arrivals, self.bench.seed(self.name, number), self._saturating * self.generator_count)
        settings = self.bench.load_settings(self.name, load, plan, self.bench.in_flight_cap(self.name, load_spec, plan))
        hosts = self.hosts * load_spec.times
        generators = load_cassandra.generators(
            self.name, self.spec, hosts, self.cluster, self.keyspace, number, settings, filled=self._filled, views_filled=self._views_filled,
            # Without a rate limit, or in a warm-up, single operations are not reported.
            recall=plan.purpose.is_measured and not plan.purpose.is_unthrottled,
        )  # fmt: skip
        return Part(self.name, self.spec.kind, generators, account=self._noted)

    async def finish(self) -> None:
        """Reads every row back, accounts for it, and drops the keyspaces."""
        if self.stock_filled:
            await self._drop(self.stock_keyspace)
        if not self._written:
            return
        acked = normalised(run for outcome in self._written for run in outcome.extra["acked_keys"])
        attempted = normalised(run for outcome in self._written for run in outcome.extra["attempted_keys"])
        if self.spec.statements:
            if has_views(self.spec.table):
                self.bench.runner.folder.journal(VIEWS_COMPARED, workload=self.name, keyspace=self.keyspace, **await self._compared_views())
            # Tables of the user's own are not read back completely: the workload's reads are the check.
            stated = UNKNOWN_ROWS.model_copy(update={"sent": size(attempted), "acked": size(acked)})
            self._account(stated, reason="tables of one's own are checked by the workload's reads alone")
            await self._drop(self.keyspace)
            return
        self.bench.listener.phase(f"accounting for every row of {self.name}")
        try:
            scanned = await load_cassandra.scan(self.host, self.cluster, self.keyspace, self.spec, self._allowed)
        except TrialFailedError as error:
            unknown = UNKNOWN_ROWS.model_copy(update={"sent": size(attempted), "acked": size(acked)})
            self._account(unknown, reason=error.message)
            self.bench.listener.warn(f"{self.name}: its rows could not be read back: {error.message}", error.hint)
            return
        self._account(rows_fates(attempted, acked, scanned))
        await self._drop(self.keyspace)

    async def _drop(self, keyspace: str) -> None:
        await remove_quietly(self.bench, self.bench.own.remove_keyspace(self.host, self.cluster, keyspace), keyspace)
