"""The templates: the experiments that come with hydrotest, in a source tree and in a wheel."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hydrotest.errors import BadInputError
from hydrotest.spec.header import Header, parse_header

FOLDER = "experiments"
"""In the package. In a source tree it is a link to the folder of that name at the top."""


@dataclass(frozen=True)
class Template:
    """One experiment."""

    name: str
    text: str
    header: Header


def templates() -> dict[str, Template]:
    """All templates by name. Raises `BadInputError` for one whose header is missing or flawed."""
    files = sorted(resources.files("hydrotest").joinpath(FOLDER).iterdir(), key=lambda file: file.name)
    return {
        name: _template(name, file.read_text(encoding="utf-8")) for file in files if (name := file.name.removesuffix(".yaml")) != file.name
    }


def template_of(name: str) -> Template:
    """The template of that name. Raises `BadInputError`."""
    every = templates()
    if name not in every:
        close = difflib.get_close_matches(name, every, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise BadInputError(f"there is no template {name!r}", f"{hint}`hydrotest init --list` shows all.")
    return every[name]


def _template(name: str, text: str) -> Template:
    file = Path(FOLDER, f"{name}.yaml")
    header = parse_header(text, file)
    if header is None:
        raise BadInputError("has no header", "Begin it with `# question: …`, `# time: …` and `# needs: …`.", file=file, line=1)
    return Template(name, text, header)
