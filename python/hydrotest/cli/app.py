"""The commands. Data go to stdout, progress and messages to stderr; `--json` where a program may read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from hydrotest import __version__
from hydrotest.analysis.compare import Comparison, Run
from hydrotest.analysis.compare import compare as compare_runs
from hydrotest.analysis.event_log import read_event_log
from hydrotest.analysis.placement import placed
from hydrotest.analysis.spark_time import cores_max, critical_path_s, time_rows
from hydrotest.analysis.summary import summarise_run
from hydrotest.cli.progress import LiveProgress, PlainProgress
from hydrotest.clock import iso
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED, EXIT_MISSED, BadInputError, HydrotestError
from hydrotest.hosts.catalogue import check_rights
from hydrotest.hosts.local import memory_bytes
from hydrotest.report.comparing import comparison_sheet, placement_sentences, placement_sheet
from hydrotest.report.html import write_report
from hydrotest.report.spark import spark_sentences, stage_sheet, where_sheet
from hydrotest.report.terminal import print_sheet, print_summary
from hydrotest.report.topology import topology_lines
from hydrotest.run.controller import Controller, Ended
from hydrotest.run.doctor import examine
from hydrotest.run.events import Listener
from hydrotest.run.scratch import abandoned
from hydrotest.run.standing import hold, scratch_root, standing, take_down
from hydrotest.spec.check import check_memory
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.lines import Document
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.systems.fetch import BUNDLES
from hydrotest.systems.fetch import fetch as fetch_bundle
from hydrotest.systems.java import find_java
from hydrotest.units import show_bytes, show_duration

app = App(
    name="hydrotest", version=__version__, help="Pressure-test a data pipeline: how much it takes, at what latency, and what bounds it."
)
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON for programs.")]


def _out() -> Console:
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200)


def _err() -> Console:
    return Console(stderr=True)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))


@app.command
def doctor(*, as_json: Json = False) -> int:
    """Tell what this machine lacks, each with its remedy."""
    findings = examine()
    if as_json:
        _print_json([vars(finding) for finding in findings])
    else:
        out = _out()
        for finding in findings:
            mark = {"ok": "[green]ok[/green]     ", "warning": "[yellow]warning[/yellow]", "missing": "[red]MISSING[/red]"}[finding.state]
            out.print(f"{mark} {finding.name}: {finding.found}", highlight=False)
            if finding.remedy:
                out.print(f"        → {finding.remedy}", highlight=False, markup=False)
    return EXIT_BAD_INPUT if any(finding.state == "missing" for finding in findings) else EXIT_DONE


@app.command
def fetch(*systems: str, as_json: Json = False) -> int:
    """Fetch systems into the cache, in pinned versions. Without names: all."""
    names = list(systems) or list(BUNDLES)
    for name in names:
        if name not in BUNDLES:
            raise BadInputError(f"there is no system {name!r} to fetch", f"There are {', '.join(BUNDLES)}.")
    say = _say_on_stderr()
    folders = {bundle.name: str(fetch_bundle(bundle, say)) for name in names for bundle in BUNDLES[name]}
    if as_json:
        _print_json(folders)
    else:
        for name, folder in folders.items():
            print(f"{name}: {folder}")
    return EXIT_DONE


def _say_on_stderr() -> Callable[[str], None]:
    console = _err()
    return lambda text: console.print(text, highlight=False, markup=False)


def _load(experiment: Path) -> tuple[Experiment, Document]:
    spec, document = load_experiment(experiment)
    check_memory(spec, document, {name: memory_bytes() for name in spec.hosts})
    return spec, document


@app.command
def check(experiment: Path, *, as_json: Json = False) -> int:
    """Validate an experiment and print its plan; starts nothing."""
    spec, _ = _load(experiment)
    plan = make_plan(spec)
    if as_json:
        _print_json(plan.model_dump(mode="json"))
        return EXIT_DONE
    print(f"{plan.experiment}: about {plan.trials} trials, {show_duration(plan.seconds)}")
    print("hosts:")
    for line in topology_lines(spec):
        print(f"- {line}")
    if spec.lab is not None:
        scale = ", ".join(f"{what} × {factor:.3g}" for what, factor in spec.lab.scale)
        print(f"scale: {scale}; memory never below what the services need")
    given = sum(host.cores or 0.0 for host in spec.hosts.values() if isinstance(host, NetnsHost))
    if given:
        there = os.cpu_count() or 1
        short = "; that is more than there are: busy all at once, hosts get less than they are given" if given > there else ""
        print(f"cores: hosts are given {given:.3g} of this machine's {there}{short}")
    for step in plan.steps:
        print(f"- {step.test} {step.workload}: {step.detail}; about {step.trials} trials, {show_duration(step.seconds)}")
    print(f"memory needed: {', '.join(f'{host} {show_bytes(size)}' for host, size in plan.memory_bytes.items())}")
    print(f"disk needed: {show_bytes(plan.disk_bytes)}")
    return EXIT_DONE


@app.command
def run(experiment: Path, *, out: Path | None = None, only: str | None = None,
        resume: Annotated[bool, Parameter(negative=())] = False, as_json: Json = False) -> int:  # fmt: skip
    """Run an experiment.

    Parameters
    ----------
    experiment
        The experiment file.
    out
        Folder for the run; by default runs/NAME-TIME.
    only
        Run only the tests of this kind, e.g. isolated.
    resume
        Go on after the last finished trial of the run in --out.
    """
    spec, _ = _load(experiment)
    check_rights(spec)
    find_java()
    tests = {test.test for test in spec.tests}
    if only is not None and only not in tests:
        raise BadInputError(f"--only {only}: the experiment has no such test", f"It has {', '.join(sorted(tests))}.")
    folder = _open_folder(experiment, spec, out, resume)
    console = _err()
    try:
        if console.is_terminal:
            with LiveProgress(console) as live:
                ended = _execute(spec, folder, live, only)
        else:
            ended = _execute(spec, folder, PlainProgress(console), only)
        write_report(folder, spec, ended.summary)
    finally:
        folder.unlock()
    if as_json:
        _print_json(ended.summary)
    else:
        print_summary(ended.summary, _kinds(spec), _out())
        print(f"\nreport: {folder.path / layout.REPORT}")
    if ended.error is not None:
        console.print(f"error: {ended.error}", style="red", highlight=False, markup=False)
        return ended.error.exit_code
    return EXIT_MISSED if _missed(ended.summary) else EXIT_DONE


def _open_folder(experiment: Path, spec: Experiment, out: Path | None, resume: bool) -> RunFolder:
    if resume:
        if out is None:
            raise BadInputError("--resume needs --out, the folder of the run to go on with")
        folder = RunFolder.open(out)
        if (out / layout.EXPERIMENT).read_bytes() != experiment.read_bytes():
            raise BadInputError(
                "the run was made with another experiment file", "Resume with the same file, or begin anew in another folder.", file=out
            )
        folder.lock()
        return folder
    folder = RunFolder(out or Path("runs") / f"{spec.name}-{datetime.now():%Y%m%d-%H%M%S}")
    folder.create(experiment.read_bytes())
    return folder


def _execute(spec: Experiment, folder: RunFolder, listener: Listener, only: str | None) -> Ended:
    async def body() -> Ended:
        _cancel_on_signals()
        return await Controller(spec, folder, listener).execute(only)

    return asyncio.run(body())


def _cancel_on_signals() -> None:
    """Ctrl-C and SIGTERM cancel the running task, which then tears down in order."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)


