"""What a record costs each part of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hydrotest.analysis.demand.demands import FIXED, Demands, Observation, demands
from hydrotest.analysis.demand.piped import Piped, has_of, piped
from hydrotest.analysis.demand.rows import estimate_row
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.demand import PartDemand

RECORDS, EXECUTORS = "records", "executors"


def part_law(windows: Sequence[Piped], part: str, *, with_executors: bool = False) -> Demands | None:
    """CPU of each host of a part: fixed + demand × records of each host (Denning and Buzen, "The operational analysis of queueing network
    models", 1978); `with_executors`: and what each executor of the pipeline costs it whatever goes through. None if there are too few
    windows."""
    return demands([_observation(one, part, with_executors=with_executors) for one in windows])


def _observation(one: Piped, part: str, *, with_executors: bool) -> Observation:
    used = one.parts[part]
    drivers = {RECORDS: one.rate / used.hosts} | ({EXECUTORS: float(one.executors)} if with_executors else {})
    return Observation(used.cores, drivers, (one.run, one.trial))


def part_rows(run: RunFolder, experiment: Experiment, trials: Sequence[Trial]) -> list[PartDemand]:
    """A row for each part of each pipeline whose parts have hosts of their own, from the windows in which it kept up."""
    seen = piped(run, experiment, trials, has_of(run, experiment), 0)
    return [
        row for name in dict.fromkeys(one.workload for one in seen) for row in _parts(name, [one for one in seen if one.workload == name])
    ]


def _parts(name: str, windows: Sequence[Piped]) -> Iterator[PartDemand]:
    for part in windows[0].parts:
        law = part_law(windows, part)
        full = sum(one.parts[part].is_full for one in windows)
        yield PartDemand(
            workload=name, part=part, hosts=windows[0].parts[part].hosts, windows=len(windows), is_full=2 * full > len(windows),
            fixed_cores=None if law is None else estimate_row(law.estimate(FIXED), 1.0),
            cpu_us=None if law is None else estimate_row(law.estimate(RECORDS), 1e6), error=None if law is None else law.error,
        )  # fmt: skip
