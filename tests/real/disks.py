"""What the disk of this machine read while a workload ran."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.samples import read_samples


def disk_bytes(run: Path, workload: str) -> float:
    """What the disk read in a pass of a workload, on average of its passes. A pass may be over before it has a reading of its own:
    counted is from the last reading before them to the last one of the trial behind them, which is to read from the page cache."""
    folder = RunFolder.open(run)
    trials = folder.trials()
    own = [at for at, trial in enumerate(trials) if trial.status == "done" and workload in [load.workload for load in trial.loads]]
    assert own == list(range(own[0], own[-1] + 1)), "its passes follow each other"

    def last(at: int) -> float:
        samples = read_samples(folder.folder_of(trials[at]), layout.HOST_SAMPLES)
        return float(samples.filter(pl.col("host") == "here").sort("wall_s")["disk_read_bytes"][-1])

    return (last(own[-1] + 1) - last(own[0] - 1)) / len(own)
