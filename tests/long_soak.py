"""A soak of hours on many hosts, as its folder would be: what is read each second of every host, service, gauge and generator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hydrotest.spec.load import load_experiment
from hydrotest.store import layout
from hydrotest.store.folder import STARTED, RunFolder
from hydrotest.store.histograms import HEADER, empty
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Counts, Load, Outcome, Trial
from hydrotest.store.sample_buffer import ROW_GROUP
from tests.synthetic import START_S, host_counters

HOUR_S = 3600
WARM_UP_S = 10.0
RATES = {"ingest": 100_000, "drain": 100_000, "store": 3_000}
OPS: dict[str, list[str | None]] = {"ingest": [None], "drain": [None], "store": [None, "read", "write"]}
GAUGES = [
    *(f"kafka_log_segments{{topic=\"ingest\",partition=\"{number}\"}}" for number in range(6)),
    *(f'kafka_requests_total{{request="{request}"}}' for request in ("Produce", "FetchConsumer", "FetchFollower")),
    *(f'jvm_gc_collection_seconds_{what}{{gc="{gc}"}}' for what in ("sum", "count") for gc in ("G1 Young Generation", "G1 Old Generation")),
    "kafka_broker_request_handler_idle_ns_total", "kafka_under_replicated_partitions", "kafka_log_flushes_total", "kafka_log_flush_mean_ms",
    "kafka_MessagesIn_total", "kafka_BytesIn_total", "jvm_threads_current",
]  # fmt: skip
GAUGE_EVERY = 2
"""Readings of a host for one of its gauges."""
_LEVELS = {"memory_available_bytes", "memory_total_bytes", "cpu_count", "swap_used_bytes"}


def make_long_soak(path: Path, hosts: int, hours: float) -> RunFolder:
    """Writes the folder of a run with one soak of so many hours, on so many hosts with a broker and a node each."""
    names = [f"host{number:03}" for number in range(1, hosts + 1)]
    text = _experiment(names, hours)
    source = path / "source.yaml"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    load_experiment(source)
    run = RunFolder(path / "run")
    run.create(text.encode())
    run.journal(STARTED, format=layout.FORMAT)
    run.write_json(layout.ENVIRONMENT, {
        "hosts": [{"name": name, "connect": "ssh", "cores": 8, "memory_bytes": 8 << 30,
                   "ceilings": {"cpu_cores": 8.0, "disk_write_bytes_per_s": 1e9, "disk_read_bytes_per_s": 1e9, "network_bytes_per_s": 1e9}} for name in names],
        "systems": [{"name": system, "version": "5.0", "hosts": names} for system in ("kafka", "cassandra")],
    })  # fmt: skip
    seconds = round(hours * HOUR_S)
    folder = run.trial_path(1, "soak")
    rng = np.random.default_rng(30)
    _samples(folder, names, seconds, rng)
    loads = [_load(folder, workload, rate, seconds, rng) for workload, rate in RATES.items()]
    run.write_trial(Trial(number=1, slug="soak", purpose=Purpose.SOAK, tenancy="combined", warm_up_s=WARM_UP_S, window_s=seconds - WARM_UP_S,
                          prepared_wall_s=START_S - 2, ended_wall_s=START_S + seconds + 1, status="done", loads=loads))  # fmt: skip
    run.journal("run ended", status="complete", error=None)
    run.unlock()
    return run


def _experiment(names: list[str], hours: float) -> str:
    hosts = "".join(f"  {name}: {{connect: ssh, to: {name}, address: 10.9.{n // 250}.{n % 250 + 1}}}\n" for n, name in enumerate(names))
    listed = ", ".join(names)
    return f"""\
name: long-soak
hosts:
{hosts}systems:
  kafka: {{hosts: [{listed}]}}
  cassandra: {{hosts: [{listed}]}}
workloads:
  ingest: {{kind: kafka-produce, partitions: 6, replication: 1}}
  drain: {{kind: kafka-consume, reads: ingest}}
  store: {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, 100K)"}}
objectives:
  ingest: {{p99: 100 ms}}
  store: {{p99: 100 ms}}
tests:
  - soak: {{workloads: [ingest, drain, store], rates: {{ingest: {RATES["ingest"]}, store: {RATES["store"]}}}, duration: {round(hours * 60)} min}}
