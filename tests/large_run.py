"""A run of a day on twenty hosts, as its folder would be: the trials of `SyntheticRun`, each with an hour of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hydrotest.store import layout
from hydrotest.store.records import Trial
from tests.synthetic import EXPERIMENT, SyntheticRun, host_counters

HOSTS = [f"host{number:02}" for number in range(1, 21)]
HOURS = 24
TRIAL_S = 3600.0
SAMPLE_S = 10.0
Readings = np.ndarray[Any, np.dtype[np.int64]]
_LEVELS = {"memory_available_bytes", "memory_total_bytes", "cpu_count", "swap_used_bytes"}
"""What is a level rather than a counter."""
_CORE_S = 5e4
"""Microseconds of each kind of CPU time that a host uses in a second, at most twice as many."""


class LargeRun(SyntheticRun):
    """As many trials as fit into a day, with samples of every host and of a broker on each."""

    def __init__(self, path: Path) -> None:
        text = EXPERIMENT.replace("  here: {connect: local}\n", "".join(f"  {host}: {{connect: netns, cores: 1}}\n" for host in HOSTS))
        super().__init__(path, text=text.replace("[here]", f"[{', '.join(HOSTS)}]"))
        environment = self.folder.read_json(layout.ENVIRONMENT)
        (one,) = environment["hosts"]
        environment["hosts"] = [{**one, "name": host, "connect": "netns"} for host in HOSTS]
        environment["systems"][0]["hosts"] = HOSTS
        self.folder.write_json(layout.ENVIRONMENT, environment)
        self._random = np.random.default_rng(24)
        begun = self.clock_s
        self.search()
        while self.clock_s - begun < HOURS * 3600:
            self.trial("search", float(self._random.uniform(0.5, 1.2) * self.limit))

    def trial(self, purpose: str, offered: float | None, **how: Any) -> Trial:
        """Its measured window is short; it was prepared and cleaned up for the rest of an hour."""
        made = super().trial(purpose, offered, **how)
        trial = made.model_copy(update={"ended_wall_s": made.prepared_wall_s + TRIAL_S - 2})
        self.folder.write_trial(trial)
        self._sample(self.folder.folder_of(trial), trial.prepared_wall_s)
        self.clock_s = trial.prepared_wall_s + TRIAL_S
        return trial

    def _sample(self, folder: Path, start: float) -> None:
        times = start + np.arange(0, TRIAL_S - 2, SAMPLE_S)
        count = len(times)
        hosts, services = [], []
        for number, host in enumerate(HOSTS):
            key: dict[str, Any] = {"host": [host] * count, "wall_s": times}
            counters = {name: self._readings(name, value, count) for name, value in host_counters(1.0).items()}
            speed = self._random.integers(290_000, 320_000, (count, 2)).tolist()
            hosts.append(pl.DataFrame({**key, **counters, "sampler_cpu_us": self._counter(5e3, count), "speed_ns": speed}))
            own = {name: self._counter(_CORE_S, count) for name in ("cpu_user_us", "cpu_system_us", "disk_write_bytes")}
            own |= {name: self._counter(500, count) for name in ("exporter_cpu_us", "jit_cpu_us")}
            own |= {"memory_bytes": self._random.integers(1 << 29, 1 << 30, count), "threads": np.full(count, 50)}
            services.append(pl.DataFrame({**key, "service": [f"kafka-{number}"] * count, **own}))
        pl.concat(hosts).write_parquet(folder / layout.HOST_SAMPLES)
        pl.concat(services).write_parquet(folder / layout.SERVICE_SAMPLES)

    def _readings(self, name: str, value: int, count: int) -> Readings:
        if name in _LEVELS:
            return self._random.integers(value // 2, value + 1, count)
        return self._counter(_CORE_S if name.startswith("cpu_") else 2e6, count)

    def _counter(self, per_s: float, count: int) -> Readings:
        return np.cumsum(self._random.integers(0, int(2 * per_s * SAMPLE_S), count))
