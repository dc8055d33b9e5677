"""Event logs of made-up Spark applications, as dictionaries: what a test is not about is as Spark 4 writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]

BEGAN_MS = 1_700_000_000_000
"""Wall time at which the applications begin."""


def log_start(version: str = "4.2.0") -> Event:
    return {"Event": "SparkListenerLogStart", "Spark Version": version}


def application(name: str = "etl", application_id: str = "app-1") -> Event:
    return {"Event": "SparkListenerApplicationStart", "App Name": name, "App ID": application_id, "Timestamp": BEGAN_MS, "User": "me"}


def application_end() -> Event:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": BEGAN_MS + 100_000}


def environment(**properties: str) -> Event:
    return {
        "Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {key.replace("_", "."): value for key, value in properties.items()},
    }


def executor(executor_id: str, cores: int = 4) -> Event:
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": BEGAN_MS,
        "Executor ID": executor_id,
        "Executor Info": {"Host": "h", "Total Cores": cores},
    }


def executor_gone(executor_id: str, reason: str | None) -> Event:
    event = {"Event": "SparkListenerExecutorRemoved", "Timestamp": BEGAN_MS, "Executor ID": executor_id}
    return event if reason is None else event | {"Removed Reason": reason}


def job(number: int, *stages: int) -> Event:
    return {"Event": "SparkListenerJobStart", "Job ID": number, "Submission Time": BEGAN_MS, "Stage IDs": list(stages), "Properties": {}}


def job_end(number: int) -> Event:
    return {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": BEGAN_MS, "Job Result": {"Result": "JobSucceeded"}}


def stage_info(number: int, tasks: int, *, attempt: int = 0, parents: Iterable[int] = (), **more: Any) -> Event:
    return {
        "Stage ID": number,
        "Stage Attempt ID": attempt,
        "Stage Name": f"stage {number}",
        "Number of Tasks": tasks,
        "Parent IDs": list(parents),
        **more,
    }


def stage_begin(number: int, tasks: int, **more: Any) -> Event:
    return {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(number, tasks, **more)}


def stage_end(number: int, tasks: int, **more: Any) -> Event:
    return {"Event": "SparkListenerStageCompleted", "Stage Info": stage_info(number, tasks, **more)}


def task_start(stage: int, task_id: int, *, attempt: int = 0) -> Event:
    info = {"Task ID": task_id, "Index": task_id, "Launch Time": BEGAN_MS, "Finish Time": 0, "Failed": False, "Killed": False}
    return {"Event": "SparkListenerTaskStart", "Stage ID": stage, "Stage Attempt ID": attempt, "Task Info": info}


def task_end(
    stage: int,
    task_id: int,
    begin_s: float = 0.0,
    seconds: float = 1.0,
    *,
    attempt: int = 0,
    index: int | None = None,
    reason: Event | None = None,
    failed: bool = False,
    killed: bool = False,
    executor_id: str = "0",
) -> Event:
    """A task that took all its time on the CPU, and read, wrote and shuffled a thousand bytes of each kind."""
    launched = BEGAN_MS + round(begin_s * 1000)
    info = {
        "Task ID": task_id, "Index": task_id if index is None else index, "Attempt": 0, "Launch Time": launched, "Executor ID": executor_id,
        "Host": "h", "Locality": "ANY", "Speculative": False, "Getting Result Time": 0, "Finish Time": launched + round(seconds * 1000),
        "Failed": failed, "Killed": killed,
    }  # fmt: skip
    metrics = {
        "Executor Deserialize Time": 0, "Executor Run Time": round(seconds * 1000), "Executor CPU Time": round(seconds * 1e9), "Result Size": 100,
        "JVM GC Time": 0, "Result Serialization Time": 0, "Memory Bytes Spilled": 0, "Disk Bytes Spilled": 0,
        "Shuffle Read Metrics": {"Remote Blocks Fetched": 1, "Local Blocks Fetched": 0, "Fetch Wait Time": 0, "Remote Bytes Read": 1000, "Local Bytes Read": 0},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 1000, "Shuffle Write Time": 0, "Shuffle Records Written": 1},
        "Input Metrics": {"Bytes Read": 1000, "Records Read": 1}, "Output Metrics": {"Bytes Written": 1000, "Records Written": 1},
    }  # fmt: skip
    return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": attempt, "Task Type": "ResultTask",
            "Task End Reason": reason or {"Reason": "Success"}, "Task Info": info, "Task Metrics": metrics}  # fmt: skip


def one_stage(*ends: Event, tasks: int | None = None) -> list[Event]:
    """A complete log of an application with one stage, on four cores."""
    planned = len(ends) if tasks is None else tasks
    return [
        log_start(),
        application(),
        executor("0"),
        job(0, 0),
        stage_begin(0, planned),
        *ends,
        stage_end(0, planned),
        job_end(0),
        application_end(),
    ]


def lines(events: Iterable[Event]) -> list[str]:
    return [json.dumps(event) for event in events]


def text(events: Iterable[Event]) -> str:
    return "".join(f"{line}\n" for line in lines(events))


def write(path: Path, events: Iterable[Event]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(events))
    return path
