"""Spark's event log: the cost of each job group, stage by stage and task by task. Read line by line: a log
may be larger than the memory."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from hydrotest.analysis.spark.event_files import Log, LogFile, find_log, gaps, log_lines, raw_lines
from hydrotest.analysis.spark.event_parser import EventLog, Flaw, FlawKind, Parser, Skip
from hydrotest.analysis.spark.event_streams import StreamBrokenError
from hydrotest.clock import iso
from hydrotest.summary.event_log import LogRow

__all__ = ["EventLog", "Flaw", "FlawKind", "Skip", "log_row", "parse_event_log", "read_event_log", "read_files"]

FIRST_LINES = 200
"""Lines at the start of a log that contain its application's start, which a few others precede."""


def read_event_log(path: Path) -> EventLog:
    """Reads the event log at `path`, complete or cut off by a driver that never ended (`event_files` and
    `event_streams` define the forms). A missing log gives an empty one with a flaw. Raises `BadInputError` if
    there are several."""
    files = find_log(path)
    return EventLog(flaws=[Flaw(FlawKind.MISSING)]) if files is None else read_files(files)


def read_files(files: Iterable[LogFile]) -> EventLog:
    """Reads the files of a log, line by line. The rest of a file that breaks off is left out, and the next is
    read."""
    # Nothing of a log is a cycle, and looking for some again and again takes a third of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _read(list(files))
    finally:
        if was_enabled:
            gc.enable()


def _read(inside: Sequence[LogFile]) -> EventLog:
    parser, broken = Parser(), None
    for file in inside:
        name = file.name
        if broken is not None:
            parser.break_off(*broken)
            broken = None
        try:
            for number_in_file, line in enumerate(raw_lines(file), 1):
                parser.feed_raw(line, f"{name}:{number_in_file}")
        except StreamBrokenError as error:
            broken = (name, error)
    if broken is not None and not broken[1].is_cut:
        parser.break_off(*broken)
    if missing := gaps(inside):
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        parser.log.flaws.append(Flaw(FlawKind.GAP, count=len(missing), detail=shown))
    return parser.finish()


def log_row(log: Log) -> LogRow:
    """The log's application, by its first lines, and its size."""
    parser = Parser()
    try:
        for line in islice(log_lines(log.files[0]), FIRST_LINES):
            parser.feed(line, "")
    except StreamBrokenError:
        pass  # the lines before it name the application
    found = parser.log
    return LogRow(
        path=str(log.path), application=found.application or None, name=found.name or None, spark=found.version or None,
        started=iso(found.started_s) if found.started_s else None, bytes=sum(file.size for file in log.files), files=len(log.files),
        in_progress=log.in_progress,
    )  # fmt: skip


def parse_event_log(lines: Iterable[str]) -> EventLog:
    """Gathers tasks by stage, and stages by job group. Skipped stages, which ran no task, do not count."""
    parser = Parser()
    for at, line in enumerate(lines, 1):
        parser.feed(line, f"line {at}")
    return parser.finish()
