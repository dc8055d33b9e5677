"""Limits inside the systems, by their gauges."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hydrotest.analysis.bottleneck.gauges import Gauged, gauged
from hydrotest.analysis.bottleneck.suspicion import bound_by
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.spark.bounds import COLLECTING, SCHEDULING, SLOTS, SPILLING
from hydrotest.kinds.internal import Internal
from hydrotest.kinds.registry import internal_limits
from hydrotest.store import layout
from hydrotest.units import show_figure
from hydrotest.verdicts.binding import Cleared
from hydrotest.verdicts.causes import FullInside
from tests.synthetic import SyntheticRun

HANDLERS = "kafka_broker_request_handler_idle_ns_total"
READS = 'cassandra_pending_tasks{pool="ReadStage"}'
GC = 'jvm_gc_collection_seconds_sum{gc="G1 %s Generation"}'


def of(tmp_path: Path, readings: dict[str, list[float]]) -> list[Gauged]:
    """What gauges of kafka-0 that were read every two seconds show, from the third reading on."""
    made = SyntheticRun(tmp_path)
    trial = made.trial("saturated", None)
    rows = [{"host": "here", "wall_s": 100.0 + 2 * at, "service": "kafka-0", "gauge": gauge, "value": value}
            for gauge, values in readings.items() for at, value in enumerate(values)]  # fmt: skip
    pl.DataFrame(rows).write_parquet(made.folder.folder_of(trial) / layout.GAUGE_SAMPLES)
    return gauged(made.folder, [(trial, 104.0, 1000.0)])


def test_a_counter_is_read_by_its_growth_and_a_gauge_by_its_mean(tmp_path: Path) -> None:
    found = of(tmp_path, {HANDLERS: [0, 2e9, 4e9, 4.1e9, 4.2e9], READS: [0, 0, 10, 20, 30]})
    by_gauge = {one.limit.gauge: one for one in found}
    assert by_gauge[HANDLERS].value == pytest.approx(0.05)
    assert by_gauge[HANDLERS].is_full
    assert by_gauge[READS].value == pytest.approx(20)
    assert by_gauge[READS].is_full


def test_collectors_of_one_machine_add_up(tmp_path: Path) -> None:
    (found,) = of(tmp_path, {GC % "Young": [0, 0, 0, 0.2, 0.4], GC % "Old": [0, 0, 0, 0.1, 0.2]})
    assert found.value == pytest.approx(0.15)
    assert found.is_full


def test_threads_of_a_pool_are_told_by_their_mean(tmp_path: Path) -> None:
    """One of two waits for its sockets all the time, the other hardly at all: there is headroom."""
    wait = 'kafka_network_processor_wait_ns_total{listener="PLAINTEXT",thread="%d"}'
    (found,) = of(tmp_path, {wait % 0: [0, 0, 0, 2e9, 4e9], wait % 1: [0, 0, 0, 0, 0]})
    assert found.value == pytest.approx(0.5)
    assert not found.is_full


def test_the_time_of_all_flushes_is_their_number_times_their_mean(tmp_path: Path) -> None:
    (found,) = of(tmp_path, {"kafka_log_flushes_total": [0, 0, 100, 200, 300], "kafka_log_flush_mean_ms": [0, 0, 20, 20, 20]})
    assert found.limit.setting == "log.flush.interval.messages"
    assert found.value == pytest.approx(1.0)
    assert found.is_full


def test_an_internal_limit_is_named_where_no_resource_is_near_its_ceiling(tmp_path: Path) -> None:
    full = of(tmp_path, {HANDLERS: [0, 2e9, 4e9, 4.1e9, 4.2e9]})
    free = Use("cpu", "here", 0.5, 2.0, "cores")
    bound = bound_by([free], [], "latency", full)
    assert (bound.kind, bound.host, bound.confirmed) == ("system", "here", False)
    (inside,) = bound.because
    assert isinstance(inside, FullInside)
    assert [line.setting for line in inside.limits] == ["num.io.threads"]
    # A starved broker's handlers are busy waiting for the CPU: then it is the CPU.
    assert bound_by([Use("cpu", "here", 1.95, 2.0, "cores")], [], "latency", full).kind == "resource"


def test_gauges_that_show_nothing_rule_out_what_they_show(tmp_path: Path) -> None:
    idle = of(tmp_path, {HANDLERS: [0, 2e9, 4e9, 6e9, 8e9]})
    bound = bound_by([Use("cpu", "here", 0.5, 2.0, "cores")], [], "latency", idle)
    assert bound.kind == "unknown"
    assert [entry.gauges for entry in bound.ruled_out if entry.because == Cleared.NO_GAUGE_FULL] == [1]


@pytest.mark.parametrize("limit", [*internal_limits(), SLOTS, COLLECTING, SCHEDULING, SPILLING], ids=lambda limit: limit.what)
def test_each_limit_stands_in_the_page_of_gauges(limit: Internal) -> None:
    row = f"| {limit.what} | {limit.full} {show_figure(limit.threshold, limit.unit)} | [`{limit.setting}`]({limit.source}) |"
    assert row in Path("docs/reference/gauges.md").read_text()
