"""`hydrotest probe`: how much a cluster that is there takes, without an experiment file."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hydrotest.cli.commands.run import run
from hydrotest.cli.contact import contact_lines
from hydrotest.cli.output import err_console
from hydrotest.cli.questions import read_p99
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.run.attached.contact import Contact, make_contact
from hydrotest.spec.header import header_of
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.store.folder import write_whole
from hydrotest.units import duration_s, link_bits_per_s, rate_per_s, show_duration, size_bytes

EXAMPLE = "hydrotest probe kafka://b1:9092,b2:9092 --p99 50ms"
PORTS = {"kafka": 9092, "cassandra": 9042}
"""By kind of cluster: the port that is meant where none is given."""
ROWS = "50K"
ROW_BYTES = 5 * 34
"""Of cassandra-stress's standard1."""
ROWS_PER_S = 20_000
"""Operations a second at most on a ring, unless more are asked for."""
COPIES_MAX = 3
PARTITIONS_PER_NODE = 2
BASELINE_S = 10.0
WINDOW_S, WARM_UP_S = 6.0, 1.0
BETWEEN_S = 2.5
"""Of a trial beside its load: its topic, its connections, its account at the pace that is allowed."""
TRIALS_MIN = 12
PRECISION = "10 %"
DISK_ANY = 10**15
"""Until it is known what is needed."""


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; None: not given."""

    p99: str = "50ms"
    record_size: str = "1KB"
    bytes: str = "20MB/s"
    rate: str | None = None
    time: str = "5min"
    partitions: int | None = None
    replication: int | None = None
    tls: bool = False
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    sasl: str | None = None
    user: str | None = None
    password_env: str | None = None
    password_file: Path | None = None

    def security(self, system: str) -> dict[str, Any]:
        """The `security:` of the experiment; empty without any."""
        found: dict[str, Any] = {"tls": True} if self.tls or self.authority or self.certificate else {}
        found |= {key: str(path.absolute()) for key in ("authority", "certificate", "key") if (path := getattr(self, key)) is not None}
        found |= {key: value for key in ("sasl", "user") if (value := getattr(self, key)) is not None}
        if self.user is not None and self.sasl is None and system == "kafka":
            found["sasl"] = "SCRAM-SHA-512"
        if self.password_env is not None:
            found["password"] = {"env": self.password_env}
        if self.password_file is not None:
            found["password"] = {"file": str(self.password_file.absolute())}
        return found


@dataclass(frozen=True)
class Probe:
    """A cluster, and what is asked of it."""

    system: str
    endpoints: list[str]
    asked: Asked

    def text(self, nodes: int) -> str:
        """The experiment file, for a cluster of so many nodes. Raises `BadInputError` for what makes no valid one."""
        seconds, record, rate_bytes, rate = self._quantities()
        trials = int((seconds - BASELINE_S) / (WINDOW_S + WARM_UP_S + BETWEEN_S))
        if trials < TRIALS_MIN:
            least = BASELINE_S + TRIALS_MIN * (WINDOW_S + WARM_UP_S + BETWEEN_S)
            raise BadInputError(
                f"--time: {show_duration(seconds)} are too short for a search", f"Give it {show_duration(least + 1)} at least."
            )
        name, workload = self._workload(nodes)
        rate = min(rate_bytes / record, rate or math.inf)

        def body(disk_bytes: int) -> str:
            system: dict[str, Any] = {"attach": self.endpoints}
            if security := self.asked.security(self.system):
                system["security"] = security
            system["most"] = {"rate": round(rate), "bytes": _spaced(self.asked.bytes), "disk": f"{math.ceil(disk_bytes / 1e6)} MB",
                              "partitions": max(64, workload.get("partitions", 0)), "time": _spaced(self.asked.time)}  # fmt: skip
            system["guard"] = {"baseline": f"{BASELINE_S:g} s"}
            experiment = {
                "name": f"probe-{self.system}",
                "hosts": {"here": {"connect": "local"}},
                "systems": {self.system: system},
                "workloads": {name: workload},
                "objectives": {name: {"p99": read_p99(self.asked.p99)}},
                "tests": [{"isolated": [name]}],
                "search": {"window": f"{WINDOW_S:g} s", "warm_up": f"{WARM_UP_S:g} s", "trials": min(trials, 200), "precision": PRECISION},
            }  # fmt: skip
            return yaml.safe_dump(experiment, sort_keys=False, default_flow_style=None, width=120)

        any_size = self.experiment(body(DISK_ANY))
        needed = any_size.workloads[name].disk_bytes(any_size, rate, WINDOW_S + WARM_UP_S, trials)
        text = body(needed)
        plan = make_plan(self.experiment(text))
        question = (
            f"How much does this {self.system.capitalize()} take at p99 ≤ {read_p99(self.asked.p99)}, up to {round(rate):,} a second?"
        )
        lines = [
            *header_of(plan, question).lines(),
            "#",
            "# Written by `hydrotest probe`. Before each run: `hydrotest check FILE --contact`.",
        ]
        return "\n".join(lines) + "\n" + text

    def _workload(self, nodes: int) -> tuple[str, dict[str, Any]]:
        """The name and the settings of what applies the load."""
        copies = min(COPIES_MAX, nodes) if self.asked.replication is None else self.asked.replication
        if self.system == "cassandra":
            mix = {"write": 1, "read": 1}
            return "store", {
                "kind": "cassandra",
                "mix": mix,
                "keys": f"uniform(0, {ROWS})",
                "replication": copies,
                "consistency": "LOCAL_QUORUM",
            }
        partitions = PARTITIONS_PER_NODE * nodes if self.asked.partitions is None else self.asked.partitions
        return "ingest", {
            "kind": "kafka-produce",
            "partitions": partitions,
            "replication": copies,
            "record_size": _spaced(self.asked.record_size),
        }

    def experiment(self, text: str) -> Experiment:
        """The same, read. Raises `BadInputError` with the option's value in its words."""
        return experiment_of(parse_document(text, Path("probe.yaml")))

    def _quantities(self) -> tuple[float, int, float, float | None]:
        """Seconds, bytes of an operation, bytes a second, and operations a second."""
        asked = self.asked
        given: list[tuple[str, Callable[[object], float], str | None]] = [
            ("time", duration_s, asked.time), ("size", size_bytes, asked.record_size), ("bytes", link_bits_per_s, asked.bytes), ("rate", rate_per_s, asked.rate),
        ]  # fmt: skip
        found: list[float] = []
        for option, read, value in given:
            try:
                found.append(math.nan if value is None else read(value))
            except ValueError as error:
                raise BadInputError(f"--{option}: {error}", f"Write e.g. `{EXAMPLE} --size 1KB --bytes 20MB/s --time 5min`.") from error
        seconds, record, bits, rate = found
        is_ring = self.system == "cassandra"
        return seconds, ROW_BYTES if is_ring else int(record), bits / 8, (ROWS_PER_S if is_ring else None) if math.isnan(rate) else rate


