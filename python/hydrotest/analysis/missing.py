"""Files that a run wrote and that its folder no longer holds: what stands on them is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.verdicts.problem import FilesMissing

SAMPLED_S_MIN = 2.0
"""A window of this length holds readings of all samplers, which read once a second."""


def missing_files(run: RunFolder, trials: Sequence[Trial]) -> list[FilesMissing]:
    """One problem that names them all, or none. Of a run without a finished trial nothing else than its trials is expected."""
    done = [trial for trial in trials if trial.status == "done"]
    files = [*_of_the_run(run), *_of_trials(run, done)] if done else []
    files += _trials_of_the_journal(run, trials)
    return [FilesMissing(tuple(files))] if files else []


def _trials_of_the_journal(run: RunFolder, trials: Sequence[Trial]) -> list[str]:
    """Folders of trials that the run ended, and that are not there."""
    there = {trial.number for trial in trials}
    ended = {
        (entry["trial"], entry["slug"]) for entry in run.read_journal() if entry["what"] == "trial ended" and entry.get("status") == "done"
    }
    return [str(layout.trial_folder(number, slug)) for number, slug in sorted(ended) if number not in there]


def _of_the_run(run: RunFolder) -> Iterator[str]:
    yield from (name for name in (layout.ENVIRONMENT, layout.JOURNAL) if not run.has(name))


def _of_trials(run: RunFolder, trials: Sequence[Trial]) -> Iterator[str]:
    """A host is always sampled. Services, and gauges, are sampled in each trial or in none."""
    folders = [run.folder_of(trial) for trial in trials]
    shared = (layout.SERVICE_SAMPLES, layout.GAUGE_SAMPLES)
    sampled = [layout.HOST_SAMPLES, *(name for name in shared if any((folder / name).exists() for folder in folders))]
    for trial, folder in zip(trials, folders, strict=True):
        samples = map(Path, sampled if trial.window_s >= SAMPLED_S_MIN else ())
        counters = (layout.seconds(load.workload) for load in trial.loads if load.is_generated and load.outcome is not None)
        yield from (str((folder / file).relative_to(run.path)) for file in (*samples, *counters) if not (folder / file).exists())
