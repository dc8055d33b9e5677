"""Writes the schema of the stub provider: the names and kinds of all arguments of the resources that `deploy/aws` uses.

They come from the types of the npm packages `@cdktf/provider-aws` and `@cdktf/provider-tls`, which are made from the providers' own
schemas. Facts only: names, kinds, and what is required. Those of `deploy/oci` are written by hand in `oci.schema.json`, by the
provider's documentation, since no package has them.

    npm pack @cdktf/provider-aws@21.22.1 @cdktf/provider-tls@11.0.1, unpack both into DIR/aws and DIR/tls, and
    python tests/deploy/make_schema.py DIR > tests/deploy/stub/aws.schema.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

RESOURCES = {
    "aws": ["vpc", "internet-gateway", "route-table", "route-table-association", "subnet", "security-group", "vpc-security-group-ingress-rule",
            "vpc-security-group-egress-rule", "placement-group", "instance", "data-aws-ssm-parameter"],
    "tls": ["private-key"],
}  # fmt: skip
RESERVED = {"id", "timeouts", "count", "provider", "lifecycle", "connection"}
_INTERFACE = re.compile(r"^export interface (\w+)(?: extends [\w.]+)? \{\n(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"#(\w+) [^\n]*\n(?:[^\n]*\n)*?    readonly (\w+)(\??): (\{[^}]*\}|[^;]+);")
_GETTER = re.compile(
    r"^    get (\w+)\(\): (string|number|boolean|cdktf\.IResolvable|string\[\]|cdktf\.\w+|boolean \| cdktf\.IResolvable);", re.M
)
KINDS = {"string": "string", "number": "number", "boolean": "bool", "string[]": "strings"}


def main(folder: Path) -> None:
    """Prints the schema."""
    found = {}
    for provider, names in RESOURCES.items():
        for name in names:
            text = (folder / provider / "lib" / name / "index.d.ts").read_text()
            full = re.search(r'tfResourceType = "(\w+)"', text)
            assert full is not None
            found[("data." if name.startswith("data-") else "") + full[1]] = resource(text)
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


def resource(text: str) -> dict[str, Any]:
    """One resource, with what it computes itself."""
    interfaces = dict(_INTERFACE.findall(text))
    config = next(name for name in interfaces if name.endswith("Config"))
    made = block(interfaces, config)
    # Its own class is the last one: those of its blocks stand before it.
    own = text[max(text.rfind("extends cdktf.TerraformResource"), text.rfind("extends cdktf.TerraformDataSource")) :]
    for name, written in _GETTER.findall(own):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        kind = written.split(" | ")[0]
        if name.endswith("Input") or snake in made["blocks"] or snake in RESERVED:
            continue
        if snake in made["attributes"]:
            made["attributes"][snake]["computed"] = not made["attributes"][snake]["required"]
        elif kind in KINDS:
            made["attributes"][snake] = {"kind": KINDS[kind], "required": False, "computed": True, "given": False}
    return made


def block(interfaces: dict[str, str], name: str) -> dict[str, Any]:
    """The arguments of a block, by their names in HCL."""
    attributes, blocks = {}, {}
    for snake, _, optional, written in _FIELD.findall(interfaces[name]):
        kind = written.split(" | ")[0].strip()
        if snake in RESERVED:
            continue
        if kind in KINDS:
            attributes[snake] = {"kind": KINDS[kind], "required": not optional, "computed": False, "given": True}
        elif kind.startswith("{"):
            attributes[snake] = {"kind": "map", "required": not optional, "computed": False, "given": True}
        elif (inner := kind.removesuffix("[]")) in interfaces:
            blocks[snake] = {"many": kind.endswith("[]"), "required": not optional, **block(interfaces, inner)}
    return {"attributes": attributes, "blocks": blocks}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
