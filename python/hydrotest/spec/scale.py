"""Real machines, scaled down: what an emulated host of a named type gets, by one factor for each resource."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.fields import BitsPerS, Fraction, SizeBytes
from hydrotest.spec.hosts import Placed


class MachineType(Model):
    """A real machine."""

    cores: float = Field(gt=0, description="Its cores; if types differ in clock rate, as cores of one of the types.")
    memory: SizeBytes = Field(description="Its memory.")
    disk: BitsPerS | None = Field(None, description="Speed of its disks, for reads and for writes, e.g. 500 MB/s.")
    network: BitsPerS = Field(description="Speed of its link in each direction.")


class Scale(Model):
    """The share of its type's resources that an emulated host gets."""

    cores: Fraction = Field(description="Share of the cores, e.g. 4 %.")
    memory: Fraction = Field(description="Share of the memory; a host never gets less than its services need.")
    disk: Fraction = Field(description="Share of the disks' speed.")
    network: Fraction = Field(description="Share of the link's speed.")


class Lab(Model):
    """The machines that emulated hosts are modelled on."""

    types: dict[str, MachineType] = Field(min_length=1, description="Machines by their type's name, which hosts give as `type`.")
    scale: Scale = Field(description="How much smaller the emulated hosts are.")


def scaled(hosts: Mapping[str, Placed], lab: Lab, needed: Mapping[str, int]) -> dict[str, Placed]:
    """The hosts with resources from their types and the scale where they set none themselves; at least
    `needed` bytes of memory."""
    types = {name: lab.types.get(host.type or "") for name, host in hosts.items()}
    return {
        name: host if (machine := types[name]) is None else host.scaled(machine, lab.scale, needed[name]) for name, host in hosts.items()
    }
