"""The version of the protocol, on which the controller and hydrotest-node must agree first."""

from __future__ import annotations

import json
from typing import Any

from hydrotest.errors import MissingToolError

PROTOCOL = 4
"""Raise it with every change that the other side would not understand, here and in rust/core/src/wire.rs."""
GREETING = {"protocol": PROTOCOL}
"""The controller's first line; the node's is the event `hello`."""
EVENTS = frozenset(
    {"hello", "clock", "looked", "ready", "started", "second", "histogram", "member", "spawned", "exited", "sample", "done", "failed"}
)
"""`Event` in rust/core/src/wire.rs."""
OF_PROGRAMS = frozenset({"progress"})
"""What only programs in Java say, which speak the same protocol (`Talk.java`)."""
REMEDY = "Install both from one source: `make install`."


def check_hello(name: str, hello: dict[str, Any] | None, instead: str | None = None) -> None:
    """Checks a node's first event. Raises `MissingToolError` where the node has another version.

    None: there was no such event; `instead`: what came in its place.
    """
    theirs = None if hello is None else hello.get("protocol")
    if theirs != PROTOCOL:
        said = "no version" if theirs is None else f"version {theirs}"
        why = "" if instead is None else f" ({instead})"
        raise MissingToolError(f"{name}: hydrotest-node speaks {said} of the protocol, this hydrotest version {PROTOCOL}{why}", REMEDY)


def understood(name: str, line: bytes | str) -> dict[str, Any]:
    """One line of a node as an event.

    Raises `ValueError` for other lines, and `MissingToolError` for unknown events.
    """
    event = json.loads(line)
    if not isinstance(event, dict) or "event" not in event:
        raise ValueError(f"{event!r} is not an event")
    if event["event"] not in EVENTS | OF_PROGRAMS:
        raise MissingToolError(f"{name} says {event['event']!r}, which this hydrotest does not know", REMEDY)
    return event
