"""What the benchmarks share: a run that is made once, and what its levels were asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HYDROTEST = Path(sys.executable).parent / "hydrotest"


def users_environment() -> dict[str, str]:
    """As a user has it: modules are compiled once, whatever this shell asks for."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def summary_of(experiment: Path, folder: Path, *options: str) -> dict[str, Any]:
    """The summary of a run; made first if it is not there, so that a benchmark can be interrupted. Ends the program if the run fails."""
    if not (folder / "summary.json").exists():
        done = subprocess.run([HYDROTEST, "run", experiment, *options, "--out", folder], check=False)
        if done.returncode not in (0, 1) or not (folder / "summary.json").exists():
            raise SystemExit(f"{folder} failed with exit code {done.returncode}")
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


def levels_of(summary: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(workload, target, client, level) of each measured level, all operations together."""
    for row in summary["levels"]:
        if row["op"] in (None, "mix"):
            target = (
                f"{row['offered']:,.0f}/s" if row["offered"] else f"{row['concurrency']} in flight" if row["concurrency"] else "saturated"
            )
            yield row["workload"], target, row["client"], row
