"""Clusters that are there already: what a file may ask of them, what is noted of what is made there, and the guard."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hydrotest.analysis.limits.search import FIRST_SHARE, STEP, LimitSearch
from hydrotest.cli.commands.probe import Asked, Probe
from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.secrets import secret_text
from hydrotest.run.attached import contact, leftovers, owned
from hydrotest.run.attached.dealings import KafkaDealings, dealings
from hydrotest.run.attached.guard import BAD_SECONDS, CanarySeconds, Watch
from hydrotest.run.attached.own import OwnThings
from hydrotest.run.attached.owned import Leftover, Owned, OwnThing
from hydrotest.spec.attach import RequestsGuard, attached, only_seen
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.check import memory_needed
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.secret import Secret
from hydrotest.systems.attached import ClusterFacts, Disk, Look, NodeFacts, check_whole
from hydrotest.systems.kafka.attached import AttachedKafka
from hydrotest.verdicts.guard import Breached

ATTACH = """\
name: there
hosts: {here: {connect: local}}
systems:
  kafka:
    attach: [b1:9092]
    most: {rate: 20K, bytes: 20 MB/s, disk: 2 GB}
workloads:
  ingest: {kind: kafka-produce, record_size: 1 KB}
  drain: {kind: kafka-consume, reads: ingest}
tests:
  - levels: {workload: ingest, rates: [5K]}
