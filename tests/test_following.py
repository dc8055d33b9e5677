"""A consumer that follows a transactional producer: what it passes over is neither lag nor owed."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from hydrotest.analysis.by_test.fault import behind, readable_share, recovery
from hydrotest.analysis.limits.verdict import Verdict, judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.progress import Reading
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.local import LocalHost
from hydrotest.load.native import Generator
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.spec.kafka_consume import KafkaConsume
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Objective
from hydrotest.store import layout
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Counts, Outcome
from tests.synthetic import SyntheticRun

RATE = 1_000
MARKERS = 60
"""A second: six partitions, transactions of 0.1 s."""


def judged(tmp_path: Path, aborts: float = 0.0, committed: bool = True, lost_a_second: int = 0) -> Verdict:
    """The verdict on a follower of a producer that writes RATE records a second; each second it does not come to read `lost_a_second` of those that it may."""
    run = SyntheticRun(tmp_path)
    trial = run.trial("together", RATE)
    aborted = round(RATE * aborts) if committed else 0

    def counts(after_s: float) -> Counts:
        read = (RATE - aborted - lost_a_second) * after_s
        return Counts(
            started=round((RATE + MARKERS) * after_s),
            completed=round(read),
            bytes=100 * round(read),
            skipped=round((MARKERS + aborted) * after_s),
        )

    seconds = []
    for number in range(5):
        at_s = [number + tenth / 10 for tenth in range(1, 11)]
        read = [counts(at) for at in at_s]
        seconds.append({
            "wall_s": run.measured(trial).load.outcome.started_wall_s + number + 1,  # type: ignore[union-attr] # it has one
            "counts": read[-1].model_dump(), "in_flight": [one.in_flight for one in read], "completed": [one.completed for one in read],
            "failed": [0] * 10, "at_s": at_s, "p99_ms": 2.0, "threads": [],
        })  # fmt: skip
    (run.folder.folder_of(trial) / layout.seconds("ingest")).write_text("".join(json.dumps(second) + "\n" for second in seconds))
    (load,) = trial.loads
    (generator,) = following({"every": "100 ms", "aborts": aborts}, "read_committed" if committed else "read_uncommitted", tmp_path)
    followed = trial.model_copy(
        update={"loads": [load.model_copy(update={"kind": "kafka-consume", "is_even": generator.is_even, "burst": generator.burst})]}
    )
    return judge(Measured.read(run.folder, followed, "ingest"), Objective())


def following(transactions: dict[str, object] | None, isolation: str, tmp_path: Path) -> list[Generator]:
    """The settings of a consumer's generator that runs with its producer at RATE."""
    file = tmp_path / "follow.yaml"
    file.write_text("""\
name: follow
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce}
  drain: {kind: kafka-consume, reads: ingest}
tests: [levels: {workload: ingest, rates: [1K]}]
""")
    experiment, _ = load_experiment(file)
    system = Mock(cluster=Cluster(["127.0.0.1:9092"]))
    bench = Bench(experiment, "t", {"here": LocalHost("here", tmp_path)}, {"kafka": system}, Mock(), Silent())
    source = Produce("ingest", KafkaProduce.model_validate({"kind": "kafka-produce", "transactions": transactions}), bench)
    spec = KafkaConsume.model_validate({"kind": "kafka-consume", "reads": "ingest", "isolation": isolation})
    return (
        Consume("drain", spec, source, bench).following(1, TrialPlan("t", Purpose.TOGETHER, 1.0, 4.0), LoadSpec(rate_per_s=RATE)).generators
    )


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("aborts", [0.0, 0.25])
def test_one_that_reads_all_that_it_may_is_accepted(tmp_path: Path, aborts: float, committed: bool) -> None:
    verdict = judged(tmp_path, aborts, committed)
    assert verdict.accepted, verdict.because


@pytest.mark.parametrize("aborts", [0.0, 0.25])
def test_one_that_falls_behind_is_not(tmp_path: Path, aborts: float) -> None:
    failed = {check.rule for check in judged(tmp_path, aborts, lost_a_second=60).checks if not check.held}
    assert failed == {"achieved", "backlog"}


@pytest.mark.parametrize(("isolation", "is_even", "burst"), [("read_committed", False, 100), ("read_uncommitted", True, 0)])
def test_committed_records_come_a_transaction_at_a_time(isolation: str, is_even: bool, burst: int, tmp_path: Path) -> None:
    (generator,) = following({"every": "100 ms"}, isolation, tmp_path)
    assert (generator.is_even, generator.burst) == (is_even, burst)
    (generator,) = following(None, isolation, tmp_path)
    assert (generator.is_even, generator.burst) == (True, 0)


def test_what_was_aborted_does_not_keep_it_from_having_recovered() -> None:
    outcome = Outcome(counts=Counts(completed=750), started_wall_s=0.0, ended_wall_s=1.0, extra={"aborted": 250})
    progress = [Reading(tenth / 10, round(75 * tenth), 0) for tenth in range(400)]
    assert readable_share(outcome) == 0.75
    found = recovery(behind(progress, RATE * readable_share(outcome)), 20, 30)
    assert found is not None
    assert found.recovered_s == 0.0
    assert readable_share(outcome.model_copy(update={"extra": {}})) == 1.0
