"""`hydrotest report`."""

from __future__ import annotations

from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_DONE
from hydrotest.report.page.page import write_report
from hydrotest.store import layout


def report(run: Path, mask: bool, as_json: bool) -> int:
    """Writes the report and prints where it is."""
    folder, spec, summary = read_run(run)
    folder.write_json(layout.SUMMARY, summary.written())
    path = write_report(folder, spec, summary, mask)
    if as_json:
        print_json({"report": str(path)})
    else:
        print(path)
    return EXIT_DONE