"""


def read(text: str) -> Experiment:
    return experiment_of(parse_document(text, Path("experiment.yaml")))


def test_a_cluster_that_is_there_needs_no_hosts_of_its_own() -> None:
    experiment = read(ATTACH)
    assert experiment.systems.present()["kafka"].hosts == []
    assert highest_rate(experiment, "ingest") == pytest.approx(20_000)
    assert not experiment.needs_java_here


def test_its_machines_may_be_looked_at() -> None:
    """Those that carry no generator are only seen: also by ssh, while the generators are here."""
    seen = "k1: {connect: ssh, to: k1.prod, address: 10.0.1.1}"
    experiment = read(
        ATTACH.replace("{here: {connect: local}}", f"{{here: {{connect: local}}, {seen}}}").replace(
            "    attach:", "    hosts: [k1]\n    attach:"
        )
    )
    assert only_seen(experiment) == {"k1"}
    assert experiment.systems.present()["kafka"].placed("kafka") == []
    assert memory_needed(experiment)["k1"] == memory_needed(experiment)["here"]
    here = read(ATTACH.replace("    attach:", "    hosts: [here]\n    attach:"))
    assert only_seen(here) == set()


WRONG = {
    "no bounds": (("    most: {rate: 20K, bytes: 20 MB/s, disk: 2 GB}\n", ""), 4),
    "hosts that are not there": (("    attach:", "    hosts: [k1]\n    attach:"), 5),
    "configured": (("    attach:", "    config: {num.io.threads: 9}\n    attach:"), 5),
    "a heap": (("    attach:", "    heap: 1 GiB\n    attach:"), 5),
    "neither": (("    attach: [b1:9092]\n    most: {rate: 20K, bytes: 20 MB/s, disk: 2 GB}\n", "    release: 4.3\n"), 4),
    "bounds on one's own": (("attach: [b1:9092]", "hosts: [here]"), 6),
    "too fast": (("rates: [5K]", "rates: [30K]"), 11),
    "too many bytes": (("20 MB/s", "2 MB/s"), 11),
    "too much disk": (("disk: 2 GB", "disk: 20 MB"), 6),
    "too long": (("disk: 2 GB", "disk: 2 GB, time: 10 s"), 6),
    "too many partitions": (("record_size: 1 KB", "record_size: 1 KB, partitions: 100"), 8),
    "without a rate": (("levels: {workload: ingest, rates: [5K]}", "saturated: {workload: ingest}"), 11),
    "in flight": (("levels: {workload: ingest, rates: [5K]}", "concurrency: {workload: ingest, counts: [8]}"), 11),
    "catching up": (("levels: {workload: ingest, rates: [5K]}", "isolated: [drain]"), 11),
    "squeezed": (("levels: {workload: ingest, rates: [5K]}", "isolated: {workloads: [ingest], squeeze: 60 s}"), 11),
    "a fault": (("levels: {workload: ingest, rates: [5K]}", "fault: {workloads: [ingest], rates: {ingest: 1K}, target: kafka-0, action: kill}"), 11),
    "a stock client": (("record_size: 1 KB", "record_size: 1 KB, client: stock"), 8),
    "a stock client in a test": (("rates: [5K]", "rates: [5K], client: stock"), 11),
    "another system": (("workloads:\n", "  cassandra: {hosts: [here]}\nworkloads:\n"), 7),
    "two clusters": (("workloads:\n", "  cassandra: {attach: [n1:9042], most: {rate: 1K, bytes: 1 MB/s, disk: 1 GB}}\nworkloads:\n"), 7),
    "no address": (("[b1:9092]", "[b1]"), 5),
    "hours that are none": (("    most:", "    between: always\n    most:"), 6),
    "half a login": (("    most:", "    security: {sasl: PLAIN, user: u}\n    most:"), 6),
    "a secret in the file": (("    most:", "    security: {sasl: PLAIN, user: u, password: secret}\n    most:"), 6),
    "a certificate without encryption": (("    most:", "    security: {authority: ca.pem}\n    most:"), 6),
}  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
def test_what_a_cluster_that_is_there_cannot_have_is_refused_with_its_line(why: str) -> None:
    (old, new), line = WRONG[why]
    assert old in ATTACH
    with pytest.raises(BadInputError) as caught:
        read(ATTACH.replace(old, new))
    assert caught.value.line == line, caught.value.message


def test_nobody_else_uses_it_then_there_is_load_without_a_rate() -> None:
    text = ATTACH.replace("levels: {workload: ingest, rates: [5K]}", "saturated: {workload: ingest}").replace(
        "    most:", "    tenancy: exclusive\n    most:"
    )
    assert read(text).tests[0].test == "saturated"


@pytest.mark.parametrize(
    ("hours", "at", "left_s"),
    [("01:00-05:00", "00:59", 0), ("01:00-05:00", "01:00", 900), ("01:00-05:00", "04:50", 600), ("01:00-05:00", "05:00", 0),
     ("22:00-02:00", "23:59", 900), ("22:00-02:00", "01:55", 300), ("22:00-02:00", "12:00", 0)],
)  # fmt: skip
def test_load_is_for_the_hours_that_are_given(hours: str, at: str, left_s: float) -> None:
    experiment = read(ATTACH.replace("    most:", f'    between: "{hours}"\n    most:'))
    (spec,) = attached(experiment).values()
    now = datetime.strptime(at, "%H:%M")
    assert contact.allowed_s(spec, now) == pytest.approx(left_s)
    if left_s:
        contact.check_hours(experiment, now)
    else:
        with pytest.raises(BadInputError):
            contact.check_hours(experiment, now)


def test_a_secret_is_where_the_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN", "sesame")
    file = tmp_path / "password"
    file.write_text("open\nsecond line\n")
    assert secret_text(Secret(env="HIDDEN"), "it") == "sesame"
    assert secret_text(Secret(file=str(file)), "it") == "open"
    for missing in (Secret(env="NOWHERE"), Secret(file=str(tmp_path / "none"))):
        with pytest.raises(BadInputError):
            secret_text(missing, "it")


@pytest.mark.parametrize("limit", [300.0, 9_000.0, 50_000.0])
def test_a_search_from_below_never_asks_for_much_more_than_held(limit: float) -> None:
    search = LimitSearch(20_000, 0.1, budget=40, ceiling=20_000, from_below=True)
    held = 0.0
    asked = []
    while (rate := search.propose()) is not None:
        asked.append(rate)
        assert rate <= 20_000
        assert rate <= max(20_000 * FIRST_SHARE, held * STEP) * 1.001
        search.record(rate <= limit)
        held = max(held, rate if rate <= limit else 0.0)
    assert asked[0] <= 20_000 * FIRST_SHARE
    found = search.limit()
    if limit > 20_000:
        assert found.is_above
    elif limit > 20_000 * FIRST_SHARE:
        assert found.estimate is not None
        assert found.estimate.low <= limit * 1.02
        assert found.estimate.high >= limit * 0.98


# ---- what is made, and what is removed


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(owned, "owned_root", lambda: tmp_path)
    return tmp_path


def test_what_is_removed_leaves_no_trace(root: Path) -> None:
    mine = Owned.of_run("0a1b", "kafka", "cluster")
    mine.note("intended", "hydrotest-0a1b-x")
    mine.note("made", "hydrotest-0a1b-x", "id-1")
    assert list(owned.leftovers("kafka")) == []  # its run lives
    mine.note("removed", "hydrotest-0a1b-x")
    mine.close()
    assert list(root.iterdir()) == []


def test_what_a_killed_run_left_is_known_by_its_identity(root: Path) -> None:
    mine = Owned.of_run("0a1b", "kafka", "cluster")
    mine.note("intended", "hydrotest-0a1b-x")
    mine.note("made", "hydrotest-0a1b-x", "id-1")
    mine.note("intended", "hydrotest-0a1b-y")
    mine.close()
    with (root / "kafka-0a1b.jsonl").open("a") as out:
        out.write('{"event": "made", "na')  # cut by the kill
    (left,) = owned.leftovers("kafka")
    assert left == Leftover(
        root / "kafka-0a1b.jsonl", "cluster", (OwnThing("hydrotest-0a1b-x", "id-1"), OwnThing("hydrotest-0a1b-y", None))
    )


class FakeCluster:
    """Topics by name, each with the identity that it was made with."""

    name = "kafka"

    def __init__(self, topics: Mapping[str, str]) -> None:
        self.topics = dict(topics)
        self.askers = [self]
        self.cluster = Cluster(["b1:9092"])


async def test_only_what_is_proven_to_be_ours_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 random mixes of our topics and foreign ones of the same names: no foreign one is ever deleted."""
    draw = random.Random(26)
    for number in range(200):
        names = [f"hydrotest-{draw.randrange(4)}-{draw.choice('abc')}" for _ in range(6)]
        topics = {name: f"foreign-{index}" for index, name in enumerate(names) if draw.random() < 0.5}
        things = []
        for index, name in enumerate(dict.fromkeys(names)):
            identity = None if draw.random() < 0.3 else f"ours-{index}"
            things.append(OwnThing(name, identity))
            if identity is not None and draw.random() < 0.6:
                topics[name] = identity
        cluster = FakeCluster(topics)
        foreign = {identity for identity in topics.values() if identity.startswith("foreign")}

        async def answered(_host: Any, _what: str, question: Mapping[str, Any], cluster: FakeCluster = cluster) -> dict[str, str | None]:
            return {name: cluster.topics.get(name) for name in question["kafka"]["topics"]}

        async def deleted(_host: Any, _access: Any, topics: Mapping[str, str | None], cluster: FakeCluster = cluster) -> None:
            for topic, identity in topics.items():
                assert cluster.topics[topic] == identity
                del cluster.topics[topic]

        monkeypatch.setattr("hydrotest.run.attached.dealings.ask", answered)
        monkeypatch.setattr("hydrotest.load.kafka.delete_topics", deleted)
        path = tmp_path / f"kafka-{number}.jsonl"
        path.write_text("{}")
        removed: list[str] = []
        kept: list[str] = []
        await leftovers._remove(Leftover(path, "c", tuple(things)), dealings(cluster), removed, kept, [])  # type: ignore[arg-type]
        assert foreign <= set(cluster.topics.values())
        assert {identity for identity in cluster.topics.values() if identity.startswith("ours")} == set()
        assert path.exists() is bool(kept)


