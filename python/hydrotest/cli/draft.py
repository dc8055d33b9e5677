"""An experiment file for what a user has: text with comments, from a few answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hydrotest.lazy import Lazy
from hydrotest.spec.header import EDITOR, header_of
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.plan import Plan, make_plan
from hydrotest.units import show_names

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Lazy("jinja2")

Place = Literal["here", "lab"]
PLACES: tuple[Place, ...] = ("here", "lab")
SYSTEMS = ("kafka", "cassandra", "spark", "hdfs", "s3")
WORKLOADS = {"kafka": ("ingest", "drain"), "cassandra": ("store",), "hdfs": ("save", "load"), "s3": ("put", "get"), "spark": ("batch",)}
RATED = {"kafka": "ingest", "cassandra": "store"}
"""What has a rate, and so an objective of its latency."""
FILES = ("hdfs", "s3")
"""Files and objects are written and read while nothing else runs, and cannot be squeezed."""
HOSTS_MAX = 20
COPIES_MAX = 3
CORES_SHARE = 0.75
"""Of the machine's cores for the systems of a lab; the generators need the rest."""
CORES_MIN = 0.1
COMMENT_COLUMN = 30
"""Where comments behind keys begin, unless the key is longer."""
_BEFORE_COMMENT = re.compile(r"^(.*\S)  # ", re.MULTILINE)


@dataclass(frozen=True)
class Wanted:
    """A user's answers."""

    systems: tuple[str, ...]
    on: Place
    hosts: int
    """Emulated hosts of the systems; the generators have one more."""
    p99: str | None
    """The objective as text; None where nothing has a rate."""
    cores: float
    """The machine's, shared between emulated hosts."""

    @property
    def rated(self) -> list[str]:
        """Its workloads with a rate."""
        return [RATED[name] for name in self.systems if name in RATED]

    @property
    def question(self) -> str:
        """What the experiment answers."""
        names = [name.upper() if name in FILES else name.capitalize() for name in self.systems]
        listed = show_names(names)
        where = f"on {self.hosts} emulated host{'s' if self.hosts > 1 else ''}" if self.on == "lab" else "on this machine"
        how = f" at p99 ≤ {self.p99}" if self.p99 is not None else ""
        together = [name for name in names if name.lower() not in FILES]
        at_once = "all" if together == names else show_names(together) if together else ""
        alone = f", each alone and {at_once} at once" if self._together() else ""
        return f"How much {'do' if len(names) > 1 else 'does'} {listed} take {where}{how}{alone}?"

    def body(self, name: str) -> str:
        """The file without its header."""
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("hydrotest.cli"),
            undefined=jinja2.StrictUndefined,
            autoescape=False,  # it is YAML, not HTML
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        hosts = [f"host{number}" for number in range(1, self.hosts + 1)] if self.on == "lab" else ["here"]
        text = environment.get_template("experiment.yaml.j2").render(
            name=name,
            lab=self.on == "lab",
            hosts=hosts,
            all=f"[{', '.join(hosts)}]",
            cores=f"{self._cores_each():g}",
            copies=min(COPIES_MAX, len(hosts)),
            systems=self.systems,
            workloads=[workload for system in self.systems for workload in WORKLOADS[system]],
            rated=self.rated,
            squeezed=any(system not in FILES for system in self.systems),
            together=self._together(),
            p99=self.p99 or "",
        )
        return _BEFORE_COMMENT.sub(lambda found: f"{found[1]:<{COMMENT_COLUMN - 2}}  # ", text)

    def _together(self) -> list[str]:
        """What runs in the combined test; none where that would be one workload, or none with a rate."""
        found = [workload for system in self.systems if system not in FILES for workload in WORKLOADS[system]]
        return found if self.rated and len(found) > 1 else []

    def _cores_each(self) -> float:
        """To a twentieth of a core."""
        return max(CORES_MIN, int(self.cores * CORES_SHARE / self.hosts * 20) / 20)


def draft(wanted: Wanted, name: str, file: Path, schema: str | None) -> tuple[str, Plan]:
    """The text of an experiment file, and its plan. `file` is for messages, `schema` the path of its schema for editors.

    Raises `BadInputError` for answers that make no valid experiment.
    """
    body = wanted.body(name)
    plan = make_plan(experiment_of(parse_document(body, file)))
    lines = [*([f"{EDITOR}{schema}"] if schema is not None else []), *header_of(plan, wanted.question).lines(), "#",
             "# Written by `hydrotest init`. After each change: `hydrotest check`. Every key: docs/reference/experiment.md."]  # fmt: skip
    return "\n".join(lines) + "\n" + body, plan
