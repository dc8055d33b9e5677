"""What windows failed by that fail whatever the rate."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hydrotest.analysis.limits.lapses import COLLECTED_S, COLLECTIONS, COMPACTED, causes_of, lapse_causes, longest_pause_ms
from hydrotest.store import layout
from hydrotest.verdicts.limit import LapseCause
from tests.synthetic import SyntheticRun

BOUND = {"p99": 50.0}


def gauges(readings: dict[str, list[float]], start_s: float = 0.0) -> pl.DataFrame:
    """Readings of one service, one a second."""
    rows = [
        {"host": "here", "wall_s": start_s + second, "service": "cassandra-0", "gauge": gauge, "value": value}
        for gauge, values in readings.items()
        for second, value in enumerate(values)
    ]
    return pl.DataFrame(rows)


def test_the_longest_pause_is_a_mean_over_the_collections_of_a_second() -> None:
    young = {f'{COLLECTED_S}{{gc="young"}}': [1.0, 1.1, 1.1, 1.16], f'{COLLECTIONS}{{gc="young"}}': [10.0, 20.0, 20.0, 21.0]}
    old = {f'{COLLECTED_S}{{gc="old"}}': [0.0, 0.0, 0.02, 0.02], f'{COLLECTIONS}{{gc="old"}}': [0.0, 0.0, 1.0, 1.0]}
    assert longest_pause_ms(gauges(young | old)) == pytest.approx(60.0)
    assert longest_pause_ms(gauges({"other": [1.0, 2.0]})) == 0.0


def test_a_window_has_the_causes_that_its_samples_show(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    quiet, collecting = (made.trial("search", 5_000.0, latency_ms=80.0) for _ in range(2))
    compiling = made.trial("search", 5_000.0, latency_ms=80.0, jit_cores=0.4)
    stolen = made.trial("search", 5_000.0, latency_ms=80.0, steal_share=0.1)
    measured = made.measured(collecting)
    pauses = {
        f'{COLLECTED_S}{{gc="young"}}': [1.0, 1.0, 1.09, 1.09, 1.09, 1.09],
        f'{COLLECTIONS}{{gc="young"}}': [1.0, 1.0, 2.0, 2.0, 2.0, 2.0],
    }
    gauges(pauses | {COMPACTED: [0.0, 0.0, 5e6, 9e6, 9e6, 9e6]}, measured.start_s).write_parquet(measured.folder / layout.GAUGE_SAMPLES)
    assert causes_of(made.measured(quiet), BOUND) == []
    assert causes_of(made.measured(compiling), BOUND) == [LapseCause.COMPILING]
    assert causes_of(made.measured(stolen), BOUND) == [LapseCause.STOLEN]
    assert causes_of(measured, BOUND) == [LapseCause.COLLECTION, LapseCause.COMPACTION]
    assert causes_of(measured, {"p99": 500.0}) == [LapseCause.COMPACTION]
    failed = [(made.measured(trial), "latency") for trial in (quiet, quiet, compiling, collecting)]
    assert lapse_causes(failed, BOUND) == {"latency": 2, "compiling": 1, "collection": 1, "compaction": 1}
