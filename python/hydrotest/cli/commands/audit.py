"""`hydrotest audit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydrotest.audit.checks import findings
from hydrotest.audit.claim import Audited
from hydrotest.audit.readers import KNOWN, read_output
from hydrotest.audit.readers.run import read_summary
from hydrotest.cli.output import out_console, print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, BadInputError
from hydrotest.report.audit import FileFindings, audit_json, print_audit


def audit(paths: Sequence[Path], as_json: bool) -> int:
    """Prints what each output really measured; 1 where a figure contradicts itself."""
    if not paths:
        raise BadInputError("there is nothing to audit", KNOWN)
    files = [FileFindings(one, findings(one.claims)) for one in map(_read, paths)]
    if as_json:
        print_json(audit_json(files))
    else:
        print_audit(files, out_console())
    return EXIT_MISSED if any(file.contradictions for file in files) else EXIT_DONE


def _read(path: Path) -> Audited:
    return read_summary(str(path), read_run(path)[2]) if path.is_dir() else read_output(path)
