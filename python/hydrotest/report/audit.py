"""An audit on the terminal, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hydrotest.audit.claim import Audited, Claim
from hydrotest.audit.finding import Finding
from hydrotest.errors import HydrotestError
from hydrotest.report.wording.audited import finding_words, show_ms
from hydrotest.units import show_count, show_rate

_CONTRADICTION, _DOUBT = ("✗", "bold red"), ("!", "yellow")


@dataclass(frozen=True)
class FileFindings:
    """A file's claims, each with what was found."""

    audited: Audited
    findings: Sequence[Sequence[Finding]]

    @property
    def contradictions(self) -> int:
        return sum(one.is_contradiction for found in self.findings for one in found)

    @property
    def doubts(self) -> int:
        return sum(map(len, self.findings)) - self.contradictions


def print_audit(files: Sequence[FileFindings], console: Console) -> None:
    """Each claim that something was found in: its figures, what does not add up (✗), what claims too much (!), what to do."""
    for file in files:
        audited = file.audited
        console.print(
            Text.assemble((audited.file, "bold"), f"  {audited.tool}, {show_count(len(audited.claims), 'result')}"), highlight=False
        )
        for claim, found in zip(audited.claims, file.findings, strict=True):
            if found:
                _print_claim(claim, found, console)
        if audited.not_read:
            console.print(Padding(Text(f"not looked at: {', '.join(audited.not_read)}", "dim"), (0, 0, 0, 2), expand=False))
        clean = sum(not found for found in file.findings)
        if clean:
            console.print(Padding(Text(f"{show_count(clean, 'result')} without a finding", "dim"), (0, 0, 0, 2), expand=False))
        console.print()
    print_total(files, console)


def print_total(files: Sequence[FileFindings], console: Console) -> None:
    """The last line."""
    against, doubts = sum(file.contradictions for file in files), sum(file.doubts for file in files)
    claims = sum(len(file.audited.claims) for file in files)
    console.print(Text.assemble(
        (f"{show_count(against, 'contradiction')}", _CONTRADICTION[1] if against else "bold"), ", ",
        (f"{show_count(doubts, 'doubt')}", _DOUBT[1] if doubts else "bold"), f" in {show_count(claims, 'result')}."), highlight=False)  # fmt: skip


def _print_claim(claim: Claim, found: Sequence[Finding], console: Console) -> None:
    head = Text.assemble((claim.where, "bold"), f"  {claim.what}" if claim.what else "", (f"  {figures(claim)}", "dim"))
    console.print(Padding(head, (1, 0, 0, 2), expand=False), highlight=False)
    for one in found:
        said = finding_words(one)
        mark, style = _CONTRADICTION if one.is_contradiction else _DOUBT
        console.print(Padding(Text.assemble((f"{mark} ", style), said.what), (0, 0, 0, 4), expand=False), highlight=False)
        console.print(Padding(Text(said.do, "dim"), (0, 0, 0, 6), expand=False), highlight=False)


def figures(claim: Claim) -> str:
    """The headline of a claim: what people quote."""
    parts = []
    if claim.rate is not None and math.isfinite(claim.rate.value):
        parts.append(f"{show_rate(claim.rate.value)}/s")
    parts += [f"{name} {show_ms(claim.latency_ms[name].value)}" for name in ("mean", "p50", "p99", "max") if name in claim.latency_ms]
    return ", ".join(parts)


def audit_json(files: Sequence[FileFindings], unread: Sequence[tuple[Path, HydrotestError]] = ()) -> dict[str, Any]:
    """For programs. Figures that are no numbers are null; `unread` are the files that could not be read, and why."""
    return {
        "contradictions": sum(file.contradictions for file in files), "doubts": sum(file.doubts for file in files),
        "files": [
            {
                "file": file.audited.file, "tool": str(file.audited.tool), "not_read": list(file.audited.not_read),
                "results": [_claim_json(claim, found) for claim, found in zip(file.audited.claims, file.findings, strict=True)],
            }
            for file in files
        ],
        "unread": [
            {"file": str(path), "at": None if error.file is None else str(error.file), "line": error.line, "error": error.what, "do": error.hint}
            for path, error in unread
        ],
    }  # fmt: skip


def _claim_json(claim: Claim, found: Sequence[Finding]) -> dict[str, Any]:
    rate = claim.rate.value if claim.rate is not None else None
    return {
        "where": claim.where, "what": claim.what or None, "rate_per_s": _finite(rate),
        "latency_ms": {name: _finite(figure.value) for name, figure in claim.latency_ms.items()},
        "findings": [
            {"code": str(one.code), "contradiction": one.is_contradiction, "figures": {name: _finite(value) for name, value in one.figures.items()},
             "names": dict(one.names), "words": said.what, "do": said.do}
            for one in found for said in (finding_words(one),)
        ],
    }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
