"""The life of a run: plan → prepare → warm up → measure → verify → tear down.

Whatever happens, what was started is ended and what was measured is kept.
"""

from __future__ import annotations

import asyncio
import math
import os
import platform
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hydrotest import __version__
from hydrotest.analysis.resources.overhead import exporter_cores, sampler_cores
from hydrotest.analysis.summary import summarise_run
from hydrotest.clock import iso
from hydrotest.errors import HydrotestError, RunFailedError, SystemFailedError
from hydrotest.hosts.catalogue import HostPool, make_host_pool
from hydrotest.hosts.java import find_java, java_major
from hydrotest.report.wording.summary import worded
from hydrotest.run.attached.own import OwnThings
from hydrotest.run.attached.watched import guard_attached
from hydrotest.run.lifecycle.events import Listener, Planned
from hydrotest.run.lifecycle.recovery import Recovery
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.scratch import Scratch, clear_abandoned, scratch_root
from hydrotest.run.lifecycle.startup import (
    check_memory_there,
    check_reach,
    linked_hosts,
    remove_data,
    spared_hosts,
    start_systems,
    watch_connections,
    watch_services,
    watched_clocks,
)
from hydrotest.run.lifecycle.survey import monitored_host, seen_host, survey
from hydrotest.run.lifecycle.teardown import Teardown, each
from hydrotest.run.tests.make import make_test
from hydrotest.run.trials.trial import TrialRunner
from hydrotest.run.workloads.base import Bench, Workload
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.spec.attach import attached, only_seen
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.store import layout
from hydrotest.store.folder import STARTED, RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.model import Status, Summary
from hydrotest.systems.base import System
from hydrotest.systems.catalogue import make_systems


@dataclass
class Ended:
    """How a run ended."""

    status: Status
    error: HydrotestError | None
    summary: Summary


