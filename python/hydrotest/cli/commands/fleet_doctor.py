"""`hydrotest doctor --hosts`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hydrotest.cli.commands.doctor import print_findings
from hydrotest.run.lifecycle.fleet_doctor import examine_fleet
from hydrotest.spec.fleet_file import read_fleet


def fleet_doctor(hosts: Path, as_json: bool) -> int:
    """Prints what the machines of a fleet lack."""
    return print_findings(asyncio.run(examine_fleet(read_fleet(hosts))), as_json)
