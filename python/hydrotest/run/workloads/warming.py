"""Is a system warm? What an operation takes, from stretch to stretch of the same load."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.analysis.limits.verdict import COMPILING_MAX
from hydrotest.analysis.statistics.steady import is_settled
from hydrotest.store.sample_buffer import SampleBuffer

COST_GAIN_MIN, TIME_GAIN_MIN, P99_GAIN_MIN = 0.08, 0.08, 0.3
"""Falls of the CPU per operation, the time per operation and the p99 that are clear gains. Seen on two cores, between warm chunks of
the same load: 5 to 10 %, and up to 1.4 times for the p99."""


class Stretches:
    """Stretches of one level of load, with what an operation took of the services of a system in each."""

    def __init__(self, buffer: SampleBuffer, services: tuple[str, ...], time_gain_min: float = TIME_GAIN_MIN) -> None:
        """`services`: how their names begin."""
        self.costs_us: list[float] = []
        """CPU of the services for each operation, in microseconds."""
        self.times: list[float] = []
        """Of each operation, or a percentile of its latency, in any unit."""
        self._buffer, self._services, self._time_gain_min = buffer, services, time_gain_min
        self._before = (0, 0)
        self._compiling = 0.0

    def begin(self) -> None:
        """A stretch begins."""
        self._before = self._used()

    def end(self, seconds: float, operations: int, time_each: float) -> None:
        """It ends. Where nothing was completed, it says nothing but whether code was compiled."""
        cpu_us, jit_us = (now - before for now, before in zip(self._used(), self._before, strict=True))
        self._compiling = jit_us / 1e6 / seconds
        if operations:
            self.costs_us.append(cpu_us / operations)
            self.times.append(time_each)

    @property
    def are_settled(self) -> bool:
        """Whether neither the time nor the CPU of an operation still falls, and no code is compiled."""
        still = is_settled(self.costs_us, COST_GAIN_MIN) and is_settled(self.times, self._time_gain_min)
        return still and self._compiling <= COMPILING_MAX

    def _used(self) -> tuple[int, int]:
        """CPU of the services, and of their compilers, in microseconds."""

        def total(counters: Mapping[str, int]) -> int:
            return sum(value for name, value in counters.items() if name.startswith(self._services))

        return total(self._buffer.service_cpu_us), total(self._buffer.service_jit_us)
