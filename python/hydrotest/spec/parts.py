"""The parts of an experiment file, from the models: which models exist, where each belongs, the kinds of each
choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hydrotest.spec.base import Model
from hydrotest.spec.choice import EachOf, OneOf
from hydrotest.spec.models import Experiment


def models_in(kind: Any) -> Iterator[type[Model]]:
    """The models that a field's type names, not those below them."""
    registered = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, OneOf | EachOf)]
    if registered:
        yield from registered[0].models(get_args(kind)[0])
    elif isinstance(kind, type) and issubclass(kind, Model):
        yield kind
    elif get_origin(kind) is not Literal:
        for argument in get_args(kind)[: 1 if get_origin(kind) is Annotated else None]:
            yield from models_in(argument)


@cache
def every_model() -> list[type[Model]]:
    """All models of an experiment file, outermost first."""
    found: list[type[Model]] = [Experiment]
    for model in found:
        for field in model.model_fields.values():
            found.extend(one for one in dict.fromkeys(models_in(type_of(field))) if one not in found)
    return found


def type_of(field: FieldInfo) -> Any:
    """A field's type with its annotations."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def tag_of(model: type[BaseModel], discriminator: str) -> str | None:
    """The value of a model's key `kind`, `connect` or `test`; None if the model does not have that key."""
    field = model.model_fields.get(discriminator)
    words = get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal and field.is_required() else ()
    return str(words[0]) if len(words) == 1 else None


def tags(discriminator: str) -> list[str]:
    """The allowed values of `kind`, `connect` or `test`."""
    return [tag for model in every_model() if (tag := tag_of(model, discriminator)) is not None]


def model_at(loc: Iterable[str | int], root: type[Model] = Experiment) -> type[Model]:
    """The innermost model of a pydantic location in a `root`, in which names of choices stand between the keys; the first
    choice where none is named."""
    model = root
    choices: list[type[Model]] = []
    to_skip = 0
    for part in loc:
        if to_skip:  # a name that the user has given, or a place in a list
            to_skip -= 1
        elif len(choices) > 1:
            model = next((one for one in choices if part in _names(one)), model)
            choices = []
        elif part in model.model_fields:
            kind = type_of(model.model_fields[str(part)])
            choices = list(dict.fromkeys(models_in(kind)))
            to_skip = _levels(kind)
        if len(choices) == 1 and not to_skip:
            model, choices = choices[0], []
    return choices[0] if choices and not to_skip else model


def _names(model: type[Model]) -> set[str | None]:
    """The names that a location may use for it."""
    return {model.__name__, *(tag_of(model, key) for key in ("kind", "connect", "test"))}


def _levels(kind: Any) -> int:
    """How many mappings and lists enclose a field's innermost type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (dict, list):
        return 1 + _levels(arguments[-1])
    return max((_levels(one) for one in arguments[: 1 if origin is Annotated else None]), default=0) if origin is not Literal else 0
