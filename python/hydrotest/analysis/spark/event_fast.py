"""What is needed of an event's line, decoded without making objects of the rest: accumulables, plans and RDDs are most of a log.

`msgspec` skips what these types do not name. Ends of tasks, nearly all of a log, have typed fields, and are wrong where a field has
another type. Fields of other events have any type here: what they must be, `event_fields` says.
"""

from __future__ import annotations

import json
from types import GenericAlias
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import field

from hydrotest.analysis.spark.event_fields import NUMBER_MAX
from hydrotest.analysis.spark.executors import PEAKS

TASK_END = "SparkListenerTaskEnd"


def _begins(event: str) -> tuple[str, str]:
    """As Spark writes such a line, and as Python does."""
    return f'{{"Event":"{event}"', f'{{"Event": "{event}"'


_END = _begins(TASK_END)
_END_BYTES, _START_BYTES = (tuple(one.encode() for one in begins) for begins in (_END, _begins("SparkListenerTaskStart")))

Long = Annotated[int, msgspec.Meta(gt=-NUMBER_MAX, lt=NUMBER_MAX)]
"""A whole number of Java, as far as `event_fields` takes one."""
_Peaks = msgspec.defstruct("_Peaks", [(name, Any, None) for name in PEAKS], frozen=True)


class _ShuffleRead(msgspec.Struct, frozen=True):
    remote_bytes: Long | None = field(name="Remote Bytes Read", default=None)
    local_bytes: Long | None = field(name="Local Bytes Read", default=None)
    wait: float | None = field(name="Fetch Wait Time", default=None)
    remote_blocks: Long | None = field(name="Remote Blocks Fetched", default=None)
    local_blocks: Long | None = field(name="Local Blocks Fetched", default=None)


class _ShuffleWrite(msgspec.Struct, frozen=True):
    bytes: Long | None = field(name="Shuffle Bytes Written", default=None)
    time: float | None = field(name="Shuffle Write Time", default=None)


class _Input(msgspec.Struct, frozen=True):
    bytes: Long | None = field(name="Bytes Read", default=None)


class _Output(msgspec.Struct, frozen=True):
    bytes: Long | None = field(name="Bytes Written", default=None)


class _Metrics(msgspec.Struct, frozen=True):
    run: float | None = field(name="Executor Run Time", default=None)
    deserialise: float | None = field(name="Executor Deserialize Time", default=None)
    serialise: float | None = field(name="Result Serialization Time", default=None)
    cpu: float | None = field(name="Executor CPU Time", default=None)
    gc: float | None = field(name="JVM GC Time", default=None)
    spilled: Long | None = field(name="Disk Bytes Spilled", default=None)
    memory_spilled: Long | None = field(name="Memory Bytes Spilled", default=None)
    result: Long | None = field(name="Result Size", default=None)
    peak: Long | None = field(name="Peak Execution Memory", default=None)
    read: _ShuffleRead | None = field(name="Shuffle Read Metrics", default=None)
    write: _ShuffleWrite | None = field(name="Shuffle Write Metrics", default=None)
    input: _Input | None = field(name="Input Metrics", default=None)
    output: _Output | None = field(name="Output Metrics", default=None)


NO_METRICS, NO_SHUFFLE_READ, NO_SHUFFLE_WRITE, NO_INPUT, NO_OUTPUT = _Metrics(), _ShuffleRead(), _ShuffleWrite(), _Input(), _Output()
"""Of a task that has none, e.g. since it was killed before it began."""


class _Info(msgspec.Struct, frozen=True):
    task: Long = field(name="Task ID")
    index: Long | None = field(name="Index", default=None)
    launched: float | None = field(name="Launch Time", default=None)
    finished: float | None = field(name="Finish Time", default=None)
    got_result: float | None = field(name="Getting Result Time", default=None)
    failed: Any = field(name="Failed", default=None)
    killed: Any = field(name="Killed", default=None)
    speculative: Any = field(name="Speculative", default=None)
    host: str | None = field(name="Host", default=None)
    locality: str | None = field(name="Locality", default=None)
    executor: str | None = field(name="Executor ID", default=None)


