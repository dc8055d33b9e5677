"""A system and a workload from outside the product (tests/extension): started, loaded, judged and
reported on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import HYDROTEST
from tests.test_extension import ECHO, EXPERIMENT, with_path

pytestmark = pytest.mark.real


def run(tmp_path: Path, text: str) -> tuple[dict[str, Any], str]:
    """The summary and the report of a complete run."""
    file, out = tmp_path / "experiment.yaml", tmp_path / "run"
    file.write_text(text.replace("{connect: local}", f"{{connect: local, data: {tmp_path / 'data'}}}"))
    done = subprocess.run([HYDROTEST, "run", file, "--out", out], env=with_path(ECHO), capture_output=True, text=True, check=False)
    # Whether its objective is met is the machine's affair.
    assert done.returncode in (0, 1), done.stderr
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary, (out / "report.html").read_text()


def is_whole(summary: dict[str, Any]) -> bool:
    """Every message came back as it was sent, and is accounted for."""
    (row,) = summary["integrity"]
    return bool(row["sent"] == row["acked"] == row["seen"] > 0 and row["lost"] == row["corrupted"] == 0)


def test_an_added_system_is_pressed_judged_and_reported_on(tmp_path: Path) -> None:
    summary, report = run(tmp_path, EXPERIMENT)
    assert summary["status"] == "complete"
    assert [(system["name"], system["hosts"]) for system in summary["systems"]] == [("echo", ["here"])]
    levels = summary["levels"]
    assert [level["offered"] for level in levels] == [200, 400]
    for level in levels:
        latency = level["latency_ms"]
        assert level["count"] > 0
        assert level["errors"] == 0
        assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
        assert {check["rule"] for check in level["checks"]} >= {"latency", "achieved", "errors", "loss", "generator"}
        assert level["accepted"] == all(check["held"] for check in level["checks"])
    assert is_whole(summary)
    assert summary["generator"][0]["kind"] == "echo-messages"
    assert "echo-0" in report
    assert "calls → echo" in report


@pytest.mark.long
def test_the_limit_of_an_added_system_is_searched(tmp_path: Path) -> None:
    isolated = EXPERIMENT.replace("levels: {workload: calls, rates: [200, 400], duration: 3 s}", "isolated: [calls]").replace(
        "search: {", "search: {precision: 50 %, "
    )
    summary, report = run(tmp_path, isolated)
    (limit,) = summary["limits"]
    assert limit["kind"] == "echo-messages"
    assert limit["unit"] == "messages/s"
    assert limit["saturated"] > 0
    assert limit["repeats"] >= 8
    assert limit["stopped_by"] in ("latency", "achieved", "backlog", "unsteady", "generator", "search-end")
    assert is_whole(summary)
    assert "messages/s" in report
