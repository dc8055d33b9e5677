"""Co-locate or isolate: answered from the limits of two placements, and not where there is nothing to answer from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydrotest.analysis.comparison.compare import Run
from hydrotest.analysis.comparison.placement import placed
from hydrotest.report.comparing import placement_sentences, placement_sheet
from hydrotest.spec.load import load_experiment
from hydrotest.store.folder import RunFolder
from hydrotest.verdicts.comparison import Contended, Unequal
from tests.rows import summary_of

EXPERIMENTS = Path(__file__).parent.parent / "experiments"


def run(name: str, limits: dict[str, tuple[float, float] | None], resources: list[dict[str, Any]] | None = None) -> Run:
    """A run of one of the two placements, with the combined limits that it found."""
    file = EXPERIMENTS / f"{name}.yaml"
    experiment, _ = load_experiment(file)
    rows = [
        {"workload": workload, "tenancy": "combined", "unit": "operations/s", "limit": ends and ends[0], "low": ends and ends[0],
         "high": ends and ends[1], "at_least": False}
        for workload, ends in limits.items()
    ]  # fmt: skip
    services = [{"host": "Host01", "service": "kafka-0", "cpu_cores": 0.3}, {"host": "Host02", "service": "kafka-1", "cpu_cores": 0.2}]
    summary = summary_of(run=name, limits=rows, together={"resources": resources or [], "services": services})
    return Run(RunFolder(EXPERIMENTS), experiment, summary)


FULL = [
    {"host": "Host01", "resource": "cpu", "share": 0.97, "is_near": True},
    {"host": "Host01", "resource": "memory", "share": 0.99, "is_near": True},
    {"host": "Clients", "resource": "cpu", "share": 0.99, "is_near": True},
    {"host": "Host02", "resource": "disk", "share": 0.3, "is_near": False},
]


def test_each_workload_is_answered() -> None:
    shared = run("placement-shared", {"ingest": (900, 1000), "store": (3000, 3300)}, FULL)
    split = run("placement-split", {"ingest": (2000, 2200), "store": (1000, 1100)})
    for runs in ([shared, split], [split, shared]):
        found = placed(runs)
        assert found is not None
        assert found.unequal == []
        assert {answer.workload: answer.better for answer in found.answers} == {"ingest": "hosts of their own", "store": "shared hosts"}
        # For shared hosts, the resources near their ceilings; occupied memory does not starve anything.
        assert found.answers[0].contended == [Contended("cpu", "Host01", 0.97, (("kafka-0", 0.3),))]
        told = placement_sentences(found)
        assert told[0].startswith("ingest: isolate")
        assert told[1].startswith("store: co-locate")
        assert len(placement_sheet(found).rows) == 4


def test_intervals_that_touch_decide_nothing() -> None:
    found = placed([run("placement-shared", {"store": (1000, 1200)}), run("placement-split", {"store": (1100, 1300)})])
    assert found is not None
    assert [answer.better for answer in found.answers] == ["no significant difference"]


def test_what_was_not_found_is_not_known() -> None:
    found = placed([run("placement-shared", {"store": None}), run("placement-split", {"store": (1100, 1300)})])
    assert found is not None
    assert [answer.better for answer in found.answers] == ["not known"]


def test_the_same_placement_twice_asks_nothing() -> None:
    assert placed([run("placement-shared", {"store": (1, 2)}), run("placement-shared", {"store": (1, 2)})]) is None


def test_other_resources_are_said() -> None:
    split = run("placement-split", {"store": (1, 2)})
    hosts = {name: host.model_copy(update={"cores": 0.5}) for name, host in split.experiment.hosts.items()}
    larger = Run(split.folder, split.experiment.model_copy(update={"hosts": hosts}), split.summary)
    found = placed([run("placement-shared", {"store": (1, 2)}), larger])
    assert found is not None
    assert found.unequal == [Unequal("cores", (("placement-shared", 1.5), ("placement-split", 3.0)))]
