"""The commands that read run folders: show, report, compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hydrotest.analysis.compare import Comparison, Run
from hydrotest.analysis.compare import compare as compare_runs
from hydrotest.analysis.event_files import Log, find_logs
from hydrotest.analysis.event_log import log_row, read_files
from hydrotest.analysis.placement import placed
from hydrotest.analysis.spark_tasks import doubt_of
from hydrotest.analysis.spark_time import cores_max, critical_path_s, time_rows
from hydrotest.analysis.summary import finite, summarise_run
from hydrotest.cli.app import Json, app, kinds_of, out_console, print_json
from hydrotest.clock import iso
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.comparing import comparison_sheet, placement_sentences, placement_sheet
from hydrotest.report.html import write_report
from hydrotest.report.spark import doubt_sentences, log_sheet, spark_sentences, stage_sheet, where_sheet
from hydrotest.report.terminal import print_head, print_sheet, print_summary, print_text
from hydrotest.report.wording.problem import log_flaw_words
from hydrotest.report.wording.summary import worded
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder


def _read_run(path: Path, *, rejudge: bool = False) -> tuple[RunFolder, Experiment, dict[str, Any]]:
    """A run's folder, its experiment, and its summary, rebuilt from what lies there."""
    folder = RunFolder.open(path)
    spec, _ = load_experiment(path / layout.EXPERIMENT)
    journal = folder.read_journal()
    ended = next((entry for entry in reversed(journal) if entry["what"] == "run ended"), None)
    finished = ended["at"] if ended else (journal[-1]["at"] if journal else iso(0.0))
    summary = worded(summarise_run(folder, spec, ended["status"] if ended else "partial", finished, rejudge=rejudge))
    if ended and ended["error"]:
        summary["error"] = ended["error"]
    return folder, spec, summary


@app.command
def show(run: Path | None = None, *, spark_log: Path | None = None, rejudge: bool = False, as_json: Json = False) -> int:
    """Print a run's tables, or those of a Spark event log.

    Parameters
    ----------
    run
        The run's folder.
    spark_log
        An event log of any Spark application, also one that hydrotest did not run: its stages, where their time went, how many cores it can use.
        A file, a folder of rolled files, a zip of the history server; of a directory with several logs, a list of them.
    rejudge
        Judge the trials of searches by today's rules, instead of showing what the run decided while it was made.
    """
    if spark_log is not None:
        return _show_spark_log(spark_log, as_json)
    if run is None:
        raise BadInputError("there is nothing to show", "Name a run's folder, or a Spark event log by --spark-log.")
    _, spec, summary = _read_run(run, rejudge=rejudge)
    if as_json:
        print_json(finite(summary))
    else:
        print_summary(summary, kinds_of(spec), out_console())
    return EXIT_DONE


def _show_spark_log(path: Path, as_json: bool) -> int:
    logs = find_logs(path)
    if len(logs) > 1:
        return _list_spark_logs(logs, as_json)
    if not logs:
        raise BadInputError("there is no event log",
                            "Name a file, the folder of a rolled log, a zip of the history server, or the directory that has them.", file=path)  # fmt: skip
    log = read_files(logs[0].files)
    cut = "; ".join(map(log_flaw_words, log.flaws)) or None
    if not log.stages:
        raise BadInputError(f"the event log tells of nothing: no stage ran in {log.lines:,} lines" + (f"; {cut}" if cut else ""),
                            "Each line is to be a JSON object, as Spark writes it.", file=path)  # fmt: skip
    rows, out = time_rows(log.stages), out_console()
    if as_json:
        doubt = doubt_of(log.stages)
        print_json({
            "application": log.application or None, "name": log.name or None, "spark": log.version or None, "cores": log.cores, "task_cpus": log.cpus,
            "slots": log.slots, "cut": cut,
            "flaws": [asdict(replace(flaw, words=log_flaw_words(flaw))) for flaw in log.flaws], "lines": log.lines, "skipped_lines": log.skipped,
            "critical_path_s": critical_path_s(log.stages), "cores_max": cores_max(log.stages), "doubt": doubt and asdict(doubt),
            "executors_removed": [asdict(one) for one in log.executors.removed], "stages": rows,
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
    """Which applications there are, each with what is to be named to see it."""
    rows = [log_row(log) for log in logs]
    if as_json:
        print_json({"applications": rows})
        return EXIT_DONE
    out = out_console()
    print_sheet(log_sheet(rows), out)
    print_text(f"{len(rows):,} event logs; name one of them to see its tables.", out)
    return EXIT_DONE


@app.command
def report(run: Path, *, as_json: Json = False) -> int:
    """Write a run's report: one file that opens offline."""
    folder, spec, summary = _read_run(run)
    folder.write_json(layout.SUMMARY, finite(summary))
    path = write_report(folder, spec, summary)
    if as_json:
        print_json({"report": str(path)})
    else:
        print(path)
    return EXIT_DONE


@app.command
def compare(first: Path, second: Path, *others: Path, as_json: Json = False) -> int:
    """Set runs beside the first of them: limits, latencies and use, each with an interval and a word.

    What differs in hardware, versions or settings is said first; a workload that was asked something else is not compared. Of runs
    that place the systems differently it is told where each workload takes more: on shared hosts, or on hosts of its own.
    """
    base, *rest = (Run(*_read_run(path)) for path in (first, second, *others))
    found = {run.summary["run"]: compare_runs(base, run) for run in rest}
    placement = placed([base, *rest])
    if as_json:
        print_json({
            "first": base.summary["run"],
            "comparisons": [{"run": name, "differences": one.differences, "rows": [vars(row) for row in one.rows]} for name, one in found.items()],
            "placement": None if placement is None else asdict(placement),
        })  # fmt: skip
        return EXIT_DONE
    out = out_console()
    for name, one in found.items():
        _print_comparison(f"{base.summary['run']} and {name}", one, out)
    if placement is not None:
        print_sheet(placement_sheet(placement), out)
        for sentence in placement_sentences(placement):
            print_text(f"• {sentence}", out)
    return EXIT_DONE


def _print_comparison(runs: str, found: Comparison, out: Console) -> None:
    print_head(runs, "", out)
    if found.differences:
        out.print("[bold]The runs differ not only in their results[/bold]")
        for difference in found.differences:
            print_text(f"• {difference}", out)
    if found.rows:
        print_sheet(comparison_sheet(found.rows), out)
    else:
        out.print("The runs have nothing in common that could be compared.")
