"""Parts of an experiment file with several kinds; the registry lists the kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Protocol, TypeVar, Union

from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from hydrotest.kinds.ref import Ref
from hydrotest.spec.base import Model

T = TypeVar("T")


class Kind(Protocol):
    """The part of a registry that is used here."""

    @property
    def model(self) -> Ref:
        """Its settings."""
        ...


@dataclass(frozen=True, eq=False)
class OneOf:
    """Annotates a base of models: the file contains one of them, and its `key` names which."""

    kinds: Mapping[str, Kind]
    key: str

    def models(self, base: type[Model] | None = None) -> list[type[Model]]:
        """The models that are allowed there."""
        return [kind.model.load() for kind in self.kinds.values()]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = Union[tuple(self.models())]  # noqa: UP007 - of as many as there are
        return handler.generate_schema(Annotated[union, Field(discriminator=self.key)])


@dataclass(frozen=True, eq=False)
class EachOf:
    """Annotates a model that gets a key for each kind; the file may contain any of them."""

    kinds: Mapping[str, Kind]

    def models(self, base: type[Model]) -> list[type[Model]]:
        """`base` with these keys and no others."""
        return [_with_keys(base, tuple((name, kind.model.load()) for name, kind in self.kinds.items()))]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.models(source)[0])


@cache
def _with_keys(base: type[Model], models: tuple[tuple[str, type[Model]], ...]) -> type[Model]:
    keys: dict[str, Any] = {name: (model | None, None) for name, model in models}
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **keys)


def expected(value: object, kind: type[T]) -> T:
    """The value as that kind, which earlier checks ensure. Raises `TypeError` if it is of another kind."""
    if (found := narrowed(value, kind)) is None:
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return found


def narrowed(value: object, kind: type[T]) -> T | None:
    """The value if it is of that kind, for code about one kind alone. What differs between kinds is a method
    of each."""
    return value if isinstance(value, kind) else None
