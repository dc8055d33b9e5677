"""A fleet file by itself: machines, without an experiment."""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from hydrotest.errors import BadInputError
from hydrotest.spec.base import Model
from hydrotest.spec.fields import Name
from hydrotest.spec.hosts import CommandHost, Host, SshHost
from hydrotest.spec.lines import read_document
from hydrotest.spec.load import translated
from hydrotest.spec.monitored import Monitored


class Fleet(Model):
    """The file that `--hosts` takes."""

    model_config = ConfigDict(defer_build=True)

    hosts: dict[Name, Host] = Field(min_length=1)


Machine = SshHost | CommandHost | Monitored
"""A machine of a fleet."""


def read_fleet(file: Path) -> dict[str, Machine]:
    """The machines of a fleet file. Raises `BadInputError` with file and line."""
    document = read_document(file)
    if not isinstance(document.value, dict):
        raise BadInputError(
            "the file is no fleet: it must have the key `hosts`", "Write `hosts:`, and below it each host by its name.", file=file, line=1
        )
    try:
        hosts = Fleet.model_validate(document.value).hosts
    except ValidationError as error:
        raise translated(error, document) from error
    found: dict[str, Machine] = {}
    for name, host in hosts.items():
        if not isinstance(host, Machine):
            raise BadInputError(f"{name} is on this machine: `hydrotest doctor` without `--hosts` looks at it", "Leave it out.", file=file,
                                line=document.line(("hosts", name)))  # fmt: skip
        found[name] = host
    return found
