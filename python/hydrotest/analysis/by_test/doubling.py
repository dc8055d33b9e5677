"""Was the generator the limit? What twice as many generators got out of the same system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.intervals import geometric_mean, paired_change
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.doubling import Doubling as DoublingTest
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.summary.together import Doubling


def doubling_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[Doubling]:
    """One row for each doubling test. Rates per second without a rate limit (geometric means over the pairs),
    changes in percent.

    `raised`: true if twice as many got significantly more; false if the interval ends below the precision of
    a limit (`search: {precision}`); else null, no significant difference.
    """
    rows = []
    for index, test in experiment.tests_of(DoublingTest):
        own = len(experiment.generator_hosts(test.workload))
        pairs = doubled(run, [trial for trial in trials if trial.test == index], test.workload)
        if len(pairs) < 2:
            continue
        change = paired_change(pairs)
        if change.significant and change.change_pct > 0:
            raised: bool | None = True
        else:
            raised = False if change.high_pct <= experiment.search.precision * 100 else None
        once, twice = (geometric_mean([pair[side] for pair in pairs]) for side in (0, 1))
        rows.append(Doubling(workload=test.workload, test=index, generators=own, once=once, twice=twice, **dict(change), raised=raised))
    return rows


def doubled(run: RunFolder, trials: Sequence[Trial], workload: str) -> list[tuple[float, float]]:
    """Operations per second by a workload's generators and by twice as many. One value for each pair of
    windows in one of which something was completed."""
    achieved: dict[int, dict[int, float]] = defaultdict(dict)
    for trial in trials:
        if trial.purpose == Purpose.DOUBLING and trial.status == "done" and trial.pair is not None and trial.is_about(workload):
            measured = Measured.read(run, trial, workload)
            achieved[trial.pair][measured.load.generators] = measured.achieved
    pairs = [[rate for _, rate in sorted(of.items())] for of in achieved.values()]
    return [(rates[0], rates[1]) for rates in pairs if len(rates) == 2 and any(rates)]
