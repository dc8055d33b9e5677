"""A Kafka that is there already: with other people's topics, encrypted, with a login and ACLs; and what hydrotest leaves of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from hydrotest.analysis.limits.decided import Decided
from hydrotest.hosts.base import ask
from hydrotest.hosts.deadlines import until
from hydrotest.load import cassandra as load_cassandra
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.choice import expected
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.samples import read_samples
from hydrotest.systems.kafka.system import KafkaSystem
from tests.real.attaching import User, until_pressed
from tests.real.conftest import HYDROTEST, SOON, files_with, own_processes

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

THERE = """\
name: there
hosts: {here: {connect: local}}
systems:
  kafka:
    hosts: [here]
    heap: 512 MiB
    security: {tls: true, sasl: SCRAM-SHA-512}
    config:
      authorizer.class.name: org.apache.kafka.metadata.authorizer.StandardAuthorizer
      super.users: User:ANONYMOUS
      allow.everyone.if.no.acl.found: false
      group.consumer.min.session.timeout.ms: 6000
      group.consumer.session.timeout.ms: 6000
workloads: {ingest: {kind: kafka-produce}}
tests: [levels: {workload: ingest, rates: [100]}]
"""
FOREIGN = ("orders", "payments", "hydrotest-old")
"""Topics of others; one has a name as ours."""
PASSWORD = "TEST_KAFKA_PASSWORD"


@dataclass
class There(User):
    """The cluster, as its owner sees it, and how our user reaches it."""

    kafka: KafkaSystem = field(kw_only=True)

    def tool(self, name: str, *arguments: str, text: str | None = None) -> str:
        """What one of Kafka's own tools prints, as its owner."""
        programs, own = self.kafka.programs(self.kafka.hosts[0]), self.kafka._ports[0].internal
        argv = [str(programs.java), "-Xmx256m", "-cp", f"{programs.jars}/*", name, "--bootstrap-server", f"127.0.0.1:{own}", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, input=text)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def topics(self) -> set[str]:
        return {line for line in self.tool("org.apache.kafka.tools.TopicCommand", "--list").split() if not line.startswith("__")}

    def groups(self) -> str:
        """Consumer groups, and what they have committed."""
        return self.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--all-groups")

    def foreign(self) -> list[str]:
        """Ids, configurations and ends of the topics of others."""
        names = "|".join(FOREIGN)
        return [
            self.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", names),
            *(self.tool("org.apache.kafka.tools.GetOffsetShell", "--topic", name) for name in FOREIGN),
        ]

    def experiment(self, **changes: Any) -> dict[str, Any]:
        """An experiment of ours on it."""
        cluster = self.kafka.cluster
        assert cluster.tls is not None
        authority = self.folder / "authority.pem"
        authority.write_text(cluster.tls.authority)
        security = {"tls": True, "authority": str(authority), "sasl": "SCRAM-SHA-512", "user": "hydrotest", "password": {"env": PASSWORD}}
        return {
            "name": "attached",
            "hosts": {"here": {"connect": "local"}},
            "systems": {"kafka": {
                "attach": cluster.addresses, "security": security, "most": {"rate": "5K", "bytes": "5 MB/s", "disk": "500 MB"},
                "guard": {"baseline": "5 s", "free": 0.01},
            }},
            "workloads": {"ingest": {"kind": "kafka-produce", "partitions": 3, "record_size": "100 B"}},
            "objectives": {"ingest": {"p99": "1 s"}},
            "tests": [{"levels": {"workload": "ingest", "rates": [500], "duration": "4 s"}}],
            "search": {"window": "3 s", "warm_up": "1 s"},
            **changes,
        }  # fmt: skip

    def written_at(self, base: Path, **changes: Any) -> Path:
        file = base / "experiment.yaml"
        file.write_text(yaml.safe_dump(self.experiment(**changes), sort_keys=False))
        return file


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[There]:
    base = tmp_path_factory.mktemp("there")
    async with open_testbed(THERE, base, Silent()) as bench:
        kafka = expected(bench.systems["kafka"], KafkaSystem)
        login = kafka.cluster.login
        assert login is not None
        found = There(base, {PASSWORD: login.password}, kafka=kafka)
        for name in FOREIGN:
            found.tool(
                "org.apache.kafka.tools.TopicCommand", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=7200000"
            )
            found.tool("org.apache.kafka.tools.ConsoleProducer", "--topic", name, text="one\ntwo\nthree\n")
        operations = [word for name in ("Create", "Delete", "Describe", "Read", "Write") for word in ("--operation", name)]
        found.tool("org.apache.kafka.tools.AclCommand", "--add", "--allow-principal", "User:hydrotest", "--resource-pattern-type", "prefixed",
                   "--topic", "hydrotest-", *operations)  # fmt: skip
        found.tool("org.apache.kafka.tools.AclCommand", "--add", "--allow-principal", "User:hydrotest", "--resource-pattern-type", "prefixed",
                   "--group", "hydrotest-", "--operation", "Read", "--operation", "Delete")  # fmt: skip
        found.tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            "--topic",
            "orders",
            "--group",
            "theirs",
            "--from-beginning",
            "--max-messages",
            "3",
        )
        yield found


