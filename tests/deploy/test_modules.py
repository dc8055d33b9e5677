"""The modules of `deploy/`, applied by the real tool to a provider that has the real ones' arguments and no cloud behind it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from hydrotest.hosts.inventories.fleet import fleet_text
from hydrotest.hosts.inventories.tofu import from_tofu
from hydrotest.spec.fleet_file import read_fleet
from hydrotest.spec.hosts import SshHost
from hydrotest.spec.load import load_experiment

pytestmark = [pytest.mark.real, pytest.mark.long]

ROOT = Path(__file__).parents[2]
SOURCES = {"hashicorp/aws": "aws", "hashicorp/tls": "tls", "oracle/oci": "oci"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAITest me"
FROM = ["198.51.100.7/32"]
MODULES = {
    "aws": ({"region": "eu-central-1"}, "experiments/packet-five-nodes.yaml"),
    "oci": ({"region": "eu-frankfurt-1", "compartment": "ocid1.compartment.x"}, "experiments/oci-cassandra.yaml"),
}


@dataclass(frozen=True)
class Tool:
    """OpenTofu or Terraform, with the stub for each provider."""

    program: str
    configuration: Path

    def run(self, module: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "TF_CLI_CONFIG_FILE": str(self.configuration), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
        return subprocess.run(
            [self.program, *arguments], cwd=module, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def done(self, module: Path, *arguments: str) -> str:
        result = self.run(module, *arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    program = shutil.which("tofu") or shutil.which("terraform")
    if program is None or shutil.which("go") is None:
        pytest.skip("needs go, and tofu or terraform")
    folder = tmp_path_factory.mktemp("providers")
    built = folder / "stub"
    subprocess.run(["go", "build", "-o", str(built), "."], cwd=Path(__file__).parent / "stub", check=True, timeout=600)
    overrides = []
    for source, name in SOURCES.items():
        place = folder / name
        place.mkdir()
        (place / f"terraform-provider-{name}").symlink_to(built)
        overrides.append(f'    "{source}" = "{place}"')
    configuration = folder / "tofurc"
    # Nothing is looked for elsewhere.
    configuration.write_text("provider_installation {\n  dev_overrides {\n" + "\n".join(overrides) + "\n  }\n}\n")
    return Tool(program, configuration)


def copied(module: str, base: Path) -> Path:
    shutil.copytree(ROOT / "deploy", base / "deploy")
    return base / "deploy" / module


def given(module: Path, **variables: object) -> None:
    own = MODULES[module.name][0]
    (module / "terraform.tfvars.json").write_text(json.dumps({"ssh_public_key": KEY, "allow_ssh_from": FROM, **own, **variables}))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_makes_the_fleet_of_its_experiment(tool: Tool, tmp_path: Path, name: str) -> None:
    module = copied(name, tmp_path)
    given(module)
    tool.done(module, "fmt", "-check", "-recursive", str(module))
    tool.done(module, "validate")
    tool.done(module, "apply", "-auto-approve", "-input=false")
    output = tmp_path / "out.json"
    output.write_text(tool.done(module, "output", "-json"))
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(fleet_text(from_tofu(output), str(output)))
    machines = read_fleet(fleet)
    experiment, _ = load_experiment(ROOT / MODULES[name][1], fleet)
    assert set(experiment.hosts) == set(machines)
    for machine in machines.values():
        assert isinstance(machine, SshHost)
        assert machine.address.startswith("10.77.")
        assert machine.to.startswith("hydrotest@203.0.113.")
        assert machine.data == "/mnt/hydrotest"
        assert (machine.host_key or "").startswith("ssh-ed25519 AAAA")
        assert machine.rack
    # What a machine is told at its first start is read there as YAML.
    state = json.loads(tool.done(module, "show", "-json"))
    for text in started_with(name, state):
        told = yaml.safe_load(text)
        assert told["ssh_pwauth"] is False
        assert told["users"][0]["ssh_authorized_keys"] == [KEY]
        assert told["ssh_keys"]["ed25519_private"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
        assert "sudo" not in told["users"][0]
        (boot,) = (one["content"] for one in told["write_files"] if one["path"].endswith("per-boot/hydrotest"))
        subprocess.run(["sh", "-n"], input=boot, text=True, check=True)


def started_with(name: str, state: dict[str, object]) -> list[str]:
    import base64  # noqa: PLC0415

    resources = state["values"]["root_module"]["resources"]  # type: ignore[index]
    if name == "aws":
        return [one["values"]["user_data"] for one in resources if one["type"] == "aws_instance"]
    return [base64.b64decode(one["values"]["metadata"]["user_data"]).decode() for one in resources if one["type"] == "oci_core_instance"]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(
    "variables",
    [{"allow_ssh_from": ["0.0.0.0/0"]}, {"allow_ssh_from": []}, {"allow_ssh_from": ["10.0.0.0/8"]}, {"allow_ssh_from": ["198.51.100.7"]},
     {"allow_ssh_from": ["2001:db8::/32"]}, {"ssh_public_key": "secret"}, {"user": "root"}],
)  # fmt: skip
def test_what_would_be_open_to_the_world_is_refused(tool: Tool, tmp_path: Path, name: str, variables: dict[str, object]) -> None:
    module = copied(name, tmp_path)
    given(module, **variables)
    result = tool.run(module, "plan", "-input=false")
    assert result.returncode != 0
    assert "Invalid value for variable" in result.stderr


@pytest.mark.parametrize("name", MODULES)
def test_a_misspelt_argument_is_found(tool: Tool, tmp_path: Path, name: str) -> None:
    """The stub knows the arguments of the real providers, and no others."""
    module = copied(name, tmp_path)
    text = (module / "main.tf").read_text()
    assert "freeform_tags " in text or "instance_type " in text
    (module / "main.tf").write_text(text.replace("instance_type ", "instance_typ ").replace("display_name ", "display_nam ", 1))
    result = tool.run(module, "validate")
    assert "Unsupported argument" in result.stderr
