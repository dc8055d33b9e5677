"""What sets a limit, as a summary has it: the verdict of `verdicts/binding`, which older versions wrote with texts alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator

from hydrotest.verdicts.binding import BoundBy, Kind

PLAIN = ("kind", "host", "resource", "confirmed", "binds", "basis", "detail", "caveats", "there")
"""Fields that every version has written alike."""
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
    because=_rows("Why it is that, as codes and figures.", ["code"], code=TEXT),
    host=TEXT_OR_NULL,
    resource={"enum": ["cpu", "memory", "disk", "network", None]},
    detail={**TEXT, "description": "The same in words."},
    confirmed={**FLAG, "description": "Proven by squeezes."},
    binds={**TEXTS, "description": "The hosts whose resource binds, where that is more than suspected."},
    evidence=_rows("What it stands on.", ["what", "host", "value", "unit"], what=TEXT, host=TEXT_OR_NULL, value=NUMBER_OR_NULL, unit=TEXT_OR_NULL),
    ruled_out=_rows("What does not bind.", ["what", "why"], what=TEXT, why=TEXT),
    elasticity={
        "anyOf": [_object(["value", "low", "high", "n"], value=NUMBER, low=NUMBER_OR_NULL, high=NUMBER_OR_NULL, n={"type": "integer"}), {"type": "null"}],
        "description": "Of the rate, in what binds: the greatest of its hosts', with its 95 % interval.",
    },
    next={
        "anyOf": [_object(["host", "resource", "at"], host=TEXT_OR_NULL, resource=TEXT_OR_NULL, at=NUMBER_OR_NULL), {"type": "null"}],
        "description": "What more of what binds gave, and what comes next.",
    },
    squeezed=_rows("All that was squeezed.", ["hosts", "resource"], hosts=TEXTS, resource=TEXT),
    basis={"enum": ["use", "squeeze"], "description": "What was used at the limit, or what squeezes showed."},
    nearest=_rows(
        "Where nothing is a suspect: what came nearest to being one, the nearest first.",
        ["what", "host", "resource", "value", "threshold", "nearness", "provable_by"],
        what=TEXT, host=TEXT_OR_NULL, resource=TEXT_OR_NULL, value=NUMBER, threshold=NUMBER, nearness=NUMBER, provable_by=TEXT_OR_NULL,
    ),
    caveats={**TEXTS, "description": "What stands beside a proof, or against it, in words."},
    there={**TEXT, "description": "What binds workloads together."},
)  # fmt: skip


def _read(value: Any, handler: ValidatorFunctionWrapHandler) -> BoundBy:
    """Of a version without codes the texts are kept, and what they stand on is left out."""
    try:
        found: BoundBy = handler(value)
    except ValidationError:
        if not isinstance(value, Mapping):
            raise
        found = handler({key: value[key] for key in PLAIN if value.get(key) is not None})
    return found


Bound = Annotated[BoundBy, WrapValidator(_read), WithJsonSchema(SCHEMA)]
