"""A run's folder as the commands that read it need it."""

from __future__ import annotations

from pathlib import Path

from hydrotest.analysis.summary import summarise_run
from hydrotest.clock import iso
from hydrotest.errors import BadInputError
from hydrotest.report.wording.summary import worded
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.summary.model import Summary


def read_run(path: Path, *, rejudge: bool = False) -> tuple[RunFolder, Experiment, Summary]:
    """A run's folder, its experiment, and its summary, rebuilt from the folder."""
    folder = RunFolder.open(path)
    spec, _ = load_experiment(path / layout.EXPERIMENT, opens_files=False)
    for trial in folder.trials():
        if unknown := [load.workload for load in trial.loads if load.workload not in spec.workloads]:
            raise BadInputError(f"there is no workload {unknown[0]}, which trial {trial.number} has", "Restore the file as it was when the run was made.",
                                file=path / layout.EXPERIMENT)  # fmt: skip
    journal = folder.read_journal()
    ended = next((entry for entry in reversed(journal) if entry["what"] == "run ended"), None)
    finished = ended["at"] if ended else (journal[-1]["at"] if journal else iso(0.0))
    summary = worded(summarise_run(folder, spec, ended.get("status", "partial") if ended else "partial", finished, rejudge=rejudge))
    if ended and ended.get("error"):
        summary = summary.model_copy(update={"error": ended["error"]})
    return folder, spec, summary
