"""A run folder as a run would leave it, made without any system: a simulated workload with a known limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from hydrotest.analysis.limits.decided import JUDGED, SEARCH_BEGAN, thresholds
from hydrotest.analysis.limits.search import limit_search
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import STARTED, RunFolder
from hydrotest.store.histograms import HEADER, empty
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Counts, Load, Outcome, RecordAccounting, Trial
from hydrotest.store.sample_buffer import SampleBuffer

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

REFUSED_US = 100
START_S = 1_700_000_000.0


def host_counters(seconds: float, **more: int) -> dict[str, int]:
    """A host's counters after so long, as from its sampler: three quarters of a core busy, everything
    else a million a second."""
    us = round(seconds * 1e6)
    counters = {f"cpu_{name}_us": us // 2 for name in ("user", "nice", "system", "irq", "softirq", "idle", "iowait", "steal")}
    counters |= {"cpu_nice_us": 0, "cpu_irq_us": 0, "cpu_softirq_us": 0, "cpu_steal_us": 0, "cpu_iowait_us": 0, "cpu_count": 2}
    counters |= {"memory_total_bytes": 8 << 30, "memory_available_bytes": 6 << 30, "swap_used_bytes": 0}
    counters |= dict.fromkeys(("disk_reads", "disk_writes", "disk_read_bytes", "disk_write_bytes", "disk_busy_ms", "net_out_bytes", "net_in_bytes",
                               "lo_out_bytes", "lo_in_bytes", "tcp_out_segments", "tcp_in_segments", "tcp_retransmitted_segments"), us)  # fmt: skip
    return counters | more


class SyntheticRun:
    """Writes trials of a system that sustains `limit` operations a second."""

    def __init__(self, path: Path, limit: float = 10_000.0, text: str = EXPERIMENT, base_ms: float = 2.0, cores: int = 2) -> None:
        source = path / "source.yaml"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        self.experiment: Experiment = load_experiment(source)[0]
        self.folder = RunFolder(path / "run")
        self.folder.create(text.encode())
        self.folder.journal(STARTED, format=layout.FORMAT)
        self.folder.write_json(layout.ENVIRONMENT, {
            "hosts": [{"name": "here", "connect": "local", "cores": cores, "memory_bytes": 8 << 30,
                       "ceilings": {"cpu_cores": 2.0, "disk_write_bytes_per_s": 1e9, "network_bytes_per_s": 1e10}}],
            "systems": [{"name": "kafka", "version": "4.3.1", "hosts": ["here"]}],
            "overhead": {"controller_cores": 0.005, "sampler_cores": 0.006, "exporter_cores": {"kafka-0": 0.002}},
        })  # fmt: skip
        self.limit = limit
        self.base_ms = base_ms
        self.decline_per_s = 0.0
        """Operations a second by which it takes fewer each second of a trial."""
        self.clock_s = START_S
        self.number = 0

    def trial(self, purpose: str, offered: float | None, *, search: str | None = None, lost: int = 0, cpu_share: float = 0.2,
              run_delay_share: float = 0.0, cap_hits: int = 0, overflows: int = 0, latency_ms: float | None = None,
              steal_share: float = 0.0, jit_cores: float = 0.0, wait_ms: float = 0.1, seconds: int = 5, refused: int = 0,
              stall: tuple[float, float] = (0.0, 0.0), **more: Any) -> Trial:  # fmt: skip
        """One trial, the first second cut off. Latency is `base_ms` below the limit and grows above it. During the `stall` (seconds since the start)
        nothing is completed; behind it the system works off what waits at its limit. `refused`: operations of each second that fail
        at once. `more`: fields of the trial."""
        self.number += 1
        slug = f"{purpose}-ingest"
        folder = self.folder.trial_path(self.number, slug)
        start = self.clock_s
        course = list(self._course(offered, seconds, stall))
        lines, rows = [], []
        for second in range(seconds):
            histogram = empty()
            own_ms = latency_ms or (self.base_ms if offered is None or offered <= self.limit else 400.0)
            inside = max(0.0, min(stall[1], second + 1) - max(stall[0], second))
            due = offered or self.limit
            # What is due in a stall is answered behind it.
            if answered := max(0 if refused else 1, round(due * (1 - inside)) - refused):
                histogram.record_value(round(own_ms * 1000), answered)
            if refused:
                histogram.record_value(REFUSED_US, refused)
            if inside > 0:
                histogram.record_value(round((stall[1] - max(stall[0], second)) * 1e6), max(1, round(due * inside)))
            lines.append(_log_line(histogram, start + second))
            tenths = course[second * 10 : (second + 1) * 10]
            failed = [round(refused * (second + (tenth + 1) / 10)) for tenth in range(10)]
            started, ended = tenths[-1]
            completed = ended - failed[-1]
            rows.append({
                "wall_s": start + second + 1, "counts": {"started": started, "completed": completed, "failed": failed[-1], "bytes": completed * 100,
                                                         "cap_hits": cap_hits},
                "in_flight": [a - b for a, b in tenths], "completed": [b - own for (_, b), own in zip(tenths, failed, strict=True)],
                "failed": failed,
                "at_s": [second + (tenth + 1) / 10 for tenth in range(10)], "p99_ms": own_ms,
                "threads": [{"name": "load-0/1", "cpu_ns": round((second + 1) * 1e9 * cpu_share),
                             "run_delay_ns": round((second + 1) * 1e9 * run_delay_share)}],
            })  # fmt: skip
        total_started, total = course[-1]
        for which in layout.HISTOGRAMS:
            (folder / layout.histogram("ingest", which)).write_text(
                HEADER + "".join(lines if which != "wait" else [_log_line(_waits(wait_ms), start + 1)])
            )
        (folder / layout.seconds("ingest")).write_text("".join(json.dumps(row) + "\n" for row in rows))
        self._samples(folder, start, steal_share, jit_cores, seconds)
        fates = RecordAccounting(unit="records", sent=total, acked=total, seen=total - lost, lost=lost, duplicated=0, corrupted=0, out_of_order=0,
                      unacked_present=0, in_flight=0)  # fmt: skip
        counts = Counts(
            started=total_started, completed=total - refused * seconds, failed=refused * seconds, bytes=total * 100, cap_hits=cap_hits
        )
        outcome = Outcome(counts=counts, started_wall_s=start, ended_wall_s=start + seconds, overflows=overflows,
                          errors={"MESSAGE_TOO_LARGE": refused * seconds} if refused else {})  # fmt: skip
        load = Load(workload="ingest", kind="kafka-produce", client="native", offered=offered, in_flight=None if offered else 4000,
                    outcome=outcome, fates=fates)  # fmt: skip
        trial = Trial(number=self.number, slug=slug, purpose=Purpose(purpose), warm_up_s=1.0, window_s=seconds - 1.0, prepared_wall_s=start - 0.5,
                      ended_wall_s=start + seconds + 1, status="done", search=search, loads=[load], **{"tenancy": "isolated", **more})  # fmt: skip
        self.folder.write_trial(trial)
        self.clock_s += seconds + 2
        return trial

    def _course(self, offered: float | None, seconds: int, stall: tuple[float, float]) -> Iterator[tuple[int, int]]:
        """Operations started and completed by each tenth of a second."""
        done = 0.0
        for tenth in range(1, 10 * seconds + 1):
            at = tenth / 10
            due = (self.limit if offered is None else offered) * at
            stands = stall[0] < at <= stall[1]
            done += 0.0 if stands else min(due - done, (self.limit - self.decline_per_s * at) / 10)
            yield round(due), round(done)

    def measured(self, trial: Trial) -> Measured:
        """The trial as analysis reads it."""
        return Measured.read(self.folder, trial, "ingest")

    def search(self, refused: int = 0) -> None:
        """A complete isolated test. `refused`: operations of each second of its trials that fail at once."""
        saturated = self.trial("saturated", None)
        search = limit_search(self.measured(saturated).achieved, self.experiment.search)
        self.folder.journal(SEARCH_BEGAN, test=0, name="ingest", saturated=search.saturated, thresholds=thresholds())
        while (rate := search.propose()) is not None:
            trial = self.trial("search", rate, refused=refused)
            verdict = judge(self.measured(trial), self.experiment.objective("ingest"))
            self.folder.journal(JUDGED, trial=trial.number, proposed=rate, accepted=verdict.accepted, void=None, excused=False,
                                stopped_by=verdict.stopped_by)  # fmt: skip
            search.record(verdict.accepted)

    def _samples(self, folder: Path, start: float, steal_share: float, jit_cores: float, seconds: int) -> None:
        buffer = SampleBuffer()
        for second in range(seconds + 2):
            us = round((start - START_S + second) * 1e6)
            host = host_counters(start - START_S + second, cpu_steal_us=round(us * 2 * steal_share))
            service = {"cpu_user_us": us // 2, "cpu_system_us": us // 4, "memory_bytes": 1 << 30, "threads": 50, "processes": 1,
                       "exporter_cpu_us": us // 500, "jit_cpu_us": round(us * jit_cores), "disk_write_bytes": us}  # fmt: skip
            buffer.add("here", {"wall_s": start - 1 + second, "host": host, "services": {"kafka-0": service}, "gauges": {"kafka-0": {"kafka_idle": 0.5}},
                                "gauge_errors": {}, "speed_ns": [300_000, 310_000], "sampler_cpu_us": us // 200})  # fmt: skip
        buffer.flush(folder)


def _waits(wait_ms: float) -> HdrHistogram:
    histogram = empty()
    histogram.record_value(round(wait_ms * 1000), 1000)
    return histogram


def _log_line(histogram: HdrHistogram, start: float) -> str:
    return f"{start:.3f},1.000,{histogram.get_max_value() / 1e6:.3f},{histogram.encode().decode()}\n"
