"""What an imported experiment takes of a cluster that is there already: it stands in the file, and in the plan that `check --contact` prints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from hydrotest.imports.note import Aim, Imported
from hydrotest.spec.check_attached import most_of, needs
from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment

RATE_SOUGHT, BYTES_SOUGHT = 100_000, 100e6
"""Operations and bytes a second within which the highest rate is looked for, whichever is less."""
SEARCH_S = 900
"""For a search, which ends with it."""
MORE = 1.2
"""A reserve: for what is not removed yet, and for time between trials."""
ANY: dict[str, Any] = {"rate": "10M", "bytes": "10000 GB/s", "disk": "10000 TB", "time": "30 d"}
CATCH_UP = 2
"""A backlog is read while the same is written again."""


def allow(out: Imported, aim: Aim) -> None:
    """Writes it, by the plan of the experiment itself. Raises `BadInputError` where that has none."""
    if not aim.attach:
        return
    ((name, system),) = out.experiment["systems"].items()
    partitions = {} if name != "kafka" else {"partitions": max(64, *(_partitions(one) for one in out.experiment["workloads"].values()))}
    system["most"] = {**ANY, **partitions}
    experiment = _parsed(out)
    rate = max(_rate(workload, experiment) for workload in experiment.workloads)
    size = max(_bytes(workload, experiment) for workload in experiment.workloads)
    system["most"] |= {"rate": math.ceil(rate), "bytes": f"{max(1, math.ceil(rate * size * 1.1 / 1e6))} MB/s"}
    experiment = _parsed(out)
    most = most_of(experiment, next(iter(experiment.workloads)))
    assert most is not None
    disk, fixed_s = needs(experiment, most)
    searches = sum(SEARCH_S for test in experiment.tests if test.finds_limits)
    system["most"] |= {"disk": f"{max(1, math.ceil(disk * MORE / 1e9))} GB", "time": f"{math.ceil(max(fixed_s * MORE, 60) + searches)} s"}


def _parsed(out: Imported) -> Experiment:
    return experiment_of(parse_document(yaml.safe_dump(out.experiment, sort_keys=False), Path("imported.yaml")))


def _partitions(workload: dict[str, Any]) -> int:
    return int(workload.get("topics", 1)) * int(workload.get("partitions", 1))


def _source(name: str, experiment: Experiment) -> str:
    return experiment.workloads[name].source or name


def _bytes(name: str, experiment: Experiment) -> float:
    """Of an operation."""
    source = _source(name, experiment)
    produce = experiment.workload(source, KafkaProduce)
    return float(produce.record_bytes) if produce is not None else experiment.workloads[source].operation_bytes


def _rate(name: str, experiment: Experiment) -> float:
    """The highest rate of a workload in any test, 1/s."""
    group = experiment.workload(name, KafkaGroup)
    rates = []
    for test in experiment.tests:
        if name not in test.names:
            continue
        if test.finds_limits:
            rates.append(min(RATE_SOUGHT, BYTES_SOUGHT / max(_bytes(name, experiment), 1.0)))
        reads = 1 if group is None else group.groups * (CATCH_UP if test.test == "fault" else 1)
        rates += [rate * reads * 1.05 for rate in test.rates_of(_source(name, experiment))]
    return max(rates, default=1.0)