def trials(out: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((out / "trials").glob("*/trial.json"))]


async def test_a_run_leaves_the_topics_of_others_as_they_were(there: There, tmp_path: Path) -> None:
    before = there.foreign()
    file = there.written_at(tmp_path)
    refused = there.hydrotest("run", file, "--out", tmp_path / "no")
    assert refused.returncode == 2, refused.stderr
    assert there.hydrotest("run", file, "--out", tmp_path / "no", "--yes", "0123456789ab").returncode == 2
    assert not (tmp_path / "no").exists()
    assert there.topics() == set(FOREIGN)
    out = tmp_path / "out"
    done = there.hydrotest("run", file, "--out", out, "--yes", there.agreed(file))
    # Whether the rate was held is not asked: where the hypervisor takes cores, the generator may have none to spare.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    (account,) = summary["integrity"]
    assert (account["lost"], account["duplicated"], account["corrupted"]) == (0, 0, 0)
    assert account["acked"] > 0
    assert there.topics() == set(FOREIGN)
    assert there.foreign() == before
    assert there.noted == []
    password = there.environment[PASSWORD]
    assert files_with(password, out) == []
    assert own_processes(password) == []


READERS = {
    "kind": "kafka-group",
    "reads": "ingest",
    "members": 3,
    "groups": 2,
    "heap": "64 MiB",
    "session": "6 s",
    "commit": "sync",
    "commit_every": "1 s",
}


def struck(rate: int, duration: str = "35 s") -> list[dict[str, Any]]:
    """A member of a group of ours is killed, and comes back."""
    fault = {
        "workloads": ["ingest", "readers"],
        "rates": {"ingest": rate},
        "service": "kafka-member-readers-0-1",
        "at": "5 s",
        "down": "3 s",
    }
    return [{"fault": {**fault, "duration": duration}}]


@pytest.mark.long
async def test_groups_of_ours_are_killed_and_leave_nothing(there: There, tmp_path: Path) -> None:
    before = there.foreign(), there.groups()
    workloads = {**there.experiment()["workloads"], "readers": READERS}
    file = there.written_at(tmp_path, workloads=workloads, tests=struck(2_000))
    out = tmp_path / "out"
    done = there.hydrotest("run", file, "--out", out, "--yes", there.agreed(file))
    assert done.returncode == 0, done.stdout + done.stderr
    groups = json.loads((out / "summary.json").read_text())["groups"]
    assert [(row["missed"], row["unread"], row["corrupted"]) for row in groups] == [(0, 0, 0)] * 2
    assert groups[0]["again"] > 0
    assert groups[1]["again"] == 0
    assert any(one["cause"] == "kill" for one in groups[0]["rebalances"])
    # Two groups read 4,000/s of the 5,000 that are allowed; what the killed member left is read by what remains.
    assert groups[0]["held_s"] > 0
    assert (there.foreign(), there.groups()) == before
    assert there.noted == []
    password = there.environment[PASSWORD]
    assert files_with(password, out) == []


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_of_a_killed_run_is_removed_by_its_own_digits(protocol: str, there: There, tmp_path: Path) -> None:
    before = there.groups()
    readers = {key: value for key, value in READERS.items() if protocol == "classic" or key != "session"}
    workloads = {**there.experiment()["workloads"], "readers": {**readers, "protocol": protocol}}
    file = there.written_at(tmp_path, workloads=workloads, tests=struck(500, "60 s"))
    process = there.begun(file, tmp_path / "out")
    await until_pressed(tmp_path / "out")
    process.kill()
    process.wait()
    done = there.hydrotest("down", file, "--json")
    assert done.returncode == 0, done.stderr
    removed = json.loads(done.stdout)["removed"]
    assert len([name for name in removed if name.startswith("group:hydrotest-")]) == 2, removed
    assert there.topics() == set(FOREIGN)
    assert there.groups() == before


