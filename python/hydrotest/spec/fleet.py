"""An experiment with the hosts of another file: rehearsed in the lab, run on a fleet, by the same file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.spec.lines import Document, read_document

HOSTS = "hosts"


def with_hosts(experiment: Document, fleet_file: Path) -> Document:
    """The experiment with its hosts as a fleet file has them, by name.

    Hosts of the fleet that the experiment does not name are left out. Errors about hosts name the fleet
    file and its lines. Raises `BadInputError`.
    """
    fleet = read_document(fleet_file)
    there = fleet.value.get(HOSTS) if isinstance(fleet.value, dict) else None
    if not isinstance(there, dict) or len(fleet.value) != 1:
        raise BadInputError("the file is no fleet: it must have the key `hosts`, and nothing else", "Write `hosts:`, and below it each host by its name.",
                            file=fleet_file, line=1)  # fmt: skip
    named = experiment.value.get(HOSTS) if isinstance(experiment.value, dict) else None
    if not isinstance(named, dict):
        return experiment  # that is an error of its own
    for name in named:
        if name not in there:
            known = ", ".join(map(str, there)) or "none"
            raise BadInputError(f"the experiment's host {name!r} is not in the fleet", f"The fleet has: {known}. Name them as the experiment does.",
                                file=fleet_file, line=fleet.line((HOSTS,)))  # fmt: skip
    hosts = {name: there[name] for name in named}
    value = {**experiment.value, HOSTS: hosts}
    lines = {path: line for path, line in experiment.lines.items() if path[:1] != (HOSTS,)}
    lines |= {path: line for path, line in fleet.lines.items() if path[:1] == (HOSTS,)}
    return replace(experiment, value=value, lines=lines, text=_merged(experiment, hosts, value), hosts_file=fleet_file)


def _merged(experiment: Document, hosts: dict[str, Any], value: dict[str, Any]) -> str:
    """The text of an experiment with other hosts, for the run folder: its other lines stay as they are."""
    block = yaml.safe_dump({HOSTS: hosts}, sort_keys=False, allow_unicode=True)
    starts = sorted(line for path, line in experiment.lines.items() if len(path) == 1)
    begin = experiment.lines[(HOSTS,)]
    rows = experiment.text.splitlines(keepends=True)
    if len(set(starts)) < len(starts) or not rows[begin - 1].startswith(HOSTS):  # several keys in one line
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    end = next((line for line in starts if line > begin), len(rows) + 1)
    while end > begin + 1 and rows[end - 2].startswith(("#", "\n")):  # a comment before the next key is the next key's
        end -= 1
    return "".join(rows[: begin - 1]) + block + "".join(rows[end - 1 :])
