"""The stock tools' outputs, as they were printed by the real tools."""

from __future__ import annotations

import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.load.stock import parse_consumer, parse_producer, parse_stress

PRODUCED = """\
20120 records sent, 20000.0 records/sec (1.91 MB/sec), 4.2 ms avg latency, 11.0 ms max latency.
500000 records sent, 19960.079840 records/sec (1.90 MB/sec), 94.56 ms avg latency, 1419.00 ms max latency, 6 ms 50th, 755 ms 95th, 829 ms 99th, 867 ms 99.9th.
300000 steady state records sent, 19719.976336 records/sec (1.88 MB/sec), 5.02 ms avg latency, 32.00 ms max latency, 5 ms 50th, 9 ms 95th, 17 ms 99th, 27 ms 99.9th.
"""

CONSUMED = """\
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-21 04:07:56:856, 2026-11-21 04:08:00:090, 190.7678, 58.9882, 2000345, 618535.8689, 657, 2577, 74.0271, 776230.1125
"""

STRESSED = """\
Results:
Op rate                   :    2,673 op/s  [READ: 2,028 op/s, WRITE: 644 op/s]
Partition rate            :    2,673 pk/s  [READ: 2,028 pk/s, WRITE: 644 pk/s]
Latency mean              :   22.6 ms [READ: 22.4 ms, WRITE: 23.3 ms]
Latency median            :   17.1 ms [READ: 16.8 ms, WRITE: 17.7 ms]
Latency 95th percentile   :   58.4 ms [READ: 58.0 ms, WRITE: 59.5 ms]
Latency 99th percentile   :   98.8 ms [READ: 97.6 ms, WRITE: 101.9 ms]
Latency 99.9th percentile :  146.0 ms [READ: 146.7 ms, WRITE: 142.2 ms]
Latency max               :  237.6 ms [READ: 237.6 ms, WRITE: 219.8 ms]
Total partitions          :     33,615 [READ: 25,514, WRITE: 8,101]
Total errors              :          3 [READ: 0, WRITE: 3]
Total operation time      : 00:00:12
"""


def test_the_producers_steady_state_line_counts() -> None:
    result = parse_producer(PRODUCED, 9.7)
    assert result.count == 300_000
    assert result.rate_per_s == pytest.approx(19_719.98, abs=0.01)
    assert result.latency_ms is None  # it times from its own call of send
    assert result.latency_from_send_ms == {"mean": 5.02, "p50": 5, "p95": 9, "p99": 17, "p999": 27, "max": 32}
    assert result.errors is None


def test_the_consumer_has_no_latency() -> None:
    result = parse_consumer(CONSUMED, 5.1)
    assert result.count == 2_000_345
    assert result.rate_per_s == pytest.approx(776_230, rel=1e-4)
    assert result.latency_ms is None


def test_cassandra_stress_by_operation() -> None:
    result = parse_stress(STRESSED, 20.0)
    assert (result.rate_per_s, result.count, result.errors) == (2_673, 33_615, 3)
    assert result.latency_ms == {"mean": 22.6, "p50": 17.1, "p95": 58.4, "p99": 98.8, "p999": 146.0, "max": 237.6}
    assert result.by_op["write"]["rate_per_s"] == 644
    assert result.by_op["read"]["p99"] == 97.6


@pytest.mark.parametrize("parse", [parse_producer, parse_consumer, parse_stress])
def test_output_without_a_result_is_an_error_not_a_zero(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(TrialFailedError, match="printed no"):
        parse("Exception in thread main\n", 0.0)
