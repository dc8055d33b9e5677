"""Values of records from a file of the user's own."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import Literal

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.distribution import Distribution
from hydrotest.spec.named_file import digest_of, lines_of, read_named

STAMP_BYTES = 24
"""What accounts for a record stands before its content: rust/kafka/src/payload.rs."""
_LENGTH = struct.Struct(">I")


class Payload(Model):
    """A file with the contents of values. Each is written in turn, behind the 24 B that account for its record."""

    file: str = Field(min_length=1, description="Its path, from where hydrotest is called.")
    form: Literal["lines", "length-prefixed"] = Field(
        "lines", description="A content on each line; or each behind its length, 4 bytes, big-endian. Empty lines are left out."
    )

    @cached_property
    def content(self) -> bytes:
        """All of the file. Raises `OSError`, and `ValueError` where it is too large."""
        return read_named(self.file)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return digest_of(self.content)

    @cached_property
    def sizes(self) -> Distribution:
        """Of the values, with what accounts for them. Raises `OSError`, and `ValueError` where the file holds no content."""
        sizes = self._lines() if self.form == "lines" else self._prefixed()
        if not sizes:
            raise ValueError(f"{self.file} holds no content")
        return Distribution(
            shape="uniform", low=min(sizes) + STAMP_BYTES, high=max(sizes) + STAMP_BYTES + 1, mean=sum(sizes) / len(sizes) + STAMP_BYTES
        )

    def _lines(self) -> list[int]:
        return [len(line) for line in lines_of(self.content)]

    def _prefixed(self) -> list[int]:
        sizes, at = [], 0
        while at < len(self.content):
            if at + _LENGTH.size > len(self.content):
                raise ValueError(f"{self.file} ends inside a length, at byte {at:,}")
            (size,) = _LENGTH.unpack_from(self.content, at)
            at += _LENGTH.size + size
            if at > len(self.content):
                raise ValueError(f"{self.file} ends inside a content of {size:,} B")
            sizes.append(size)
        return sizes