"""


def _samples(folder: Path, names: list[str], seconds: int, rng: np.random.Generator) -> None:
    """In the order in which a run writes them."""
    times = START_S + np.arange(seconds, dtype=float)
    services = [f"{kind}-{number}" for number in range(len(names)) for kind in ("cassandra", "kafka")]
    _write(folder / layout.HOST_SAMPLES, (_host(host, times, rng) for host in names))
    _write(folder / layout.SERVICE_SAMPLES, (_service(names[at // 2], service, times, rng) for at, service in enumerate(services)))
    brokers = [(host, f"kafka-{number}") for number, host in enumerate(names)]
    _write(
        folder / layout.GAUGE_SAMPLES,
        (_gauge(gauge, host, broker, times[::GAUGE_EVERY], rng) for gauge in sorted(GAUGES) for host, broker in brokers),
    )


def _write(path: Path, tables: Iterator[pl.DataFrame]) -> None:
    parts = []
    for number, table in enumerate(tables):
        parts.append(path.with_name(f"{path.name}.{number}"))
        table.write_parquet(parts[-1])
    pl.scan_parquet(parts).sink_parquet(path, row_group_size=ROW_GROUP)
    for part in parts:
        part.unlink()


def _counter(per_s: float, count: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.cumsum(rng.integers(0, int(2 * per_s), count))


def _host(host: str, times: Any, rng: np.random.Generator) -> pl.DataFrame:
    count = len(times)
    columns: dict[str, Any] = {"host": [host] * count, "wall_s": times}
    for name, value in host_counters(1.0).items():
        columns[name] = (rng.integers(value // 2, value + 1, count) if name in _LEVELS
                         else _counter(5e5 if name.startswith("cpu_") else 2e6, count, rng))  # fmt: skip
    speed = rng.integers(290_000, 320_000, (count, 2)).tolist() if host == "host001" else [[]] * count
    columns |= {"sampler_cpu_us": _counter(5e3, count, rng), "speed_ns": speed}
    return pl.DataFrame(columns, schema_overrides={"speed_ns": pl.List(pl.Int64)})


def _service(host: str, service: str, times: Any, rng: np.random.Generator) -> pl.DataFrame:
    count = len(times)
    own = {name: _counter(3e5, count, rng) for name in ("cpu_user_us", "cpu_system_us", "disk_write_bytes")}
    own |= {name: _counter(500, count, rng) for name in ("exporter_cpu_us", "jit_cpu_us")}
    levels = {"memory_bytes": rng.integers(1 << 29, 1 << 30, count), "threads": np.full(count, 50), "processes": np.ones(count, dtype=int)}
    return pl.DataFrame({"host": [host] * count, "wall_s": times, "service": [service] * count, **own, **levels})


def _gauge(gauge: str, host: str, service: str, times: Any, rng: np.random.Generator) -> pl.DataFrame:
    count = len(times)
    values = _counter(100, count, rng).astype(float) if "total" in gauge or "seconds" in gauge else rng.integers(0, 9, count) * 1.0
    key = {"host": [host] * count, "wall_s": times, "service": [service] * count, "gauge": [gauge] * count}
    return pl.DataFrame({**key, "value": values})


def _load(folder: Path, workload: str, rate: int, seconds: int, rng: np.random.Generator) -> Load:
    latencies = [_encoded(rng, rate) for _ in range(20)]
    for which in layout.HISTOGRAMS:
        with (folder / layout.histogram(workload, which)).open("w") as log:
            log.write(HEADER)
            for second in range(seconds):
                for op in OPS[workload]:
                    most, text = latencies[(second * 7 + len(op or "")) % len(latencies)]
                    log.write(f"{f'Tag={op},' if op else ''}{START_S + second:.3f},1.000,{most / 1e6:.3f},{text}\n")
    with (folder / layout.seconds(workload)).open("w") as file:
        for line in _seconds(rate, seconds):
            file.write(line)
    total = rate * seconds
    counts = Counts(started=total, completed=total, bytes=total * 100)
    return Load(workload=workload, kind={"ingest": "kafka-produce", "drain": "kafka-consume", "store": "cassandra"}[workload], client="native",
                offered=float(rate), outcome=Outcome(counts=counts, started_wall_s=START_S, ended_wall_s=START_S + seconds), hosts=["host001"])  # fmt: skip


def _encoded(rng: np.random.Generator, rate: int) -> tuple[int, str]:
    histogram = empty()
    for value in rng.lognormal(7.0, 0.8, min(rate, 2_000)):
        histogram.record_value(max(1, round(float(value))))
    return histogram.get_max_value(), histogram.encode().decode()


def _seconds(rate: int, seconds: int) -> Iterator[str]:
    for second in range(seconds):
        done = rate * (second + 1)
        yield json.dumps({
            "wall_s": START_S + second + 1, "counts": {"started": done, "completed": done, "failed": 0, "bytes": done * 100, "skipped": 0, "cap_hits": 0},
            "in_flight": [rate // 500] * 10, "completed": [rate * second + rate * tenth // 10 for tenth in range(1, 11)], "failed": [0] * 10,
            "at_s": [second + tenth / 10 for tenth in range(1, 11)], "p99_ms": 2.1,
            "threads": [{"name": f"load-{n}/2", "cpu_ns": (second + 1) * 10**8, "run_delay_ns": (second + 1) * 10**6} for n in range(2)],
        }) + "\n"  # fmt: skip
