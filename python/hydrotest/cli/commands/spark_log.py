"""`hydrotest show --spark-log`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from hydrotest.analysis.spark.event_files import Log, find_logs
from hydrotest.analysis.spark.event_log import log_row, read_files
from hydrotest.analysis.spark.tasks import doubt_of
from hydrotest.analysis.spark.time_spent import cores_max, critical_path_s, time_rows
from hydrotest.cli.output import out_console, print_json
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.spark import doubt_sentences, log_sheet, spark_sentences, stage_sheet, where_sheet
from hydrotest.report.terminal import print_head, print_sheet, print_text
from hydrotest.report.wording.problem import log_flaw_words


def show_spark_log(path: Path, as_json: bool) -> int:
    """Prints a log's tables, or a list of several logs."""
    logs = find_logs(path)
    if len(logs) > 1:
        return _list_spark_logs(logs, as_json)
    if not logs:
        raise BadInputError("the path holds no event log",
                            "Name a file, the folder of a rolled log, a zip of the history server, or the directory that has them.", file=path)  # fmt: skip
    log = read_files(logs[0].files)
    cut = "; ".join(map(log_flaw_words, log.flaws)) or None
    if not log.stages:
        raise BadInputError(f"the event log shows nothing: no stage ran in {log.lines:,} lines" + (f"; {cut}" if cut else ""),
                            "Each line is to be a JSON object, as Spark writes it.", file=path)  # fmt: skip
    rows, out = time_rows(log.stages), out_console()
    if as_json:
        doubt = doubt_of(log.stages)
        print_json({
            "application": log.application or None, "name": log.name or None, "spark": log.version or None, "cores": log.cores, "task_cpus": log.cpus,
            "slots": log.slots, "cut": cut,
            "flaws": [asdict(replace(flaw, words=log_flaw_words(flaw))) for flaw in log.flaws], "lines": log.lines, "skipped_lines": log.skipped,
            "critical_path_s": critical_path_s(log.stages), "cores_max": cores_max(log.stages), "doubt": doubt and asdict(doubt),
            "executors_removed": [asdict(one) for one in log.executors.removed], "stages": [row.written() for row in rows],
        })  # fmt: skip
        return EXIT_DONE
    print_head(log.name or "an application", f" {log.application}, Spark {log.version or 'unknown'}", out)
    for sheet in (stage_sheet(rows), where_sheet(rows)):
        print_sheet(sheet, out)
        for sentence in doubt_sentences(rows):
            print_text(f"• {sentence}", out)
    for sentence in spark_sentences(log):
        print_text(f"• {sentence}", out)
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
