"""Java's properties files (java.util.Properties, `load`): values are read as written, with blanks,
backslashes and non-ASCII letters."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.spec.fields import PropertyValue

_NAMED = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}


def property_text(value: PropertyValue) -> str:
    """A property's value in Java's format."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_text(properties: Mapping[str, PropertyValue]) -> str:
    """The file, all in ASCII: Java reads it as Latin-1 (Kafka) or UTF-8 (Spark)."""
    return "".join(f"{_escaped(key, ' :=#!')}={_value(property_text(value))}\n" for key, value in properties.items())


def _value(text: str) -> str:
    # A leading blank would be taken for a part of the separator.
    return ("\\" if text.startswith(" ") else "") + _escaped(text, "")


def _escaped(text: str, signs: str) -> str:
    return "".join(_NAMED.get(letter) or (f"\\{letter}" if letter in signs else _ascii(letter)) for letter in text)


def _ascii(letter: str) -> str:
    if " " <= letter <= "~":
        return letter
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
