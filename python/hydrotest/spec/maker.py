"""How the values of a column of a user's own table follow from the number of their row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

from hydrotest import units
from hydrotest.spec.distribution import (
    CALL,
    INVERTED,
    NUMBER_FORMS,
    NUMBER_SHAPES,
    SIZE_FORMS,
    SIZE_SHAPES,
    Distribution,
    call_of,
    parse_keys,
    parse_sizes,
    show_sizes,
    text_schema,
)

ELEMENTS_USUAL = "uniform(1, 6)"
ELEMENTS_MAX = 1_000
"""Of a collection: elements of a set are compared with each other."""
_WITH_SIZES = re.compile(rf"\d\s*({'|'.join(map(re.escape, units.SIZES))})\b")
"""A size has its unit; a number has none."""
_MODULO = re.compile(r"^\s*row\s*%\s*([^()]+?)\s*$")
EXAMPLE = "{count: 'uniform(1, 6)', each: 'uniform(0, 100)'}"


class Maker(BaseModel):
    """How a column's value follows from the number of its row: the number itself, what is left of it after a division, a number
    that neighbouring rows share, a drawn number, a number of bytes, or so many elements of a collection."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    make: Literal["row", "modulo", "shared", "number", "bytes", "many"]
    divisor: int | None = None
    drawn: Distribution | None = None
    each: Maker | None = None
    """Of the elements of a collection, and the values of a map; None: what suits their type."""

    def wire(self) -> Any:
        """`ValueGenerator` of rust/cassandra/src/value_generator.rs."""
        if self.divisor is not None:
            return {"modulo": self.divisor}
        if self.drawn is None:
            return "row"
        if self.make == "many":
            return {"many": {"count": self.drawn.wire(), "each": None if self.each is None else self.each.wire()}}
        return {self.make: self.drawn.wire()}


def parse_maker(value: object) -> object:
    """Parses the text form of a maker, or `{count: …, each: …}`."""
    if isinstance(value, Maker):
        return value
    if value == "row":
        return Maker(make="row")
    if isinstance(value, str) and (rest := _MODULO.match(value)):
        divisor = units.count(rest[1])
        if divisor < 1:
            raise ValueError(f"{value!r}: a number cannot be divided by {divisor}")
        return Maker(make="modulo", divisor=divisor)
    if isinstance(value, Mapping):
        return _parse_shared(value) if set(value) == {"rows"} else _parse_many(value)
    if isinstance(value, str) and _WITH_SIZES.search(value):
        return Maker.model_validate({"make": "bytes", "drawn": parse_sizes(value)})
    match = CALL.match(value) if isinstance(value, str) else None
    if match is None or match[1].removeprefix(INVERTED) not in NUMBER_SHAPES:
        raise ValueError(
            f"{value!r} makes no value; write row, row % 10, {{rows: 10}}, {NUMBER_FORMS}, a size such as {SIZE_FORMS}, or {EXAMPLE}"
        )
    return Maker.model_validate({"make": "number", "drawn": parse_keys(value)})


def _counted(count: object, what: str, example: str) -> Distribution:
    """A number, or a distribution of numbers."""
    maker = parse_maker(f"uniform({count}, {count + 1})" if isinstance(count, int) else count)
    if not isinstance(maker, Maker) or maker.drawn is None or maker.make != "number":
        raise ValueError(f"{count!r} is no number of {what}; write e.g. {example}")
    return maker.drawn


def _parse_shared(value: Mapping[Any, Any]) -> Maker:
    rows = _counted(value["rows"], "rows", "10, or 'exp(1, 100)'")
    if rows.low < 1:
        raise ValueError(f"{value['rows']!r}: at least one row has each number; write e.g. uniform(1, 100)")
    return Maker(make="shared", drawn=rows)


def _parse_many(value: Mapping[Any, Any]) -> Maker:
    if not set(value) <= {"count", "each"}:
        raise ValueError(f"{dict(value)!r} makes no value; write e.g. {EXAMPLE}")
    count = _counted(value.get("count", ELEMENTS_USUAL), "elements", f"3, or '{ELEMENTS_USUAL}'")
    each = parse_maker(value["each"]) if "each" in value else None
    if count.high - 1 > ELEMENTS_MAX:
        raise ValueError(f"a collection of {count.high - 1:,} elements has more than {ELEMENTS_MAX:,}; write fewer")
    if isinstance(each, Maker) and each.make in ("row", "modulo", "shared"):
        raise ValueError("elements that all follow from the row's number are alike; write e.g. each: uniform(0, 100)")
    return Maker.model_validate({"make": "many", "drawn": count, "each": each})


def show_maker(maker: Maker) -> str | dict[str, Any]:
    """The form of the file."""
    if maker.divisor is not None:
        return f"row % {maker.divisor}"
    if maker.drawn is None:
        return "row"
    numbers = f"{maker.drawn.shown_shape}({maker.drawn.low}, {maker.drawn.high}{maker.drawn.shown_extras})"
    if maker.make == "shared":
        return {"rows": numbers}
    if maker.make == "many":
        return {"count": numbers} | ({} if maker.each is None else {"each": show_maker(maker.each)})
    if maker.make == "bytes":
        return f"{show_sizes(maker.drawn)} B" if maker.drawn.size == 1 else str(show_sizes(maker.drawn))
    return numbers


_COUNT = {"anyOf": [{"type": "integer"}, text_schema(call_of(*NUMBER_SHAPES), ELEMENTS_USUAL)]}
_PLAIN = text_schema(rf"^\s*row\s*(%\s*[^()]+)?$|{units.SIZE_PATTERN}|{call_of(*SIZE_SHAPES)}|{call_of(*NUMBER_SHAPES)}", "uniform(0, 365)")
_EACH = {"anyOf": [_PLAIN, {"type": "object"}], "description": "How its elements are made; of a map the values."}
_PARTED = {"type": "object", "additionalProperties": False, "properties": {"rows": _COUNT, "count": _COUNT, "each": _EACH}}
MakerField = Annotated[Maker, BeforeValidator(parse_maker), PlainSerializer(show_maker), WithJsonSchema({"anyOf": [_PLAIN, _PARTED]})]
