"""A broker and a node that encrypt, require certificates, and require logins; and no password reaches any
other process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.stock import run_stock_level
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.store.purposes import Purpose
from hydrotest.systems.credentials import Authority
from tests.real.conftest import own_processes, readable_with

pytestmark = pytest.mark.real
PLAN = TrialPlan("secured", Purpose.SEARCH, 0.5, 1.5, patience_s=30.0)

KAFKA = """\
name: secured
hosts: {{here: {{connect: local}}}}
systems: {{kafka: {{hosts: [here], heap: 512 MiB, security: {security}}}}}
workloads:
  ingest: {{kind: kafka-produce}}
  drain:  {{kind: kafka-consume, reads: ingest}}
tests: [levels: {{workload: ingest, rates: [5K]}}]
search: {{window: 3 s, saturated: 3 s}}
"""
CASSANDRA = """\
name: secured
hosts: {here: {connect: local}}
systems: {cassandra: {hosts: [here], heap: 1 GiB, security: {tls: true, client_certificates: true, password: true}}}
workloads:
  store: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 1K)"}
tests: [levels: {workload: store, rates: [500]}]
"""


def nobody_hears(cluster: Cluster, base: Path) -> None:
    """Password and private key are in no command line, no log, and nowhere in the run folder; files that hold them are private ones."""
    tls, login = cluster.tls, cluster.login
    secrets = [login.password] if login is not None else []
    # In the middle of the key, which a file may break into other lines than the one that it is in.
    secrets += [tls.identity.key.splitlines()[1]] if tls is not None and tls.identity is not None else []
    assert secrets
    for secret in secrets:
        assert secret not in repr(cluster)
        assert own_processes(secret) == []
        assert readable_with(secret, base) == []


@pytest.mark.parametrize(
    "security",
    [
        pytest.param("{sasl: PLAIN}", marks=pytest.mark.long),
        pytest.param("{tls: true, sasl: SCRAM-SHA-256}", marks=pytest.mark.long),
        "{tls: true, client_certificates: true, sasl: SCRAM-SHA-512}",
    ],
)
async def test_a_secured_broker_is_pressed_like_any_other(security: str, tmp_path: Path) -> None:
    async with open_testbed(KAFKA.format(security=security), tmp_path, Silent()) as bench:
        load_workloads = make_workloads(bench)
        ingest, drain = load_workloads["ingest"], load_workloads["drain"]
        assert isinstance(ingest, Produce)
        assert isinstance(drain, Consume)
        trial = await ingest.open_loop(5_000, PLAN)
        assert trial.status == "done", trial.reason
        fates = trial.load("ingest").fates
        assert fates is not None
        assert (fates.lost, fates.duplicated, fates.corrupted) == (0, 0, 0)
        assert fates.seen == fates.sent > 9_000
        drain.source.is_prepared = True  # no warm-up here
        await drain.prepare()
        caught_up = (await drain.catch_up(PLAN)).load("drain")
        assert caught_up.fates is not None
        assert caught_up.fates.lost == 0
        if "512" in security:
            await _is_let_in_with_the_stock_tool(bench, ingest)
        await _others_are_refused(ingest.host, "kafka", ingest.cluster)
        await drain.finish()
        nobody_hears(bench.systems["kafka"].cluster, tmp_path)


async def _is_let_in_with_the_stock_tool(bench: Bench, ingest: Rated) -> None:
    level = await run_stock_level(bench, ingest, TrialPlan("stock", Purpose.LEVEL, 0.0, 3.0), 2_000, None)
    assert level.status == "done", level.reason
    told = level.load("ingest").stock
    assert told is not None
    assert told.rate_per_s == pytest.approx(2_000, rel=0.1)


async def _let_in(host: Host, system: str, cluster: Cluster) -> None:
    """Sends the query that every client may send after login.

    Raises `TrialFailedError` if the login is refused.
    """
    what = {"kafka": "brokers", "cassandra": "nodes"}[system]
    await ask(host, "query", {system: {"query": what, "cluster": cluster.wire()}})


async def _others_are_refused(host: Host, system: str, cluster: Cluster) -> None:
    """Who does not know the password, has no certificate, trusts another authority, or speaks plainly, is not let in."""
    await _let_in(host, system, cluster)
    login, tls = cluster.login, cluster.tls
    if login is not None:
        with pytest.raises(TrialFailedError, match="SaslAuthenticationFailed" if system == "kafka" else "credentials|password|incorrect"):
            await _let_in(host, system, replace(cluster, login=replace(login, password="guessed")))
        with pytest.raises(TrialFailedError):
            await _let_in(host, system, replace(cluster, login=None))
    if tls is not None:
        with pytest.raises(TrialFailedError):
            await _let_in(host, system, replace(cluster, tls=None))
        with pytest.raises(TrialFailedError):
            await _let_in(host, system, replace(cluster, tls=replace(tls, authority=Authority().certificate)))
        if tls.identity is not None:
            with pytest.raises(TrialFailedError):
                await _let_in(host, system, replace(cluster, tls=replace(tls, identity=None)))


@pytest.mark.long
async def test_a_secured_node_is_pressed_by_either_client(tmp_path: Path) -> None:
    async with open_testbed(CASSANDRA, tmp_path, Silent()) as bench:
        spec = bench.experiment.workloads["store"]
        assert isinstance(spec, CassandraLoad)
        for client in ("native", "driver"):
            store = Store("store", spec.model_copy(update={"client": client}), bench)
            store.keyspace = f"hydrotest_t_{client}"
            await store.fill()
            trial = await store.open_loop(500, PLAN)
            await store.finish()
            outcome = trial.load("store").outcome
            assert outcome is not None, trial.reason
            assert outcome.errors == {}
            assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
        cluster = bench.systems["cassandra"].cluster
        await _others_are_refused(bench.hosts["here"], "cassandra", cluster)
        nobody_hears(cluster, tmp_path)
