"""`hydrotest check --contact`: the plan, and what clusters that are there already say of themselves."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hydrotest.cli.commands.check import plan_data, print_plan
from hydrotest.cli.contact import contact_lines
from hydrotest.cli.experiment import load_for_here
from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.run.attached.contact import make_contact
from hydrotest.spec.attach import attached


def check_with_contact(experiment: Path, hosts: Path | None, as_json: bool) -> int:
    """Prints the plan, what a run would do to the clusters, and the hash that it wants. Raises `BadInputError`."""
    spec, document = load_for_here(experiment, hosts)
    if not attached(spec):
        raise BadInputError("`--contact` is for clusters that are there already (`attach`)", "Leave it out.")
    contact = asyncio.run(make_contact(spec, document.text))
    if as_json:
        print_json({**plan_data(spec, experiment), "contact": [one.data() for one in contact.facts], "hash": contact.digest})
        return EXIT_DONE
    print_plan(spec, experiment)
    for line in contact_lines(spec, contact):
        print(line)
    print(f"to run it: hydrotest run {experiment} --yes {contact.digest}")
    return EXIT_DONE
