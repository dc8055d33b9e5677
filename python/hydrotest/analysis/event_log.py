"""Spark's event log: what each job group cost, stage by stage and task by task.

One JSON object a line (org.apache.spark.scheduler.SparkListenerEvent). A log whose driver was killed ends in a cut line;
what stands before it is used, and the cut is told.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from hydrotest.analysis.event_files import event_lines, find_log

JOB_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt of a task; times in seconds, sizes in bytes. All zero of one that was killed before it began, but its times."""

    launched_s: float
    finished_s: float
    failed: bool
    host: str
    locality: str
    run_s: float = 0.0
    cpu_s: float = 0.0
    gc_s: float = 0.0
    deserialise_s: float = 0.0
    serialise_s: float = 0.0
    scheduler_delay_s: float = 0.0
    """What is left of its duration: sending it out, and hearing that it ended. As Spark's own UI reckons it (AppStatusUtils.schedulerDelay)."""
    getting_result_s: float = 0.0
    fetch_wait_s: float = 0.0
    shuffle_write_s: float = 0.0
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_bytes: int = 0
    remote_bytes: int = 0
    remote_blocks: int = 0
    local_blocks: int = 0
    shuffle_write_bytes: int = 0
    spill_bytes: int = 0
    """On disk."""
    memory_spill_bytes: int = 0
    """The same before it was serialised."""
    result_bytes: int = 0

    @property
    def duration_s(self) -> float:
        """From its launch to its end, as the driver saw it."""
        return self.finished_s - self.launched_s


@dataclass
class Stage:
    """One stage, with the tasks of it that ended."""

    number: int
    name: str = ""
    planned: int = 0
    """Tasks that it is to have."""
    submitted_s: float | None = None
    completed_s: float | None = None
    """Wall time; null while it runs."""
    failure: str | None = None
    parents: list[int] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures."""
        return float(sum(getattr(task, what) for task in self.tasks))

    def largest(self, what: str) -> float:
        """Largest of one of the tasks' figures; 0 without tasks."""
        return float(max((getattr(task, what) for task in self.tasks), default=0.0))

    @property
    def failed_tasks(self) -> int:
        """Attempts that failed."""
        return sum(task.failed for task in self.tasks)

    @property
    def done(self) -> int:
        """Tasks that came to their end."""
        return len(self.tasks) - self.failed_tasks

    @property
    def skew(self) -> float | None:
        """The longest task's duration over the median one's; None without tasks, or where they take no time that is measured."""
        durations = [task.duration_s for task in self.tasks if not task.failed]
        middle = median(durations) if durations else 0.0
        return max(durations) / middle if middle > 0 else None

    @property
    def localities(self) -> dict[str, int]:
        """How many tasks ran how near to their data."""
        return dict(Counter(task.locality for task in self.tasks))

    @property
    def seconds(self) -> float | None:
        """From its submission to its end."""
        return None if self.submitted_s is None or self.completed_s is None else self.completed_s - self.submitted_s


@dataclass
class Group:
    """The stages of one job group that ran, in order of their numbers."""

    stages: list[Stage] = field(default_factory=list)
    cores: int = 0
    """Of all executors of its application together; 0 is not known."""

    @property
    def tasks_per_stage(self) -> int:
        """Of the largest stage."""
        return max((len(stage.tasks) for stage in self.stages), default=0)

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures."""
        return float(sum(stage.total(what) for stage in self.stages))

    def largest(self, what: str) -> float:
        """Largest of one of the tasks' figures; 0 without tasks."""
        return float(max((stage.largest(what) for stage in self.stages), default=0.0))


@dataclass
class EventLog:
    """What a log tells."""

    groups: dict[str, Group]
    cut: str | None
    """Why it is not whole; None if it is."""
    application: str = ""
    name: str = ""
    version: str = ""
    executors: dict[str, int] = field(default_factory=dict)
    """Cores of each executor that was ever there."""
    lost_executors: dict[str, str] = field(default_factory=dict)
    """Why each that was removed was."""
    cores: int = 0
    """Of the executors that were there at a time, at most: one that takes a lost one's place brings none."""

    @property
    def stages(self) -> list[Stage]:
        """All that ran, in order of their numbers."""
        return sorted((stage for group in self.groups.values() for stage in group.stages), key=lambda stage: stage.number)


def is_farewell(why: str) -> bool:
    """True if an executor was removed because its application was over."""
    return "finished" in why.lower() or "driver disassociated" in why.lower()


