"""The commands. Data go to stdout, progress and messages to stderr; `--json` where a program may read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console
from rich.text import Text

from hydrotest import __version__
from hydrotest.cli.progress import LiveProgress, PlainProgress
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED, EXIT_MISSED, BadInputError, HydrotestError, RunFailedError
from hydrotest.hosts.catalogue import check_rights
from hydrotest.hosts.local import cores, free_bytes, memory_bytes
from hydrotest.hosts.locales import takes_letters
from hydrotest.jobs.jars import find_javac
from hydrotest.places import cache_home
from hydrotest.report.html import write_report
from hydrotest.report.missed import missed
from hydrotest.report.terminal import print_summary, print_text
from hydrotest.report.topology import topology_lines
from hydrotest.run.controller import Controller, Ended
from hydrotest.run.doctor import examine
from hydrotest.run.events import Listener
from hydrotest.run.interrupt import cancel_on_signals
from hydrotest.run.scratch import abandoned
from hydrotest.run.standing import hold, scratch_root, standing, take_down
from hydrotest.spec.check import check_memory
from hydrotest.spec.check_machine import Machine, check_machine
from hydrotest.spec.check_paths import Roots, check_paths
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.lines import Document
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.spec.tests import Combined
from hydrotest.spec.workloads import Dataflow, HdfsRead, HdfsWrite, SparkPerf
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


def out_console() -> Console:
    """A terminal's own width, or the one that `COLUMNS` asks for; elsewhere one that few tables need more than."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 200, emoji=False)


def _err() -> Console:
    return Console(stderr=True, emoji=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))


@app.command
def doctor(*, as_json: Json = False) -> int:
    """Tell what this machine lacks, each with its remedy."""
    findings = examine()
    if as_json:
        print_json([vars(finding) for finding in findings])
    else:
        out = out_console()
        for finding in findings:
            mark = {"ok": "[green]ok[/green]     ", "warning": "[yellow]warning[/yellow]", "missing": "[red]MISSING[/red]"}[finding.state]
            out.print(Text.from_markup(mark) + Text(f" {finding.name}: {finding.found}"), highlight=False)
            if finding.remedy:
                print_text(f"        → {finding.remedy}", out)
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
        print_json(folders)
    else:
        for name, folder in folders.items():
            print(f"{name}: {folder}")
    return EXIT_DONE


def _say_on_stderr() -> Callable[[str], None]:
    console = _err()
    return lambda text: console.print(text, highlight=False, markup=False)


def _load(experiment: Path) -> tuple[Experiment, Document]:
    spec, document = load_experiment(experiment)
    root = scratch_root(spec)
    check_paths(spec, document, Roots(root, cache_home().resolve(), takes_letters()))
    check_machine(spec, document, Machine(cores(), memory_bytes(), free_bytes(root)))
    check_memory(spec, document, {name: memory_bytes() for name in spec.hosts})
    return spec, document


@app.command
def check(experiment: Path, *, as_json: Json = False) -> int:
    """Validate an experiment and print its plan; starts nothing."""
    spec, _ = _load(experiment)
    plan = make_plan(spec)
    if as_json:
        print_json(plan.model_dump(mode="json"))
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
        there = cores()
        short = "; that is more than there are: busy all at once, hosts get less than they are given" if given > there else ""
        print(f"cores: hosts are given {given:.3g} of this machine's {there}{short}")
    for step in plan.steps:
        print(f"- {step.test} {step.workload}: {step.detail}; about {step.trials} trials, {show_duration(step.seconds)}")
    print(f"memory needed: {', '.join(f'{host} {show_bytes(size)}' for host, size in plan.memory_bytes.items())}")
    print(f"disk needed: at least {show_bytes(plan.disk_bytes)}; each second without schedule takes rate × record size × copies of it")
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
    if any(isinstance(workload, SparkPerf | Dataflow | HdfsWrite | HdfsRead) for workload in spec.workloads.values()):
        find_javac()
    tests = {test.test for test in spec.tests}
    if only is not None and only not in tests:
        raise BadInputError(f"--only {only}: the experiment has no such test", f"It has {', '.join(sorted(tests))}.")
    if only == "combined" and not resume and any(isinstance(test, Combined) and not test.rates for test in spec.tests):
        raise BadInputError("--only combined: it presses fractions of the isolated limits, and a new run folder has none",
                            "Call it with --only isolated --out DIR first, then with --only combined --out DIR --resume; or give the test `rates`.",
                            file=experiment)  # fmt: skip
    folder = _open_folder(experiment, spec, out, resume)
    console = _err()
    try:
        if console.is_terminal:
            with LiveProgress(console) as live:
                ended = _execute(spec, folder, live, only)
        else:
            ended = _execute(spec, folder, PlainProgress(console), only)
        _report_on(ended, folder, spec)
    finally:
        folder.unlock()
    if as_json:
        print_json(ended.summary)
    else:
        print_summary(ended.summary, kinds_of(spec), out_console())
        print(f"\nreport: {folder.path / layout.REPORT}")
    if ended.error is not None:
        console.print(f"error: {ended.error}", style="red", highlight=False, markup=False, soft_wrap=True)
        return ended.error.exit_code
    reasons = missed(ended.summary)
    for reason in reasons:
        console.print(f"missed: {reason}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    return EXIT_MISSED if reasons else EXIT_DONE


def _report_on(ended: Ended, folder: RunFolder, spec: Experiment) -> None:
    """Writes the report; where that fails, the summary is printed all the same."""
    try:
        write_report(folder, spec, ended.summary)
    except Exception as error:  # noqa: BLE001 - the summary is there, and is what matters
        failed = RunFailedError(f"the report cannot be written: {error}", f"`hydrotest report {folder.path}` writes it anew.")
        ended.error = ended.error or failed


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
        cancel_on_signals()
        return await Controller(spec, folder, listener).execute(only)

    return asyncio.run(body())


@app.command
def up(experiment: Path, *, as_json: Json = False) -> int:
    """Start hosts and systems without a test and hold them until Ctrl-C or `down`."""
    spec, _ = _load(experiment)
    check_rights(spec)
    find_java()

    def announce(endpoints: dict[str, list[str]]) -> None:
        if as_json:
            print_json(endpoints)
        else:
            for name, addresses in endpoints.items():
                print(f"{name}: {', '.join(addresses)}")
        sys.stdout.flush()

    async def body() -> None:
        cancel_on_signals()
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
        print_json({"up": [asdict(one) for one in found], "left": [str(path) for path in left]})
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
        print_json({"ended": ended, "removed": [str(path) for path in removed]})
    else:
        print(f"ended {ended}, removed {len(removed)} folders that killed runs left")
    return EXIT_DONE


def kinds_of(spec: Experiment) -> dict[str, str]:
    return {name: workload.kind for name, workload in spec.workloads.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code of the contract."""
    console = _err()
    try:
        result = app(list(argv) if argv is not None else None, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        console.print("See hydrotest --help.", highlight=False)
        return EXIT_BAD_INPUT
    except HydrotestError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        return error.exit_code
    except OSError as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        return EXIT_FAILED
    return result if isinstance(result, int) else EXIT_DONE
