"""`hydrotest hosts import`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE, BadInputError, shaped
from hydrotest.hosts.inventories.ansible import from_ansible
from hydrotest.hosts.inventories.fleet import Imported, fleet_text, left_out
from hydrotest.hosts.inventories.ssh_config import from_ssh_config
from hydrotest.hosts.inventories.tofu import from_tofu
from hydrotest.store.folder import write_whole
from hydrotest.units import show_count

EXAMPLE = "hydrotest hosts import --ssh 'kafka-*' --out fleet.yaml"


def import_hosts(
    tofu: Path | None, ansible: Path | None, ssh: str | None, roles: Sequence[str], out: Path | None, force: bool, as_json: bool
) -> int:
    """Writes a fleet file from one list of machines; runs nothing on them."""
    given = [name for name, value in (("--tofu", tofu), ("--ansible", ansible), ("--ssh", ssh)) if value is not None]
    if len(given) != 1:
        raise BadInputError(f"one list of machines is needed, and {len(given)} are named", f"Write e.g. `{EXAMPLE}`.")
    if roles and ansible is None:
        raise BadInputError("--role is for groups of an Ansible inventory", "Leave it out.")
    if out is not None and out.exists() and not force:
        raise BadInputError("the file is there already", "Name another with --out, or add --force to replace it.", file=out)
    hosts, source = _read(tofu, ansible, ssh, roles)
    text, dropped = fleet_text(hosts, source), left_out(hosts)
    if as_json:
        print_json({"hosts": {host.name: host.fields() for host in hosts}, "left_out": dropped})
        return EXIT_DONE
    if out is None:
        print(text, end="")
    else:
        write_whole(out, text)
        print(f"wrote {out}: {show_count(len(hosts), 'host')} from {source}")
        print(f"next: look it over, then `hydrotest check EXPERIMENT --hosts {out}`")
    for key, names in dropped.items():
        hint = "Give it to ssh: in ~/.ssh/config." if key.startswith("ansible_") else "If it matters, write it into the file by hand."
        print(shaped("warning", f"{key} of {', '.join(names)} has no place in a fleet file", hint), file=sys.stderr)
    for host in hosts:
        if host.address is None:
            print(shaped("warning", f"{host.name}: no private address is known", "Write into its `address` the one by which the other hosts reach it."),
                  file=sys.stderr)  # fmt: skip
    return EXIT_DONE


def _read(tofu: Path | None, ansible: Path | None, ssh: str | None, roles: Sequence[str]) -> tuple[list[Imported], str]:
    if tofu is not None:
        return from_tofu(tofu), tofu.name
    if ansible is not None:
        pairs = [role.partition("=") for role in roles]
        wrong = next((role for role, (_, sign, group) in zip(roles, pairs, strict=True) if not sign or not group), None)
        if wrong is not None:
            raise BadInputError(f"--role {wrong} is not a role and its group", "Write e.g. `--role kafka=brokers`.")
        return from_ansible(ansible, {role: group for role, _, group in pairs}), ansible.name
    return from_ssh_config(ssh or ""), "~/.ssh/config"
