"""Lists of machines that people have become the same fleet file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.inventories.ansible import from_ansible
from hydrotest.hosts.inventories.fleet import UNKNOWN_ADDRESS, Imported, fleet_text, is_private, left_out
from hydrotest.hosts.inventories.ssh_config import from_ssh_config
from hydrotest.hosts.inventories.tofu import from_tofu

FLEET = {
    "kafka-1": {"connect": "ssh", "to": "ubuntu@10.0.1.11", "address": "10.0.1.11"},
    "kafka-2": {"connect": "ssh", "to": "ubuntu@10.0.1.12", "address": "10.0.1.12"},
    "load-1": {"connect": "ssh", "to": "ubuntu@10.0.2.5", "address": "10.0.2.5"},
}
INI = """\
# our test bench
[kafka]
kafka-[1:2] ansible_user=ubuntu
kafka-1 ansible_host=10.0.1.11 ansible_port=2222
kafka-2 ansible_host=10.0.1.12

[load]
load-1 ansible_host=10.0.2.5  # the generators

[bench:children]
kafka
load

[bench:vars]
ansible_user=ubuntu
ansible_python_interpreter=/usr/bin/python3
"""
YAML = """\
all:
  children:
    bench:
      vars: {ansible_user: ubuntu}
      children:
        kafka:
          hosts:
            kafka-1: {ansible_host: 10.0.1.11}
            kafka-2: {ansible_host: 10.0.1.12}
        load:
          hosts:
            load-1: {ansible_host: 10.0.2.5}
"""
LISTED = {
    "_meta": {"hostvars": {name: {"ansible_host": one["address"], "ansible_user": "ubuntu"} for name, one in FLEET.items()}},
    "all": {"children": ["bench", "ungrouped"]},
    "bench": {"children": ["kafka", "load"]},
    "kafka": {"hosts": ["kafka-1", "kafka-2"]},
    "load": {"hosts": ["load-1"]},
}
OUTPUT = {"hydrotest": {"value": {"hosts": {name: {"user": "ubuntu", "address": one["address"]} for name, one in FLEET.items()}}}}


def made(hosts: list[Imported]) -> object:
    return yaml.safe_load(fleet_text(hosts, "a list"))["hosts"]


@pytest.fixture
def no_ansible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hydrotest.hosts.inventories.ansible.shutil.which", lambda _: None)


@pytest.mark.usefixtures("no_ansible")
@pytest.mark.parametrize(("name", "text"), [("hosts", INI), ("hosts.yml", YAML), ("hosts.json", json.dumps(LISTED))])
def test_inventories_of_ansible(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert made(from_ansible(file, {})) == FLEET


@pytest.mark.usefixtures("no_ansible")
def test_groups_are_roles(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text(INI)
    assert list(made(from_ansible(file, {"broker": "kafka", "client": "load"}))) == ["broker-1", "broker-2", "client-1"]  # type: ignore[call-overload]
    with pytest.raises(BadInputError) as caught:
        from_ansible(file, {"broker": "brokers"})
    assert "kafka" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_ansible")
def test_what_has_no_place_is_named(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text(INI)
    assert left_out(from_ansible(file, {})) == {"ansible_port": ["kafka-1"], "ansible_python_interpreter": ["kafka-1", "kafka-2", "load-1"]}


def test_what_ansible_says_goes_before_what_we_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/ansible-inventory"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(LISTED))})\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    file = tmp_path / "anything"
    file.write_text("[x]\n")
    assert made(from_ansible(file, {})) == FLEET


def test_the_output_of_our_modules(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text(json.dumps(OUTPUT))
    assert made(from_tofu(file)) == FLEET


def test_the_state_of_any_module(tmp_path: Path) -> None:
    """Machines of two clouds; data sources and other resources are none."""
    aws = {"type": "aws_instance", "name": "node", "index": 0, "mode": "managed",
           "values": {"private_ip": "10.0.1.11", "public_ip": "203.0.113.9", "availability_zone": "eu-1a", "instance_type": "i4i.xlarge",
                      "tags": {"Name": "kafka-a"}}}  # fmt: skip
    oci = {"type": "oci_core_instance", "name": "node", "index": 1, "mode": "managed",
           "values": {"private_ip": "10.0.1.12", "fault_domain": "FD-2", "availability_domain": "AD-1", "display_name": "kafka b", "shape": "VM.DenseIO"}}  # fmt: skip
    others = [{"type": "aws_subnet", "values": {}}, {**aws, "mode": "data"}]
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"values": {"root_module": {"resources": [aws, *others], "child_modules": [{"resources": [oci]}]}}}))
    assert made(from_tofu(file)) == {
        "kafka-a": {"connect": "ssh", "to": "203.0.113.9", "address": "10.0.1.11", "rack": "eu-1a", "type": "i4i.xlarge"},
        "kafka-b": {"connect": "ssh", "to": "10.0.1.12", "address": "10.0.1.12", "rack": "FD-2", "type": "VM.DenseIO"},
    }


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
def test_the_configuration_of_ssh(tmp_path: Path) -> None:
    """Names from the file and what it includes; what they mean, from ssh."""
    (tmp_path / "more").write_text("Host kafka-2\n  HostName 10.0.1.12\n")
    config = tmp_path / "config"
    config.write_text(
        f"Include {tmp_path}/more\nHost kafka-1 other\n  HostName 10.0.1.11\nHost kafka-*\n  User ubuntu\n  ProxyJump bastion\n"
        "Match host bastion\n  User root\nHost kafka-far\n  HostName example.invalid\n"
    )
    found = from_ssh_config("kafka-*", config)
    assert [(host.name, host.to, host.address) for host in found] == [
        ("kafka-2", "kafka-2", "10.0.1.12"), ("kafka-1", "kafka-1", "10.0.1.11"), ("kafka-far", "kafka-far", None),
    ]  # fmt: skip
    assert UNKNOWN_ADDRESS in fleet_text(found, "it")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"outputs": {}}'])
def test_a_file_that_is_no_output_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "out.json"
    file.write_text(text)
    with pytest.raises(BadInputError) as caught:
        from_tofu(file)
    assert caught.value.file == file


@pytest.mark.usefixtures("no_ansible")
@pytest.mark.parametrize(("name", "text"), [("hosts", 'a x="open\n'), ("hosts.yml", "a: [\n"), ("hosts.json", "[1]")])
def test_a_broken_inventory_is_named(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadInputError) as caught:
        from_ansible(file, {})
    assert caught.value.file == file


def test_two_hosts_of_one_name_are_refused() -> None:
    with pytest.raises(BadInputError):
        fleet_text([Imported("a.b", "x"), Imported("a-b", "y")], "it")
    with pytest.raises(BadInputError):
        fleet_text([], "it")


@pytest.mark.parametrize(
    ("address", "private"),
    [("10.1.2.3", True), ("192.168.1.1", True), ("8.8.8.8", False), ("127.0.0.1", False), ("169.254.1.1", False), ("host", False)],
)
def test_private_addresses(address: str, private: bool) -> None:
    assert is_private(address) is private


def test_the_command_writes_a_file_once(tmp_path: Path) -> None:
    source, out = tmp_path / "out.json", tmp_path / "fleet.yaml"
    source.write_text(json.dumps(OUTPUT))
    argv = [str(Path(sys.executable).parent / "hydrotest"), "hosts", "import", "--tofu", str(source), "--out", str(out)]
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 0
    assert yaml.safe_load(out.read_text())["hosts"] == FLEET
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 2
    assert subprocess.run(argv[:3], check=False, capture_output=True).returncode == 2
