"""The reference of the experiment file is the one that the models give."""

from __future__ import annotations

from pathlib import Path

from hydrotest.predict.simulation.reference import PARTS
from hydrotest.predict.simulation.reference import reference as scenario_reference
from hydrotest.predict.simulation.scenario import Scenario
from hydrotest.spec.base import Model
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.models import Experiment
from hydrotest.spec.reference import reference
from hydrotest.spec.schema import schema
from hydrotest.spec.spark import SparkPerf
from hydrotest.spec.tests.combined import Combined

PAGE = Path("docs/reference/experiment.md")


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"


def test_the_page_and_the_schema_of_scenarios_are_up_to_date() -> None:
    assert Path("docs/reference/scenario.md").read_text() == scenario_reference(), "run `make docs`"
    assert Path("contract/scenario.schema.json").read_text() == schema(Scenario, "hydrotest scenario"), "run `make docs`"


def test_every_key_of_a_scenario_has_a_meaning() -> None:
    models: list[type[Model]] = [Scenario, *PARTS.values()]
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name} has no description"


def test_every_key_is_told() -> None:
    text = reference()
    for model in (Experiment, KafkaProduce, SparkPerf, Combined):
        for name, field in model.model_fields.items():
            if name not in ("kind", "test"):
                assert f"| `{name}` |" in text
                assert field.description or model is Experiment, f"{model.__name__}.{name} has no description"
