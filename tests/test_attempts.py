"""What fails before and between trials is tried again, and what ends a run leaves its summary and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.hosts import node as nodes
from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle import controller as controllers
from hydrotest.run.lifecycle.attempts import VOID_MAX, TrialsFailedError, until_done, until_through
from hydrotest.run.lifecycle.controller import Controller
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.trials.trial import TrialRunner
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.run.workloads.kafka import Consume
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.systems.base import Ready, System
from tests.synthetic import host_counters

FakeNode = Callable[[str], None]
TEXT = """\
name: attempts
hosts: {{here: {{connect: local, data: {data}}}}}
systems: {{kafka: {{hosts: [here]}}, cassandra: {{hosts: [here]}}}}
workloads:
  ingest: {{kind: kafka-produce}}
  drain:  {{kind: kafka-consume, reads: ingest}}
  store:  {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, 1K)"}}
tests: [isolated: [ingest, drain, store]]
warm_up: {{least: 8 s, most: 16 s}}
"""

NODE = """
def times(what):
    path = {folder!r} + "/" + what
    with open(path, "a") as handle:
        handle.write("x")
    return os.path.getsize(path)

def fails(what):
    return times(what) <= {failures!r}.get(what, 0)

if subcommand == "query":
    (question,) = settings.values()
    with open({folder!r} + "/asked", "a") as handle:
        topics = [one if isinstance(one, str) else one["name"] for one in question.get("topics", [])]
        handle.write(json.dumps([question["query"], *topics]) + "\\n")
    say("failed", error="no leader") if fails(question["query"]) else say("done", result={{"ids": dict.fromkeys(topics), "id": None}})
elif subcommand == "ceiling":
    say("done", result=dict.fromkeys(["cpu_cores", "disk_write_bytes_per_s", "disk_read_bytes_per_s", "network_bytes_per_s",
                                      "generator_null_per_core_s", "wake_cpu_us"], 1.0) | {{"disk_device": None}})
elif subcommand == "clock":
    for line in sys.stdin:
        say("clock", wall_s=time.time())
elif subcommand == "sample":
    say("ready")
    {sampler}
else:
    say("ready", nice=0)
    sys.stdin.readline()
    if fails(subcommand):
        say("failed", error="connection lost")
    else:
        {generator}
        done = {{"started": 10, "completed": 10}}
        extra = {{"acked": [{{"producer": 0, "partition": 0, "sent": 10, "runs": [[0, 10]]}}], "acked_keys": [[0, 9]], "attempted_keys": [[0, 9]]}}
        say("done", result={{"counts": done, "started_wall_s": 1.0, "ended_wall_s": 2.0, "extra": extra}})
