"""Answers that a command has saved to a file, read again by another."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from hydrotest.errors import BadInputError
from hydrotest.summary.base import Row

Saved = TypeVar("Saved", bound=Row)


def read_saved(path: Path, model: type[Saved], option: str) -> Saved:
    """An answer from the file that `option` wrote, e.g. "predict --save". Raises `BadInputError`."""
    hint = f"Name a file that `hydrotest {option}` wrote."
    try:
        return model.model_validate_json(path.read_text())
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", hint, file=path) from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"`{option}` did not write this file: it is no text", hint, file=path) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInputError(
            f"`{option}` did not write this file: {f'{place}: ' if place else ''}{first['msg']}", hint, file=path
        ) from error
