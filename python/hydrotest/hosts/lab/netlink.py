"""pyroute2, which makes a lab's network.

Imported at its first use: most runs have no lab, and need no such package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hydrotest.hosts.extras import LAB

HOMES = {"IPRoute": "pyroute2", "netns": "pyroute2", "NetlinkError": "pyroute2.netlink.exceptions"}


def __getattr__(name: str) -> Any:
    """`IPRoute`, `netns` and `NetlinkError`. Raises `MissingToolError` where the package is not installed."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not LAB.is_installed:
        raise LAB.missing()
    return getattr(import_module(HOMES[name]), name)
