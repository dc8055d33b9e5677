"""Values of records from a file of the user's own."""

from __future__ import annotations

import hashlib
import struct
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.distribution import Distribution

STAMP_BYTES = 24
"""What accounts for a record stands before its content: rust/kafka/src/payload.rs."""
PAYLOAD_BYTES_MAX = 64 << 20
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
        path = Path(self.file)
        if path.stat().st_size > PAYLOAD_BYTES_MAX:
            raise ValueError(f"{self.file} has more than {PAYLOAD_BYTES_MAX >> 20} MiB")
        return path.read_bytes()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()

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
        return [len(line.removesuffix(b"\r")) for line in self.content.split(b"\n") if line.removesuffix(b"\r")]

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
