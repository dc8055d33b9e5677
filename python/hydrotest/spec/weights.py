"""Distributions that are listed, number by number: by weights in the experiment file, or by the lines of another file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hydrotest import units
from hydrotest.spec.named_file import digest_of, lines_of, read_named

LISTED_MAX = 100_000
"""Different numbers or keys: they are part of a generator's settings."""
KEYS_BYTES_MAX = 8 << 20
"""Of all different keys together."""
SIZE_EXAMPLE = "{weights: {100 B: 8, 1 KB: 2}}"
NOT_LISTED: dict[str, Any] = {"shape": "weights", "low": 1, "high": 2, "weights": ((1, 1.0),)}
"""In the place of what a file does not give: `check` refuses it, and a run that is over is read all the same."""


def listed_sizes(value: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields of `Distribution` for `{weights: {100 B: 8, 1 KB: 2}}` or `{file: sizes.txt}`."""
    if set(value) == {"file"}:
        return _from_file(value["file"], _sizes_in)
    if set(value) != {"weights"} or not isinstance(value["weights"], Mapping):
        raise ValueError(f"{dict(value)!r} is not a distribution; write {SIZE_EXAMPLE} or {{file: sizes.txt}}")
    weights: dict[int, float] = {}
    for text, weight in value["weights"].items():
        size, number = units.size_bytes(text), units.number(weight)
        if size < 1:
            raise ValueError(f"{text} is not a size; it must be above 0")
        if size in weights:
            raise ValueError(f"{text} is there twice, in other words; write each size once")
        weights[size] = number
    return _listed({size: weight for size, weight in weights.items() if weight}, f"no size has a weight above 0; write e.g. {SIZE_EXAMPLE}")


def listed_keys(value: Mapping[Any, Any]) -> dict[str, Any]:
    """The same for `{file: keys.txt}`: numbers of its different lines, from 0 in the order of their first use."""
    if set(value) != {"file"}:
        raise ValueError(f"{dict(value)!r} is not a distribution; write e.g. uniform(0, 1M), or {{file: keys.txt}}")
    return _from_file(value["file"], _keys_in)


def _from_file(file: object, read: Any) -> dict[str, Any]:
    if not isinstance(file, str) or not file:
        raise ValueError(f"{file!r} is not a path; write e.g. {{file: sizes.txt}}")
    try:
        content = read_named(file)
        return {**read(lines_of(content), file), "file": file, "digest": digest_of(content)}
    except (OSError, ValueError) as error:
        return {**NOT_LISTED, "file": file, "problem": str(error)}


def _sizes_in(lines: list[bytes], file: str) -> dict[str, Any]:
    counts: Counter[int] = Counter()
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").strip()
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise ValueError(
                f"{file}, line {number} that is not empty: {text[:40]!r} is no size; write a whole number of bytes on each line"
            )
        counts[int(text)] += 1
    return _listed(counts, f"{file} holds no size")


def _keys_in(lines: list[bytes], file: str) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        try:
            counts[line.decode("utf-8")] += 1
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}, line {number} that is not empty, is no text in UTF-8") from error
    if sum(len(text) for text in counts) > KEYS_BYTES_MAX:
        raise ValueError(f"the different keys in {file} have more than {KEYS_BYTES_MAX >> 20} MiB")
    return {**_listed(dict(enumerate(counts.values())), f"{file} holds no key"), "texts": tuple(counts)}


def _listed(weights: Mapping[int, float], if_none: str) -> dict[str, Any]:
    if not weights:
        raise ValueError(if_none)
    if len(weights) > LISTED_MAX:
        raise ValueError(f"{len(weights):,} different ones are more than {LISTED_MAX:,}")
    return {"shape": "weights", "low": min(weights), "high": max(weights) + 1, "weights": tuple(sorted(weights.items()))}
