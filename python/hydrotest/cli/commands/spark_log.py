"""`hydrotest show --spark-log`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from hydrotest.analysis.spark.application import application_row, execution_rows, job_rows
from hydrotest.analysis.spark.changes import change_rows
from hydrotest.analysis.spark.compared import compared
from hydrotest.analysis.spark.event_files import Log, find_logs
from hydrotest.analysis.spark.event_log import EventLog, log_row, read_files
from hydrotest.analysis.spark.tasks import doubt_of
from hydrotest.analysis.spark.time_spent import cores_max, critical_path_s, stage_times, time_rows
from hydrotest.cli.output import out_console, print_json
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.printing import print_head, print_sheet, print_text
from hydrotest.report.spark import doubt_sentences, log_sheet, spark_sentences, stage_sheet, where_sheet
from hydrotest.report.spark_log import (
    change_sentences,
    compared_sheet,
    compared_stage_sheet,
    execution_sheet,
    first_sheet,
    job_sheet,
    most_first,
    rest_sentence,
    time_sentences,
)
from hydrotest.report.wording.problem import log_flaw_words


def show_spark_log(path: Path, against: Path | None, as_json: bool) -> int:
    """Prints a log's tables, a list of several logs, or two logs next to each other."""
    logs = find_logs(path)
    if against is not None:
        return _compare(_one(path, logs), _one(against, find_logs(against)), as_json)
    if len(logs) > 1:
        return _list_spark_logs(logs, as_json)
    log = _one(path, logs)
    stages = log.stages
    times = stage_times(stages)
    rows, jobs, changes, out = time_rows(stages, times), job_rows(log), change_rows(log, times), out_console()
    queries = execution_rows(log, jobs)
    if as_json:
        doubt, cut = doubt_of(log.stages), "; ".join(map(log_flaw_words, log.flaws)) or None
        print_json({
            "application": log.application or None, "name": log.name or None, "spark": log.version or None, "cores": log.cores, "task_cpus": log.cpus,
            "slots": log.slots, "cut": cut,
            "flaws": [asdict(replace(flaw, words=log_flaw_words(flaw))) for flaw in log.flaws], "lines": log.lines, "skipped_lines": log.skipped,
            "time": application_row(log).written(), "critical_path_s": critical_path_s(log.stages), "cores_max": cores_max(log.stages),
            "doubt": doubt and asdict(doubt), "executors_removed": [asdict(one) for one in log.executors.removed],
            "changes": [row.written() for row in changes], "jobs": [row.written() for row in jobs], "executions": [row.written() for row in queries],
            "stages": [row.written() for row in rows],
        })  # fmt: skip
        return EXIT_DONE
    print_head(log.name or "an application", f" {log.application}, Spark {log.version or 'unknown'}", out)
    for sentence in [*time_sentences(application_row(log)), *spark_sentences(log)]:
        print_text(f"• {sentence}", out)
    if changes:
        print_head("\nWhat to change", " (tasks laid out anew; gains do not add up)", out)
        for sentence in change_sentences(changes):
            print_text(f"• {sentence}", out)
    print_sheet(first_sheet(rows, application_row(log).seconds), out)
    first = most_first(rows)
    for sheet in (stage_sheet(first), where_sheet(first)):
        print_sheet(sheet, out)
        for sentence in doubt_sentences(rows):
            print_text(f"• {sentence}", out)
    for sentence in rest_sentence(rows):
        print_text(f"• {sentence}", out)
    for sheet in (job_sheet(jobs), execution_sheet(queries)):
        if sheet.rows:
            print_sheet(sheet, out)
    return EXIT_DONE


def _one(path: Path, logs: Sequence[Log]) -> EventLog:
    """The one log at a path, with stages."""
    if not logs:
        raise BadInputError("the path holds no event log",
                            "Name a file, the folder of a rolled log, a zip of the history server, or the directory that has them.", file=path)  # fmt: skip
    if len(logs) > 1:
        raise BadInputError(f"the path holds {len(logs):,} event logs", f"Name one of them, e.g. {logs[0].path}.", file=path)
    log = read_files(logs[0].files)
    if not log.stages:
        cut = "; ".join(map(log_flaw_words, log.flaws))
        raise BadInputError(f"the event log shows nothing: no stage ran in {log.lines:,} lines" + (f"; {cut}" if cut else ""),
                            "Each line is to be a JSON object, as Spark writes it.", file=path)  # fmt: skip
    return log


def _compare(before: EventLog, after: EventLog, as_json: bool) -> int:
    both = compared(before, after)
    if as_json:
        print_json(both.written())
        return EXIT_DONE
    out = out_console()
    print_head(before.name or "an application", f" {before.application}, then {after.name or 'an application'} {after.application}", out)
    if before.name != after.name:
        print_text("• They have different names: are they the same application?", out)
    print_text("• One run of each: a difference may be chance. Repeat both before you conclude.", out)
    for sheet in (compared_sheet(both), compared_stage_sheet(both)):
        print_sheet(sheet, out)
    return EXIT_DONE


def _list_spark_logs(logs: Sequence[Log], as_json: bool) -> int:
    """The applications, each with the path that shows it."""
    rows = [log_row(log) for log in logs]
    if as_json:
        print_json({"applications": [row.written() for row in rows]})
        return EXIT_DONE
    out = out_console()
    print_sheet(log_sheet(rows), out)
    print_text(f"{len(rows):,} event logs; name one of them to see its tables.", out)
    return EXIT_DONE
