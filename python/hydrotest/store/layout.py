"""Every file name of a run folder, in one place (the folder is a contract: other programs read it)."""

from __future__ import annotations

from pathlib import Path

FORMAT = 2
"""The version of a run folder, in the journal's entry `run started`. 1 (it has none): what a run decided, and why a combined test or a squeeze was left out, was
kept in words. 2: as codes and figures (`because`). A folder of an older version is read; one of a newer version is refused."""

EXPERIMENT = "experiment.yaml"
PLAN = "plan.json"
ENVIRONMENT = "environment.json"
JOURNAL = "journal.jsonl"
SUMMARY = "summary.json"
REPORT = "report.html"
TRIALS = "trials"
SYSTEM_LOGS = "logs"
SPARK_EVENTS = Path("logs") / "spark-events"
LOCK = ".lock"

TRIAL = "trial.json"
HOST_SAMPLES = "samples/host.parquet"
SERVICE_SAMPLES = "samples/services.parquet"
GAUGE_SAMPLES = "samples/gauges.parquet"
HISTOGRAMS = ("response", "service", "wait")


def trial_folder(number: int, slug: str) -> Path:
    """Folder of a trial, below the run folder."""
    return Path(TRIALS) / f"{number:03d}-{slug}"


def histogram(workload: str, which: str, number: int = 0) -> Path:
    """An interval log of one of a workload's generators, below the trial's folder; `which` is one of `HISTOGRAMS`."""
    return Path("load") / f"{_generator(workload, number)}.{which}.hlog"


def seconds(workload: str, number: int = 0) -> Path:
    """A generator's second-by-second counters, below the trial's folder."""
    return Path("load") / f"{_generator(workload, number)}.jsonl"


def batches(workload: str) -> Path:
    """What a dataflow's queries say of their batches, below the trial's folder."""
    return Path("load") / f"{workload}.batches.jsonl"


def _generator(workload: str, number: int) -> str:
    """Names have no dots, so no workload's files are taken for another's."""
    return f"{workload}.{number}" if number else workload


def of_all_generators(first: Path) -> list[Path]:
    """The files that stand beside a workload's first generator's, its own included, by number; none that are not there."""
    workload, rest = first.name.split(".", 1)
    others = {number: path for path in first.parent.glob(f"{workload}.*.{rest}") if (number := path.name.split(".")[1]).isdecimal()}
    return [path for path in (first, *(others[number] for number in sorted(others, key=int))) if path.exists()]


def stock_output(workload: str) -> Path:
    """What a stock tool printed, below the trial's folder."""
    return Path("logs") / f"{workload}.out"
