"""What a trial is for: what is kept of it, and what follows from it."""

from __future__ import annotations

import json

from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial


def test_a_folder_holds_and_gives_back_the_plain_word() -> None:
    kept = {"number": 1, "slug": "all-out", "purpose": "all-out", "tenancy": "combined", "warm_up_s": 1.0, "window_s": 3.0, "prepared_wall_s": 0.0,
            "ended_wall_s": 5.0, "status": "done", "loads": []}  # fmt: skip
    trial = Trial.model_validate_json(json.dumps(kept))
    assert trial.purpose is Purpose.ALL_OUT
    assert json.loads(trial.model_dump_json())["purpose"] == "all-out"
    assert json.dumps({"purpose": trial.purpose}) == '{"purpose": "all-out"}'


def test_what_only_prepares_is_not_measured() -> None:
    assert {one.value for one in Purpose if not one.is_measured} == {"warm-up", "populate", "prefill", "squeeze", "calibrate", "files"}


def test_a_workload_is_unthrottled_only_before_anything_is_taken_away() -> None:
    assert {one.value for one in Purpose if one.is_unthrottled} == {"saturated", "catch-up", "batch"}
