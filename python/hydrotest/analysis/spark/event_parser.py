"""The lines of Spark's event log, one by one, and their contents.

Each line is one JSON object (org.apache.spark.scheduler.SparkListenerEvent), of any Spark since 1.2. A log
whose driver was killed ends in a cut line. Damaged lines are left out. Both are reported (`EventLog.flaws`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec.structs import astuple

from hydrotest.analysis.spark.event_fast import TASK_END, TaskEnd, decoded, is_task_end, quick, task_end
from hydrotest.analysis.spark.event_fields import Fields, OddEventError, needed, number, seconds, section, text, whole, wholes
from hydrotest.analysis.spark.event_streams import StreamBrokenError
from hydrotest.analysis.spark.event_tasks import StageEnds, TaskEnds
from hydrotest.analysis.spark.executors import PEAKS, Executors
from hydrotest.analysis.spark.tasks import Execution, Group, Job, Stage

JOB_GROUP = "spark.jobGroup.id"
DESCRIPTION = "spark.job.description"
CALL_SITE = "callSite.short"
EXECUTION = "spark.sql.execution.id"
TASK_CPUS = "spark.task.cpus"
EXECUTOR_MEMORY = "spark.executor.memory"
SUCCEEDED = "JobSucceeded"
RESUBMITTED = "Resubmitted"


class FlawKind(StrEnum):
    """What a log lacks."""

    MISSING = "missing"
    """There is none."""
    UNFINISHED = "unfinished"
    """It ends before its application did: that still runs, or was killed."""
    CUT = "cut"
    """It ends within a line."""
    SKIPPED = "skipped-lines"
    BROKEN = "broken-file"
    """A file cannot be decompressed to its end."""
    GAP = "missing-files"
    """Files of a rolled log are missing."""
    DUPLICATES = "duplicate-ends"
    """It has ends of tasks twice; each counts once."""
    MIXED = "several-applications"
    """Events of more than one application, which cannot be separated."""


class Skip(StrEnum):
    """Why a line was skipped."""

    BLANK = "blank"
    NOT_JSON = "not-json"
    NOT_OBJECT = "not-an-object"
    ODD_EVENT = "odd-event"
    """An object that is not an event, or lacks a required field."""


@dataclass(frozen=True)
class Flaw:
    """A flaw of a log. `count`: lines, ends or files; `place`: of the first; `detail`: numbers of missing
    files, the other application, how a file is broken. `report/wording` makes `words`."""

    kind: FlawKind
    words: str = ""
    count: int = 1
    place: str | None = None
    detail: str | None = None
    kinds: tuple[tuple[str, int], ...] = ()
    """Skipped lines by reason (`Skip`)."""


@dataclass
class EventLog:
    """The contents of a log."""

    groups: dict[str, Group] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    """Skipped lines by reason (`Skip`)."""
    lines: int = 0
    application: str = ""
    name: str = ""
    version: str = ""
    started_s: float | None = None
    """Wall time at which the application began."""
    ended_s: float | None = None
    """Wall time at which it ended; of one that did not, of the last event with a time."""
    jobs: dict[int, Job] = field(default_factory=dict)
    executions: dict[int, Execution] = field(default_factory=dict)
    executor_memory: str | None = None
    """As it was asked for: `4g`."""
    executors: Executors = field(default_factory=Executors)
    cpus: int = 1
    """Cores of a task (`spark.task.cpus`)."""

    @property
    def cores(self) -> int | None:
        """Most cores of all executors at a time; None if unknown."""
        return self.executors.cores

    @property
    def slots(self) -> int | None:
        """Most tasks that could run at a time; None if unknown."""
        return self.executors.slots(self.cpus)

    @property
    def stages(self) -> list[Stage]:
        """All attempts of stages that ran, in order of their numbers."""
        return sorted((stage for group in self.groups.values() for stage in group.stages), key=_order)


def _order(stage: Stage) -> tuple[int, int]:
    return stage.number, stage.attempt


class Parser:
    """Takes lines one by one, and keeps what is needed of them."""

    def __init__(self) -> None:
        self.log = EventLog()
        self._skipped: Counter[Skip] = Counter()
        self._first_skipped: str | None = None
        self._maybe_cut: str | None = None
        """Place of the previous line, if that was not JSON."""
        self._ended = False
        self._stages: dict[tuple[int, int], Stage] = {}
        self._ends = TaskEnds()
        self._repeated: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._last_s = 0.0
        """The latest time of an event, apart from tasks."""
        self._job_of: dict[int, Job] = {}
        self._group_of: dict[int, str] = {}
        self._profile_of: dict[tuple[int, int], int] = {}
        self._cpus_of: dict[int, int] = {}
        """By resource profile."""

    def break_off(self, name: str, error: StreamBrokenError) -> None:
        """A file could not be read to its end."""
        self.log.flaws.append(Flaw(FlawKind.BROKEN, place=name, detail=str(error)))

    def feed_raw(self, line: bytes, place: str) -> None:
        """The same as `feed`, and faster: most lines are starts and ends of tasks."""
        if (event := quick(line)) is None:
            self.feed(line.decode(errors="replace"), place)
            return
        self._begin_line()
        if isinstance(event, TaskEnd):
            self._take_task_end(event)
        else:
            self._stages_entry((event.stage, event.attempt or 0)).running.add(event.info.task)

    def feed(self, line: str, place: str) -> None:
        """Takes a line; `place` helps a reader find it."""
        self._begin_line()
        line = line.removeprefix("\ufeff").strip()
        if not line:
            self._skip(Skip.BLANK, place)
            return
        try:
            event = {"Event": TASK_END} if is_task_end(line) else decoded(line)
            if isinstance(event, dict) and event.get("Event") == TASK_END:
                if (end := task_end(line)) is None:
                    raise OddEventError("it is not as Spark writes an end")
                self._take_task_end(end)
                return
        except (ValueError, RecursionError):
            self._maybe_cut = place
            return
        except OddEventError:
            self._skip(Skip.ODD_EVENT, place)
            return
        if not isinstance(event, dict):
            self._skip(Skip.NOT_OBJECT, place)
            return
        try:
            self._take(event)
        except OddEventError:
            self._skip(Skip.ODD_EVENT, place)

    def _begin_line(self) -> None:
        self.log.lines += 1
        if self._maybe_cut is not None:  # more follows: the line was not cut
            self._skip(Skip.NOT_JSON, self._maybe_cut)
            self._maybe_cut = None

    def _skip(self, why: Skip, place: str) -> None:
        self._skipped[why] += 1
        self._first_skipped = self._first_skipped or place

    def _take(self, event: Fields) -> None:
        match text(event, "Event"):
            case "SparkListenerTaskStart":
                task = _needed_section(event, "Task Info")
                self._stage(event).running.add(needed(task, "Task ID"))
            case "SparkListenerStageSubmitted" | "SparkListenerStageCompleted" as what:
                self._take_stage(_needed_section(event, "Stage Info"), is_completed=what == "SparkListenerStageCompleted")
            case "SparkListenerJobStart":
                self._take_job(event)
            case "SparkListenerJobEnd":
                self._end_job(event)
            case "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart":
                self._execution(event).name = text(event, "description")
                self._execution(event).started_s = self._moment(event, "time")
            case "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd":
                self._execution(event).ended_s = self._moment(event, "time")
                self._execution(event).failure = text(event, "errorMessage") or None
            case "SparkListenerStageExecutorMetrics":
                metrics = section(event, "Executor Metrics") or {}
                self.log.executors.note_peaks(_needed_text(event, "Executor ID"), [metrics.get(name) for name in PEAKS])
            case "SparkListenerExecutorAdded":
                info = section(event, "Executor Info") or {}
                self.log.executors.add(_needed_text(event, "Executor ID"), whole(info, "Total Cores"), self._moment(event, "Timestamp"))
            case "SparkListenerExecutorRemoved":
                self.log.executors.remove(
                    _needed_text(event, "Executor ID"), text(event, "Removed Reason"), self._moment(event, "Timestamp")
                )
            case "SparkListenerLogStart":
                self.log.version = text(event, "Spark Version") or ""
            case "SparkListenerApplicationStart":
                self._take_application(event)
            case "SparkListenerApplicationEnd":
                self._ended = True
                self.log.ended_s = seconds(event, "Timestamp", 1e3)
            case "SparkListenerEnvironmentUpdate":
                properties = section(event, "Spark Properties") or {}
                self._take_cpus(text(properties, TASK_CPUS))
                self.log.executor_memory = text(properties, EXECUTOR_MEMORY)
            case "SparkListenerResourceProfileAdded":
                asked = section(section(event, "Task Resource Requests") or {}, "cpus") or {}
                self._cpus_of[needed(event, "Resource Profile Id")] = max(1, round(number(asked, "Amount") or 1))
            case None:
                raise OddEventError("it has no kind")

    def _take_application(self, event: Fields) -> None:
        application, name, started_s = text(event, "App ID") or "", text(event, "App Name") or "", seconds(event, "Timestamp", 1e3)
        if self.log.application not in ("", application):
            self.log.flaws.append(Flaw(FlawKind.MIXED, detail=application))
            return
        self.log.application, self.log.name, self.log.started_s = application, name, started_s

    def _take_cpus(self, said: str | None) -> None:
        if said is not None:
            if not said.isdecimal() or int(said) < 1:
                raise OddEventError(f"{TASK_CPUS} is not a number")
            self.log.cpus = int(said)

    def _take_job(self, event: Fields) -> None:
        properties = section(event, "Properties") or {}
        execution = text(properties, EXECUTION)
        job = Job(
            needed(event, "Job ID"), self.log.lines, name=text(properties, DESCRIPTION) or text(properties, CALL_SITE) or _last_stage(event),
            submitted_s=self._moment(event, "Submission Time"), execution=int(execution) if execution and execution.isdecimal() else None,
        )  # fmt: skip
        group = text(properties, JOB_GROUP) or ""
        stages = wholes(event, "Stage IDs")
        self.log.jobs.setdefault(job.number, job)
        for stage in stages:
            # Of jobs that share a stage, the first to need it runs it.
            self._job_of.setdefault(stage, job)
            self._group_of.setdefault(stage, group)

    def _end_job(self, event: Fields) -> None:
        if job := self.log.jobs.get(needed(event, "Job ID")):
            job.ended, job.completed_s = self.log.lines, self._moment(event, "Completion Time")
            result = section(event, "Job Result") or {}
            if text(result, "Result") not in (None, SUCCEEDED):
                job.failure = text(section(result, "Exception") or {}, "Message") or text(result, "Result")

    def _moment(self, event: Fields, key: str) -> float | None:
        """A wall time, which the log reaches to at least."""
        at_s = seconds(event, key, 1e3) or None
        self._last_s = max(self._last_s, at_s or 0.0)
        return at_s

    def _execution(self, event: Fields) -> Execution:
        number_of_it = needed(event, "executionId")
        return self.log.executions.setdefault(number_of_it, Execution(number_of_it))

    def _stage(self, event: Fields) -> Stage:
        return self._stages_entry(_attempt(event))

    def _stages_entry(self, key: tuple[int, int]) -> Stage:
        if (stage := self._stages.get(key)) is None:
            stage = self._stages[key] = Stage(*key)
        return stage

    def _take_stage(self, info: Fields, *, is_completed: bool) -> None:
        key = _attempt(info)
        name, planned, parents, failure = (
            text(info, "Stage Name"),
            whole(info, "Number of Tasks"),
            wholes(info, "Parent IDs"),
            text(info, "Failure Reason"),
        )
        submitted, completed, profile = number(info, "Submission Time"), number(info, "Completion Time"), whole(info, "Resource Profile Id")
        stage = self._stages_entry(key)
        stage.name, stage.planned, stage.parents, stage.failure = name, planned, parents, failure
        stage.is_completed = stage.is_completed or is_completed
        if submitted is not None:
            stage.submitted_s = submitted / 1e3
            self._last_s = max(self._last_s, stage.submitted_s)
        if completed is not None:
            stage.completed_s = completed / 1e3
            self._last_s = max(self._last_s, stage.completed_s)
        if profile is not None:
            self._profile_of[key] = profile

    def _take_task_end(self, end: TaskEnd) -> None:
        key, info = (end.stage, end.attempt or 0), end.info
        if end.reason is not None and end.reason.reason == RESUBMITTED:
            self._repeated[key].add(info.task)
            return
        if end.peaks is not None and info.executor is not None:
            self.log.executors.note_peaks(info.executor, astuple(end.peaks))
        self._stages_entry(key).running.discard(info.task)
        self._ends.add(end)

    def finish(self) -> EventLog:
        """All gathered data."""
        log = self.log
        ends = self._ends.by_stage()
        for key, stage in self._stages.items():
            stage.left_out = self._ends.left_out[key]
            self._settle(key, stage, ends.get(key))
        groups: dict[str, Group] = defaultdict(Group)
        for stage in sorted(self._stages.values(), key=_order):
            if stage.ran:
                groups[self._group_of.get(stage.number, "")].stages.append(stage)
        cores = log.cores
        for group in groups.values():
            group.cores = cores
        if log.ended_s is None:
            last_s = max([self._last_s, *(stage.span_s[1] for stage in self._stages.values() if stage.tasks)])
            log.ended_s = last_s or None
        log.groups = dict(groups)
        self._add_flaws()
        return log

    def _settle(self, key: tuple[int, int], stage: Stage, ends: StageEnds | None) -> None:
        """Sets what is known of a stage only at the end: its cores, and which of its tasks count."""
        stage.job = self._job_of.get(stage.number)
        stage.cpus = self._cpus_of.get(self._profile_of.get(key, 0), self.log.cpus)
        stage.slots = self.log.executors.slots(stage.cpus)
        if ends is not None:
            stage.tasks, stage.duplicates = ends.settled(self._repeated.get(key, set()), self.log.executors.was_wanted_away)

    def _add_flaws(self) -> None:
        log = self.log
        if self._maybe_cut is not None:
            log.flaws.append(Flaw(FlawKind.CUT, place=self._maybe_cut))
        elif not self._ended:
            log.flaws.append(Flaw(FlawKind.UNFINISHED))
        log.skipped = {why.value: count for why, count in self._skipped.items()}
        if doubled := sum(stage.duplicates for stage in self._stages.values()):
            log.flaws.append(Flaw(FlawKind.DUPLICATES, count=doubled))
        if damaged := sum(log.skipped.values()):
            log.flaws.append(Flaw(FlawKind.SKIPPED, count=damaged, place=self._first_skipped, kinds=tuple(log.skipped.items())))


def _attempt(fields: Fields) -> tuple[int, int]:
    """The stage and its attempt; the first if the log does not have it, as Spark reads it."""
    attempt = whole(fields, "Stage Attempt ID") or 0
    if attempt < 0:
        raise OddEventError("the attempt of its stage is not known")
    return needed(fields, "Stage ID"), attempt


def _last_stage(job: Fields) -> str | None:
    """A job is named after its last stage, as in Spark's own UI (AppStatusListener.onJobStart)."""
    stages = job.get("Stage Infos")
    if not isinstance(stages, list) or not stages:
        return None
    last = max((one for one in stages if isinstance(one, dict)), key=lambda one: one.get("Stage ID") or 0, default={})
    return text(last, "Stage Name")


def _needed_section(fields: Fields, key: str) -> Fields:
    found = section(fields, key)
    if found is None:
        raise OddEventError(f"it has no {key!r}")
    return found


def _needed_text(fields: Fields, key: str) -> str:
    found = text(fields, key)
    if found is None:
        raise OddEventError(f"it has no {key!r}")
    return found
