"""What a workload asks of its generators."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import IN_FLIGHT_CAP_MIN, Bench, LoadSpec
from hydrotest.spec.load import load_experiment
from hydrotest.store.purposes import Purpose

PLAN = TrialPlan("level-press", Purpose.LEVEL, 1.0, 5.0)


@pytest.mark.parametrize(
    ("arrivals", "rate", "least"),
    [("even", 10.0, IN_FLIGHT_CAP_MIN), ("even", 100_000.0, 300_000), ("bursts(50K)", 1_000.0, 100_000)],
)
def test_the_in_flight_cap_lies_beyond_what_a_trial_can_have_out(tmp_path: Path, arrivals: str, rate: float, least: int) -> None:
    file = tmp_path / "press.yaml"
    file.write_text(f"""\
name: press
hosts: {{here: {{connect: local}}}}
systems: {{kafka: {{hosts: [here]}}}}
workloads: {{press: {{kind: kafka-produce, arrivals: "{arrivals}"}}}}
tests: [levels: {{workload: press, rates: [1K]}}]
""")
    experiment, _ = load_experiment(file)
    bench = Bench(experiment, "t", {}, {}, Mock(), Silent())
    assert bench.in_flight_cap("press", LoadSpec(rate_per_s=rate), PLAN) >= least
