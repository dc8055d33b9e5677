"""`hydrotest doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from hydrotest.cli.output import out_console, print_json
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE
from hydrotest.report.printing import print_text
from hydrotest.run.lifecycle.doctor import Finding, examine


def doctor(as_json: bool) -> int:
    """Prints what `examine` finds."""
    return print_findings(examine(), as_json)


def print_findings(findings: Sequence[Finding], as_json: bool) -> int:
    """Prints findings; the exit code says whether something is missing."""
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
