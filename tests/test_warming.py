"""When a system is warm: by what an operation takes, from stretch to stretch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hydrotest.run.workloads.warming import Stretches
from hydrotest.store.sample_buffer import SampleBuffer


def after(*taken: tuple[float, float], compiles_s: float = 0.0, services: tuple[str, ...] = ("spark",)) -> Stretches:
    """Stretches of 8 s and 1,000 operations, of each of which so many microseconds of CPU and so much time were taken."""
    buffer = SampleBuffer()
    found = Stretches(buffer, services)
    for cpu_us, seconds in taken:
        found.begin()
        for name, share in (("spark-worker-a", 0.7), ("spark-driver-flow", 0.3), ("kafka-a", 5.0)):
            buffer.service_cpu_us[name] = buffer.service_cpu_us.get(name, 0) + round(1000 * cpu_us * share)
        buffer.service_jit_us["spark-worker-a"] = buffer.service_jit_us.get("spark-worker-a", 0) + round(1e6 * compiles_s)
        found.end(8.0, 1000, seconds)
    return found


@pytest.mark.parametrize(
    ("taken", "settled"),
    [
        # A pipeline that keeps up with the rate takes as long from the beginning, and is cold.
        ([(900, 1.0), (600, 1.0), (420, 1.0), (330, 1.0)], False),
        ([(900, 1.0), (420, 1.0), (330, 1.0), (325, 1.0), (331, 1.0)], True),
        ([(330, 3.0), (330, 2.0), (330, 1.5)], False),
        ([(330, 1.0), (330, 1.0)], False),
        ([], False),
    ],
)
def test_a_system_is_warm_when_neither_time_nor_cpu_falls(taken: Sequence[tuple[float, float]], *, settled: bool) -> None:
    assert after(*taken).are_settled == settled


def test_what_compiles_is_cold() -> None:
    flat = [(330.0, 1.0)] * 4
    assert after(*flat).are_settled
    assert not after(*flat, compiles_s=4.0).are_settled


def test_only_its_own_services_count() -> None:
    assert after((100, 1.0)).costs_us == [pytest.approx(100)]
    # Of what is started anew for each trial there is no CPU: the time decides.
    assert after((900, 1.0), (600, 1.0), (420, 1.0), services=()).are_settled


def test_a_stretch_without_operations_says_nothing() -> None:
    found = after((330, 1.0), (330, 1.0), (330, 1.0))
    found.begin()
    found.end(8.0, 0, 0.0)
    assert found.are_settled
    assert len(found.times) == 3