async def test_who_may_not_remove_a_group_makes_none(there: There, tmp_path: Path) -> None:
    acl = ("org.apache.kafka.tools.AclCommand", "--allow-principal", "User:hydrotest", "--resource-pattern-type", "prefixed", "--group", "hydrotest-",
           "--operation", "Delete")  # fmt: skip
    file = there.written_at(tmp_path, workloads={**there.experiment()["workloads"], "readers": READERS}, tests=struck(500))
    there.tool(*acl, "--remove", "--force")
    try:
        done = there.hydrotest("check", file, "--contact")
    finally:
        there.tool(*acl, "--add")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "DELETE" in done.stderr
    assert "--operation Delete" in " ".join(done.stderr.split())


@pytest.mark.long
async def test_a_run_is_stopped_from_elsewhere(there: There, tmp_path: Path) -> None:
    file = there.written_at(tmp_path, tests=[{"levels": {"workload": "ingest", "rates": [500], "duration": "60 s"}}])
    process = there.begun(file, tmp_path / "out")
    await until_pressed(tmp_path / "out")
    # Two at once would do more than either may.
    second = there.hydrotest("check", file, "--contact")
    assert second.returncode == 2
    assert "hydrotest-" in second.stderr
    assert there.hydrotest("stop", tmp_path / "out").returncode == 0
    assert await asyncio.to_thread(process.wait, 60) == 3
    assert there.topics() == set(FOREIGN)
    assert there.hydrotest("stop", tmp_path / "out").returncode == 2


@pytest.mark.long
async def test_a_search_stays_within_what_is_allowed(there: There, tmp_path: Path) -> None:
    file = there.written_at(tmp_path, tests=[{"isolated": ["ingest"]}], search={"window": "3 s", "warm_up": "1 s", "trials": 14})
    done = there.hydrotest("run", file, "--out", tmp_path / "out", "--yes", there.agreed(file))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    held, decided = 0.0, Decided.read(RunFolder.open(tmp_path / "out"))
    for trial in trials(tmp_path / "out"):
        (load,) = trial["loads"]
        assert load["offered"] is not None
        assert load["offered"] <= max(5_000 * 0.0201, held * 1.51)
        judged = decided.of_trial(trial["number"])
        assert judged is not None
        if judged.accepted and not judged.excused:
            held = max(held, load["offered"])
    (limit,) = json.loads((tmp_path / "out/summary.json").read_text())["limits"]
    assert limit["saturated"] is None
    assert limit["limit"] <= 5_000 * 1.001
    assert limit["bound_by"]["kind"] in ("unknown", "generator", "resource", "undecided")


async def test_what_a_killed_run_left_is_removed_and_nothing_else(there: There, tmp_path: Path) -> None:
    before = there.foreign()
    file = there.written_at(tmp_path, tests=[{"levels": {"workload": "ingest", "rates": [500], "duration": "60 s"}}])
    process = there.begun(file, tmp_path / "out")
    await until_pressed(tmp_path / "out")
    process.kill()
    process.wait()
    left = there.topics() - set(FOREIGN)
    assert len(left) == 2, left  # of the trial, and the canary's
    done = there.hydrotest("down", file, "--json")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["removed"]) >= left
    assert there.topics() == set(FOREIGN)
    assert there.foreign() == before


async def test_a_cluster_that_stops_answering_ends_all_load(there: There, tmp_path: Path) -> None:
    """The broker is stopped by SIGSTOP in the middle of a trial."""
    file = there.written_at(tmp_path, tests=[{"levels": {"workload": "ingest", "rates": [500], "duration": "60 s"}}])
    process = there.begun(file, tmp_path / "out")
    await until_pressed(tmp_path / "out")
    broker = there.kafka.services[0].pid
    os.kill(broker, signal.SIGSTOP)
    try:

        async def is_over() -> bool:
            return '"trial ended"' in (tmp_path / "out/journal.jsonl").read_text() or process.poll() is not None

        await until(is_over, SOON, "the guard", "end the load")
    finally:
        os.kill(broker, signal.SIGCONT)
    assert await asyncio.to_thread(process.wait, 240) == 4, (there.folder / "said").read_text()
    (trial,) = trials(tmp_path / "out")
    assert trial["status"] == "failed"
    there.hydrotest("down", file)
    assert there.topics() == set(FOREIGN)


async def test_a_login_that_is_wrong_is_said_before_anything_is_made(there: There, tmp_path: Path) -> None:
    file = there.written_at(tmp_path)
    wrong = subprocess.run(
        [str(HYDROTEST), "check", str(file), "--contact"],
        capture_output=True,
        text=True,
        check=False,
        env={**there.environment, PASSWORD: "wrong"},
    )
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
    missing = {key: value for key, value in there.environment.items() if key != PASSWORD}
    unset = subprocess.run([str(HYDROTEST), "check", str(file), "--contact"], capture_output=True, text=True, check=False, env=missing)
    assert unset.returncode == 2
    assert PASSWORD in unset.stderr


