"""Quantities as people write them: "100 B", "5 min", "2 Gbit/s", "1M", "10 %".

Sizes take decimal (kB, MB, GB) and binary (KiB, MiB, GiB) prefixes with their standard meaning. Every
function raises `ValueError` with the forms that it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

_NUMBER = r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
_QUANTITY = re.compile(rf"^\s*({_NUMBER})\s*([A-Za-zµ%/]*)\s*$")

QUANTITY_CHARS_MAX = 40
"""Longer texts are not quantities."""
QUANTITY_MAX = Decimal("1e30")
"""Nor are larger numbers: no unit is that small."""

SIZES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_TIMES: dict[str, int | str] = {"us": "1e-6", "µs": "1e-6", "ms": "1e-3", "s": 1, "min": 60, "h": 3600, "d": 86400}
_COUNTS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
_RATES |= {"B/s": 8, "kB/s": 8 * 10**3, "MB/s": 8 * 10**6, "GB/s": 8 * 10**9}
_SHARES: dict[str, int | str] = {"": 1, "%": "0.01"}


def _pattern(units: Mapping[str, int | str], after: str = "") -> str:
    """What these quantities look like, for a JSON Schema: a regular expression that ECMAScript reads as well."""
    names = "|".join(re.escape(name) for name in units if name)
    return rf"^\s*{_NUMBER}\s*({names}){'?' if '' in units else ''}{after}\s*$"


SIZE_PATTERN = _pattern(SIZES)
DURATION_PATTERN = _pattern(_TIMES)
COUNT_PATTERN = _pattern(_COUNTS)
RATE_PATTERN = _pattern(_COUNTS, r"\s*(/s)?")
LINK_PATTERN = _pattern(_RATES)
SHARE_PATTERN = _pattern(_SHARES)


def _exactly(text: object, units: Mapping[str, int | str], what: str, example: str) -> Decimal:
    """The exact quantity: 0.29K is 290, which floats make 290.00000000000006 or less."""
    match = None
    if isinstance(text, (str, int, float)) and not isinstance(text, bool) and len(str(text)) <= QUANTITY_CHARS_MAX:
        match = _QUANTITY.match(str(text))
    if match is None or match[2] not in units:
        raise ValueError(f"{text!r} is not a {what}; write a number with one of {_names(units)}, e.g. {example!r}")
    value = Decimal(match[1]) * Decimal(units[match[2]])
    if value > QUANTITY_MAX:
        raise ValueError(f"{text!r} is not a {what}: it is too large; write e.g. {example!r}")
    return value


def _whole(value: Decimal, text: object, what: str, example: str) -> int:
    if value != value.to_integral_value():
        raise ValueError(f"{text!r} is not a {what}: it must be whole; write e.g. {example!r}")
    return int(value)


def _names(units: Mapping[str, int | str]) -> str:
    return ", ".join(name or "(nothing)" for name in units)


def size_bytes(text: object) -> int:
    """A size in bytes: "100 B", "16 KiB", "1 GB". The unit is required: a bare number hides a factor of
    1,024. Parts of larger units are rounded to bytes; a part of a byte is not allowed."""
    value = _exactly(text, SIZES, "size", "16 KiB")
    return _whole(value, text, "size", "16 KiB") if value < SIZES["kB"] else round(value)


def duration_s(text: object) -> float:
    """A duration in seconds: "250 us", "50 ms", "5 min"."""
    return float(_exactly(text, _TIMES, "duration", "50 ms"))


def count(text: object) -> int:
    """A count: 1000, "1M", "100K"; always an integer."""
    return _whole(_exactly(text, _COUNTS, "count", "1M"), text, "count", "1M")


def number(text: object) -> float:
    """A number, integer or not, with the units of a count: 0.5, "1.5K"."""
    return float(_exactly(text, _COUNTS, "number", "1.5K"))


def rate_per_s(text: object) -> float:
    """Operations per second: 5000, "100K", "1M", also followed by "/s"."""
    plain = text.strip().removesuffix("/s") if isinstance(text, str) else text
    rate = float(_exactly(plain, _COUNTS, "rate", "100K"))
    if rate <= 0:
        raise ValueError(f"{text!r} is not a rate; it must be above 0")
    return rate


def link_bits_per_s(text: object) -> float:
    """A link's speed in bits per second: "2 Gbit/s", "25 MB/s"."""
    return float(_exactly(text, _RATES, "link speed", "2 Gbit/s"))


def share(text: object) -> float:
    """A share: 0 to 1, or "50 %"."""
    value = float(_exactly(text, _SHARES, "fraction", "5 %"))
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} must lie between 0 and 1 (0 % and 100 %)")
    return value


def multiple(text: object) -> float:
    """How many times: 0.5, 2, or "50 %"."""
    return float(_exactly(text, _SHARES, "multiple", "50 %"))


def fraction(text: object) -> float:
    """A fraction: 0.05 or "5 %"; neither zero nor all."""
    value = share(text)
    if value in (0.0, 1.0):
        raise ValueError(f"{text!r} must lie between 0 and 1 (0 % and 100 %)")
    return value


def show_bytes(value: float) -> str:
    """Bytes for people, decimal: 1.50 GB."""
    for name, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        # What rounds up to a unit is written in it.
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:.0f} B"


def show_duration(seconds: float) -> str:
    """A duration for people: 12 s, 3 min 5 s, 1 h 2 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def show_count(count: int, noun: str) -> str:
    """A number of things for people: 1 file, 2 files."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def show_rate(value: float) -> str:
    """Operations per second for people, three significant digits and thousands marked: 123,000."""
    if value >= 999.5:  # rounds up to 1,000
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


def show_names(names: Sequence[str]) -> str:
    """Names for people: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def show_short(value: float) -> str:
    """A rate or a count for people where there is little space, three significant digits: 2.96M."""
    for name, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g}{name}"
    return f"{value:.3g}"


def show_share(value: float, threshold: float) -> str:
    """A share for people, with enough digits to distinguish it from its threshold: 85%, but 84.8% with a
    threshold of 85 %."""
    return next((shown for digits in range(4) if (shown := f"{value:.{digits}%}") != f"{threshold:.{digits}%}"), f"{value:.0%}")


def show_figure(value: float, unit: str | None) -> str:
    """A figure for people in its unit, which is None for a share, and empty for a count: 12%, 3.1 /s, 9."""
    return f"{value:.0%}" if unit is None else f"{value:,.3g} {unit}".rstrip()
