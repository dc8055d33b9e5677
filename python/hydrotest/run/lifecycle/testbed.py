"""An experiment's systems, running and sampled, for programs with trials of their own: tests and
benchmarks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from hydrotest.errors import RunFailedError
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.scratch import Scratch
from hydrotest.run.lifecycle.startup import linked_hosts, remove_data, start_systems, watch_connections, watch_services, watched_clocks
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.run.trials.trial import TrialRunner
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.load import load_experiment
from hydrotest.store.folder import RunFolder
from hydrotest.systems.catalogue import make_systems

RUN = "t"
"""Part of the names of everything it makes, in place of a run's id."""


@asynccontextmanager
async def open_testbed(text: str, base: Path, listener: Listener) -> AsyncIterator[Bench]:
    """Starts the systems of the experiment `text`, with everything below `base`.

    After the block it stops them and removes their data. Measurements stay.
    """
    base.mkdir(parents=True, exist_ok=True)
    source = base / "experiment.yaml"
    source.write_text(text)
    experiment, _ = load_experiment(source)
    folder = RunFolder(base / "run")
    folder.create(text.encode())
    # Names on the machine have our prefix and a unique part.
    scratch = Scratch(base, uuid.uuid4().hex[:8])
    async with Teardown(listener) as teardown:
        teardown.add("removing data", partial(remove_data, scratch))
        scratch.claim()
        site = await make_host_pool(experiment, scratch.path)
        teardown.add("removing the lab", site.clear)
        hosts = site.hosts
        died: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_death(how: str) -> None:
            if not died.done():
                died.set_result(how)

        watch_connections(site, teardown, lambda host, why: on_death(why))
        systems = make_systems(experiment, hosts, RUN, base, on_death)
        await start_systems(site, systems, listener, lambda system, seconds: None, teardown)
        sampling = Sampling(hosts, listener, linked=linked_hosts(experiment))
        teardown.add("stopping the samplers", sampling.stop)
        clocks = watched_clocks(site, teardown, experiment)
        await sampling.start()
        await watch_services(sampling, systems)
        runner = TrialRunner(folder, sampling, listener, died, clocks=clocks)
        yield Bench(experiment, RUN, hosts, systems, runner, listener, site.without_cpu_quota)
    if teardown.problems:
        raise RunFailedError("; ".join(teardown.problems))
