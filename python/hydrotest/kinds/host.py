"""What hydrotest knows of a kind of host before there is one."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.kinds.ref import Ref


@dataclass(frozen=True)
class HostKind:
    """A way to have hosts."""

    name: str
    """What its key `connect` says."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.hosts.Placed`."""
    make: Ref
    """From all hosts of this kind, by name, and a folder to a `hosts.catalogue.Group`; a coroutine."""
