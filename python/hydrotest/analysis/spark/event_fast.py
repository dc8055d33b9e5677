"""What is needed of an event's line, decoded without making objects of the rest: accumulables, plans and RDDs are most of a log.

`msgspec` skips what these types do not name. Fields have any type here: what they must be, `event_fields` says.
"""

from __future__ import annotations

import json
from types import GenericAlias
from typing import Any, TypedDict

import msgspec

_SHUFFLE_READ = ("Remote Bytes Read", "Local Bytes Read", "Fetch Wait Time", "Remote Blocks Fetched", "Local Blocks Fetched")
_METRICS = ("Executor Run Time", "Executor Deserialize Time", "Result Serialization Time", "Executor CPU Time", "JVM GC Time", "Disk Bytes Spilled",
            "Memory Bytes Spilled", "Result Size", "Peak Execution Memory")  # fmt: skip
_TASK = (
    "Task ID",
    "Index",
    "Launch Time",
    "Finish Time",
    "Getting Result Time",
    "Failed",
    "Killed",
    "Speculative",
    "Host",
    "Locality",
    "Executor ID",
)
_STAGE = ("Stage ID", "Stage Attempt ID", "Stage Name", "Number of Tasks", "Parent IDs", "Failure Reason", "Submission Time", "Completion Time",
          "Resource Profile Id")  # fmt: skip
_WHOLE = (
    "Executor Info",
    "Spark Properties",
    "Task Resource Requests",
    "Properties",
    "Job Result",
    "Executor Metrics",
    "Task Executor Metrics",
)
_PLAIN = ("Event", "Stage ID", "Stage Attempt ID", "Job ID", "Stage IDs", "Executor ID", "Removed Reason", "Spark Version", "App ID", "App Name",
          "Timestamp", "Resource Profile Id", "Submission Time", "Completion Time", "executionId", "description", "time", "errorMessage")  # fmt: skip


def _only(name: str, **sections: Any) -> Any:
    """An object with these fields."""
    return TypedDict(name, sections, total=False)  # type: ignore[operator]


def _fields(names: tuple[str, ...]) -> dict[str, Any]:
    return dict.fromkeys(names, Any)


_Read = _only("_Read", **_fields(_SHUFFLE_READ))
_Written = _only("_Written", **_fields(("Shuffle Bytes Written", "Shuffle Write Time")))
_Input = _only("_Input", **_fields(("Bytes Read",)))
_Output = _only("_Output", **_fields(("Bytes Written",)))
_Metrics = _only("_Metrics", **_fields(_METRICS), **{
    "Shuffle Read Metrics": _Read | None, "Shuffle Write Metrics": _Written | None, "Input Metrics": _Input | None, "Output Metrics": _Output | None,
})  # fmt: skip
_Info = _only("_Info", **_fields(_TASK))
_Stage = _only("_Stage", **_fields(_STAGE))
_Event = _only("_Event", **_fields((*_PLAIN, *_WHOLE)), **{
    "Task Info": _Info | None, "Task Metrics": _Metrics | None, "Task End Reason": _only("_Reason", Reason=Any) | None, "Stage Info": _Stage | None,
    "Stage Infos": GenericAlias(list, (_only("_Named", **_fields(("Stage ID", "Stage Name"))),)) | None,
})  # fmt: skip
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Event)


def decoded(line: str) -> Any:
    """The event of a line: of an object, only what is needed. Raises `ValueError` for what is not JSON, and `RecursionError`."""
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        # Of another shape, or JSON as only Python reads it: the parser says what is wrong with it.
        return json.loads(line)