@app.command
def up(experiment: Path, *, as_json: Json = False) -> int:
    """Start hosts and systems without a test and hold them until Ctrl-C or `down`."""
    spec, _ = _load(experiment)
    check_rights(spec)
    find_java()

    def announce(endpoints: dict[str, list[str]]) -> None:
        if as_json:
            _print_json(endpoints)
        else:
            for name, addresses in endpoints.items():
                print(f"{name}: {', '.join(addresses)}")
        sys.stdout.flush()

    async def body() -> None:
        _cancel_on_signals()
        await hold(spec, PlainProgress(_err()), announce)

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(body())
    return EXIT_DONE


@app.command
def status(experiment: Path, *, as_json: Json = False) -> int:
    """Tell what is up of an experiment."""
    spec, _ = load_experiment(experiment)
    found, left = standing(spec), abandoned(scratch_root(spec))
    if as_json:
        _print_json({"up": [asdict(one) for one in found], "left": [str(path) for path in left]})
        return EXIT_DONE
    for one in found:
        addresses = "; ".join(f"{name} at {', '.join(where)}" for name, where in one.endpoints.items())
        print(f"{one.experiment} (pid {one.pid}): {addresses}")
        for host in one.hosts:
            print(f"- {host.name} at {host.address}{f', {host.gets}' if host.gets else ''}: {', '.join(host.services) or 'no services'}")
    if not found:
        print(f"nothing of {spec.name} is up")
    for path in left:
        print(f"a killed run left {path}; `hydrotest down` removes it, with its processes and its lab")
    return EXIT_DONE


@app.command
def down(experiment: Path, *, as_json: Json = False) -> int:
    """End what `up` started, and clear what a killed run left."""
    spec, _ = load_experiment(experiment)
    ended, removed = take_down(spec)
    if as_json:
        _print_json({"ended": ended, "removed": [str(path) for path in removed]})
    else:
        print(f"ended {ended}, removed {len(removed)} folders that killed runs left")
    return EXIT_DONE


