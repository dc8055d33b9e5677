"""Ansible's inventories: what `ansible-inventory --list` says of any, or static ones as files in YAML or INI."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.inventories.fleet import Imported, is_private

PROGRAM = "ansible-inventory"
LIST_S = 60.0
ALL = ("all", "ungrouped", "_meta")
TAKEN = {
    "ansible_host",
    "ansible_ssh_host",
    "ansible_user",
    "ansible_ssh_user",
    "private_ip",
    "private_address",
    "data_center",
    "rack",
    "hydrotest_data",
}
OF_SSH = ("ansible_port", "ansible_ssh_private_key_file", "ansible_ssh_common_args")
"""They belong into `~/.ssh/config`, where hydrotest reads them by ssh itself."""
_RANGE = re.compile(r"\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\]")


@dataclass
class Inventory:
    """Hosts with their variables, and groups with theirs."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    """Hosts by group, those of its children included."""


def from_ansible(file: Path, groups: Mapping[str, str]) -> list[Imported]:
    """The hosts of an inventory. `groups`: by role, the group whose hosts are called ROLE-1, ROLE-2, …; without any, all
    hosts by their own names. Raises `BadInputError` for an inventory that cannot be read."""
    inventory = _listed(file) or _static(file)
    for role, group in groups.items():
        if group not in inventory.groups:
            known = ", ".join(sorted(set(inventory.groups) - set(ALL))) or "none"
            raise BadInputError(f"--role {role}={group}: the inventory has no such group", f"It has: {known}.", file=file)
    if not groups:
        return [_host(name, name, variables) for name, variables in inventory.hosts.items()]
    return [
        _host(f"{role}-{number}", name, inventory.hosts[name])
        for role, group in groups.items()
        for number, name in enumerate([name for name in inventory.hosts if name in inventory.groups[group]], 1)
    ]


def _host(name: str, inventory_name: str, variables: Mapping[str, Any]) -> Imported:
    reached = str(variables.get("ansible_host") or variables.get("ansible_ssh_host") or inventory_name)
    user = variables.get("ansible_user") or variables.get("ansible_ssh_user")
    address = variables.get("private_ip") or variables.get("private_address") or (reached if is_private(reached) else None)
    # What Ansible would give to ssh on its command line is ssh's own to know.
    needs = tuple(key for key in variables if key in OF_SSH)
    others = tuple(key for key in variables if key.startswith("ansible_") and key not in TAKEN and key not in OF_SSH)
    return Imported(name, f"{user}@{reached}" if user else reached, (address,), variables.get("data_center"), variables.get("rack"),
                    data=variables.get("hydrotest_data"), left_out=(*needs, *others))  # fmt: skip


def _listed(file: Path) -> Inventory | None:
    """What Ansible itself says; None where it is not there, or the file is its saved answer."""
    if not file.exists():
        raise BadInputError("there is no such inventory", "Name the file or the folder.", file=file)
    answer: Any = None
    if file.suffix == ".json":
        answer = _json(file.read_text(encoding="utf-8"), file)
    elif shutil.which(PROGRAM) is not None:
        done = subprocess.run([PROGRAM, "-i", str(file), "--list"], capture_output=True, text=True, check=False, timeout=LIST_S)
        if done.returncode != 0:
            raise BadInputError(f"{PROGRAM} refuses the inventory: {done.stderr.strip().splitlines()[-1:]}", "Correct it.", file=file)
        answer = _json(done.stdout, file)
    if answer is None:
        return None
    inventory = Inventory(dict(answer.get("_meta", {}).get("hostvars", {})))
    for name in answer:
        if name != "_meta":
            inventory.groups[name] = set(_members(name, answer, set()))
            for host in inventory.groups[name]:
                inventory.hosts.setdefault(host, {})
    return inventory


def _members(name: str, answer: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    if name in seen:
        return
    seen.add(name)
    group = answer.get(name, {})
    yield from group.get("hosts", ())
    for child in group.get("children", ()):
        yield from _members(child, answer, seen)


def _json(text: str, file: Path) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadInputError(
            f"the file is not what `{PROGRAM} --list` writes: {error}", f"Write it with `{PROGRAM} --list > FILE.json`.", file=file
        ) from error
    if not isinstance(found, dict):
        raise BadInputError(f"the file is not what `{PROGRAM} --list` writes", f"Write it with `{PROGRAM} --list > FILE.json`.", file=file)
    return found


def _static(file: Path) -> Inventory:
    if file.is_dir():
        raise BadInputError(
            f"a folder of inventories needs {PROGRAM}, which is not installed", "Install Ansible, or name one file.", file=file
        )
    text = file.read_text(encoding="utf-8")
    if file.suffix not in (".yaml", ".yml"):
        return _of_ini(text, file)
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInputError(f"the inventory is not YAML: {error}", "Correct it.", file=file) from error
    inventory = Inventory()
    for name, group in (found or {}).items():
        _take_group(name, group or {}, {}, inventory)
    return inventory


def _take_group(name: str, group: Mapping[str, Any], inherited: Mapping[str, Any], inventory: Inventory) -> set[str]:
    """A group of a YAML inventory; returns its hosts. A child's variables go before its parent's, a host's before both."""
    variables = {**inherited, **(group.get("vars") or {})}
    members: set[str] = set()
    for pattern, own in (group.get("hosts") or {}).items():
        for host in _expanded(str(pattern)):
            members.add(host)
            inventory.hosts[host] = {**inventory.hosts.get(host, {}), **variables, **(own or {})}
    for child, below in (group.get("children") or {}).items():
        members |= _take_group(child, below or {}, variables, inventory)
    inventory.groups.setdefault(name, set()).update(members)
    return members


