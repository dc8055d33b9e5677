"""The models of summary.json: what is written of them, what they refuse, what they read, and what is generated from them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from hydrotest.store import layout
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Bracket
from hydrotest.summary.machine import Speed
from hydrotest.summary.model import Summary
from hydrotest.summary.reference import reference
from hydrotest.summary.schema import schema
from tests.test_recorded_runs import RUNS, unpacked

LEAST = {
    "schema": 1, "experiment": "e", "run": "r", "hydrotest": "0", "started": "", "finished": "", "status": "complete", "hosts": [], "systems": [],
    "limits": [], "levels": [], "curves": [], "interference": [], "integrity": [], "spark": [], "usage": [], "generator": [],
    "safe_working_point": None,
}  # fmt: skip
"""What every version has written."""


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation)
    for part in get_args(annotation):
        yield from _models(part)


@pytest.mark.parametrize(("path", "generated"), [("contract/summary.schema.json", schema), ("docs/reference/summary.md", reference)])
def test_what_is_generated_from_the_models_is_committed(path: str, generated: Any) -> None:
    assert Path(path).read_text() == generated(), f"the models and {path} differ: run `make docs`, and look at what has changed"


def test_every_field_says_what_it_is() -> None:
    own = {model for model in _models(Summary) if model.__module__.startswith("hydrotest.summary")}
    assert len(own) > 40
    assert [f"{model.__name__}.{name}" for model in own for name, field in model.model_fields.items() if not field.description] == []


def test_what_an_old_version_wrote_is_read_with_defaults_and_written_as_it_was() -> None:
    summary = Summary.read(LEAST)
    assert summary.soak == []
    assert summary.together.starved == []
    assert summary.error is None
    assert summary.written() == LEAST


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name.partition(".")[0])
def test_what_earlier_versions_wrote_of_real_runs_is_accepted_and_read(run: Path, tmp_path: Path) -> None:
    """They were recorded when verdicts were texts."""
    written = json.loads((unpacked(run, tmp_path) / layout.SUMMARY).read_text())
    jsonschema.validate(written, json.loads(schema()))
    found = Summary.read(written).written()
    same = ("experiment", "curves", "usage", "interference", "integrity", "spark", "soak", "faults", "dataflow", "speed")
    assert {key: found[key] for key in same} == {key: written[key] for key in same}
    kept = ("kind", "host", "resource", "confirmed", "detail")
    for old, new in zip(written["limits"], found["limits"], strict=True):
        assert {key: new["bound_by"].get(key) for key in kept} == {key: old["bound_by"][key] for key in kept}
        assert (new["limit"], new["stopped_by"], new.get("searches")) == (old["limit"], old["stopped_by"], old.get("searches"))


def test_fields_of_a_later_version_are_left_out_at_every_depth() -> None:
    later = LEAST | {"weather": "fine", "speed": [{"machine": "m", "mean": 1.0, "cv_pct": 2.0, "steal_pct": None, "colour": "red"}]}
    summary = Summary.read(later)
    assert summary.written() == LEAST | {"speed": [{"machine": "m", "mean": 1.0, "cv_pct": 2.0, "steal_pct": None}]}


def test_what_is_built_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="colour"):
        Speed.model_validate({"machine": "m", "mean": 1.0, "cv_pct": 2.0, "steal_pct": None, "colour": "red"})


def test_infinity_and_nan_become_null() -> None:
    assert Bracket(accepted=math.inf, rejected=math.nan).written() == {"accepted": None, "rejected": None}
    assert Latency.of({"p50": math.nan, "p99": 2.0}) == Latency(p50=None, p99=2.0)


def test_whole_numbers_stay_whole() -> None:
    assert json.dumps(Bracket(accepted=3, rejected=3.0).written()) == '{"accepted": 3, "rejected": 3.0}'


def test_the_schema_lets_fields_be_added() -> None:
    closed = [name for name, part in json.loads(schema())["$defs"].items() if part.get("additionalProperties") is False]
    assert closed == []
