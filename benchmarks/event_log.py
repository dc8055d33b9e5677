"""How fast `show --spark-log` reads a large event log, next to Python's own JSON parser over the same lines.

Writes a log of an application whose tasks are as Spark 4 writes them, with accumulables, and reads it in turns. Prints a table.

    python benchmarks/event_log.py [--mb 1000] [--rounds 3] [--before OTHER/python]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HYDROTEST = Path(sys.executable).parent / "hydrotest"
BEGAN_MS = 1_700_000_000_000
TASKS = 2_000
"""Of each stage."""
SLOTS = 64
PARSED = "import json, sys\nfor line in open(sys.argv[1]): json.loads(line)\n"


def task_end(stage: int, number: int, from_ms: int, ms: int) -> str:
    """As Spark 4.2 writes it, shortened by nothing but names: about 3 kB, most of it accumulables."""
    task = stage * TASKS + number
    accumulables = [
        {"ID": at, "Name": f"internal.metrics.{name}", "Update": ms + at, "Value": task * ms + at, "Internal": True, "Count Failed Values": True}
        for at, name in enumerate((
            "executorDeserializeTime", "executorDeserializeCpuTime", "executorRunTime", "executorCpuTime", "resultSize", "jvmGCTime",
            "shuffle.read.localBlocksFetched", "shuffle.read.remoteBytesRead", "shuffle.write.bytesWritten", "input.bytesRead", "input.recordsRead",
        ))
    ]  # fmt: skip
    event: dict[str, Any] = {
        "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0, "Task Type": "ShuffleMapTask", "Task End Reason": {"Reason": "Success"},
        "Task Info": {
            "Task ID": task, "Index": number, "Attempt": 0, "Partition ID": number, "Launch Time": BEGAN_MS + from_ms, "Executor ID": str(number % 16),
            "Host": f"worker-{number % 16}", "Locality": "NODE_LOCAL", "Speculative": False, "Getting Result Time": 0,
            "Finish Time": BEGAN_MS + from_ms + ms, "Failed": False, "Killed": False, "Accumulables": accumulables,
        },
        "Task Executor Metrics": {"JVMHeapMemory": 500_000_000 + number, "JVMOffHeapMemory": 90_000_000, "ProcessTreeJVMRSSMemory": 0},
        "Task Metrics": {
            "Executor Deserialize Time": 3, "Executor Deserialize CPU Time": 2_000_000, "Executor Run Time": ms - 5, "Executor CPU Time": (ms - 9) * 1_000_000,
            "Peak Execution Memory": 1_048_576, "Result Size": 2_000, "JVM GC Time": 2, "Result Serialization Time": 0, "Memory Bytes Spilled": 0,
            "Disk Bytes Spilled": 0,
            "Shuffle Read Metrics": {"Remote Blocks Fetched": 10, "Local Blocks Fetched": 2, "Fetch Wait Time": 1, "Remote Bytes Read": 100_000,
                                     "Remote Bytes Read To Disk": 0, "Local Bytes Read": 20_000, "Total Records Read": 1_000},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 90_000, "Shuffle Write Time": 1_000_000, "Shuffle Records Written": 900},
            "Input Metrics": {"Bytes Read": 1_000_000, "Records Read": 10_000}, "Output Metrics": {"Bytes Written": 0, "Records Written": 0},
            "Updated Blocks": [],
        },
    }  # fmt: skip
    return json.dumps(event, separators=(",", ":"))


def write_log(path: Path, size: int) -> int:
    """A log of at least so many bytes; its number of tasks."""
    written, stage, tasks = 0, 0, 0
    with path.open("w") as handle:

        def put(event: dict[str, Any] | str) -> None:
            nonlocal written
            written += handle.write((event if isinstance(event, str) else json.dumps(event, separators=(",", ":"))) + "\n")

        put({"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"})
        put({"Event": "SparkListenerApplicationStart", "App Name": "large", "App ID": "app-1", "Timestamp": BEGAN_MS, "User": "me"})
        for number in range(16):
            put(
                {
                    "Event": "SparkListenerExecutorAdded",
                    "Timestamp": BEGAN_MS,
                    "Executor ID": str(number),
                    "Executor Info": {"Host": "w", "Total Cores": 4},
                }
            )
        at_ms = 0
        while written < size:
            put(
                {
                    "Event": "SparkListenerJobStart",
                    "Job ID": stage,
                    "Submission Time": BEGAN_MS + at_ms,
                    "Stage IDs": [stage],
                    "Properties": {},
                }
            )
            info = {
                "Stage ID": stage,
                "Stage Attempt ID": 0,
                "Stage Name": f"count at Large.scala:{stage % 20}",
                "Number of Tasks": TASKS,
                "Parent IDs": [],
            }
            put({"Event": "SparkListenerStageSubmitted", "Stage Info": info})
            for number in range(TASKS):
                ms = 80 + (number * 7919) % 60
                put(task_end(stage, number, at_ms + number // SLOTS * 140, ms))
            at_ms += TASKS // SLOTS * 140 + 500
            put({"Event": "SparkListenerStageCompleted", "Stage Info": info | {"Completion Time": BEGAN_MS + at_ms}})
            put(
                {
                    "Event": "SparkListenerJobEnd",
                    "Job ID": stage,
                    "Completion Time": BEGAN_MS + at_ms,
                    "Job Result": {"Result": "JobSucceeded"},
                }
            )
            stage, tasks = stage + 1, tasks + TASKS
        put({"Event": "SparkListenerApplicationEnd", "Timestamp": BEGAN_MS + at_ms})
    return tasks


def measured(argv: list[str], python: Path | None) -> tuple[float, float, int]:
    """Seconds of the clock and of CPU, and most memory in bytes, of a command; `python`: where another version of hydrotest is."""
    at = time.monotonic()
    env = os.environ if python is None else os.environ | {"PYTHONPATH": str(python)}
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(child.pid, 0)
    took = time.monotonic() - at
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, argv)
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    """Writes, reads in turns, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="`python/` of another version, which is read with in turns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        tasks = write_log(path, options.mb * 10**6)
        show = [str(HYDROTEST), "show", "--spark-log", str(path), "--json"]
        ways: dict[str, tuple[list[str], Path | None]] = {"hydrotest show --spark-log": (show, None)}
        if options.before is not None:
            ways["the same, before"] = (show, options.before)
        ways["json.loads of each line"] = ([sys.executable, "-c", PARSED, str(path)], None)
        found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                found[name].append(measured(*way))
        print(f"{path.stat().st_size / 1e6:,.0f} MB, {tasks:,} tasks\n")
        print(f"| | s (median of {options.rounds}, least to most) | CPU s | most memory, MB |\n|---|---|---|---|")
        for name, all_of_it in found.items():
            clock, cpu = sorted(one[0] for one in all_of_it), statistics.median(one[1] for one in all_of_it)
            print(
                f"| {name} | {statistics.median(clock):.1f} ({clock[0]:.1f} to {clock[-1]:.1f}) | {cpu:.1f} | {max(one[2] for one in all_of_it) / 1e6:,.0f} |"
            )


if __name__ == "__main__":
    main()
