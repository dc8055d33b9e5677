"""The JSON Schema of the experiment file, for editors: contract/experiment.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from hydrotest.kinds.registry import HOSTS, TESTS, WORKLOADS
from hydrotest.spec.choice import Kind
from hydrotest.spec.load import SHORT
from hydrotest.spec.models import Experiment
from hydrotest.spec.parts import models_in, type_of
from hydrotest.spec.reference import default_of

DIALECT = "http://json-schema.org/draft-07/schema#"
"""The newest that all editors' YAML servers read."""
_KINDS: Mapping[str, Mapping[str, Kind]] = {"connect": HOSTS, "kind": WORKLOADS, SHORT: TESTS}
"""The kinds that a key chooses from."""
_BOUNDS = {"le": "maximum", "ge": "minimum", "lt": "exclusiveMaximum", "gt": "exclusiveMinimum"}
"""Bounds of a field; pydantic leaves them out, or has them by these names, where a quantity has a schema of its own."""
_NUMBER = r"^\s*[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*$"


def schema(root: type[BaseModel] = Experiment, title: str = "hydrotest experiment") -> str:
    """The schema as text; `root`: the model of the whole file.

    It accepts each way of writing that `load_experiment` accepts. It does not check what takes more than one key: names
    that must exist, replicas that need hosts.
    """
    head = {"$schema": DIALECT, "title": title}
    found = root.model_json_schema(schema_generator=_Generator)
    return json.dumps({**head, **found}, indent=1, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """Describes what a file may contain, not what the models hold once it is read."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        found.pop("title", None)
        found["description"] = _words(model)
        if SHORT in found["properties"]:
            del found["properties"][SHORT]
            found["required"] = [key for key in found["required"] if key != SHORT]
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        found["properties"] = {name: _described(one, fields[name]) for name, one in found["properties"].items()}
        return found

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default is part of the description: an editor would insert 10.0 where a file has `10 s`."""
        return self.generate_inner(schema["schema"])

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return _or_text(super().int_schema(schema))

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _or_text(super().float_schema(schema))

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        """`yes` is a word in YAML 1.2, and true to the models."""
        return {"anyOf": [super().bool_schema(schema), {"enum": ["yes", "no", "on", "off"]}]}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        found = super().dict_schema(schema)
        return {**found, "additionalProperties": False} if "patternProperties" in found else found

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """A schema for each kind, chosen by its key, so that an error or a completion is about that kind alone."""
        chosen = {str(tag): self.generate_inner(choice) for tag, choice in schema["choices"].items()}
        key = str(schema["discriminator"])
        meanings = {name: _words(kind.model.load()) for name, kind in _KINDS[key].items()}
        if key == SHORT:
            return _one_key({name: {**_maybe_short(name, one), "description": meanings[name]} for name, one in chosen.items()})
        branches = [{"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": one} for name, one in chosen.items()]
        choice = {
            "enum": list(chosen),
            "description": "\n".join(f"`{name}`: {meaning.partition('. ')[0]}" for name, meaning in meanings.items()),
        }
        return {"type": "object", "properties": {key: choice}, "required": [key], "allOf": branches}


def _maybe_short(name: str, settings: JsonSchemaValue) -> JsonSchemaValue:
    """A test's settings, or where the kind allows it its workloads alone."""
    workloads = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return {"anyOf": [workloads, settings]} if TESTS[name].is_short else settings


def _one_key(properties: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
    return {"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1, "additionalProperties": False}


def _or_text(number: JsonSchemaValue) -> JsonSchemaValue:
    """A number may stand in quotes."""
    return {**number, "type": [number["type"], "string"], "pattern": _NUMBER}


def _described(schema: JsonSchemaValue, field: FieldInfo) -> JsonSchemaValue:
    """A key's schema with what it means and its default, and with bounds by their right names."""
    bounds = {name: getattr(one, key) for one in field.metadata for key, name in _BOUNDS.items() if hasattr(one, key)}
    choices = [_bounded(one) for one in schema.get("anyOf", [])]
    found = {**_bounded(schema), **({"anyOf": choices} if choices else bounds)}
    meaning = field.description or " ".join(_words(model) for model in models_in(type_of(field)))
    default = default_of(field)
    description = meaning if default is None else f"{meaning} Default: {default}.".lstrip()
    return {**found, "description": description} if description else found


def _bounded(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {_BOUNDS.get(key, key): value for key, value in schema.items()}


def _words(model: type[BaseModel]) -> str:
    """A model's description, on one line."""
    return " ".join((model.__doc__ or "").split())


if __name__ == "__main__":
    print(schema(), end="")
