"""A kind of host, as hydrotest knows it before there is one."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.kinds.ref import Ref


@dataclass(frozen=True)
class HostKind:
    """A way to have hosts."""

    name: str
    """The value of its key `connect`."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.hosts.Placed`."""
    make: Ref
    """From all hosts of this kind, by name, and a folder to a `hosts.catalogue.Group`; a coroutine."""