def _of_ini(text: str, file: Path) -> Inventory:
    """An inventory in INI: `[group]`, `[group:vars]`, `[group:children]`, `host key=value …`."""
    inventory = Inventory()
    own: dict[str, dict[str, Any]] = {}
    variables: dict[str, dict[str, Any]] = {}
    children: dict[str, list[str]] = {}
    group, part = "ungrouped", ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise BadInputError(f"the line cannot be read: {error}", "Close its quotes.", file=file, line=number) from error
        if not words or line.lstrip().startswith(";"):
            continue
        if head := re.fullmatch(r"\[([^:\]]+)(?::(vars|children))?\]", words[0]):
            group, part = head[1], head[2] or ""
            inventory.groups.setdefault(group, set())
        elif part == "children":
            children.setdefault(group, []).append(words[0])
        elif part == "vars":
            key, _, value = line.partition("=")
            variables.setdefault(group, {})[key.strip()] = value.strip()
        else:
            for host in _expanded(words[0]):
                inventory.groups.setdefault(group, set()).add(host)
                own.setdefault(host, {}).update(dict(word.split("=", 1) for word in words[1:] if "=" in word))
    for name in list(inventory.groups):
        inventory.groups[name] |= {host for child in _below(name, children, set()) for host in inventory.groups.get(child, ())}
    inventory.groups["all"] = set(own)
    # The nearer group's variables go before the farther one's: those with fewer hosts.
    by_size = sorted(variables, key=lambda name: -len(inventory.groups.get(name, ())))
    for host, given in own.items():
        inherited: dict[str, Any] = {}
        for name in by_size:
            if host in inventory.groups.get(name, ()):
                inherited |= variables[name]
        inventory.hosts[host] = {**inherited, **given}
    return inventory


def _below(name: str, children: Mapping[str, list[str]], seen: set[str]) -> Iterator[str]:
    for child in children.get(name, ()):
        if child not in seen:
            seen.add(child)
            yield child
            yield from _below(child, children, seen)


def _expanded(pattern: str) -> list[str]:
    """`web[01:03]` as web01, web02, web03."""
    found = _RANGE.search(pattern)
    if found is None:
        return [pattern]
    first, last, step = found[1], found[2], int(found[3] or 1)
    if first.isdigit():
        middle = [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1, step)]
    else:
        middle = [chr(code) for code in range(ord(first), ord(last) + 1, step)]
    return [name for one in middle for name in _expanded(pattern[: found.start()] + one + pattern[found.end() :])]
