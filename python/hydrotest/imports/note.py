"""What became of each line, option or key of a foreign definition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError


class Fate(StrEnum):
    """What became of it."""

    KEPT = "kept"
    CHANGED = "changed"
    LEFT_OUT = "left-out"


class Why(StrEnum):
    """Why it was changed or left out."""

    ONE_BROKER = "one-broker"
    ONE_NODE = "one-node"
    OWN_KEYSPACE = "own-keyspace"
    CONNECTIONS = "connections"
    PRODUCER_ALONE = "producer-alone"
    MEMBERS = "members"
    IDLE = "idle"
    GROUP_OF_ALL = "group-of-all"
    CHECKED = "checked"
    KEPT_UP_WITH = "kept-up-with"
    BACKLOG = "backlog"
    BACKLOG_THERE = "backlog-there"
    BACKLOG_RATE = "backlog-rate"
    NO_BACKLOG = "no-backlog"
    NO_READERS = "no-readers"
    OBJECTIVE = "objective"
    DRAIN_RATIO = "drain-ratio"
    PAYLOAD = "payload"
    PAYLOAD_WHOLE = "payload-whole"
    PAYLOAD_SIZE = "payload-size"
    RANDOM_INSTEAD = "random-instead"
    PAYLOAD_MONOTONIC = "payload-monotonic"
    IN_TURN = "in-turn"
    STAMP_IN_HEADER = "stamp-in-header"
    KEYS = "keys"
    NAME_ONLY = "name-only"
    OF_THE_CLUSTER = "of-the-cluster"
    CLIENT_SETTING = "client-setting"
    TOPIC_SETTING = "topic-setting"
    SET_BY_US = "set-by-us"
    NOT_IN_FORCE = "not-in-force"
    SESSION = "session"
    REPORTING = "reporting"
    WARM_UP = "warm-up"
    COUNT_AS_TIME = "count-as-time"
    SECRET = "secret"
    NO_COUNTERPART = "no-counterpart"
    DISTRIBUTION = "distribution"
    ROWS_PER_PARTITION = "rows-per-partition"
    ROWS = "rows"
    BY_ROW = "by-row"
    NARROW = "narrow"
    NARROWER = "narrower"
    MULTIROW = "multirow"
    WHOLE = "whole"
    KEY_ALONE = "key-alone"
    OWN_TABLE = "own-table"
    ONE_KIND = "one-kind"
    BATCHES = "batches"
    BINDING = "binding"
    NEAREST = "nearest"
    FILLED_SO = "filled-so"
    KEYS_FILLED = "keys-filled"
    VERIFIED = "verified"
    ONE_SCENARIO = "one-scenario"
    ALL_ROWS = "all-rows"
    CONSISTENCY = "consistency"
    ONE_CENTER = "one-center"
    NOTHING = "nothing"
    ONE_PHASE = "one-phase"
    EACH_ROW_ONCE = "each-row-once"
    ONE_FILLS = "one-fills"
    ONE_LEVEL = "one-level"
    ERRORS = "errors"
    LATE_START = "late-start"
    COLUMN_TYPE = "column-type"
    NO_RATE_LIMIT = "no-rate-limit"
    OPEN_LOOP = "open-loop"
    WINDOWS = "windows"
    ONE_TABLE = "one-table"
    FROM_POPULATION = "from-population"


@dataclass(frozen=True)
class Note:
    """One line of the source."""

    said: str
    """As it stands there, shortened: `topics: 100`, `-rate threads=16`."""
    fate: Fate
    ours: str = ""
    """What it is in the experiment: `topics: 100`."""
    why: Why | None = None
    line: int | None = None
    """In its file; None on a command line."""
    file: str | None = None
    """If there are several files."""


@dataclass
class Imported:
    """An experiment from a foreign definition."""

    source: str
    """The tool."""
    experiment: dict[str, Any]
    notes: list[Note] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """Of the definition: they are never written over."""

    def kept(self, said: str, ours: str, **where: Any) -> None:
        self.notes.append(Note(said, Fate.KEPT, ours, **where))

    def changed(self, said: str, ours: str, why: Why, **where: Any) -> None:
        self.notes.append(Note(said, Fate.CHANGED, ours, why, **where))

    def left_out(self, said: str, why: Why, **where: Any) -> None:
        self.notes.append(Note(said, Fate.LEFT_OUT, "", why, **where))


@dataclass(frozen=True)
class Aim:
    """Where the experiment is to run."""

    attach: tuple[str, ...] = ()
    """Addresses of a cluster that is there; none: one broker or node on this machine."""
    p99: str = "50 ms"
    """The objective, where the source has none."""


def unlimited(out: Imported, aim: Aim, said: str, workload: str, test: dict[str, Any]) -> None:
    """A test without a rate limit; on a cluster that others use, the limit at an objective instead."""
    (kind,) = test
    if aim.attach:
        out.experiment["tests"] = [{"isolated": [workload]}]
        out.experiment["objectives"] = {workload: {"p99": aim.p99}}
        out.changed(said, f"isolated: [{workload}], p99: {aim.p99}", Why.NO_RATE_LIMIT)
    else:
        out.experiment["tests"] = [test]
        out.kept(said, f"{kind}: {workload}" if kind == "saturated" else f"{kind}, counts: {test[kind]['counts']}")


def check_tables_may_be_made(aim: Aim, file: Path | None = None) -> None:
    """Raises `BadInputError` where tables of a definition's own are asked for on a ring that is there already."""
    if aim.attach:
        raise BadInputError(
            "on a ring that is there already only the default table is written: its size is known", "Leave --attach out.", file=file
        )


def make_views(out: Imported) -> str:
    """Lets Cassandra make materialised views, which it does not by default; how that is written."""
    out.experiment["systems"]["cassandra"].setdefault("config", {})["materialized_views_enabled"] = True
    return ", config: {materialized_views_enabled: true}"


def system(name: str, aim: Aim, heap: str) -> Mapping[str, Any]:
    """The system of an imported experiment."""
    if aim.attach:
        return {name: {"attach": list(aim.attach), "most": {"rate": "100K", "bytes": "100 MB/s", "disk": "50 GB"}}}
    return {name: {"hosts": ["here"], "heap": heap}}


_SECRET = re.compile(r"password|passwd|pwd|\bpw\b|jaas|secret|token|credential|private|keystore", re.IGNORECASE)


def is_secret(name: str, value: Any) -> bool:
    """True for a setting that may hold a secret."""
    return bool(_SECRET.search(name) or _SECRET.search(str(value)))


def hidden(name: str, value: Any) -> str:
    """Secrets are not copied."""
    return "…" if is_secret(name, value) else short(value)


def shown(value: Any) -> str:
    """A value as it stands in a file of YAML, on one line."""
    return f"{{{', '.join(f'{key}: {shown(one)}' for key, one in value.items())}}}" if isinstance(value, Mapping) else str(value)


def short(value: Any) -> str:
    """On one line, and not long."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
