"""`hydrotest audit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydrotest.audit.checks import findings
from hydrotest.audit.claim import Audited
from hydrotest.audit.readers import KNOWN, read_output, refused
from hydrotest.audit.readers.run import read_summary
from hydrotest.cli.output import out_console, print_error, print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_MISSED, BadInputError, HydrotestError
from hydrotest.report.audit import FileFindings, audit_json, print_audit


def audit(paths: Sequence[Path], as_json: bool) -> int:
    """Prints what each output really measured; 1 where a figure contradicts itself.

    A file that cannot be read costs nothing of the others: each is reported, and the exit code is that of bad input.
    """
    if not paths:
        raise BadInputError("there is nothing to audit", KNOWN)
    files: list[FileFindings] = []
    unread: list[tuple[Path, HydrotestError]] = []
    for path in paths:
        try:
            audited = _read(path)
        except BadInputError as error:
            unread.append((path, error))
        except OSError as error:
            unread.append((path, refused(path, error)))
        else:
            files.append(FileFindings(audited, findings(audited.claims)))
    if as_json:
        print_json(audit_json(files, unread))
    elif files:
        print_audit(files, out_console())
    for _, why in unread:
        print_error(why)
    if unread:
        return EXIT_BAD_INPUT
    return EXIT_MISSED if any(file.contradictions for file in files) else EXIT_DONE


def _read(path: Path) -> Audited:
    return read_summary(str(path), read_run(path)[2]) if path.is_dir() else read_output(path)