async def test_a_topic_is_deleted_by_the_id_that_it_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(_host: Any, _what: str, question: Mapping[str, Any], _patience: object) -> dict[str, dict[str, str]]:
        asked.append(question["kafka"])
        return {"ids": {"hydrotest-0a1b-x": "id-1"}}

    monkeypatch.setattr("hydrotest.load.kafka.ask", ask)
    topics, cluster = OwnThings(), Cluster(["b1:9092"])
    await topics.make_topic(None, cluster, "hydrotest-0a1b-x", KafkaProduce(kind="kafka-produce"))  # type: ignore[arg-type]
    await topics.remove_topic(None, cluster, "hydrotest-0a1b-x")  # type: ignore[arg-type]
    assert [(one["query"], one["topics"]) for one in asked] == [
        ("create_topics", ["hydrotest-0a1b-x"]), ("delete_topics", [{"name": "hydrotest-0a1b-x", "id": "id-1"}]),
    ]  # fmt: skip


@pytest.mark.usefixtures("root")
async def test_topics_that_were_made_before_a_refusal_are_removed_by_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(_host: Any, _what: str, question: Mapping[str, Any], _patience: object) -> dict[str, Any]:
        asked.append(question["kafka"])
        return {"ids": {"hydrotest-0a1b-x-0": "id-0"}, "refused": "topic hydrotest-0a1b-x-1 was not created: PolicyViolation"}

    monkeypatch.setattr("hydrotest.load.kafka.ask", ask)
    own, cluster = OwnThings(Owned.of_run("0a1b", "kafka", "c")), Cluster(["b1:9092"])
    with pytest.raises(TrialFailedError, match="PolicyViolation"):
        await own.make_topic(None, cluster, "hydrotest-0a1b-x", KafkaProduce(kind="kafka-produce"), topics=2)  # type: ignore[arg-type]
    assert await own.clear() == []
    assert asked[-1]["topics"] == [{"name": "hydrotest-0a1b-x-0", "id": "id-0"}]