def _missed(summary: dict[str, Any]) -> bool:
    """An objective was missed: no limit could be told, a level was not sustained, a job did not come to its end, or something was lost or
    corrupted."""
    flawed = any(row["lost"] or row["corrupted"] for row in summary["integrity"])
    levels = any(row["accepted"] is False for row in summary["levels"])
    hung = any(not row["finished"] for row in summary["spark"])
    return flawed or levels or hung or any(row["limit"] is None for row in summary["limits"])


def _kinds(spec: Experiment) -> dict[str, str]:
    return {name: workload.kind for name, workload in spec.workloads.items()}


def _read_run(path: Path) -> tuple[RunFolder, Experiment, dict[str, Any]]:
    """A run's folder, its experiment, and its summary, rebuilt from what lies there."""
    folder = RunFolder.open(path)
    spec, _ = load_experiment(path / layout.EXPERIMENT)
    journal = folder.read_journal()
    ended = next((entry for entry in reversed(journal) if entry["what"] == "run ended"), None)
    finished = ended["at"] if ended else (journal[-1]["at"] if journal else iso(0.0))
    summary = summarise_run(folder, spec, ended["status"] if ended else "partial", finished)
    if ended and ended["error"]:
        summary["error"] = ended["error"]
    return folder, spec, summary


@app.command
def show(run: Path | None = None, *, spark_log: Path | None = None, as_json: Json = False) -> int:
    """Print a run's tables, or those of a Spark event log.

    Parameters
    ----------
    run
        The run's folder.
    spark_log
        An event log of any Spark application, also one that hydrotest did not run: its stages, where their time went, how many cores it can use.
    """
    if spark_log is not None:
        return _show_spark_log(spark_log, as_json)
    if run is None:
        raise BadInputError("there is nothing to show", "Name a run's folder, or a Spark event log by --spark-log.")
    _, spec, summary = _read_run(run)
    if as_json:
        _print_json(summary)
    else:
        print_summary(summary, _kinds(spec), _out())
    return EXIT_DONE


def _show_spark_log(path: Path, as_json: bool) -> int:
    log = read_event_log(path)
    if not log.stages:
        why = log.cut if log.cut == "it is not there" else "no stage of it ran"
        raise BadInputError(f"the event log tells of nothing: {why}", "Name the file, or the folder of a rolled log.", file=path)
    rows = time_rows(log.stages, log.cores)
    if as_json:
        _print_json({"application": log.application, "name": log.name, "spark": log.version, "cores": log.cores, "cut": log.cut,
                     "critical_path_s": critical_path_s(log.stages), "cores_max": cores_max(log.stages), "stages": rows})  # fmt: skip
        return EXIT_DONE
    out = _out()
    out.print(f"[bold]{log.name or 'an application'}[/bold] {log.application}, Spark {log.version or 'unknown'}", highlight=False)
    for sheet in (stage_sheet(rows), where_sheet(rows)):
        print_sheet(sheet, out)
    for sentence in spark_sentences(log):
        out.print(f"• {sentence}", highlight=False, markup=False)
    return EXIT_DONE


@app.command
def report(run: Path, *, as_json: Json = False) -> int:
    """Write a run's report: one file that opens offline."""
    folder, spec, summary = _read_run(run)
    folder.write_json(layout.SUMMARY, summary)
    path = write_report(folder, spec, summary)
    if as_json:
        _print_json({"report": str(path)})
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
        _print_json({
            "first": base.summary["run"],
            "comparisons": [{"run": name, "differences": one.differences, "rows": [vars(row) for row in one.rows]} for name, one in found.items()],
            "placement": None if placement is None else asdict(placement),
        })  # fmt: skip
        return EXIT_DONE
    out = _out()
    for name, one in found.items():
        _print_comparison(f"{base.summary['run']} and {name}", one, out)
    if placement is not None:
        print_sheet(placement_sheet(placement), out)
        for sentence in placement_sentences(placement):
            out.print(f"• {sentence}", highlight=False, markup=False)
    return EXIT_DONE


def _print_comparison(runs: str, found: Comparison, out: Console) -> None:
    out.print(f"[bold]{runs}[/bold]", highlight=False)
    if found.differences:
        out.print("[bold]The runs differ not only in their results[/bold]")
        for difference in found.differences:
            out.print(f"• {difference}", highlight=False, markup=False)
    if found.rows:
        print_sheet(comparison_sheet(found.rows), out)
    else:
        out.print("The runs have nothing in common that could be compared.")


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code of the contract."""
    console = _err()
    try:
        result = app(list(argv) if argv is not None else None, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False)
        console.print("See hydrotest --help.", highlight=False)
        return EXIT_BAD_INPUT
    except HydrotestError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False)
        return error.exit_code
    except OSError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False)
        return EXIT_FAILED
    return result if isinstance(result, int) else EXIT_DONE
