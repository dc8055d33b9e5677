"""What sets a limit: the verdict of `verdicts/binding` in a summary. Older versions wrote only its texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator

from hydrotest.verdicts.binding import BoundBy, Kind

PLAIN = ("kind", "host", "resource", "confirmed", "binds", "basis", "detail", "caveats", "there")
"""Fields that all versions write in the same way."""
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
TEXT_OR_NULL, NUMBER_OR_NULL = {"type": ["string", "null"]}, {"type": ["number", "null"]}
TEXTS = {"type": "array", "items": TEXT}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _rows(description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": _object(required, **properties)}


SCHEMA = _object(
    ["kind", "host", "resource", "detail", "confirmed", "evidence", "ruled_out"],
    kind={"enum": [str(kind) for kind in Kind]},
    because=_rows("The reasons, as codes and figures.", ["code"], code=TEXT),
    host=TEXT_OR_NULL,
    resource={"enum": ["cpu", "memory", "disk", "network", None]},
    detail={**TEXT, "description": "The same in words."},
    confirmed={**FLAG, "description": "Proven by squeezes."},
    binds={**TEXTS, "description": "The hosts whose resource binds, if that is more than suspected."},
    evidence=_rows("The figures that it is based on.", ["what", "host", "value", "unit"], what=TEXT, host=TEXT_OR_NULL, value=NUMBER_OR_NULL, unit=TEXT_OR_NULL),
    ruled_out=_rows("What does not bind.", ["what", "why"], what=TEXT, why=TEXT),
    elasticity={
        "anyOf": [_object(["value", "low", "high", "n"], value=NUMBER, low=NUMBER_OR_NULL, high=NUMBER_OR_NULL, n={"type": "integer"}), {"type": "null"}],
        "description": "Elasticity of the rate in the resource that binds: the greatest of its hosts', with its 95 % interval.",
    },
    next={
        "anyOf": [_object(["host", "resource", "at"], host=TEXT_OR_NULL, resource=TEXT_OR_NULL, at=NUMBER_OR_NULL), {"type": "null"}],
        "description": "What more of the binding resource gave, and what binds next.",
    },
    squeezed=_rows("All that was squeezed.", ["hosts", "resource"], hosts=TEXTS, resource=TEXT),
    basis={"enum": ["use", "squeeze"], "description": "Based on use at the limit, or on squeezes."},
    nearest=_rows(
        "If nothing is suspected: what came nearest to it, the nearest first.",
        ["what", "host", "resource", "value", "threshold", "nearness", "provable_by"],
        what=TEXT, host=TEXT_OR_NULL, resource=TEXT_OR_NULL, value=NUMBER, threshold=NUMBER, nearness=NUMBER, provable_by=TEXT_OR_NULL,
    ),
    caveats={**TEXTS, "description": "What qualifies or contradicts a proof, in words."},
    there={**TEXT, "description": "What binds workloads together."},
)  # fmt: skip


def _read(value: Any, handler: ValidatorFunctionWrapHandler) -> BoundBy:
    """Reads a verdict. From a version without codes it keeps the texts, and omits their evidence."""
    try:
        found: BoundBy = handler(value)
    except ValidationError:
        if not isinstance(value, Mapping):
            raise
        found = handler({key: value[key] for key in PLAIN if value.get(key) is not None})
    return found


Bound = Annotated[BoundBy, WrapValidator(_read), WithJsonSchema(SCHEMA)]