@pytest.mark.usefixtures("root")
async def test_a_group_of_ours_is_known_by_digits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(_host: Any, _what: str, question: Mapping[str, Any], _patience: object = None) -> dict[str, Any]:
        asked.append(question["kafka"])
        is_removal = question["kafka"]["query"] == "delete_groups"
        return {"with_members": []} if is_removal else {name: name for name in question["kafka"]["groups"]}

    monkeypatch.setattr("hydrotest.load.kafka.ask", ask)
    monkeypatch.setattr("hydrotest.run.attached.dealings.ask", ask)
    cluster = Cluster(["b1:9092"])
    alone = OwnThings()
    assert alone.begin_group(None, cluster, "hydrotest-0a1b-x") == "hydrotest-0a1b-x"  # type: ignore[arg-type]
    assert await alone.clear() == []
    assert asked == []

    owned_there = Owned.of_run("0a1b", "kafka", "c")
    own = OwnThings(owned_there)
    name = own.begin_group(None, cluster, "hydrotest-0a1b-x")  # type: ignore[arg-type]
    assert name != own.begin_group(None, cluster, "hydrotest-0a1b-x")  # type: ignore[arg-type]
    await own.remove_group(None, cluster, name)  # type: ignore[arg-type]
    await own.remove_group(None, cluster, "somebody-else's")  # type: ignore[arg-type]
    assert [(one["query"], one["groups"]) for one in asked] == [("delete_groups", [name])]
    owned_there.close()

    # The other one is what a killed run left.
    (left,) = owned.leftovers("kafka")
    (thing,) = left.things
    removed: list[str] = []
    kept: list[str] = []
    await leftovers._remove(left, dealings(Told(facts())), removed, kept, [])  # type: ignore[arg-type]
    assert (removed, kept) == ([thing.name], [])
    assert asked[-1]["groups"] == [thing.identity]


