"""contract/summary.schema.json, from the models."""

from __future__ import annotations

import json
from typing import Any

from hydrotest.summary.model import Summary

UNSAID = (("additionalProperties", False), ("default", None))
"""Entries to leave out: one closes an object, the other is the default."""


def schema() -> str:
    """The JSON Schema of summary.json. It allows fields that it does not know: versions of a format only add
    some."""
    found = _plain(Summary.model_json_schema())
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hydrotest summary.json",
        "description": " ".join((Summary.__doc__ or "").split()),
    }
    return json.dumps({**head, **{key: value for key, value in found.items() if key not in head}}, indent=1) + "\n"


def _plain(value: Any, *, is_named: bool = False) -> Any:
    """The value without titles that only repeat names, and without `UNSAID`. `is_named`: the keys are names
    of fields; fields that are never written are left out."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {
        key: _plain(item, is_named=key in ("properties", "$defs") and not is_named)
        for key, item in value.items()
        if (is_named and not item.get("writeOnly")) or (not is_named and (key, item) not in UNSAID and key != "title")
    }
    return out if is_named else _merged(out)


def _merged(part: dict[str, Any]) -> dict[str, Any]:
    """Alternatives that are plain types, as a list of types."""
    choices = part.get("anyOf", [])
    if not choices or not all("type" in one and set(one) <= {"type", "minimum"} for one in choices):
        return part
    bounds = {key: value for one in choices for key, value in one.items() if key != "type"}
    return {"type": [one["type"] for one in choices], **bounds, **{key: value for key, value in part.items() if key != "anyOf"}}


if __name__ == "__main__":
    print(schema(), end="")