"""


class Idle(System):
    """A system that is there at once."""

    version = "1"

    def __init__(self, name: str, host: LocalHost, folder: Path, fault: Exception | None = None) -> None:
        super().__init__([host], "t", folder, lambda how: None)
        self.name = name
        self.fault = fault
        self.stops = 0

    @property
    def endpoints(self) -> list[str]:
        return ["127.0.0.1:1"]

    async def start(self, say: Any) -> None:
        pass

    def ready(self) -> list[Ready]:
        return []

    async def stop(self) -> list[str]:
        self.stops += 1
        if self.fault is not None:
            raise self.fault
        return []


def experiment_at(tmp_path: Path) -> Experiment:
    file = tmp_path / "experiment.yaml"
    file.write_text(TEXT.format(data=tmp_path / "data"))
    return load_experiment(file)[0]


def node(tmp_path: Path, sampler: str = "sys.stdin.read()", generator: str = "pass", **failures: int) -> str:
    (tmp_path / "notes").mkdir()
    return NODE.format(folder=str(tmp_path / "notes"), failures=failures, sampler=sampler, generator=generator)


async def bench_at(tmp_path: Path) -> Bench:
    experiment = experiment_at(tmp_path)
    folder = RunFolder(tmp_path / "run")
    folder.create(b"x")
    host = LocalHost("here", tmp_path)
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    runner = TrialRunner(folder, Sampling({}, Silent()), Silent(), died)
    systems: dict[str, System] = {name: Idle(name, host, tmp_path) for name in ("kafka", "cassandra")}
    return Bench(experiment, "t", {"here": host}, systems, runner, Silent())


def ended(bench: Bench, purpose: str) -> list[str]:
    return [trial.status for trial in bench.runner.folder.trials() if trial.purpose == purpose]


def asked(tmp_path: Path, what: str) -> list[str]:
    """Topics that were asked for."""
    lines = [json.loads(line) for line in (tmp_path / "notes" / "asked").read_text().splitlines()]
    return [topic for ask, *topics in lines if ask == what for topic in topics]


async def test_a_warm_up_that_fails_is_tried_again(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(node(tmp_path, produce=VOID_MAX - 1))
    bench = await bench_at(tmp_path)
    ingest = make_workloads(bench)["ingest"]
    await ingest.prepare()
    assert ingest.is_prepared
    assert ended(bench, "warm-up")[:VOID_MAX] == ["failed", "failed", "done"]
    assert "failed" not in ended(bench, "warm-up")[VOID_MAX:]


async def test_a_warm_up_that_always_fails_ends_the_run_and_what_was_measured_stays(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(node(tmp_path, produce=100))
    bench = await bench_at(tmp_path)
    with pytest.raises(TrialsFailedError, match="connection lost"):
        await make_workloads(bench)["ingest"].prepare()
    assert ended(bench, "warm-up") == ["failed"] * VOID_MAX


async def test_what_is_asked_before_a_trial_is_asked_again(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(node(tmp_path, create_table=1))
    bench = await bench_at(tmp_path)
    store = make_workloads(bench)["store"]
    await store.prepare()
    assert store.is_prepared
    assert ended(bench, "populate") == ["done"]


async def test_populating_that_fails_is_tried_again(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(node(tmp_path, cql=1))
    bench = await bench_at(tmp_path)
    await make_workloads(bench)["store"].prepare()
    assert ended(bench, "populate") == ["failed", "done"]
    assert set(ended(bench, "warm-up")) == {"done"}


async def test_a_topic_that_was_filled_in_part_is_none_of_the_account(tmp_path: Path, fake_node: FakeNode) -> None:
    """The next attempt has another one, and the first is deleted."""
    fake_node(node(tmp_path))
    bench = await bench_at(tmp_path)
    workloads = make_workloads(bench)
    drain = workloads["drain"]
    assert isinstance(drain, Consume)
    await workloads["ingest"].prepare()
    first = drain.topic
    (tmp_path / "notes" / "produce").unlink()
    fake_node(
        NODE.format(folder=str(tmp_path / "notes"), failures={"produce": 1}, sampler="", generator="pass").replace("    \n", "    pass\n")
    )
    await drain.prepare()
    assert ended(bench, "prefill") == ["failed", "done"]
    assert drain.topic != first
    assert [topic for topic in asked(tmp_path, "create_topics") if topic in (first, drain.topic)] == [first, drain.topic]
    assert first in asked(tmp_path, "delete_topics")
    assert drain.records == 10
    await drain.finish()
    assert asked(tmp_path, "delete_topics")[-1] == drain.topic


async def test_what_raises_between_trials_costs_an_attempt_and_not_the_run(tmp_path: Path, fake_node: FakeNode) -> None:
    fake_node(node(tmp_path))
    bench = await bench_at(tmp_path)
    ingest = make_workloads(bench)["ingest"]
    assert isinstance(ingest, Rated)
    await ingest.prepare()
    (trial,) = [trial for trial in bench.runner.folder.trials() if trial.number == 1]
    tries = 0

    async def attempt() -> Any:
        nonlocal tries
        tries += 1
        if tries < VOID_MAX:
            raise TrialFailedError("the driver is gone")
        return trial

    assert await until_done(bench, attempt) == trial

    async def never() -> None:
        raise TrialFailedError("the driver is gone")

    with pytest.raises(TrialsFailedError, match="the driver is gone"):
        await until_through(bench, "it", never)


SAMPLE = f"""while True:
        say('sample', wall_s=time.time(), host={host_counters(1.0)}, services={{}}, gauges={{}}, gauge_errors={{}}, speed_ns=[1], sampler_cpu_us=1)
        time.sleep(0.05)
        """
KILLED = SAMPLE + "os.path.exists({notes!r} + '/produce') and os.kill(os.getpid(), signal.SIGKILL)"


class Faulty(Silent):
    """A display that fails once there is load."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def host(self, name: str, shares: dict[str, float]) -> None:
        if (self.notes / "produce").exists():
            raise KeyError("a fault of ours")


@pytest.mark.parametrize(("is_killed", "told", "is_readable"), [(True, "signal 9", True), (False, "KeyError", False)])
async def test_a_lost_sampler_ends_the_run_with_its_summary_and_nothing_is_left(
    is_killed: bool, told: str, is_readable: bool, tmp_path: Path, fake_node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where stopping a system fails with an unexpected error, and where trials cannot be summed up."""
    monkeypatch.setattr(nodes, "END_S_MAX", 0.3)
    notes = tmp_path / "notes"
    fake_node(node(tmp_path, KILLED.replace("{notes!r}", repr(str(notes))) if is_killed else SAMPLE, generator="hang()"))
    host = LocalHost("here", tmp_path)
    kafka, cassandra = Idle("kafka", host, tmp_path, KeyError("a fault of ours")), Idle("cassandra", host, tmp_path)
    monkeypatch.setattr(controllers, "make_systems", lambda *_: {"kafka": kafka, "cassandra": cassandra})
    monkeypatch.setattr(controllers, "java_major", lambda _: 17)
    monkeypatch.setattr(controllers, "find_java", lambda: Path("java"))
    experiment = experiment_at(tmp_path)
    folder = RunFolder(tmp_path / "run")
    folder.create((tmp_path / "experiment.yaml").read_bytes())
    if not is_readable:
        monkeypatch.setattr("hydrotest.analysis.summary.speed_summary", unreadable)
    ended = await Controller(experiment, folder, Silent() if is_killed else Faulty(notes)).execute()
    assert ended.error is not None
    assert told in ended.error.message
    assert "sampler on here" in ended.error.message
    summary = json.loads((tmp_path / "run" / layout.SUMMARY).read_text())
    jsonschema.validate(summary, json.loads(Path("contract/summary.schema.json").read_text()))
    assert (summary["status"], summary["error"]) == ("partial", ended.error.message)
    assert len(summary["problems"]) == (not is_readable)
    assert [trial.status for trial in folder.trials()] == ["failed"]
    assert (kafka.stops, cassandra.stops) == (1, 1)
    assert list((tmp_path / "data").iterdir()) == []
    (problems,) = [entry["problems"] for entry in folder.read_journal() if entry["what"] == "teardown"]
    # A sampler whose output is no longer read, and that does not end, is killed.
    assert ["stopping the samplers" in problem for problem in problems] == ([False] if is_killed else [True, False])
    assert "kafka" in problems[-1]


def unreadable(_run: RunFolder, trials: list[Trial], _hosts: Any) -> list[Any]:
    if trials:
        raise ValueError("samples of another shape")
    return []
