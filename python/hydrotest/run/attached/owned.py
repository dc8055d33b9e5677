"""What runs have made in clusters that are not hydrotest's own: written down before it is made, with the identity that the
cluster gave it, until it is removed. Only what stands here is ever removed there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hydrotest.places import cache_home
from hydrotest.store.lock import Lock, is_held

Event = Literal["intended", "made", "removed"]


def owned_root() -> Path:
    """Where it stands."""
    return cache_home() / "attached"


@dataclass(frozen=True)
class OwnThing:
    """Something that a run made, or was about to make."""

    name: str
    identity: str | None
    """As the cluster named it; None where its answer did not come."""


class Owned:
    """What one run makes in one cluster."""

    def __init__(self, path: Path | None = None, cluster: str = "") -> None:
        """Without a path nothing is written: the cluster is hydrotest's own, and goes as a whole."""
        self._path = path
        self._left: set[str] = set()
        self._lock: Lock | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(path)
            self._lock.wait()
            self._write({"cluster": cluster})

    @property
    def is_listed(self) -> bool:
        """The cluster has other users: nothing is removed without proof."""
        return self._path is not None

    @classmethod
    def of_run(cls, run: str, system: str, cluster: str) -> Owned:
        """That of a run, by its id."""
        return cls(owned_root() / f"{system}-{run}.jsonl", cluster)

    def note(self, event: Event, name: str, identity: str | None = None) -> None:
        """Writes down that something is about to be made, was made, or was removed."""
        self.note_all(event, {name: identity})

    def note_all(self, event: Event, things: Mapping[str, str | None]) -> None:
        """The same of several at once, by name and identity."""
        self._left = self._left - things.keys() if event == "removed" else self._left | things.keys()
        if things:
            self._write(*({"event": event, "name": name, "identity": identity} for name, identity in things.items()))

    def close(self) -> None:
        """Ends it; if nothing is left, without a trace."""
        if self._lock is not None:
            self._lock.release(remove=not self._left)
            self._lock = None

    def _write(self, *entries: dict[str, str | None]) -> None:
        if self._path is None:
            return
        # On disk before the cluster is asked: a power cut must not leave what nobody knows of.
        with self._path.open("a", encoding="utf-8") as out:
            out.write("".join(json.dumps(entry) + "\n" for entry in entries))
            out.flush()
            os.fsync(out.fileno())


@dataclass(frozen=True)
class Leftover:
    """What a run that was killed left in a cluster."""

    path: Path
    cluster: str
    things: tuple[OwnThing, ...]


def leftovers(system: str) -> Iterator[Leftover]:
    """Of all runs on systems of that kind that are over."""
    for path in sorted(owned_root().glob(f"{system}-*.jsonl")):
        if not is_held(path) and (found := _read(path)) is not None:
            yield found


def _read(path: Path) -> Leftover | None:
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if _is_whole(line)]
    if not entries or "cluster" not in entries[0]:
        return None
    things: dict[str, str | None] = {}
    for entry in entries[1:]:
        if entry["event"] == "removed":
            things.pop(entry["name"], None)
        else:
            things[entry["name"]] = entry["identity"] or things.get(entry["name"])
    return Leftover(path, entries[0]["cluster"], tuple(OwnThing(name, identity) for name, identity in things.items()))


def _is_whole(line: str) -> bool:
    """False for a line that a killed run did not finish."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
