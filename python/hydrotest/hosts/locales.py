"""The locale of all that we start: figures with decimal points, messages in English, and names of files in UTF-8, as ours are."""

from __future__ import annotations

import locale
import sys
from functools import cache

CANDIDATES = ("C.UTF-8", "C.utf8", "en_US.UTF-8")
"""All Linux distributions of the last years have the first."""


@cache
def utf8_locale() -> str | None:
    """A locale of this machine whose names of files are UTF-8; None if it has none of ours."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return next((name for name in CANDIDATES if _is_there(name)), None)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def utf8_environment() -> dict[str, str]:
    """What a process is told of it. Java takes the encoding of file names from nowhere else: in the locale C it writes `?` for letters beyond ASCII, and its option
    `sun.jnu.encoding` changes nothing (tried with Java 17)."""
    found = utf8_locale()
    return {} if found is None else {"LC_ALL": found}


def takes_letters() -> bool:
    """True if names of files beyond ASCII are the same bytes for Java and for us."""
    return utf8_locale() is not None and sys.getfilesystemencoding() == "utf-8"


def _is_there(name: str) -> bool:
    try:
        locale.setlocale(locale.LC_CTYPE, name)
    except locale.Error:
        return False
    return True
