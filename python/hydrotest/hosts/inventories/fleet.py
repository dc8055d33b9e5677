"""Hosts as a list of machines has them, and the fleet file that they become."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.spec.fields import is_name

UNKNOWN_ADDRESS = "FILL-IN"
"""Where no private address is known: no experiment takes it."""


@dataclass(frozen=True)
class Imported:
    """A machine of a list."""

    name: str
    to: str
    """What is written after `ssh`."""
    addresses: tuple[str | None, ...] = ()
    """In the order of preference; the first private one is taken."""
    data_center: str | None = None
    rack: str | None = None
    type: str | None = None
    data: str | None = None
    host_key: str | None = None
    java_home: str | None = None
    left_out: tuple[str, ...] = field(default=())
    """Settings of the list that a fleet file has no place for."""

    @property
    def address(self) -> str | None:
        """Its address in a private network."""
        return next((one for one in self.addresses if one is not None and is_private(one)), None)

    def fields(self) -> dict[str, Any]:
        """Its entry in a fleet file."""
        found: dict[str, Any] = {"connect": "ssh", "to": self.to, "address": self.address or UNKNOWN_ADDRESS}
        for key in ("data_center", "rack", "type", "data", "host_key", "java_home"):
            if (value := getattr(self, key)) is not None:
                found[key] = _named(value) if key in ("data_center", "rack") else value
        return found


def is_private(address: str) -> bool:
    """True for an address that the other hosts of a private network reach."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return found.version == 4 and found.is_private and not (found.is_loopback or found.is_link_local or found.is_unspecified)


def fleet_text(hosts: Sequence[Imported], source: str) -> str:
    """The fleet file, for a person to look over. Raises `BadInputError` without a host, or for two of one name."""
    if not hosts:
        raise BadInputError(f"{source} names no host", "Name another list, or another pattern.")
    named: dict[str, Imported] = {}
    for host in hosts:
        name = _named(host.name)
        if name in named:
            raise BadInputError(
                f"{source} has two hosts that would be called {name}: {named[name].name} and {host.name}", "Rename one of them."
            )
        named[name] = host
    lines = [
        f"# Written by `hydrotest hosts import` from {source}. Look it over: names must be those of your experiment's `hosts:`.",
        "hosts:",
    ]
    for name, host in named.items():
        entry = yaml.safe_dump(host.fields(), default_flow_style=True, sort_keys=False, width=10_000).strip()
        note = "  # address: the one by which the other hosts reach it" if host.address is None else ""
        lines.append(f"  {name}: {entry}{note}")
    return "\n".join(lines) + "\n"


def left_out(hosts: Sequence[Imported]) -> dict[str, list[str]]:
    """Settings that were left out, each with the hosts that have it."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        for key in host.left_out:
            found.setdefault(key, []).append(host.name)
    return found


def _named(text: str) -> str:
    """A name as experiment files take it: `kafka-1.bench.internal` becomes `kafka-1-bench-internal`."""
    if is_name(text):
        return text
    return re.sub(r"[^a-zA-Z0-9_-]+", "-", text).strip("-_")[:63] or "host"
