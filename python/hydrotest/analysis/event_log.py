"""Spark's event log: what each job group cost, stage by stage.

One JSON object a line (org.apache.spark.scheduler.SparkListenerEvent). A log whose driver was killed ends in a cut line;
what stands before it is used, and the cut is told.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IN_PROGRESS = ".inprogress"
"""Spark's ending for a log that is still written."""
JOB_GROUP = "spark.jobGroup.id"


@dataclass
class Stage:
    """The tasks of one stage, summed; times in seconds."""

    number: int
    name: str = ""
    tasks: int = 0
    failed_tasks: int = 0
    input_bytes: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    spill_bytes: int = 0
    run_s: float = 0.0
    cpu_s: float = 0.0
    gc_s: float = 0.0
    fetch_wait_s: float = 0.0
    shuffle_write_s: float = 0.0
    max_fetch_wait_s: float = 0.0
    max_shuffle_write_s: float = 0.0


@dataclass
class Group:
    """The stages of one job group that ran, in order of their numbers."""

    stages: list[Stage] = field(default_factory=list)

    @property
    def tasks_per_stage(self) -> int:
        """Of the largest stage."""
        return max((stage.tasks for stage in self.stages), default=0)

    def total(self, what: str) -> float:
        """Sum of one of the stages' figures."""
        return float(sum(getattr(stage, what) for stage in self.stages))

    def largest(self, what: str) -> float:
        """Largest of one of the stages' figures; 0 without stages."""
        return float(max((getattr(stage, what) for stage in self.stages), default=0.0))


@dataclass
class EventLog:
    """What a log tells."""

    groups: dict[str, Group]
    cut: str | None
    """Why it is not whole; None if it is."""


def read_event_log(path: Path) -> EventLog:
    """Reads a plain event log, or what a driver that never ended has left of it. A missing one is an empty one that says so."""
    if not path.exists():
        path = path.with_name(path.name + IN_PROGRESS)
    if not path.exists():
        return EventLog({}, "it is not there")
    with path.open() as handle:
        return parse_event_log(handle)


def parse_event_log(lines: Iterable[str]) -> EventLog:
    """Sums task metrics by stage, and stages by job group. Skipped stages, which ran no task, do not count."""
    group_of_stage: dict[int, str] = {}
    stages: dict[int, Stage] = defaultdict(lambda: Stage(-1))
    ended = False
    cut = None
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except ValueError:
            cut = f"line {number} is cut"
            break
        match event.get("Event"):
            case "SparkListenerJobStart":
                group = (event.get("Properties") or {}).get(JOB_GROUP, "")
                group_of_stage.update(dict.fromkeys(event["Stage IDs"], group))
            case "SparkListenerStageCompleted":
                info = event["Stage Info"]
                stages[info["Stage ID"]].name = info["Stage Name"]
            case "SparkListenerTaskEnd":
                _add_task(stages[event["Stage ID"]], event)
            case "SparkListenerApplicationEnd":
                ended = True
    if cut is None and not ended:
        cut = "it ends before its application did"
    groups: dict[str, Group] = defaultdict(Group)
    for stage_id, stage in sorted(stages.items()):
        stage.number = stage_id
        if stage.tasks:
            groups[group_of_stage.get(stage_id, "")].stages.append(stage)
    return EventLog(dict(groups), cut)


def _add_task(stage: Stage, event: dict[str, Any]) -> None:
    stage.tasks += 1
    stage.failed_tasks += int(event["Task Info"]["Failed"])
    metrics = event.get("Task Metrics")
    if not metrics:  # a task that was killed before it began
        return
    read = metrics["Shuffle Read Metrics"]
    write = metrics["Shuffle Write Metrics"]
    fetch_wait_s = read["Fetch Wait Time"] / 1e3
    write_s = write["Shuffle Write Time"] / 1e9
    stage.input_bytes += metrics["Input Metrics"]["Bytes Read"]
    stage.shuffle_read_bytes += read["Remote Bytes Read"] + read["Local Bytes Read"]
    stage.shuffle_write_bytes += write["Shuffle Bytes Written"]
    stage.spill_bytes += metrics["Disk Bytes Spilled"]
    stage.run_s += metrics["Executor Run Time"] / 1e3
    stage.cpu_s += metrics["Executor CPU Time"] / 1e9
    stage.gc_s += metrics["JVM GC Time"] / 1e3
    stage.fetch_wait_s += fetch_wait_s
    stage.shuffle_write_s += write_s
    stage.max_fetch_wait_s = max(stage.max_fetch_wait_s, fetch_wait_s)
    stage.max_shuffle_write_s = max(stage.max_shuffle_write_s, write_s)