async def test_a_group_with_members_stays_in_the_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def ask(_host: Any, _what: str, question: Mapping[str, Any], _patience: object = None) -> dict[str, Any]:
        groups = question["kafka"]["groups"]
        return {"with_members": groups} if question["kafka"]["query"] == "delete_groups" else {name: name for name in groups}

    monkeypatch.setattr("hydrotest.load.kafka.ask", ask)
    monkeypatch.setattr("hydrotest.run.attached.dealings.ask", ask)
    path = tmp_path / "kafka-0.jsonl"
    path.write_text("{}")
    failed: list[str] = []
    left = Leftover(path, "c", (OwnThing("group:hydrotest-0a1b-x-77", "hydrotest-0a1b-x-77"),))
    await leftovers._remove(left, dealings(Told(facts())), [], [], failed)  # type: ignore[arg-type]
    assert "Repeat it" in failed[0]
    assert path.exists()


def test_groups_read_within_what_is_allowed() -> None:
    text = ATTACH.replace("tests:", "  readers: {kind: kafka-group, reads: ingest, groups: 3, session: 2 s}\ntests:")
    level = "levels: {workload: ingest, rates: [5K]}"
    member = "fault: {workloads: [ingest, readers], rates: {ingest: %s}, service: kafka-member-readers-0-1}"
    read(text.replace(level, "soak: {workloads: [ingest, drain, readers], rates: {ingest: 6K}, duration: 60 s}"))
    read(text.replace(level, member % "6K"))
    with pytest.raises(BadInputError, match="21,000") as caught:
        read(text.replace(level, member % "7K"))
    assert caught.value.line == 12


@pytest.mark.parametrize("identity", [None, "id-1"])
@pytest.mark.usefixtures("root")
async def test_what_was_made_without_proof_stays_and_is_named(monkeypatch: pytest.MonkeyPatch, identity: str | None) -> None:
    """Whoever may not see its id, or was refused since somebody else has one of that name, deletes nothing."""
    asked: list[str] = []

    async def ask(_host: Any, _what: str, question: Mapping[str, Any], _patience: object) -> dict[str, dict[str, str | None]]:
        asked.append(question["kafka"]["query"])
        return {"ids": {"hydrotest-0a1b-x": identity}}

    monkeypatch.setattr("hydrotest.load.kafka.ask", ask)
    own, cluster = OwnThings(Owned.of_run("0a1b", "kafka", "c")), Cluster(["b1:9092"])
    await own.make_topic(None, cluster, "hydrotest-0a1b-x", KafkaProduce(kind="kafka-produce"))  # type: ignore[arg-type]
    await own.remove_topic(None, cluster, "hydrotest-0a1b-x")  # type: ignore[arg-type]
    assert asked == ["create_topics"] + (["delete_topics"] if identity else [])


@pytest.mark.usefixtures("root")
async def test_a_keyspace_that_somebody_else_made_is_neither_used_nor_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(_host: Any, _what: str, question: Mapping[str, Any]) -> dict[str, str]:
        asked.append(question["cassandra"])
        raise TrialFailedError("there is one of that name")

    monkeypatch.setattr("hydrotest.load.cassandra.ask", ask)
    own, cluster = OwnThings(Owned.of_run("0a1b", "cassandra", "c")), Cluster(["n1:9042"])
    spec = CassandraLoad.model_validate({"kind": "cassandra", "mix": {"write": 1}, "keys": "uniform(0, 10)"})
    with pytest.raises(TrialFailedError):
        await own.make_keyspace(None, cluster, "hydrotest_0a1b_x", spec)  # type: ignore[arg-type]
    await own.clear()
    assert [(one["query"], one["is_new"]) for one in asked] == [("create_table", True)]


# ---- the guard


def facts(behind: int = 0, offline: int = 0, free: int = 50, waiting: int = 0) -> ClusterFacts:
    return ClusterFacts("kafka", "c", (NodeFacts("1", "b1:9092", None, (Disk(100, free),)),), {}, behind, offline, waiting)


@pytest.mark.parametrize("sick", [facts(behind=1), facts(offline=2), facts(waiting=1)])
def test_a_cluster_that_is_not_whole_is_left_alone(sick: ClusterFacts) -> None:
    check_whole(facts())
    with pytest.raises(BadInputError):
        check_whole(sick)