class _Reason(msgspec.Struct, frozen=True):
    reason: str | None = field(name="Reason", default=None)


class TaskEnd(msgspec.Struct, frozen=True):
    """An end of a task. Times are milliseconds, but for CPU and shuffle writes, which are nanoseconds."""

    stage: Long = field(name="Stage ID")
    info: _Info = field(name="Task Info")
    attempt: Long | None = field(name="Stage Attempt ID", default=None)
    reason: _Reason | None = field(name="Task End Reason", default=None)
    metrics: _Metrics | None = field(name="Task Metrics", default=None)
    peaks: _Peaks | None = field(name="Task Executor Metrics", default=None)  # type: ignore[valid-type]


class _Started(msgspec.Struct, frozen=True):
    task: Long = field(name="Task ID")


class TaskStart(msgspec.Struct, frozen=True):
    """A start of a task."""

    stage: Long = field(name="Stage ID")
    info: _Started = field(name="Task Info")
    attempt: Long | None = field(name="Stage Attempt ID", default=None)


_TASK_END: msgspec.json.Decoder[TaskEnd] = msgspec.json.Decoder(TaskEnd)
_TASK_START: msgspec.json.Decoder[TaskStart] = msgspec.json.Decoder(TaskStart)

_STAGE = ("Stage ID", "Stage Attempt ID", "Stage Name", "Number of Tasks", "Parent IDs", "Failure Reason", "Submission Time", "Completion Time",
          "Resource Profile Id")  # fmt: skip
_WHOLE = ("Executor Info", "Spark Properties", "Task Resource Requests", "Properties", "Job Result", "Executor Metrics")
_PLAIN = ("Event", "Stage ID", "Stage Attempt ID", "Job ID", "Stage IDs", "Executor ID", "Removed Reason", "Spark Version", "App ID", "App Name",
          "Timestamp", "Resource Profile Id", "Submission Time", "Completion Time", "executionId", "description", "time", "errorMessage")  # fmt: skip


def _only(name: str, **sections: Any) -> Any:
    """An object with these fields."""
    return TypedDict(name, sections, total=False)  # type: ignore[operator]


def _fields(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, Any)


_Named = _only("_Named", **_fields("Stage ID", "Stage Name"))
_Event = _only("_Event", **_fields(*_PLAIN, *_WHOLE), **{
    "Task Info": _only("_Start", **_fields("Task ID")) | None, "Stage Info": _only("_Stage", **_fields(*_STAGE)) | None,
    "Stage Infos": GenericAlias(list, (_Named,)) | None,
})  # fmt: skip
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Event)


def quick(line: bytes) -> TaskEnd | TaskStart | None:
    """The event of a line that is a start or an end of a task, as Spark writes it. None: it is not, and the functions below say what it is."""
    event: TaskEnd | TaskStart
    try:
        if line.startswith(_END_BYTES):
            event = _TASK_END.decode(line)
        elif line.startswith(_START_BYTES):
            event = _TASK_START.decode(line)
        else:
            return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return event if (event.attempt or 0) >= 0 else None


def is_task_end(line: str) -> bool:
    """True if it begins as one; others are known by their event."""
    return line.startswith(_END)


def task_end(line: str) -> TaskEnd | None:
    """The end of a task; None if it is not as Spark writes it. Raises `ValueError` for what is not JSON."""
    try:
        end = _TASK_END.decode(line)
    except msgspec.ValidationError:
        return None
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    return end if (end.attempt or 0) >= 0 else None


def decoded(line: str) -> Any:
    """The event of a line: of an object, only what is needed. Raises `ValueError` for what is not JSON, and `RecursionError`."""
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        # Of another shape, or JSON as only Python reads it: the parser says what is wrong with it.
        return json.loads(line)