class Controller:
    """Carries out one experiment into one run folder."""

    def __init__(self, experiment: Experiment, folder: RunFolder, listener: Listener) -> None:
        self.experiment = experiment
        self.folder = folder
        self.listener = listener
        self.run_id = uuid.uuid4().hex[:8]
        self.scratch = Scratch(scratch_root(experiment), self.run_id)
        self.site = HostPool({})
        self.systems: dict[str, System] = {}
        self.teardown = Teardown(listener)
        self.runner: TrialRunner | None = None
        self.environment: dict[str, Any] = {}
        self._own = OwnThings()
        self._ends_s = math.inf
        self._is_measured = False
        """True once a lost host costs nothing any more."""

    async def execute(self, only: str | None = None) -> Ended:
        """Runs everything that is not done yet. Cancelling the task ends it cleanly as a partial run."""
        error: HydrotestError | None = None
        status: Status = "partial"
        earlier = self.folder.trials()
        self.folder.journal(
            STARTED, format=layout.FORMAT, run=self.run_id, resumed_after=len(earlier), hydrotest=__version__, pid=os.getpid()
        )
        try:
            self._announce(earlier, only)
            await self._prepare()
            await self._measure(earlier, only)
            self._is_measured = True
            status = "complete" if only is None else "partial"
        except HydrotestError as caught:
            error = caught
        except OSError as caught:
            hint = "Earlier trials are kept; `--resume` goes on after them."
            error = RunFailedError(f"the machine refused: {caught.strerror or caught}", hint, file=caught.filename)
        except Exception as caught:  # noqa: BLE001 - a defect of hydrotest must not cost the data already taken
            error = self._internal(caught)
        except asyncio.CancelledError:
            error = RunFailedError("interrupted", f"What was measured is kept; `hydrotest run --resume --out {self.folder.path}` goes on.")
        finally:
            await self.teardown.carry_out()
        if self.runner is not None and self.runner.died.done() and not isinstance(error, SystemFailedError):
            error = SystemFailedError(self.runner.died.result(), "Earlier trials are kept; `--resume` goes on after them.")
        if error is not None and not self._has_trials():
            status = "failed"
        return self._conclude(status, error)

    def _has_trials(self) -> bool:
        return any((self.folder.path / layout.TRIALS).glob(f"*/{layout.TRIAL}"))

    def _internal(self, caught: Exception) -> RunFailedError:
        """The error that reports a defect of hydrotest; call it where the exception is handled."""
        hint = "The journal holds the details; please report it."
        try:
            self.folder.journal("internal error", traceback=traceback.format_exc())
        except OSError as full:
            hint = f"Its details cannot be written: {full}"
        return RunFailedError(f"hydrotest itself failed: {type(caught).__name__}: {caught}", hint)

    def _announce(self, earlier: list[Trial], only: str | None) -> None:
        """Reports what is going to be done."""
        plan = make_plan(self.experiment)
        steps = tuple(
            (index, step)
            for index, test in enumerate(self.experiment.tests) if only in (None, test.test)
            for step in test.steps(self.experiment)
        )  # fmt: skip
        self.listener.planned(Planned(self.experiment, steps, plan.seconds - sum(step.seconds for step in plan.steps), tuple(earlier)))

    async def _prepare(self) -> None:
        self.listener.phase("preparing hosts")
        for path in clear_abandoned(self.scratch.path.parent):
            self.listener.say(f"removed what a killed run left: {path.name}")
        self.teardown.add("removing data", partial(remove_data, self.scratch))
        self.scratch.claim()
        self.site = await make_host_pool(self.experiment, self.scratch.path)
        self.teardown.add("removing the lab", self.site.clear)
        await check_memory_there(self.experiment, self.site)
        await check_reach(self.experiment, self.site)
        self.folder.write_json(layout.PLAN, make_plan(self.experiment).model_dump(mode="json"))
        await self._survey()
        died: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_death(how: str) -> None:
            self.folder.journal("service died", how=how)
            if not died.done():
                died.set_result(how)

        def on_loss(host: str, why: str) -> None:
            self.folder.journal("connection lost", host=host, how=why)
            is_spared = self.runner is not None and self.runner.recovery is not None and self.runner.recovery.spares(host)
            if not died.done() and not self._is_measured and not is_spared:
                died.set_result(why)

        watch_connections(self.site, self.teardown, on_loss)
        logs = self.folder.path / layout.SYSTEM_LOGS
        logs.mkdir(exist_ok=True)
        self.systems = make_systems(self.experiment, self.site.hosts, self.run_id, logs, on_death)

        def started(system: System, seconds: float) -> None:
            self.folder.journal("system ready", system=system.name, version=system.version, seconds=seconds)

        await start_systems(self.site, self.systems, self.listener, started, self.teardown)
        self.environment["systems"] = [
            {"name": s.name, "version": s.version, "hosts": [host.name for host in s.hosts]} for s in self.systems.values()
        ]
        self._write_environment()
        links = {host["name"]: host["ceilings"].get("network_bytes_per_s") for host in self.environment["hosts"]}
        spared = spared_hosts(self.experiment, self.systems, self.site.hosts)
        sampling = Sampling(
            self.site.hosts, self.listener, links, linked_hosts(self.experiment), only_seen(self.experiment), self.site.sources, spared,
            self.folder.path / layout.SPILLED,
        )  # fmt: skip
        self.teardown.add("stopping the samplers", sampling.stop)
        clocks = watched_clocks(self.site, self.teardown, self.experiment)
        sampling.clocks = await clocks.compare()
        await sampling.start()
        await watch_services(sampling, self.systems)
        taken = [int(path.name.split("-")[0]) for path in (self.folder.path / layout.TRIALS).glob("[0-9]*-*")]
        self.runner = TrialRunner(self.folder, sampling, self.listener, died, next_number=max(taken, default=0) + 1, clocks=clocks)
        self.runner.recovery = Recovery(self.site.hosts, sampling, clocks, self.listener, spared)
        begun_s = time.time()
        guarded = await guard_attached(self.experiment, self.systems, self.run_id, self.listener, self.teardown, sampling)
        if guarded is not None:
            watch = guarded.watch
            self.runner.breached, self._own, self._ends_s = watch.breached, guarded.own, watch.ends_s
            self.environment["attached"] = watch.data()
            await sampling.collect(begun_s, time.time())
            sampling.buffer.flush(self.folder.path / layout.BASELINE)
            self._write_environment()

    async def _survey(self) -> None:
        self.listener.phase("measuring what this machine gives")
        seen = only_seen(self.experiment)
        loaded = {name: host for name, host in self.site.hosts.items() if name not in seen}
        hosts = await survey(self.experiment.hosts, loaded, self.run_id, self.listener.say, self.listener.warn)
        hosts += [await seen_host(self.site.hosts[name], self.experiment.hosts[name].connect) for name in sorted(seen)]
        hosts += [
            monitored_host(name, self.experiment.hosts[name].connect, await source.known()) for name, source in self.site.sources.items()
        ]
        self.environment = {
            "hosts": hosts, "systems": [], "overhead": None,
            "versions": {"hydrotest": __version__, "python": platform.python_version(), "java": self._java()},
            "platform": platform.platform(), "argv": sys.argv[1:],
        }  # fmt: skip

    def _java(self) -> int | None:
        """The version that systems run on here; None where none of them does."""
        return java_major(find_java()) if self.experiment.needs_java_here else None

    async def _measure(self, earlier: list[Trial], only: str | None) -> None:
        assert self.runner is not None
        bench = Bench(self.experiment, self.run_id, self.site.hosts, self.systems, self.runner, self.listener, self.site.without_cpu_quota,
                      own=self._own, ends_s=self._ends_s)  # fmt: skip
        workloads = make_workloads(bench)
        is_done = False
        try:
            for index, test in enumerate(self.experiment.tests):
                if only is not None and test.test != only:
                    continue
                await make_test(index, bench, workloads, list(earlier)).run()
                self.listener.test_ended(index)
            is_done = True
        finally:
            # To read everything back is load: on a cluster that others use, only within what is agreed, and under guard.
            if not self.runner.died.done() and (is_done or not attached(self.experiment)):
                await self.runner.guarded(self._account(workloads))

    async def _account(self, workloads: dict[str, Workload]) -> None:
        await each("not everything could be accounted for", [workload.finish for workload in workloads.values()])

    def _write_environment(self) -> None:
        if self.runner is not None:
            self.environment["overhead"] = self._overhead()
        self.folder.write_json(layout.ENVIRONMENT, self.environment)

    def _overhead(self) -> dict[str, Any]:
        """What hydrotest itself used under load, in cores."""
        assert self.runner is not None
        trials = self.folder.trials()
        return {
            "controller_cores": self.runner.overhead.cores,
            "sampler_cores": sampler_cores(self.folder, trials, self.site.hosts),
            "exporter_cores": exporter_cores(self.folder, trials),
        }

    def _conclude(self, status: Status, error: HydrotestError | None) -> Ended:
        """Writes the files of a run's end; the summary also where the others fail.

        Raises `RunFailedError` if even that fails.
        """
        unwritten: list[str] = []

        def attempt(work: Callable[[], object]) -> None:
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - the summary matters more; it names what it lacks
                unwritten.append(f"at the end of the run: {type(caught).__name__}: {caught}")

        if self.teardown.problems:
            attempt(lambda: self.folder.journal("teardown", problems=self.teardown.problems))
        # A resumed run whose systems did not start adds nothing about those that earlier trials ran on.
        if self.environment and (self.runner is not None or not self.folder.has(layout.ENVIRONMENT)):
            attempt(self._write_environment)
        finished = iso(time.time())  # used if the journal can no longer be written

        def end() -> None:
            nonlocal finished
            finished = self.folder.journal("run ended", status=status, error=error.message if error else None)

        attempt(end)
        try:
            summary = worded(summarise_run(self.folder, self.experiment, status, finished))
        except Exception as caught:  # noqa: BLE001 - the end of the run, and its status, are reported all the same
            error = error or self._internal(caught)
            unwritten.append(f"its trials cannot be summed up: {type(caught).__name__}: {caught}")
            summary = worded(summarise_run(_Untried(self.folder.path), self.experiment, status, finished))
            summary = summary.model_copy(update={"problems": [*summary.problems, unwritten[-1]]})
        if error is not None:
            summary = summary.model_copy(update={"error": error.message})
        try:
            self.folder.write_json(layout.SUMMARY, summary.written())
        except OSError as caught:
            stated = f"; the run had ended with: {error.message}" if error is not None else ""
            hint = f"`hydrotest show {self.folder.path}` makes it anew from what is there."
            raise RunFailedError(
                f"the summary cannot be written: {caught}{stated}", hint, file=self.folder.path / layout.SUMMARY
            ) from caught
        for problem in list(unwritten):
            attempt(partial(self.listener.warn, problem))
        return Ended(status, error, summary)


class _Untried(RunFolder):
    """A run folder as if no trial had ended."""

    def trials(self) -> list[Trial]:
        return []
