"""Resources that hosts used during a measurement."""

from __future__ import annotations

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import TENANCY, Count, Number, Row


class HostUsage(Row):
    """One host over a window, or several windows."""

    cpu_cores_mean: Number = Field(description="Cores used.")
    cpu_cores_peak: Number = Field(description="The most in one second.")
    memory_bytes_mean: Number = Field(0, description="Memory in use.")
    memory_bytes_peak: Count = Field(description="The most memory in use.")
    swap_bytes_peak: Count = Field(description="The most swap in use.")
    disk_writes_per_s_mean: Number = Field(0, description="Writes to disks.")
    network_out_bytes_per_s_mean: Number = Field(0, description="Sent, loopback included.")
    network_in_bytes_per_s_mean: Number = Field(0, description="Received, loopback included.")
    tcp_segments_out_per_s_mean: Number = Field(0, description="TCP segments sent.")
    tcp_segments_in_per_s_mean: Number = Field(0, description="TCP segments received.")
    disk_write_bytes_per_s_peak: Number = Field(description="The most written to disks in one second.")
    disk_writes_per_s_peak: Number = Field(description="The most writes in one second.")
    disk_read_bytes_per_s_peak: Number = Field(description="The most read from disks in one second.")
    network_out_bytes_per_s_peak: Number = Field(description="The most sent in one second.")
    network_in_bytes_per_s_peak: Number = Field(description="The most received in one second.")
    tcp_segments_out_per_s_peak: Number = Field(description="The most TCP segments sent in one second.")
    tcp_segments_in_per_s_peak: Number = Field(description="The most TCP segments received in one second.")

    def mean_and_peak(self, what: str) -> tuple[float, float]:
        """Mean and peak of a resource, by the common part of its fields' names."""
        return getattr(self, f"{what}_mean"), getattr(self, f"{what}_peak")


class _OfWorkload(Row):
    host: str = Field(description="The host's name.")
    workload: str | None = Field(description="The workload that was measured; null: several together.")
    tenancy: Tenancy = Field(description=TENANCY)


class _OfTest(Row):
    test: Count = Field(description="Index of the test in the experiment.")
    name: str = Field(description="The test's number, kind and workload.")
    host: str = Field(description="The host's name.")


class UsageByWorkload(HostUsage, _OfWorkload):
    """A host's use while a workload was measured."""


class UsageByTest(HostUsage, _OfTest):
    """A host's use during a test of the experiment."""
