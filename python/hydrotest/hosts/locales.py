"""The locale of all started processes: decimal points, messages in English, and file names in UTF-8, like
ours."""

from __future__ import annotations

import locale
import sys
from functools import cache

CANDIDATES = ("C.UTF-8", "C.utf8", "en_US.UTF-8")
"""All recent Linux distributions have the first."""
PLAIN_LOCALE = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}
"""Environment of a program whose output we read: other locales change numbers, dates and the word "error"."""


@cache
def utf8_locale() -> str | None:
    """A locale of this machine with file names in UTF-8; None if it has none of the candidates."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return next((name for name in CANDIDATES if _is_there(name)), None)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def utf8_environment() -> dict[str, str]:
    """The locale settings for a process.

    Java takes the encoding of file names from nowhere else. In the locale C it writes `?` for non-ASCII
    letters, and its option `sun.jnu.encoding` changes nothing (tried with Java 17).
    """
    found = utf8_locale()
    return {} if found is None else {"LC_ALL": found}


def takes_letters() -> bool:
    """True if non-ASCII file names are the same bytes for Java and for us."""
    return utf8_locale() is not None and sys.getfilesystemencoding() == "utf-8"


def _is_there(name: str) -> bool:
    try:
        locale.setlocale(locale.LC_CTYPE, name)
    except locale.Error:
        return False
    return True
