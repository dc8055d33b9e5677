"""Figures in a program's output in some locale: read where there is only one reading, refused otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hydrotest.errors import TrialFailedError

DECIMALS = (".", ",")
GROUPS = (",", ".", "'", "\u2019", "\u00a0", "\u202f")
"""The thousands separators of Java's locales.

The last two are the no-break spaces of French, Russian and others.
"""
DIGITS_MAX = 18
"""A longer number is not a figure of a test, and would not fit a double."""
OTHER_LOCALE = "Run the tool in an English locale (`-Duser.language=en -Duser.country=US`); look for other ones in JAVA_TOOL_OPTIONS and _JAVA_OPTIONS."


@dataclass(frozen=True)
class Printed:
    """A figure as it was printed: `slack` is half a unit of its last digit, by which it may have been rounded."""

    value: float
    slack: float = 0.0

    @property
    def low(self) -> float:
        return self.value - self.slack

    @property
    def high(self) -> float:
        return self.value + self.slack

    def over(self, other: Printed) -> Printed:
        """A quotient, with what rounding leaves open of both; the other one is not zero."""
        value = self.value / other.value
        return Printed(value, abs(value) * (self.slack / abs(self.value or 1.0) + other.slack / abs(other.value)))

    def times(self, factor: float) -> Printed:
        """In another unit."""
        return Printed(self.value * factor, self.slack * abs(factor))


class _Style:
    """One way to write numbers. Groups have three digits, as in Java's Formatter in all locales."""

    def __init__(self, decimal: str, group: str | None) -> None:
        self.decimal = decimal
        self.group = group

    @cached_property
    def _form(self) -> re.Pattern[str]:
        grouped = "" if self.group is None else rf"[1-9][0-9]{{0,2}}(?:{re.escape(self.group)}[0-9]{{3}})+|"
        return re.compile(rf"-?(?:{grouped}[0-9]+)(?:{re.escape(self.decimal)}[0-9]+)?")

    def read(self, text: str) -> Printed | None:
        if text in _NOT_FINITE:
            return Printed(_NOT_FINITE[text])
        if not self._form.fullmatch(text) or sum(one.isdigit() for one in text) > DIGITS_MAX:
            return None
        plain = text if self.group is None else text.replace(self.group, "")
        whole, _, decimals = plain.partition(self.decimal)
        return Printed(float(f"{whole}.{decimals or 0}"), 0.5 * 10.0 ** -len(decimals))


_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Java prints these alike in all locales."""
_PLAIN = [_Style(decimal, None) for decimal in DECIMALS]
_GROUPED = [_Style(decimal, group) for decimal in DECIMALS for group in GROUPS if group != decimal]


def read_figures(texts: Sequence[str], *, grouped: bool, tool: str) -> list[float]:
    """The values alone of `read_printed`."""
    return [figure.value for figure in read_printed(texts, grouped=grouped, tool=tool)]


def read_printed(texts: Sequence[str], *, grouped: bool, tool: str) -> list[Printed]:
    """Numbers that one program has printed in one locale. `grouped`: there may be thousands separators.

    `12.345` alone may be twelve or twelve thousand; together with `5,1` it is the latter. Raises
    `TrialFailedError` where the texts together allow several readings, or none. NaN and infinity are read
    as such.
    """
    styles = [*_PLAIN, *_GROUPED] if grouped else _PLAIN
    readings: dict[tuple[float, ...], list[Printed]] = {}
    for style in styles:
        figures = [figure for text in texts if (figure := style.read(text)) is not None]
        if len(figures) == len(texts):
            readings[tuple(figure.value for figure in figures)] = figures
    if len(readings) == 1:
        return next(iter(readings.values()))
    alien = next((text for text in texts if all(style.read(text) is None for style in styles)), None)
    if alien is not None:
        raise TrialFailedError(f"{tool} printed {alien!r} where a number must stand", OTHER_LOCALE)
    shown = ", ".join(repr(text) for text in dict.fromkeys(texts) if not text.isdecimal())
    how = "may be read in several ways" if readings else "are not written in one way"
    raise TrialFailedError(f"{tool} printed figures that {how}: {shown}", OTHER_LOCALE)
