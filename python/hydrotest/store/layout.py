"""Every file name of a run folder, in one place (the folder is a contract: other programs read it)."""

from __future__ import annotations

import os
from pathlib import Path

FORMAT = 2
"""The version of a run folder, in the journal's entry `run started`. 1 (not recorded): decisions of a run,
and reasons for skipping a combined test or a squeeze, in words. 2: as codes and figures (`because`). Folders
of older versions are read; a newer version is refused."""

EXPERIMENT = "experiment.yaml"
PLAN = "plan.json"
ENVIRONMENT = "environment.json"
PAYLOADS = "payloads.json"
"""What the payloads of workloads held, and files of sizes and keys, by their SHA-256: a run goes on with the same only."""
JOURNAL = "journal.jsonl"
SUMMARY = "summary.json"
REPORT = "report.html"
MASKED_REPORT = "report-masked.html"
TRIALS = "trials"
SYSTEM_LOGS = "logs"
SPARK_EVENTS = Path("logs") / "spark-events"
LOCK = ".lock"
SPILLED = ".samples"
"""Folder of readings that wait for the end of their trial and do not fit into memory."""
BASELINE = "baseline"
"""Folder of the samples of a cluster that is there already, from before any load; as below a trial's folder."""

TRIAL = "trial.json"
HOST_SAMPLES = "samples/host.parquet"
SERVICE_SAMPLES = "samples/services.parquet"
GAUGE_SAMPLES = "samples/gauges.parquet"
HISTOGRAMS = ("response", "service", "wait")


def trial_folder(number: int, slug: str) -> Path:
    """Folder of a trial, below the run folder."""
    return Path(TRIALS) / f"{number:03d}-{slug}"


def histogram(workload: str, which: str, number: int = 0) -> Path:
    """An interval log of one of a workload's generators, below the trial's folder; `which` is one of
    `HISTOGRAMS`."""
    return Path("load") / f"{_generator(workload, number)}.{which}.hlog"


def seconds(workload: str, number: int = 0) -> Path:
    """A generator's second-by-second counters, below the trial's folder."""
    return Path("load") / f"{_generator(workload, number)}.jsonl"


def batches(workload: str) -> Path:
    """Reports of a dataflow's queries on their batches, below the trial's folder."""
    return Path("load") / f"{workload}.batches.jsonl"


def _generator(workload: str, number: int) -> str:
    """Names have no dots, so no workload's files are taken for another's."""
    return f"{workload}.{number}" if number else workload


def of_all_generators(first: Path) -> list[Path]:
    """The files of all generators of a workload, given the first one's, by number; missing ones are left
    out."""
    workload, rest = first.name.split(".", 1)
    try:
        names = set(os.listdir(first.parent))
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = {
        parts[1]
        for name in names
        if len(parts := name.split(".", 2)) == 3 and parts[1].isdecimal() and (parts[0], parts[2]) == (workload, rest)
    }
    return [
        first.with_name(name)
        for name in (first.name, *(f"{workload}.{number}.{rest}" for number in sorted(numbers, key=int)))
        if name in names
    ]


def stock_output(workload: str) -> Path:
    """Output of a stock tool, below the trial's folder."""
    return Path("logs") / f"{workload}.out"
