"""Rows of a summary for tests: what a test does not say has no meaning."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

from hydrotest.summary.model import Summary
from hydrotest.verdicts.binding import BoundBy, Kind
from hydrotest.verdicts.limit import Stop

Model = TypeVar("Model", bound=BaseModel)

CODES = {"stopped_by": Stop.SEARCH_END}
"""Fields of codes, none of which is nothing."""


def a(model: type[Model], **given: Any) -> Model:
    """A row with what is given; whatever else it needs is null, nothing, or empty."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    unknown = {name: value for name, value in given.items() if name not in fields}
    known = {
        name: _completed(field.annotation, given[name]) if name in given else CODES.get(name) or _nothing(field.annotation)
        for name, field in fields.items()
        if name in given or field.is_required()
    }
    return model.model_validate({**known, **unknown})


def summary_of(**sections: Any) -> Summary:
    """A summary with these sections, whose rows may be given by what matters of them."""
    return a(Summary, **{"schema": 1, **sections})


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _completed(annotation: Any, value: Any) -> Any:
    """Rows given as dictionaries, completed."""
    if isinstance(value, list):
        return [_completed(annotation, item) for item in value]
    found = _models(annotation)
    if not isinstance(value, dict) or not found:
        return value
    if any(get_origin(part) is dict for part in (annotation, *get_args(annotation))):
        return {key: _completed(found[0], item) for key, item in value.items()}
    return a(found[0], **value)


def _nothing(annotation: Any) -> Any:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _nothing(parts[0])
    if origin is Literal:
        return parts[0]
    if origin in (Union, types.UnionType):
        return None if type(None) in parts else _nothing(parts[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return a(annotation)
    if annotation is BoundBy:
        return BoundBy(Kind.UNKNOWN)
    return (origin or annotation)()
