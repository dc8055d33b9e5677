"""Intervals, integrity, steadiness, what binds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.bottleneck.evidence import throttled, waited
from hydrotest.analysis.bottleneck.gauges import Gauged
from hydrotest.analysis.bottleneck.suspicion import bound_by
from hydrotest.analysis.bottleneck.use import NEAR_CEILING, OUT, Use, resource_uses
from hydrotest.analysis.by_test.levels import littles_in_flight
from hydrotest.analysis.integrity.ranges import common, kafka_fates, normalised, overlap, rows_fates, size, without
from hydrotest.analysis.statistics.intervals import interval_with, pooled_deviation, slope_of, t_interval
from hydrotest.analysis.statistics.steady import is_settled
from hydrotest.analysis.summary import summarise_run
from hydrotest.kinds.registry import internal_limits
from hydrotest.store import layout
from hydrotest.summary.base import finite
from hydrotest.units import show_share
from hydrotest.verdicts.binding import Cleared, Kind, Suspect
from hydrotest.verdicts.causes import MachineFull, NearCeiling, Provable
from hydrotest.verdicts.figures import EMULATING_MACHINE
from hydrotest.verdicts.trial import Lack, Lacking
from tests.synthetic import SyntheticRun

RUNS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=12)


def numbers(runs: list[tuple[int, int]]) -> set[int]:
    return {value for start, end in runs for value in range(start, end)}


@given(RUNS, RUNS)
def test_runs_behave_as_sets(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    left, right = normalised(a), normalised(b)
    assert numbers(left) == numbers(a)
    assert size(left) == len(numbers(a))
    assert overlap(left, right) == len(numbers(a) & numbers(b))
    assert numbers(common(left, right)) == numbers(a) & numbers(b)
    assert numbers(without(left, right)) == numbers(a) - numbers(b)


@given(st.sets(st.integers(0, 80)), st.sets(st.integers(0, 80)), st.integers(0, 5))
def test_every_planted_loss_is_found_and_nothing_else(lost: set[int], never_acked: set[int], doubled: int) -> None:
    sent = set(range(81))
    acked = sent - never_acked
    seen = sent - lost
    produced = {"acked": [{"producer": 1, "partition": 0, "sent": 81, "runs": [(v, v + 1) for v in sorted(acked)]}]}
    consumed = {"seen": [{"producer": 1, "partition": 0, "runs": [(v, v + 1) for v in sorted(seen)], "duplicated": doubled, "out_of_order": 0}],
                "corrupted": 0, "stopped": []}  # fmt: skip
    fates = kafka_fates(produced, consumed)
    assert fates.lost == len(acked & lost)
    assert fates.unacked_present == len(never_acked - lost)
    assert (fates.sent, fates.acked, fates.seen, fates.duplicated) == (81, len(acked), len(seen), doubled)


def acked_in(partition: int, runs: list[tuple[int, int]], places: list[tuple[int, int, int]]) -> dict[str, Any]:
    return {"producer": 1, "partition": partition, "sent": 10, "runs": runs, "places": places}


def read_of(seen: dict[int, list[tuple[int, int]]], stopped: dict[int, tuple[int, int]]) -> dict[str, Any]:
    """What a reader saw of each partition, and of those that it did not read to their end up to which offset of how many it came."""
    return {
        "seen": [{"producer": 1, "partition": p, "runs": runs, "duplicated": 0, "out_of_order": 0} for p, runs in seen.items()],
        "corrupted": 0,
        "stopped": [{"partition": p, "read_to": read_to, "end": end} for p, (read_to, end) in stopped.items()],
    }


def test_records_not_read_to_the_end_are_in_flight_not_lost() -> None:
    produced = {"acked": [acked_in(0, [(0, 10)], [(0, 10, 0)])]}
    fates = kafka_fates(produced, read_of({0: [(0, 6)]}, {0: (6, 10)}))
    assert (fates.lost, fates.in_flight) == (0, 4)


def test_a_reader_that_stopped_early_in_one_partition_hides_no_loss_in_another() -> None:
    produced = {"acked": [acked_in(0, [(0, 10)], [(0, 10, 0)]), acked_in(1, [(0, 10)], [(0, 10, 0)])]}
    fates = kafka_fates(produced, read_of({0: [(0, 6)], 1: [(0, 7)]}, {0: (6, 10)}))
    assert (fates.lost, fates.in_flight) == (3, 4)


def test_offsets_that_hold_no_acknowledged_record_hide_no_loss() -> None:
    # Records 6 and 7 were at offsets 6 and 7, which were passed; 8 and 9 lie behind, among 100 offsets of others.
    produced = {"acked": [acked_in(0, [(0, 10)], [(0, 8, 0), (8, 10, 50)])]}
    fates = kafka_fates(produced, read_of({0: [(0, 6)]}, {0: (8, 108)}))
    assert (fates.lost, fates.in_flight) == (2, 2)


def test_what_was_acknowledged_behind_the_end_of_the_log_is_lost() -> None:
    produced = {"acked": [acked_in(0, [(0, 10)], [(0, 10, 0)])]}
    fates = kafka_fates(produced, read_of({0: [(0, 4)]}, {0: (4, 7)}))
    assert (fates.lost, fates.in_flight) == (3, 3)


def test_what_nobody_knows_is_neither_lost_nor_in_flight() -> None:
    # Of the first eight no offset was kept; those before the last one seen were passed.
    produced = {"acked": [acked_in(0, [(0, 10)], [(8, 10, 40)])]}
    fates = kafka_fates(produced, read_of({0: [(0, 3), (4, 6)]}, {0: (6, 100)}))
    assert (fates.lost, fates.in_flight) == (1, None)
    fates = kafka_fates(produced, read_of({0: [(0, 6)]}, {0: (6, 100)}))
    assert (fates.lost, fates.in_flight) == (None, None)
    # A later record that was passed shows that the earlier ones were passed too.
    fates = kafka_fates(produced, read_of({0: [(0, 6)]}, {0: (41, 100)}))
    assert (fates.lost, fates.in_flight) == (3, 1)


def test_the_same_sequence_in_another_partition_is_no_substitute() -> None:
    produced = {"acked": [{"producer": 1, "partition": 0, "sent": 5, "runs": [(0, 5)]}]}
    consumed = {
        "seen": [{"producer": 1, "partition": 1, "runs": [(0, 5)], "duplicated": 0, "out_of_order": 0}],
        "corrupted": 0,
        "stopped": [],
    }
    assert kafka_fates(produced, consumed).lost == 5


def test_rows_missing_and_corrupted() -> None:
    fates = rows_fates([(0, 100)], [(0, 90)], {"runs": [(0, 50), (51, 95)], "corrupted": 0, "corrupted_runs": [], "duplicated": 0})
    assert (fates.lost, fates.unacked_present) == (1, 5)
    fates = rows_fates([(0, 100)], [(0, 100)], {"runs": [(0, 99)], "corrupted": 1, "corrupted_runs": [(99, 100)], "duplicated": 0})
    assert (fates.lost, fates.corrupted) == (0, 1)


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_a_corrupted_row_stands_for_no_lost_one(never_acked: set[int], lost: set[int], corrupted: set[int]) -> None:
    """Also where it was never acknowledged itself."""
    attempted, acked = set(range(61)), set(range(61)) - never_acked
    corrupted = corrupted - lost
    scanned = {
        "runs": [(n, n + 1) for n in attempted - lost - corrupted],
        "corrupted": len(corrupted),
        "corrupted_runs": [(n, n + 1) for n in corrupted],
        "duplicated": 0,
    }
    fates = rows_fates([(0, 61)], normalised([(n, n + 1) for n in acked]), scanned)
    assert (fates.lost, fates.corrupted) == (len(lost & acked), len(corrupted))


def test_t_interval_known_value() -> None:
    mean = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean.value, mean.n) == (3.0, 5)
    assert mean.high - mean.value == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)
    assert t_interval([1.0]).high == math.inf


def test_warm_up_goes_on_while_cost_falls() -> None:
    assert not is_settled([3.6, 2.0], 0.05)
    assert not is_settled([3.6, 2.0, 1.0, 0.6, 0.42], 0.05)
    assert is_settled([3.6, 1.0, 0.42, 0.43, 0.41], 0.05)
    assert not is_settled([1.0, 0.5, 0.9, 0.4], 0.05)


def test_what_binds() -> None:
    hot = Use("cpu", "a", 1.95, 2.0, "cores")
    cold = Use("disk", "a", 1e6, 1e9, "bytes/s")
    named = bound_by([hot, cold], [], "latency")
    assert (named.kind, named.resource, named.host, named.confirmed) == ("resource", "cpu", "a", False)
    assert [(out.hosts, out.resource) for out in named.ruled_out if out.because == Cleared.LITTLE_USED] == [(("a",), "disk")]
    assert bound_by([hot], [Lack(Lacking.THREAD, 0.95, 0.8)], "generator").kind == "generator"
    assert bound_by([cold], [], "latency").kind == "unknown"
    assert bound_by([hot, Use("disk", "a", 9e8, 1e9, "bytes/s")], [], "latency").kind == "undecided"


def test_a_machine_that_is_full_binds_before_its_emulated_hosts() -> None:
    hosts = [Use("cpu", "a", 0.48, 0.5, "cores"), Use("cpu", "b", 0.9, 1.0, "cores")]
    bound = bound_by([*hosts, Use("cpu", EMULATING_MACHINE, 1.9, 2.0, "cores")], [], "latency")
    assert (bound.kind, bound.host, bound.resource) == ("resource", None, "cpu")
    assert isinstance(bound.because[0], MachineFull)
    assert bound_by([*hosts, Use("cpu", EMULATING_MACHINE, 1.4, 2.0, "cores")], [], "latency").kind == "undecided"


def test_a_quota_that_holds_back_binds_though_it_is_not_used_up() -> None:
    held_back = Use("cpu", "a", 0.16, 0.2, "cores", throttled=0.95)
    named = bound_by([held_back, Use("cpu", "b", 0.16, 0.2, "cores", throttled=0.1)], [], "latency")
    assert (named.kind, named.resource, named.host) == ("resource", "cpu", "a")
    assert named.because == (NearCeiling((held_back.usage,)),)
    assert held_back.usage.throttled == 0.95
    assert throttled(named.evidence, "a") == 0.95
    # Little of it used on average, and held back all the same: that does not rule it out.
    assert [out.of for out in bound_by([Use("cpu", "a", 0.05, 0.2, "cores", throttled=0.6)], [], "x").ruled_out] == [Suspect.GENERATOR]


def test_what_nothing_waited_for_is_no_suspect() -> None:
    def cpu(waited: float, run_delay: float) -> Use:
        rates = pl.DataFrame({"cpu_cores": [1.9], "disk_write_bytes_per_s": [0.0], "disk_read_bytes_per_s": [0.0], "network_out_bytes_per_s": [9.0],
                              "network_in_bytes_per_s": [1.0], "memory_bytes": [1], "pressure_cpu_some": [waited], "run_delay": [run_delay]})  # fmt: skip
        found, _, link, _ = resource_uses("a", rates, {"cpu_cores": 2.0})
        assert (link.used, link.unit) == (9.0, OUT)
        return found

    named = bound_by([cpu(0.6, 0.0)], [], "latency")
    assert [(wait.sign, wait.value, wait.is_shown) for wait in cpu(0.6, 0.0).usage.waits] == [("pressure_cpu_some", 0.6, True)]
    assert [line.value for line in waited(named.evidence, "cpu", "a")] == [0.6]
    idle = bound_by([cpu(0.01, 0.1)], [], "latency")
    assert (idle.kind, [entry.hosts for entry in idle.ruled_out if entry.because == Cleared.NOT_WAITED_FOR]) == ("unknown", [("a",)])
    assert bound_by([cpu(0.01, 3.0)], [], "latency").kind == "resource"


def test_just_below_a_threshold_is_named_with_how_far_it_was() -> None:
    """84.8 % of a quota, where 85 % make a suspect, is no other answer than 85.1 %: only a weaker one."""
    broker = Use("cpu", "kafka", 0.2968, 0.35, "cores", throttled=0.1)
    disk = Use("disk", "kafka", 7e8, 1e9, "bytes/s written")
    link = Use("network", "kafka", 5e8, 1e9, "bytes/s out")  # ruled out
    bound = bound_by([link, disk, broker], [], "latency")
    assert bound.kind == "unknown"
    nearest, further = bound.nearest
    assert (nearest.host, nearest.resource, nearest.threshold) == ("kafka", "cpu", NEAR_CEILING)
    assert nearest.value == pytest.approx(0.848)
    assert nearest.nearness == pytest.approx(0.848 / NEAR_CEILING)
    assert further.resource == "disk"
    assert further.nearness == pytest.approx(0.7 / NEAR_CEILING)
    # A threshold is shown as what it was missed by, not rounded up to it.
    assert show_share(nearest.value, NEAR_CEILING) == "84.8%"
    assert bound_by([replace(broker, used=0.2979)], [], "latency").nearest == ()
    # Where all is ruled out, the one that was used most is named as that.
    (fullest,) = bound_by([link, replace(disk, used=1e8)], [], "latency").nearest
    assert (fullest.resource, fullest.ruled_out) == ("network", True)


def test_an_internal_limit_that_is_nearly_full_is_named_too() -> None:
    handlers = next(limit for limit in internal_limits() if limit.setting == "num.io.threads")
    bound = bound_by([Use("cpu", "a", 0.2, 2.0, "cores")], [], "latency", [Gauged(handlers, "a", "kafka-0", 0.31)])
    (nearest,) = bound.nearest
    assert (nearest.limit, nearest.resource) == (handlers.what, None)
    assert nearest.nearness == pytest.approx(0.69 / 0.7)


def test_what_would_prove_the_nearest_is_said(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    environment = made.folder.read_json(layout.ENVIRONMENT)
    environment["hosts"][0]["ceilings"]["cpu_cores"] = 1.3  # a core is used
    made.folder.write_json(layout.ENVIRONMENT, environment)
    (row,) = summarise_run(made.folder, made.experiment, "complete", "now").limits
    assert row.bound_by.kind == Kind.UNKNOWN
    (nearest,) = row.bound_by.nearest
    assert (nearest.host, nearest.resource) == ("here", "cpu")
    assert nearest.value == pytest.approx(1 / 1.3, rel=0.05)
    assert nearest.proof == made.experiment.provable_by("here", "cpu") == Provable(allow_at="here")


def test_littles_law_on_a_published_row() -> None:
    """26,195 op/s × 0.6 ms: the 16 threads of the client, not the ring."""
    assert littles_in_flight(26_195, 0.6) == pytest.approx(15.7, abs=0.05)


def test_json_has_no_infinity() -> None:
    assert finite({"a": [math.inf, 1.0, {"b": math.nan}]}) == {"a": [None, 1.0, {"b": None}]}


def test_a_pooled_deviation_is_that_of_one_group_and_of_all() -> None:
    assert pooled_deviation([[1.0, 2.0, 3.0]]) == pytest.approx((1.0, 2))
    # Means do not matter, single values show nothing.
    assert pooled_deviation([[1.0, 2.0, 3.0], [101.0, 102.0, 103.0], [7.0]]) == pytest.approx((1.0, 4))
    assert pooled_deviation([[1.0], []]) == (0.0, 0)


def test_an_interval_with_its_own_deviation_is_students() -> None:
    values = [1.0, 2.0, 4.0, 4.5]
    mine, theirs = interval_with(values, *pooled_deviation([values]), 0.99), t_interval(values, 0.99)
    assert (mine.value, mine.low, mine.high, mine.n) == pytest.approx((theirs.value, theirs.low, theirs.high, theirs.n))
    assert interval_with([1.0], 0.0, 0).high == math.inf


def test_the_slope_of_a_line() -> None:
    assert slope_of([1.0, 2.0, 3.0], [5.0, 7.0, 9.0]) == pytest.approx(2.0)
    assert slope_of([1.0, 1.0], [5.0, 7.0]) is None
