"""Each figure of the worked stories is in the file that it is from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

STORIES = Path("docs/stories")
PAGE = " ".join(Path("docs/explanation/stories.md").read_text().split())


def story(name: str) -> Any:
    return json.loads((STORIES / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["kafka-1m", "five-machines-kafka", "five-machines-cassandra", "shared-size"])
def test_the_first_plan_is_the_one_that_is_shown(name: str) -> None:
    plan = story(name)["plans"][0]
    (part,) = plan["parts"]
    assert f"{part['count']} × {part['machine'].removeprefix('aws/')}" in PAGE
    assert f"{part['headroom']:.0%}".replace("%", " %") in PAGE
    assert f"{plan['usd_h']:.2f} $" in PAGE or f"{plan['usd_month']:.0f} $" in PAGE


def test_costs_are_those_of_the_files() -> None:
    assert f"{story('kafka-1m')['plans'][0]['usd_month']:,.0f} $ a month" in PAGE
    assert f"{story('kafka-month')['cost']['usd_month']:,.0f} $ a month" in PAGE
    assert f"{story('split-size')['plans'][0]['usd_month']:.0f} $" in PAGE
    nodes = next(one for one in story("five-machines-published")["costs"] if one["name"] == "the five nodes")
    assert f"{nodes['usd_h']:.2f} $ an hour" in PAGE


def test_the_days_went_as_is_said() -> None:
    (missed,) = [one for one in story("shared-day")["missed"] if one["workload"] == "ingest"]
    assert f"{missed['minutes']:.0f} [{missed['low']:.0f}, {missed['high']:,.0f}]" in PAGE
    assert all(one["minutes"] == 0 for one in story("split-day")["missed"])
    together = story("shared-prediction")["together"]
    # Too wide for one number.
    assert together["is_wide"]
    assert f"{together['low']:.0%} to {together['high']:.0%}".replace("%", " %") in PAGE
    (went,) = story("kafka-month")["workloads"]
    assert f"records wait {went['wait_max_s']:.0f} s at most" in PAGE
