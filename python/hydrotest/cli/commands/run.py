"""`hydrotest run`."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

from hydrotest.cli.experiment import load_for_here
from hydrotest.cli.output import err_console, kinds_of, objectives_of, out_console, print_error, print_json
from hydrotest.cli.progress import progress_on
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, BadInputError, RunFailedError
from hydrotest.hosts.catalogue import check_rights
from hydrotest.hosts.java import find_java
from hydrotest.jobs.jars import find_javac
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.report.missed_objectives import missed
from hydrotest.report.page.page import write_report
from hydrotest.report.terminal import print_glance
from hydrotest.run.attached.contact import check_hours, make_contact
from hydrotest.run.lifecycle.controller import Controller, Ended
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.interrupt import cancel_on_signals
from hydrotest.spec.attach import attached
from hydrotest.spec.lines import Document
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.calibrate import Calibrate
from hydrotest.spec.tests.combined import Combined
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.systems.extras import check_extras


def run(experiment: Path, hosts: Path | None, out: Path | None, only: str | None, resume: bool, yes: str | None, as_json: bool) -> int:
    """Runs the experiment, and prints the findings."""
    spec, document = load_for_here(experiment, hosts)
    agree(spec, document, yes)
    check_rights(spec)
    check_extras(spec)
    if spec.needs_java_here:
        find_java()
    if any(WORKLOADS[workload.kind].needs_javac for workload in spec.workloads.values()):
        find_javac()
    tests = {test.test for test in spec.tests}
    if only is not None and only not in tests:
        raise BadInputError(f"--only {only}: the experiment has no such test", f"It has {', '.join(sorted(tests))}.")
    if only == "combined" and not resume and any(not test.rates for _, test in spec.tests_of(Combined)):
        raise BadInputError("--only combined: it runs at fractions of the isolated limits, and a new run folder has none",
                            "Call it with --only isolated --out DIR first, then with --only combined --out DIR --resume; or give the test `rates`.",
                            file=experiment)  # fmt: skip
    folder = open_folder(document.text.encode(), spec, out, resume)
    console = err_console()
    try:
        with progress_on(console) as listener:
            ended = _execute(spec, folder, listener, only)
        # Nothing was measured: the error is all that there is to say.
        has_findings = ended.error is None or ended.status != "failed"
        if has_findings:
            _report_on(ended, folder, spec)
    finally:
        folder.unlock()
    if as_json:
        print_json(ended.summary.written())
    elif has_findings:
        print_glance(ended.summary, kinds_of(spec), out_console(), str(folder.path), str(folder.path / layout.REPORT), objectives_of(spec))
        for number, (command, what) in enumerate(_next(folder.path, spec)):
            print(f"{'' if number else 'Next:':6}{command}  {what}")
    if ended.error is not None:
        print_error(ended.error, console)
        return ended.error.exit_code
    reasons = missed(ended.summary)
    for reason in reasons:
        console.print(f"missed: {reason}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    return EXIT_MISSED if reasons else EXIT_DONE


def agree(spec: Experiment, document: Document, yes: str | None) -> None:
    """Raises `BadInputError` unless what a run would do to clusters that are there already was seen, and is wanted."""
    there = attached(spec)
    if not there:
        if yes is not None:
            raise BadInputError("`--yes` is for clusters that are there already (`attach`)", "Leave it out.")
        return
    check_hours(spec, datetime.now())
    contact = asyncio.run(make_contact(spec, document.text))
    if yes != contact.digest:
        wrong = "is not agreed to" if yes is None else f"has changed: its hash is not {yes}"
        raise BadInputError(f"what this run does to {', '.join(there)} {wrong}",
                            f"`hydrotest check {document.file} --contact` shows it, and the `--yes HASH` to run it.", file=document.file)  # fmt: skip


def _next(run: Path, spec: Experiment) -> list[tuple[str, str]]:
    """Commands that come after a run, and what each is for."""
    commands = {f"hydrotest show {run} bottlenecks": "what binds, with its evidence",
                f"hydrotest compare {run} OTHER": "what changed since another run",
                "hydrotest init": "an experiment for what you have"}  # fmt: skip
    if spec.tests_of(Calibrate):
        commands = {f"hydrotest predict {run} --set hosts.cores=2x": "what other machines, settings and loads would take", **commands}
    if any(not system.hosts for system in attached(spec).values()):
        # Without its machines nothing is known of what binds inside.
        commands = {"hosts: [NAME, …] beside attach:": "shows its machines while it is loaded (connect: ssh)", **commands}
    width = max(map(len, commands))
    return [(f"{command:{width}}", what) for command, what in commands.items()]


def _report_on(ended: Ended, folder: RunFolder, spec: Experiment) -> None:
    """Writes the report; if that fails, the summary is printed all the same."""
    try:
        write_report(folder, spec, ended.summary)
    except Exception as error:  # noqa: BLE001 - the summary is there, and is what matters
        hint = f"`hydrotest report {folder.path}` writes it anew."
        failed = RunFailedError(f"the report cannot be written: {error}", hint, file=folder.path / layout.REPORT)
        ended.error = ended.error or failed


def open_folder(experiment: bytes, spec: Experiment, out: Path | None, resume: bool) -> RunFolder:
    """The run's folder, new or gone on with. Raises `BadInputError` where another experiment, or other payloads, were its."""
    if resume:
        if out is None:
            raise BadInputError("--resume needs the folder of the run to go on with", "Add `--out DIR`.")
        folder = RunFolder.open(out)
        if (out / layout.EXPERIMENT).read_bytes() != experiment:
            raise BadInputError(
                "the run was made with another experiment file", "Resume with the same file, or begin anew in another folder.", file=out
            )
        if (out / layout.PAYLOADS).exists() and folder.read_json(layout.PAYLOADS) != _payloads(spec):
            raise BadInputError(
                "the run was made with other files of its workloads",
                "Resume with the same ones, or begin anew in another folder.",
                file=out,
            )
        folder.lock()
        return folder
    folder = RunFolder(out or Path("runs") / f"{spec.name}-{datetime.now():%Y%m%d-%H%M%S}")
    folder.create(experiment)
    if payloads := _payloads(spec):
        folder.write_json(layout.PAYLOADS, payloads)
    return folder


def _payloads(spec: Experiment) -> dict[str, str]:
    """Digests of the files that workloads are made of: of payloads by workload, of others also by their key."""
    return {
        name if key == "payload" else f"{name}.{key}": digest for name, one in spec.workloads.items() for key, digest in one.digests.items()
    }


def _execute(spec: Experiment, folder: RunFolder, listener: Listener, only: str | None) -> Ended:
    async def body() -> Ended:
        cancel_on_signals()
        return await Controller(spec, folder, listener).execute(only)

    return asyncio.run(body())
