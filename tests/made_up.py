"""A run folder as a run would leave it, made without any system: a simulated workload with a known limit."""

from __future__ import annotations

import json
from pathlib import Path

from hdrh.histogram import HdrHistogram

from hydrotest.analysis.limit_search import LimitSearch
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.verdict import judge
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import HEADER, empty
from hydrotest.store.records import Counts, Fates, Load, Outcome, Purpose, Trial
from hydrotest.store.samples import SampleBuffer

EXPERIMENT = """\
name: madeup
hosts:
  here: {connect: local}
systems:
  kafka: {hosts: [here]}
workloads:
  ingest: {kind: kafka-produce}
objectives:
  ingest: {p99: 50 ms}
tests:
  - isolated: [ingest]
search: {precision: 10 %, window: 4 s, warm_up: 1 s}
"""

START_S = 1_700_000_000.0


def host_counters(seconds: float, **more: int) -> dict[str, int]:
    """A host's counters after so long, as its sampler tells them: three quarters of a core busy, everything else a million a second."""
    us = round(seconds * 1e6)
    counters = {f"cpu_{name}_us": us // 2 for name in ("user", "nice", "system", "irq", "softirq", "idle", "iowait", "steal")}
    counters |= {"cpu_nice_us": 0, "cpu_irq_us": 0, "cpu_softirq_us": 0, "cpu_steal_us": 0, "cpu_iowait_us": 0, "cpu_count": 2}
    counters |= {"memory_total_bytes": 8 << 30, "memory_available_bytes": 6 << 30, "swap_used_bytes": 0}
    counters |= dict.fromkeys(("disk_reads", "disk_writes", "disk_read_bytes", "disk_write_bytes", "disk_busy_ms", "net_out_bytes", "net_in_bytes",
                               "lo_out_bytes", "lo_in_bytes", "tcp_out_segments", "tcp_in_segments", "tcp_retransmitted_segments"), us)  # fmt: skip
    return counters | more


class MadeUpRun:
    """Writes trials of a system that sustains `limit` operations a second."""

    def __init__(self, path: Path, limit: float = 10_000.0, text: str = EXPERIMENT, base_ms: float = 2.0, cores: int = 2) -> None:
        source = path / "source.yaml"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        self.experiment: Experiment = load_experiment(source)[0]
        self.folder = RunFolder(path / "run")
        self.folder.create(text.encode())
        self.folder.journal("run started")
        self.folder.write_json(layout.ENVIRONMENT, {
            "hosts": [{"name": "here", "connect": "local", "cores": cores, "memory_bytes": 8 << 30,
                       "ceilings": {"cpu_cores": 2.0, "disk_write_bytes_per_s": 1e9, "network_bytes_per_s": 1e10}}],
            "systems": [{"name": "kafka", "version": "4.3.1", "hosts": ["here"]}],
            "overhead": {"controller_cores": 0.005, "sampler_cores": 0.006, "exporter_cores": {"kafka-0": 0.002}},
        })  # fmt: skip
        self.limit = limit
        self.base_ms = base_ms
        self.clock_s = START_S
        self.number = 0

    def trial(self, purpose: Purpose, offered: float | None, *, search: str | None = None, lost: int = 0, cpu_share: float = 0.2,
              run_delay_share: float = 0.0, cap_hits: int = 0, overflows: int = 0, latency_ms: float | None = None,
              steal_share: float = 0.0, jit_cores: float = 0.0) -> Trial:  # fmt: skip
        """One trial of five seconds, the first cut off. Latency is `base_ms` below the limit and grows above it."""
        self.number += 1
        slug = f"{purpose}-ingest"
        folder = self.folder.trial_path(self.number, slug)
        rate = min(offered or 1e9, self.limit)
        p50_us = round((latency_ms or (self.base_ms if offered is None or offered <= self.limit else 400.0)) * 1000)
        start = self.clock_s
        lines, seconds = [], []
        for second in range(5):
            histogram = empty()
            histogram.record_value(p50_us, round(rate))
            lines.append(_log_line(histogram, start + second))
            done = round(rate * (second + 1))
            behind = 0 if offered is None else max(0, round((offered - rate) * (second + 1)))
            seconds.append({
                "wall_s": start + second + 1, "counts": {"started": done + behind, "completed": done, "failed": 0, "bytes": done * 100, "cap_hits": cap_hits},
                "in_flight": [behind] * 10, "p99_ms": p50_us / 1e3,
                "threads": [{"name": "load-0/1", "cpu_ns": round((second + 1) * 1e9 * cpu_share),
                             "run_delay_ns": round((second + 1) * 1e9 * run_delay_share)}],
            })  # fmt: skip
        for which in layout.HISTOGRAMS:
            (folder / layout.histogram("ingest", which)).write_text(
                HEADER + "".join(lines if which != "wait" else [_log_line(_tiny(), start + 1)])
            )
        (folder / layout.seconds("ingest")).write_text("".join(json.dumps(second) + "\n" for second in seconds))
        self._samples(folder, start, steal_share, jit_cores)
        total = round(rate * 5)
        fates = Fates(unit="records", sent=total, acked=total, seen=total - lost, lost=lost, duplicated=0, corrupted=0, out_of_order=0,
                      unacked_present=0, in_flight=0)  # fmt: skip
        outcome = Outcome(counts=Counts(started=total, completed=total, bytes=total * 100, cap_hits=cap_hits), started_wall_s=start,
                          ended_wall_s=start + 5, overflows=overflows)  # fmt: skip
        load = Load(workload="ingest", kind="kafka-produce", client="native", offered=offered, in_flight=None if offered else 4000,
                    outcome=outcome, fates=fates)  # fmt: skip
        trial = Trial(number=self.number, slug=slug, purpose=purpose, tenancy="isolated", warm_up_s=1.0, window_s=4.0, prepared_wall_s=start - 0.5,
                      ended_wall_s=start + 6, status="done", search=search, loads=[load])  # fmt: skip
        self.folder.write_trial(trial)
        self.clock_s += 7
        return trial

    def measured(self, trial: Trial) -> Measured:
        """The trial as analysis reads it."""
        return Measured.read(self.folder, trial, "ingest")

    def search(self) -> None:
        """A whole isolated test."""
        saturated = self.trial("saturated", None)
        search = LimitSearch(self.measured(saturated).achieved * 1.5, self.experiment.search.precision)
        # The summary replays from the saturated trial's own rate, so take that one.
        search = LimitSearch(self.measured(saturated).achieved, self.experiment.search.precision)
        while (rate := search.propose()) is not None:
            stage = search.stage
            trial = self.trial("search" if stage == "main" else "repeat", rate, search=stage)
            search.tell(judge(self.measured(trial), self.experiment.objective("ingest")).accepted)

    def _samples(self, folder: Path, start: float, steal_share: float, jit_cores: float) -> None:
        buffer = SampleBuffer()
        for second in range(7):
            us = round((start - START_S + second) * 1e6)
            host = host_counters(start - START_S + second, cpu_steal_us=round(us * 2 * steal_share))
            service = {"cpu_user_us": us // 2, "cpu_system_us": us // 4, "memory_bytes": 1 << 30, "threads": 50, "processes": 1,
                       "exporter_cpu_us": us // 500, "jit_cpu_us": round(us * jit_cores), "disk_write_bytes": us}  # fmt: skip
            buffer.add("here", {"wall_s": start - 1 + second, "host": host, "services": {"kafka-0": service}, "gauges": {"kafka-0": {"kafka_idle": 0.5}},
                                "gauge_errors": {}, "speed_ns": [300_000, 310_000], "sampler_cpu_us": us // 200})  # fmt: skip
        buffer.flush(folder)


def _tiny() -> HdrHistogram:
    histogram = empty()
    histogram.record_value(100, 1000)
    return histogram


def _log_line(histogram: HdrHistogram, start: float) -> str:
    return f"{start:.3f},1.000,{histogram.get_max_value() / 1e6:.3f},{histogram.encode().decode()}\n"
