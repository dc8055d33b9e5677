"""The workload's life in a run: its part in a trial, and its account."""

from __future__ import annotations

from hydrotest.load.native import Generator, shared
from hydrotest.run.trials.trial import Loads, Part, TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.store.records import Load, RecordAccounting

from .spec import EchoMessages

SATURATING_IN_FLIGHT = 64


class Messages(Rated):
    """Messages that must come back."""

    def __init__(self, name: str, spec: EchoMessages, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: EchoMessages = spec

    async def _prepare(self) -> None:
        await self._warm("echo")

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        model = load_spec.load(self.spec.arrivals, self.bench.seed(self.name, number), SATURATING_IN_FLIGHT * self.generator_count)
        load = self.bench.load_settings(self.name, model, plan, self.bench.in_flight_cap(self.name, load_spec, plan))
        settings = {
            "addresses": self.bench.systems["echo"].endpoints,
            "connections": self.spec.connections,
            "message_bytes": self.spec.message_size,
        }
        generators = [
            Generator.of_share(self.name, self.spec, share, "press", settings) for share in shared(load, 1, self.hosts * load_spec.times)
        ]
        return Part(self.name, self.spec.kind, generators, account=self._account)

    async def _account(self, load: Load, loads: Loads) -> Load:
        """A message that came back is accounted for by that; one that did not is lost, since nothing keeps it."""
        assert load.outcome is not None
        counts, corrupted = load.outcome.counts, load.outcome.errors.get("CORRUPTED", 0)
        fates = RecordAccounting(unit="records", sent=counts.started, acked=counts.completed, seen=counts.completed, lost=counts.started - counts.completed - corrupted,
                      duplicated=0, corrupted=corrupted, out_of_order=0, unacked_present=0, in_flight=0)  # fmt: skip
        return load.model_copy(update={"fates": fates})
