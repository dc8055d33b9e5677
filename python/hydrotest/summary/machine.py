"""Hosts, systems, and what hydrotest itself used."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.summary.base import Count, Number, Row


class Ceilings(Row):
    """The most that a host gave before anything was started on it. A field is missing where it was not
    measured."""

    cpu_cores: Number | None = Field(None, description="CPU time that it has, in cores: its logical cores, or what its quota gives.")
    parallel_cores: Number | None = Field(
        None, description="What all logical cores compute, in cores that compute alone: less where they are hyper-threads or are stolen."
    )
    disk_write_bytes_per_s: Number | None = Field(None, description="Written to the disk.")
    disk_read_bytes_per_s: Number | None = Field(None, description="Read from the disk.")
    network_bytes_per_s: Number | None = Field(None, description="Through the link; of a local host, through its loopback.")
    memory_bytes: Number | None = Field(None, description="Memory.")
    generator_null_per_core_s: Number | None = Field(
        None, description="Operations a second and core of the generator against a target that does nothing."
    )
    wake_cpu_us: Number | None = Field(None, description="CPU for each time that a thread is woken, microseconds.")


class Clock(Row):
    """A host's clock, compared with the controller's."""

    offset_s: Number = Field(description="How far it is ahead.")
    error_s: Number = Field(description="The error of the offset is at most this.")


class Host(Row):
    """A host of the experiment."""

    name: str = Field(description="Its name in the experiment.")
    connect: Literal["local", "netns", "ssh", "command", "exporter", "prometheus"] = Field(
        description="How it is reached, or who reads its counters."
    )
    cores: Number = Field(description="Cores.")
    memory_bytes: Count = Field(description="Memory.")
    kernel: str | None = Field(None, description="Release of its Linux kernel.")
    cpu_model: str | None = Field(None, description="Model of its processor.")
    clock: Clock | None = Field(None, description="Its clock, which bounds the error of latencies between hosts.")
    disk_device: str | None = Field(None, description="The block device below its data; null: not known.")
    machine_cores: Number | None = Field(None, description="For an emulated host: the cores of the machine that emulates it.")
    dirty_pages_bounded: bool | None = Field(
        None, description="For an emulated disk: false if the kernel does not bound the pages that wait for it."
    )
    every_s: Number | None = Field(
        None, description="For a host of a cluster that is there already, which is only looked at: the time between two readings."
    )
    ceilings: Ceilings = Field(description="The most that its resources give.")


class System(Row):
    """A system under test."""

    name: str = Field(description="Its key in the experiment.")
    version: str = Field(description="Its version.")
    hosts: list[str] = Field(description="Where its services ran.")


class Speed(Row):
    """The speed reference over the whole run."""

    machine: str = Field(description="The host; all local hosts are one machine.")
    mean: Number = Field(description="Mean speed, in `unit`.")
    cv_pct: Number = Field(description="Coefficient of variation.")
    steal_pct: Number | None = Field(description="Share of its cores that the hypervisor gave to others.")
    unit: str = Field("", description="Unit of `mean`.")


class Overhead(Row):
    """Cores that hydrotest itself used while trials ran, besides its generators."""

    controller_cores: Number | None = Field(None, description="Cores of the controller.")
    sampler_cores: Number | None = Field(None, description="Cores of the samplers on all hosts.")
    exporter_cores: dict[str, Number | None] = Field(
        default_factory=dict, description="Cores of the exporter of gauges in each service, by service."
    )
