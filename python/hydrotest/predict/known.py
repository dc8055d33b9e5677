"""Runs, as far as predictions stand on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydrotest.analysis.demand.piped import Piped, has_of, piped
from hydrotest.analysis.demand.windows import Ceilings, Seen, all_windows, hosts_have, undisturbed
from hydrotest.analysis.measured import each_read_once
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.rates import rates_together
from hydrotest.errors import BadInputError
from hydrotest.predict.ran import Jobs, Ran, jobs_of
from hydrotest.predict.summarised import read_found
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder


@dataclass(frozen=True)
class Known:
    """A run, as far as a prediction stands on it."""

    path: Path
    experiment: Experiment
    text: str
    """Its experiment file."""
    has: Mapping[str, Ceilings]
    """By system: what its hosts have."""
    seen: Mapping[str, Sequence[Seen]]
    """By system: its windows."""
    limits: Mapping[str, float]
    """Of workloads whose limit at an objective on latency was found: that limit."""
    machines: frozenset[str] = frozenset()
    """Models of the processors of its hosts."""
    unsettled: Sequence[str] = ()
    """Workloads whose system still got better when its warm-up ended."""
    jobs: Sequence[Ran] = ()
    """Tests of Spark's suite."""
    pipes: Sequence[Piped] = ()
    """Windows of pipelines."""
    pipes_have: Mapping[str, Mapping[str, Ceilings]] = field(default_factory=dict)
    """By pipeline and part: what each of its hosts has."""
    share: float | None = None
    """Share of their limits that workloads of its `combined` test had at once, where that was measured."""
    together: tuple[str, ...] = ()
    """These workloads."""
    unread_logs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By workload and test of Spark: an event log that is not there, or does not have all of that test."""
    stolen: Mapping[str, int] = field(default_factory=dict)
    """By system: windows that are left out, since the hypervisor took cores meanwhile."""


def read_runs(paths: Sequence[Path], *, with_jobs: bool = True) -> list[Known]:
    """Several runs' folders, each once; see `read_known`. Raises `BadInputError`."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInputError("a run is named twice: it would count twice", "Name each once.")
    return [read_known(path, index, with_jobs=with_jobs) for index, path in enumerate(paths)]


@each_read_once()
def read_known(path: Path, index: int = 0, *, with_jobs: bool = True) -> Known:
    """A run's folder; `with_jobs`: with its Spark jobs, whose event logs may be large, and its pipelines.

    Raises `BadInputError` if it is none, or if it ended before there were machines.
    """
    folder = RunFolder.open(path)
    experiment, document = load_experiment(path / layout.EXPERIMENT, opens_files=False)
    machines = folder.environment()["hosts"]
    if not machines:
        raise BadInputError("nothing is known of the run's machines: it ended before it began, or its files are not all there", "Name another run.",
                            file=path / layout.ENVIRONMENT)  # fmt: skip
    trials = folder.trials()
    rates_together(folder, measured_trials(trials))
    has, all_ = hosts_have(folder, experiment), all_windows(folder, experiment, trials, index)
    seen = {name: undisturbed(own) for name, own in all_.items()}
    stolen = {name: len(own) - len(seen[name]) for name, own in all_.items()}
    jobs = jobs_of(folder, experiment, trials, has, index) if with_jobs else Jobs()
    found = read_found(folder)
    # Bounds are no limits.
    limits = {
        one.workload: one.limit for one in found.limits if one.tenancy == "isolated" and one.limit and not one.at_least and one.has_latency
    }
    point = found.safe_working_point
    share, together = (None, ()) if point is None or point.at_least else (point.fraction, tuple(point.rates))
    pipes_have = has_of(folder, experiment)
    return Known(path, experiment, document.text, has, seen, limits, frozenset(str(host.get("cpu_model")) for host in machines),
                 _unsettled(folder), jobs.ran,
                 piped(folder, experiment, trials, pipes_have, index) if with_jobs else [], pipes_have, share, together, jobs.unread, stolen)  # fmt: skip


def _unsettled(folder: RunFolder) -> list[str]:
    warmed = {entry["workload"]: bool(entry["settled"]) for entry in folder.read_journal() if entry["what"] == "warmed up"}
    return [name for name, settled in warmed.items() if not settled]
