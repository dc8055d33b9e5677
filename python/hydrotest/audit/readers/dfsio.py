"""TestDFSIO: blocks of its result file or log. Its MB are MiB; its `Throughput` is bytes ÷ the sum of all tasks' times."""

from __future__ import annotations

import re

from hydrotest.audit.claim import Claim, Tool
from hydrotest.printed.figures import Printed, read_printed
from hydrotest.units import SIZES

_HEAD = re.compile(r"----- (?:Test)?DFSIO(?:IntegrationTest)? ----- : (?P<what>\S[^\n]*)")
_FIELDS = {"Number of files": "files", "Total MBytes processed": "mb", "Throughput mb/sec": "throughput", "Average IO rate mb/sec": "mean",
           "IO rate std deviation": "deviation", "Test exec time sec": "seconds"}  # fmt: skip
_LINE = re.compile(rf"(?P<key>{'|'.join(map(re.escape, _FIELDS))}):\s*(?P<value>\S+)")


def is_it(text: str) -> bool:
    """True if it has a block."""
    return _HEAD.search(text) is not None


def claims(text: str) -> list[Claim]:
    """A claim for each block."""
    heads = list(_HEAD.finditer(text))
    found = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        lines = list(_LINE.finditer(text, head.end(), end))
        values = read_printed([line["value"] for line in lines], grouped=False, tool="TestDFSIO")
        figures = {_FIELDS[line["key"]]: value for line, value in zip(lines, values, strict=True)}
        files = figures.get("files", Printed(0.0)).value
        found.append(Claim(
            Tool.DFSIO, f"line {text.count(chr(10), 0, head.start()) + 1}", head["what"].strip(), seconds=figures.get("seconds"),
            bytes_in_all=figures["mb"].times(SIZES["MiB"]) if "mb" in figures else None, parallel=files or None,
            worker_rate=figures["throughput"].times(SIZES["MiB"]) if "throughput" in figures else None,
        ))  # fmt: skip
    return found