def probe(cluster: str, asked: Asked, write: Path | None, out: Path | None, yes: bool, as_json: bool) -> int:
    """Shows what will be done, asks, and runs it."""
    made = Probe(*_endpoints(cluster), asked)
    with tempfile.TemporaryDirectory() as folder:
        file = write or Path(folder) / "probe.yaml"
        nodes = len(_contact(made, made.text(1)).facts[0].nodes)
        text = made.text(nodes)
        contact = _contact(made, text)
        console = err_console()
        for line in (*contact_lines(made.experiment(text), contact), f"it takes about {show_duration(duration_s(asked.time))}"):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if write is not None:
            write_whole(write, text)
            console.print(f"wrote {write}", highlight=False, markup=False, soft_wrap=True)
        if not yes and not _agreed():
            print("nothing was done", file=sys.stderr)
            return EXIT_DONE
        if write is None:
            file.write_text(text, encoding="utf-8")
        return run(file, None, out, None, False, contact.digest, as_json)


def _contact(made: Probe, text: str) -> Contact:
    return asyncio.run(make_contact(made.experiment(text), text))


def _endpoints(cluster: str) -> tuple[str, list[str]]:
    """The kind of a cluster, and some of its nodes."""
    scheme, separator, rest = cluster.partition("://")
    if not separator or not rest:
        raise BadInputError(f"{cluster!r} is not a cluster", f"Write e.g. `{EXAMPLE}`.")
    if scheme not in PORTS:
        raise BadInputError(f"clusters of the kind {scheme}:// are not probed", f"There are: {', '.join(PORTS)}.")
    found = [one if ":" in one else f"{one}:{PORTS[scheme]}" for one in rest.rstrip("/").split(",")]
    for one in found:
        if not re.fullmatch(r"[A-Za-z0-9._-]+:[0-9]{1,5}", one):
            raise BadInputError(f"{one!r} is not a node's address", f"Write e.g. `{EXAMPLE}`.")
    return scheme, found


def _agreed() -> bool:
    """Whether the user wants it; only a terminal can be asked."""
    if not sys.stdin.isatty():
        raise BadInputError("nobody can be asked whether this is wanted: stdin is no terminal", "Add `--yes` to go on without a question.")
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _spaced(text: str) -> str:
    """A quantity as a file has it: with a blank before its unit."""
    return re.sub(r"(?<=[0-9])\s*(?=[A-Za-zµ])", " ", text.strip(), count=1)