class Told:
    """A cluster that says what it is given to say, one after the other, and then the last for ever."""

    name = "kafka"
    askers: ClassVar[list[Any]] = [None]

    def __init__(self, *said: ClusterFacts) -> None:
        self.said = list(said)
        self.facts = said[0]
        self.cluster = Cluster(["b1:9092"])

    async def contact(self, _asker: Any) -> ClusterFacts:
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]

    def looking(self) -> dict[str, Any]:
        return {}


class Asker:
    """A host on which nothing runs."""

    async def node(self, subcommand: str, settings: Any) -> None:
        assert subcommand == "look"


def watch(system: Told) -> Watch:
    dealings = KafkaDealings(system, Asker(), lambda _: None)  # type: ignore[arg-type]
    return Watch(dealings, RequestsGuard.model_validate({"p99": "200 ms"}), lambda: 900.0, lambda look: None)


async def test_three_slow_seconds_in_a_row_are_a_breach() -> None:
    guard = watch(Told(facts()))
    for p99_ms in (900.0, None, 5.0, 900.0, 900.0):
        guard._judge(p99_ms)
    assert not guard.breached.done()
    guard._judge(None)
    assert guard.breached.result().code is Breached.SLOW
    assert BAD_SECONDS == 3


@pytest.mark.parametrize(
    ("counts", "p99_ms"),
    [
        ({"started": 20, "completed": 20, "failed": 0}, 7.0),
        ({"started": 21, "completed": 20, "failed": 0}, 7.0),
        ({"started": 20, "completed": 19, "failed": 1}, None),
        ({"started": 20, "completed": 10, "failed": 0}, None),
        ({"started": 50, "completed": 25, "failed": 0}, None),
    ],
)
def test_a_second_of_the_canary_is_bad_if_requests_fail_or_stay_unanswered(counts: dict[str, int], p99_ms: float | None) -> None:
    """Its p99 alone is that of the requests that were answered."""
    seconds = CanarySeconds(per_s=10, bound_s=1)
    seconds.p99_ms({"counts": {"started": 10, "completed": 10, "failed": 0}, "p99_ms": 7.0})
    assert seconds.p99_ms({"counts": counts, "p99_ms": 7.0}) == p99_ms


async def looked(guard: Watch, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """So many of its looks at the cluster, at once."""
    slept = 0

    async def sleep(_seconds: float) -> None:
        nonlocal slept
        slept += 1
        if slept >= times:
            raise asyncio.CancelledError

    monkeypatch.setattr("hydrotest.run.attached.guard.DISKS_EVERY", 1)
    monkeypatch.setattr("hydrotest.run.attached.guard.asyncio.sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await guard._look()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ((facts(), facts(behind=2)), Breached.BEHIND),
        ((facts(behind=2), facts(behind=2)), None),
        ((facts(), facts(behind=2), facts(behind=2), facts()), None),
        ((facts(), facts(free=10)), Breached.FULL),
        ((facts(), facts(waiting=1)), Breached.WAITING),
        ((facts(), facts(waiting=1), facts(waiting=1), facts()), None),
    ],
)
async def test_copies_that_fall_behind_and_disks_that_fill_are_breaches(
    monkeypatch: pytest.MonkeyPatch, said: tuple[ClusterFacts, ...], code: Breached | None
) -> None:
    guard = watch(Told(*said))
    ask, count = guard._ask, 0

    async def asked(with_disks: bool) -> tuple[Look, tuple[float, str] | None]:
        nonlocal count
        count += 1
        guard._is_baseline = count == 1  # only the first answer is from before any load
        return await ask(with_disks)

    monkeypatch.setattr(guard, "_ask", asked)
    await looked(guard, monkeypatch, 6)
    assert (guard.breached.result().code if guard.breached.done() else None) is code


