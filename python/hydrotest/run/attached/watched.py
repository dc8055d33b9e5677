"""A cluster that is there already, under guard for the time of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hydrotest.run.attached.contact import allowed_now
from hydrotest.run.attached.dealings import dealings
from hydrotest.run.attached.guard import Watch
from hydrotest.run.attached.own import OwnThings
from hydrotest.run.attached.owned import Owned
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.spec.attach import attached
from hydrotest.spec.choice import expected
from hydrotest.spec.models import Experiment
from hydrotest.systems.attached import AttachedSystem
from hydrotest.systems.base import System


@dataclass(frozen=True)
class Guarded:
    """A cluster under guard, and what is made in it."""

    watch: Watch
    own: OwnThings


def _copies(experiment: Experiment, system: str) -> int:
    """The most copies that a workload of a system has of its data."""
    using = [workload for workload in experiment.workloads.values() if system in workload.uses]
    return max((workload.copies for workload in using), default=1)


async def guard_attached(
    experiment: Experiment, systems: Mapping[str, System], run: str, listener: Listener, teardown: Teardown, sampling: Sampling
) -> Guarded | None:
    """Watches the cluster of an experiment that is there already, and notes what is made in it; None without one. `sampling` takes
    what it shows of itself.

    Raises `GuardBreachedError` where it is not fit for load.
    """
    for name, spec in attached(experiment).items():
        system = expected(systems[name], AttachedSystem)
        assert system.facts is not None
        assert spec.most is not None
        owned = Owned.of_run(run, name, system.facts.identity)
        own, ours = OwnThings(owned), dealings(system, listener.say)

        async def close(owned: Owned = owned) -> Sequence[str]:
            owned.close()
            return []

        teardown.add(f"closing the list of what was made in {name}", close)
        teardown.add(f"removing what was made in {name}", own.clear)
        await ours.check_alone()
        watch = Watch(ours, spec.guard, partial(allowed_now, spec), sampling.looked)
        teardown.add(f"ending the guard of {name}", watch.end)
        listener.phase(f"watching {name} alone for {spec.guard.baseline:.0f} s")
        await watch.begin(sampling.clocks, own, run, _copies(experiment, name))
        worst = max(watch.baseline.p99_ms, default=None)
        if watch.has_canary:
            listener.say(f"{name} before any load: p99 of a few requests a second {'unknown' if worst is None else f'{worst:.1f} ms'}")
        return Guarded(watch, own)
    return None
