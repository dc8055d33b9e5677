"""`hydrotest show`."""

from __future__ import annotations

from pathlib import Path

from hydrotest.cli.output import kinds_of, out_console, print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.terminal import print_summary


def show(run: Path | None, rejudge: bool, as_json: bool) -> int:
    """Prints a run's tables."""
    if run is None:
        raise BadInputError("there is nothing to show", "Name a run's folder, or a Spark event log by --spark-log.")
    _, spec, summary = read_run(run, rejudge=rejudge)
    if as_json:
        print_json(summary.written())
    else:
        print_summary(summary, kinds_of(spec), out_console())
    return EXIT_DONE
