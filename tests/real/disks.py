"""What the disk of this machine read while a workload ran."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from hydrotest.store import layout
from hydrotest.store.samples import read_samples


def disk_bytes(run: Path, workload: str) -> float:
    """The most that the disk read in a pass of a workload: from the last reading before it to its own last one, since a fast disk
    is done before a pass has a reading of its own."""
    most, before = 0.0, None
    for path in sorted((run / "trials").glob("*/trial.json"), key=lambda path: int(path.parent.name.split("-")[0])):
        samples = read_samples(path.parent, layout.HOST_SAMPLES)
        if samples.is_empty():
            continue
        read = samples.filter(pl.col("host") == "here").sort("wall_s")["disk_read_bytes"]
        trial = json.loads(path.read_text())
        if trial["status"] == "done" and workload in [load["workload"] for load in trial["loads"]]:
            most = max(most, float(read[-1] - (read[0] if before is None else before)))
        before = read[-1]
    return most