class Looking:
    """A node that looks at a cluster, and answers what it is given to answer."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.is_killed = False

    async def command(self, name: str) -> None:
        assert name == "report"

    async def expect(self, wanted: str, _: Any) -> dict[str, Any]:
        assert wanted == "looked"
        answer = self.said.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"result": answer}

    async def kill(self) -> None:
        self.is_killed = True


async def test_a_node_that_looks_in_vain_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging, good = Looking(TrialFailedError("no answer")), Looking({"behind": 2}, {"error": "nobody there"}, {"behind": 0})
    nodes: list[Any] = [hanging, good]

    class Starting(Asker):
        async def node(self, subcommand: str, settings: Any) -> Any:
            await super().node(subcommand, settings)
            return nodes.pop(0)

    seen: list[Look] = []
    system = Told(facts())
    monkeypatch.setattr(system, "seen", lambda looked: Look(looked["behind"]), raising=False)
    ours = KafkaDealings(system, Starting(), lambda _: None)  # type: ignore[arg-type]
    guard = Watch(ours, RequestsGuard(), lambda: 900.0, seen.append)
    with pytest.raises(TrialFailedError, match="no answer"):
        await guard._ask(with_disks=False)
    assert hanging.is_killed
    assert await guard._ask(with_disks=False) == (Look(2), None)
    # What it says of itself is an answer: it is asked again.
    with pytest.raises(TrialFailedError, match="nobody there"):
        await guard._ask(with_disks=False)
    assert await guard._ask(with_disks=False) == (Look(0), None)
    assert not good.is_killed
    assert [look.behind for look in seen] == [2, 0]


@pytest.mark.parametrize(
    ("others", "run", "is_refused"),
    [([], None, False), (["hydrotest-a-canary"], None, True), (["hydrotest-a-canary"], "a", False)],
)
async def test_a_second_run_is_refused(others: list[str], run: str | None, is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    system = AttachedKafka(Kafka.model_validate({"attach": ["b1:9092"], "most": {"rate": 1, "bytes": "1 MB/s", "disk": "1 GB"}}), [])

    async def found() -> list[str]:
        return others

    ours = KafkaDealings(system, Asker(), lambda _: None)  # type: ignore[arg-type]
    monkeypatch.setattr(ours, "others", found)
    if is_refused:
        with pytest.raises(BadInputError):
            await ours.check_alone(run)
    else:
        await ours.check_alone(run)


async def test_a_guard_that_hears_nothing_is_a_breach() -> None:
    class Deaf(Told):
        async def contact(self, _asker: Any) -> ClusterFacts:
            raise OSError("gone")

    guard = watch(Deaf(facts()))
    await guard._guarded(guard._look())
    assert guard.breached.result().code is Breached.SILENT


# ---- probe


def test_a_ring_is_probed_with_rows_of_the_default_table() -> None:
    probe = Probe("cassandra", ["n1:9042"], Asked(user="u", password_file=Path("p")))
    experiment = probe.experiment(probe.text(3))
    assert experiment.systems.present()["cassandra"].is_attached
    assert highest_rate(experiment, "store") == pytest.approx(20_000)
    faster = Probe("cassandra", ["n1:9042"], Asked(rate="50K"))
    assert highest_rate(faster.experiment(faster.text(3)), "store") == pytest.approx(50_000)


def test_a_probe_writes_an_experiment_that_stays_within_its_bounds() -> None:
    probe = Probe("kafka", ["b1:9092", "b2:9092"], Asked(user="u", password_env="P", tls=True))
    experiment = probe.experiment(probe.text(5))
    assert experiment.systems.present()["kafka"].is_attached
    assert highest_rate(experiment, "ingest") == pytest.approx(20_000)
    assert "P" in probe.text(5)


@pytest.mark.parametrize("asked", [Asked(time="1min"), Asked(record_size="1"), Asked(p99="soon"), Asked(replication=0), Asked(user="u")])
def test_what_cannot_be_probed_is_bad_input(asked: Asked) -> None:
    with pytest.raises(BadInputError):
        Probe("kafka", ["b1:9092"], asked).text(3)
