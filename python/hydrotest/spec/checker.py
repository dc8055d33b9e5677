"""How a check fails: with file, line, what is wrong and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from hydrotest.errors import BadInputError
from hydrotest.spec.lines import Document, Path_


class Checker:
    def __init__(self, document: Document) -> None:
        self.document = document

    def fail(self, path: Path_, message: str, hint: str | None = None) -> BadInputError:
        return BadInputError(message, hint, file=self.document.file_of(path), line=self.document.line(path))

    def known(self, name: str, among: Iterable[str], what: str, path: Path_) -> None:
        names = list(among)
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names) or 'none'}."
            raise self.fail(path, f"unknown {what.removeprefix('the ')} {name!r}", hint)
