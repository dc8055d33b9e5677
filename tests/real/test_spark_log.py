"""The logs of an application of somebody else's, with SQL: jobs and queries as Spark's own history server reports them, and two logs next to
each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hydrotest.systems.spark.home import find_spark
from tests.real.conftest import HYDROTEST
from tests.real.history_server import read_by_spark

pytestmark = [pytest.mark.real, pytest.mark.long]

APPLICATION = """\
from contextlib import suppress

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(200_000).selectExpr("id", "IF(id % 10 < 8, 0, id) AS k").createOrReplaceTempView("t")
spark.sql("SELECT k, sum(id) AS s FROM t GROUP BY k").createOrReplaceTempView("g")
for name in ("first", "second"):
    spark.sparkContext.setJobDescription(name)
    spark.sql("SELECT count(*), sum(s) FROM t JOIN g USING (k)").collect()
spark.sparkContext.setJobDescription("broken")
with suppress(Exception):
    spark.sql("SELECT assert_true(id < 150000) FROM t").collect()
spark.stop()
"""
FEW, MANY = 3, 24
"""Partitions of its shuffles."""


def log_of(folder: Path, partitions: int) -> Path:
    """Of the application with so many."""
    home, _ = find_spark(None)
    (folder / "application.py").write_text(APPLICATION)
    events = folder / f"events-{partitions}"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.app.name": "theirs",
    }  # fmt: skip
    argv = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "512m"]
    argv += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder / "local")}
    done = subprocess.run([*argv, str(folder / "application.py")], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (log,) = (path for path in events.iterdir() if not path.name.startswith("."))
    return log


def shown(*words: object) -> Any:
    argv = [str(HYDROTEST), "show", "--spark-log", *map(str, words), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def seconds_between(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end.replace("GMT", "+00:00")) - datetime.fromisoformat(begin.replace("GMT", "+00:00"))).total_seconds()


def test_jobs_and_queries_are_those_of_the_history_server_and_two_logs_are_compared(tmp_path: Path) -> None:
    few, many = (log_of(tmp_path, partitions) for partitions in (FEW, MANY))
    ours = shown(few)
    with read_by_spark(few, tmp_path) as ask:
        jobs = {job["jobId"]: job for job in ask("jobs")}
        queries = {query["id"]: query for query in ask("sql?details=false&length=1000")}
    assert {row["job"] for row in ours["jobs"]} == set(jobs)
    assert len(jobs) >= 3
    for row in ours["jobs"]:
        theirs = jobs[row["job"]]
        assert row["tasks"] == theirs["numCompletedTasks"], row
        assert row["seconds"] == pytest.approx(seconds_between(theirs["submissionTime"], theirs["completionTime"]), abs=0.002)
        assert (row["failure"] is not None) == (theirs["status"] == "FAILED"), row
    assert {row["execution"] for row in ours["executions"]} == set(queries)
    assert {row["name"] for row in ours["executions"]} >= {"first", "second", "broken"}
    for row in ours["executions"]:
        theirs = queries[row["execution"]]
        assert row["jobs"] == len(theirs["successJobIds"]) + len(theirs["failedJobIds"]), row
        assert row["seconds"] == pytest.approx(theirs["duration"] / 1e3, abs=0.002)
        assert (row["failure"] is not None) == (theirs["status"] == "FAILED"), row
    (broken,) = [row for row in ours["executions"] if row["failure"] is not None]
    assert broken["name"] == "broken"

    both = shown(few, "--against", many)
    assert (both["before"]["name"], both["after"]["name"]) == ("theirs", "theirs")
    assert both["before"]["tasks"] == sum(stage["tasks"] for stage in ours["stages"])
    assert both["before"]["shuffle_read_bytes"] > 0
    # The same stages: those behind a shuffle have as many tasks as it has partitions.
    assert all(row["before"] and row["after"] for row in both["stages"])
    counts = {(row["before"]["tasks"], row["after"]["tasks"]) for row in both["stages"]}
    assert (FEW, MANY) in counts
    assert counts <= {(FEW, MANY), (1, 1), (2, 2), (0, 0), (1, 0), (0, 1)}
