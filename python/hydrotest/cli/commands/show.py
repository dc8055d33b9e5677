"""`hydrotest show`."""

from __future__ import annotations

from pathlib import Path

from hydrotest.cli.output import kinds_of, objectives_of, out_console, print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.sections import Section
from hydrotest.report.terminal import print_glance, print_section, print_summary
from hydrotest.store import layout

ALL = "all"


def show(run: Path | None, section: str | None, rejudge: bool, as_json: bool) -> int:
    """Prints a run's answers at a glance, or the tables of one question."""
    if run is None:
        raise BadInputError("there is nothing to show", "Name a run's folder, or a Spark event log by --spark-log.")
    names = [*map(str, Section), ALL]
    if section is not None and section not in names:
        raise BadInputError(f"{section!r} is no part of a run", f"Name one of {', '.join(names)}, or none for the answers.")
    folder, spec, summary = read_run(run, rejudge=rejudge)
    if as_json:
        print_json(summary.written())
    elif section is None:
        report = folder.path / layout.REPORT
        where = str(report) if report.exists() else f"hydrotest report {run} writes it"
        print_glance(summary, kinds_of(spec), out_console(), str(run), where, objectives_of(spec))
    elif section == ALL:
        print_summary(summary, kinds_of(spec), out_console())
    else:
        print_section(Section(section), summary, kinds_of(spec), out_console())
    return EXIT_DONE
