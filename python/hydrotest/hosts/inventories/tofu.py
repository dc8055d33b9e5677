"""What OpenTofu and Terraform say: `tofu output -json` of hydrotest's own modules, or `tofu show -json` of any."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.hosts.inventories.fleet import Imported

OUTPUT = "hydrotest"
"""The output of the modules in `deploy/`."""
INSTANCES = ("aws_instance", "oci_core_instance", "google_compute_instance", "azurerm_linux_virtual_machine")
KNOWN = {"to", "address", "user", "data_center", "rack", "type", "data", "host_key", "java_home"}


def from_tofu(file: Path) -> list[Imported]:
    """The hosts of a file. Raises `BadInputError` where it is none that is known."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"the file is not what `tofu output -json` writes: {error}", "Write it with `tofu output -json > FILE`.", file=file
        ) from error
    if isinstance(found, dict) and isinstance(found.get(OUTPUT), dict):
        hosts = found[OUTPUT].get("value", {}).get("hosts", {})
        return [_of_output(name, one) for name, one in hosts.items()]
    if isinstance(found, dict) and "values" in found:
        root = found["values"].get("root_module", {})
        return [host for resource in _resources(root) if (host := _of_resource(resource)) is not None]
    raise BadInputError(
        f"the file has neither an output `{OUTPUT}` nor a state", "Write it with `tofu output -json` or `tofu show -json`.", file=file
    )


def _of_output(name: str, one: Mapping[str, Any]) -> Imported:
    to = str(one.get("to") or one.get("address") or name)
    return Imported(
        name, f"{one['user']}@{to}" if one.get("user") else to, (one.get("address"),), one.get("data_center"), one.get("rack"),
        one.get("type"), one.get("data"), one.get("host_key"), one.get("java_home"), tuple(sorted(set(one) - KNOWN)),
    )  # fmt: skip


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)


def _of_resource(resource: Mapping[str, Any]) -> Imported | None:
    """A machine of a cloud, by what its provider calls its settings."""
    if resource.get("type") not in INSTANCES or resource.get("mode", "managed") != "managed":
        return None
    values = resource.get("values", {})
    index = resource.get("index")
    name = (
        (values.get("tags") or {}).get("Name")
        or values.get("display_name")
        or f"{resource.get('name')}{'' if index is None else f'-{index}'}"
    )
    interfaces = values.get("network_interface") or [{}]
    private = values.get("private_ip") or values.get("private_ip_address") or interfaces[0].get("network_ip")
    access = (interfaces[0].get("access_config") or [{}])[0].get("nat_ip")
    public = values.get("public_ip") or values.get("public_ip_address") or access
    rack = values.get("fault_domain") or values.get("availability_zone") or values.get("zone") or values.get("availability_domain")
    kind = values.get("instance_type") or values.get("shape") or values.get("machine_type") or values.get("size")
    return Imported(str(name), str(public or private or name), (private,), rack=rack, type=kind)
