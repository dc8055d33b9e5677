"""What `init` must know: read from options, or asked on a terminal."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hydrotest.cli.draft import HOSTS_MAX, PLACES, RATED, SYSTEMS, Place, Wanted
from hydrotest.cli.output import print_error
from hydrotest.errors import BadInputError
from hydrotest.units import duration_s

T = TypeVar("T")
HOSTS_DEFAULT = 3
P99_DEFAULT: dict[Place, str] = {"here": "50 ms", "lab": "1 s"}
"""A share of the cores is given in pieces every 100 ms, which a latency shows."""
EXAMPLE = "hydrotest init --systems kafka,cassandra --on here --p99 50ms"


@dataclass(frozen=True)
class Answers:
    """Options as given; None for what is not."""

    systems: str | None
    on: str | None
    hosts: int | None
    p99: str | None

    @property
    def given(self) -> list[str]:
        """The options that are given."""
        return [f"--{name}" for name, value in vars(self).items() if value is not None]


def wanted(answers: Answers, cores: float) -> Wanted:
    """All answers. What is missing is asked where there is a terminal, and is an error elsewhere. Raises `BadInputError`."""
    systems = None if answers.systems is None else read_systems(answers.systems)
    given = None if answers.on is None else read_place(answers.on)
    p99 = None if answers.p99 is None else read_p99(answers.p99)
    if answers.hosts is not None:
        read_hosts(str(answers.hosts))
    may_ask = sys.stdin is not None and sys.stdin.isatty()
    if not may_ask:
        _refuse_missing(answers, systems)
    if systems is None:
        systems = _asked(f"What do you have? Of {', '.join(SYSTEMS)}, with commas between them", None, read_systems)
    where = "Where does it run? `here`: this machine as it is; `lab`: emulated hosts on it, as root"
    on: Place = _asked(where, "here", read_place) if given is None else given
    if on == "here" and answers.hosts is not None:
        raise BadInputError("--hosts is the number of emulated hosts; --on here has none", "Write --on lab, or leave it out.")
    hosts = answers.hosts or HOSTS_DEFAULT
    if on == "lab" and answers.hosts is None and may_ask:
        hosts = _asked("How many emulated hosts?", str(HOSTS_DEFAULT), read_hosts)
    rated = any(name in RATED for name in systems)
    if p99 is not None and not rated:
        raise BadInputError(f"--p99 is an objective of {' and '.join(RATED)}; neither is among the systems", "Leave it out.")
    if p99 is None and rated:
        p99 = _asked("What is the longest acceptable p99?", P99_DEFAULT[on], read_p99)
    return Wanted(systems, on, hosts if on == "lab" else 1, p99, cores)


def read_systems(text: str) -> tuple[str, ...]:
    """Names of systems, in the order in which the file has them."""
    names = [name.lower() for name in re.split(r"[\s,]+", text) if name]
    for name in names:
        if name not in SYSTEMS:
            close = difflib.get_close_matches(name, SYSTEMS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Take some of {', '.join(SYSTEMS)}, with commas between them."
            raise BadInputError(f"--systems: {name!r} is not known", hint)
    if not names:
        raise BadInputError("--systems: none is named", f"Take some of {', '.join(SYSTEMS)}, with commas between them.")
    return tuple(name for name in SYSTEMS if name in names)


def read_place(text: str) -> Place:
    """Where it runs."""
    for place in PLACES:
        if text.strip().lower() == place:
            return place
    raise BadInputError(f"--on: {text!r} is not known", "It is `here`, this machine as it is, or `lab`, emulated hosts on it, as root.")


def read_hosts(text: str) -> int:
    """A number of emulated hosts."""
    if not text.strip().isdecimal() or not 1 <= int(text) <= HOSTS_MAX:
        raise BadInputError(f"--hosts: {text!r} is not a number of hosts", f"Write 1 to {HOSTS_MAX}.")
    return int(text)


def read_p99(text: str) -> str:
    """A duration, as a file has it: with a blank before its unit."""
    try:
        seconds = duration_s(text)
    except ValueError as error:
        raise BadInputError(f"--p99: {error}") from error
    if seconds <= 0:
        raise BadInputError(f"--p99: {text!r} is not above 0", f"Write e.g. {P99_DEFAULT['here']}.")
    return re.sub(r"(?<=[0-9])\s*(?=[a-zµ]+$)", " ", text.strip())


def _refuse_missing(answers: Answers, systems: tuple[str, ...] | None) -> None:
    """Raises `BadInputError` if something would have to be asked."""
    rated = systems is None or any(name in RATED for name in systems)
    needed = ["--systems", "--on", *(["--p99"] if rated else [])]
    missing = [name for name in needed if name not in answers.given]
    if missing:
        raise BadInputError(f"{', '.join(missing)}: not given, and there is no terminal to ask on",
                            f"Write e.g. `{EXAMPLE}`, or name a template: `hydrotest init --list` shows them.")  # fmt: skip


def _asked(question: str, default: str | None, read: Callable[[str], T]) -> T:
    """Asks until the answer is usable; an empty one is the default."""
    while True:
        print(f"{question}{f' [{default}]' if default is not None else ''}: ", end="", file=sys.stderr, flush=True)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            print(file=sys.stderr)
            raise BadInputError("the questions were not answered; nothing is written", f"Write e.g. `{EXAMPLE}`.")
        try:
            return read(line.strip() or default or "")
        except BadInputError as error:
            print_error(error)