def read_event_log(path: Path) -> EventLog:
    """Reads an event log: one file or a folder of rolled ones, plain or compressed (zstd), whole or what a driver that never ended has left
    of it. A missing one is an empty one that says so. Raises `BadInputError` for a compression that is not known."""
    found = find_log(path)
    return EventLog({}, "it is not there") if found is None else parse_event_log(event_lines(found))


def parse_event_log(lines: Iterable[str]) -> EventLog:
    """Gathers tasks by stage, and stages by job group. Skipped stages, which ran no task, do not count."""
    log = EventLog({}, None)
    group_of_stage: dict[int, str] = {}
    stages: dict[int, Stage] = defaultdict(lambda: Stage(-1))
    ended = False
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except ValueError:
            log.cut = f"line {number} is cut"
            break
        match event.get("Event"):
            case "SparkListenerLogStart":
                log.version = event["Spark Version"]
            case "SparkListenerApplicationStart":
                log.application, log.name = event.get("App ID") or "", event["App Name"]
            case "SparkListenerExecutorAdded":
                log.executors[event["Executor ID"]] = event["Executor Info"]["Total Cores"]
                log.cores = max(log.cores, sum(n for one, n in log.executors.items() if one not in log.lost_executors))
            case "SparkListenerExecutorRemoved":
                log.lost_executors[event["Executor ID"]] = event["Removed Reason"]
            case "SparkListenerJobStart":
                name = (event.get("Properties") or {}).get(JOB_GROUP, "")
                group_of_stage.update(dict.fromkeys(event["Stage IDs"], name))
            case "SparkListenerStageSubmitted" | "SparkListenerStageCompleted":
                _add_stage(stages, event["Stage Info"])
            case "SparkListenerTaskEnd":
                stages[event["Stage ID"]].tasks.append(_task(event))
            case "SparkListenerApplicationEnd":
                ended = True
    if log.cut is None and not ended:
        log.cut = "it ends before its application did"
    groups: dict[str, Group] = defaultdict(Group)
    for stage_id, stage in sorted(stages.items()):
        stage.number = stage_id
        if stage.tasks:
            groups[group_of_stage.get(stage_id, "")].stages.append(stage)
    for group in groups.values():
        group.cores = log.cores
    log.groups = dict(groups)
    return log


def _add_stage(stages: dict[int, Stage], info: dict[str, Any]) -> None:
    stage = stages[info["Stage ID"]]
    stage.name, stage.planned = info["Stage Name"], info["Number of Tasks"]
    stage.parents = info.get("Parent IDs", [])
    for key, attribute in (("Submission Time", "submitted_s"), ("Completion Time", "completed_s")):
        if key in info:
            setattr(stage, attribute, info[key] / 1e3)
    stage.failure = info.get("Failure Reason")


def _task(event: dict[str, Any]) -> Task:
    info = event["Task Info"]
    launched_s, finished_s = info["Launch Time"] / 1e3, info["Finish Time"] / 1e3
    plain = (launched_s, finished_s, bool(info["Failed"] or info["Killed"]), info.get("Host", ""), info.get("Locality", ""))
    metrics = event.get("Task Metrics")
    if not metrics:  # a task that was killed before it began
        return Task(*plain)
    read, write = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    got_s = info.get("Getting Result Time", 0) / 1e3
    getting_s = finished_s - got_s if got_s else 0.0
    run_s, deserialise_s, serialise_s = (
        metrics[f"{what} Time"] / 1e3 for what in ("Executor Run", "Executor Deserialize", "Result Serialization")
    )
    return Task(
        *plain,
        run_s=run_s,
        cpu_s=metrics["Executor CPU Time"] / 1e9,
        gc_s=metrics["JVM GC Time"] / 1e3,
        deserialise_s=deserialise_s,
        serialise_s=serialise_s,
        scheduler_delay_s=max(0.0, finished_s - launched_s - run_s - deserialise_s - serialise_s - getting_s),
        getting_result_s=getting_s,
        fetch_wait_s=read["Fetch Wait Time"] / 1e3,
        shuffle_write_s=write["Shuffle Write Time"] / 1e9,
        input_bytes=metrics["Input Metrics"]["Bytes Read"],
        output_bytes=metrics["Output Metrics"]["Bytes Written"],
        shuffle_read_bytes=read["Remote Bytes Read"] + read["Local Bytes Read"],
        remote_bytes=read["Remote Bytes Read"],
        remote_blocks=read["Remote Blocks Fetched"],
        local_blocks=read["Local Blocks Fetched"],
        shuffle_write_bytes=write["Shuffle Bytes Written"],
        spill_bytes=metrics["Disk Bytes Spilled"],
        memory_spill_bytes=metrics["Memory Bytes Spilled"],
        result_bytes=metrics["Result Size"],
    )
