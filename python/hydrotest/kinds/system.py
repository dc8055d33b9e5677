"""A system, as hydrotest knows it before any of it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hydrotest.kinds.internal import Internal, Theirs
from hydrotest.kinds.ref import Ref

Advice = tuple[str, str]
"""What to do, and the vendor's own page that recommends it."""


@dataclass(frozen=True)
class SystemKind:
    """A system under test."""

    name: str
    """Its key below `systems`; its services' names begin with it."""
    model: Ref
    """Its settings in the experiment file, a subclass of `spec.system.System`."""
    make: Ref
    """From settings and a `systems.base.Placement` to a `systems.base.System`."""
    start_s: float
    """Start-up time in seconds that a plan assumes."""
    services: str
    """A regular expression of its services' names, from their beginning."""
    bundles: tuple[Ref, ...] = ()
    """`systems.fetch.Bundle`s and `systems.pip.PipBundle`s of `hydrotest fetch`."""
    limits: tuple[Internal, ...] = ()
    """Limits inside it that its gauges show."""
    exported: tuple[Theirs, ...] = ()
    """Where exporters that others use have these gauges."""
    advice: Mapping[str, Advice] = field(default_factory=dict)
    """Advice about a bottleneck, by resource, or by the setting that costs CPU."""
    requests: str | None = None
    """The gauge that counts the requests with which its load comes in."""
    takeover_s: float = 10.0
    """Seconds until other hosts serve what one served that is killed, with the system's own settings."""
    takeover_ms: str | None = None
    """The setting below `config` that says so instead, in milliseconds."""
    client_waits_s: float = 0.0
    """For how long clients wait for a host that the network has cut off from them, before what they sent to it goes to another."""
    rewrites_b_s: float | None = None
    """Bytes a second of what it has written that a host rewrites at most, with the system's own settings; None: it rewrites nothing."""
    rewrites_setting: str | None = None
    """The setting below `config` that says so instead."""
    needs_java: bool = False