RING = """\
name: ring
hosts: {here: {connect: local}}
systems: {cassandra: {hosts: [here], heap: 1 GiB, security: {tls: true, password: true}}}
workloads: {store: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 1K)"}}
tests: [levels: {workload: store, rates: [100]}]
"""


@pytest.mark.long
async def test_a_ring_is_left_as_it_was(tmp_path: Path) -> None:
    """With a keyspace of another's that has a name as ours; also where a run is killed."""
    async with open_testbed(RING, tmp_path / "ring", Silent()) as bench:
        (store,), host = make_workloads(bench).values(), bench.hosts["here"]
        spec, cluster = expected(store.spec, CassandraLoad), bench.systems["cassandra"].cluster
        assert cluster.login is not None
        assert cluster.tls is not None
        foreign = await load_cassandra.create_table(host, cluster, "hydrotest_old", spec)
        authority = tmp_path / "authority.pem"
        authority.write_text(cluster.tls.authority)
        user = User(tmp_path, {PASSWORD: cluster.login.password})

        def written(duration: str) -> Path:
            security = {"tls": True, "authority": str(authority), "user": cluster.login.user, "password": {"env": PASSWORD}}  # type: ignore[union-attr]
            experiment = {
                "name": "attached",
                "hosts": {"here": {"connect": "local"}},
                "systems": {"cassandra": {
                    "attach": cluster.addresses, "security": security, "most": {"rate": 500, "bytes": "1 MB/s", "disk": "100 MB"},
                    "guard": {"baseline": "5 s", "p99": "3 s"},
                }},
                "workloads": {"store": {"kind": "cassandra", "mix": {"write": 1, "read": 1}, "keys": "uniform(0, 500)"}},
                "tests": [{"levels": {"workload": "store", "rates": [200], "duration": duration}}],
                "search": {"window": "3 s", "warm_up": "1 s"},
            }  # fmt: skip
            return user.written(experiment)

        async def known_as(*keyspaces: str) -> list[str | None]:
            question = {"query": "ids", "cluster": cluster.wire(), "keyspaces": list(keyspaces)}
            return list((await ask(host, "query", {"cassandra": question})).values())

        file = written("4 s")
        done = user.run(file, tmp_path / "out")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        (account,) = json.loads((tmp_path / "out/summary.json").read_text())["integrity"]
        assert account["lost"] == 0
        assert account["acked"] > 0
        assert user.noted == []
        assert await known_as("hydrotest_old") == [foreign]
        assert files_with(cluster.login.password, tmp_path / "out") == []
        # The ring shows what waits in its thread pools itself.
        gauges = read_samples(next((tmp_path / "out/trials").iterdir()), layout.GAUGE_SAMPLES)
        assert any(name.startswith("cassandra_pending_tasks") for name in gauges["gauge"])
        assert json.loads((tmp_path / "out/environment.json").read_text())["attached"]["gauges_unknown"] is None

        file = written("60 s")
        process = user.begun(file, tmp_path / "killed")
        await until_pressed(tmp_path / "killed")
        assert user.hydrotest("check", file, "--contact").returncode == 2
        process.kill()
        process.wait()
        (noted,) = user.noted
        made = [entry["name"] for entry in map(json.loads, noted.read_text().splitlines()) if entry.get("event") == "made"]
        assert len(made) == 2  # the workload's, and the canary's
        assert None not in await known_as(*made)
        done = user.hydrotest("down", file, "--json")
        assert set(json.loads(done.stdout)["removed"]) >= set(made), done.stderr
        assert await known_as(*made, "hydrotest_old") == [None, None, foreign]


@pytest.mark.long
async def test_a_probe_needs_no_file(there: There, tmp_path: Path) -> None:
    before = there.foreign()
    there.experiment()
    (address,) = there.kafka.cluster.addresses
    done = there.hydrotest(
        "probe", f"kafka://{address}", "--p99", "500ms", "--bytes", "2MB/s", "--time", "150s", "--authority", there.folder / "authority.pem",
        "--user", "hydrotest", "--password-env", PASSWORD, "--write", tmp_path / "probe.yaml", "--out", tmp_path / "out", "--yes", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (limit,) = json.loads(done.stdout)["limits"]
    assert 100 < limit["limit"] <= 2_000 * 1.001
    assert re.search("attach", (tmp_path / "probe.yaml").read_text())
    assert there.foreign() == before
    assert there.topics() == set(FOREIGN)
