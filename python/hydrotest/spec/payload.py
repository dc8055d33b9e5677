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
STAMP_HEADER_BYTES = STAMP_BYTES + len("hydrotest") + 2
"""Of the header that holds it instead."""
_LENGTH = struct.Struct(">I")


class Registry(Model):
    """What clients of a schema registry write before each message, so that others find its schema. (Confluent's wire format.)"""

    id: int = Field(ge=0, lt=2**31, description="The schema's id.")
    message: int | None = Field(
        None, ge=0, lt=2**31, description="Of Protobuf: the message's place among those of its file. Avro has none."
    )

    @property
    def prefix(self) -> bytes:
        """A zero, the id, and for Protobuf the path to the message: its length and its one index, or a zero for the first message."""
        indexes = b"" if self.message is None else b"\0" if self.message == 0 else _varint(2) + _varint(2 * self.message)
        return struct.pack(">bI", 0, self.id) + indexes


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


class Payload(Model):
    """A file with the contents of values, which are written in turn."""

    file: str = Field(min_length=1, description="Its path, from where hydrotest is called.")
    form: Literal["lines", "length-prefixed", "whole"] = Field(
        "lines",
        description="A content on each line; or each behind its length, 4 bytes, big-endian; or the whole file is one. Empty lines are left out.",
    )

    stamp: Literal["value", "header"] = Field(
        "value",
        description="Where the 24 B are that account for a record: before the content in its value, or in a header, `hydrotest`, so that the value is "
        "the content alone, and any consumer can read it.",
    )
    registry: Registry | None = Field(
        None,
        description="Contents are Avro or Protobuf messages, and get the header of a schema registry, e.g. {id: 7}; needs `stamp: header`.",
    )

    @property
    def prefix(self) -> bytes:
        """What stands before each content, in its value, besides the stamp."""
        return b"" if self.registry is None else self.registry.prefix

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
        sizes = {"lines": self._lines, "length-prefixed": self._prefixed, "whole": self._whole}[self.form]()
        if not sizes:
            raise ValueError(f"{self.file} holds no content")
        more = len(self.prefix) + (STAMP_BYTES if self.stamp == "value" else 0)
        return Distribution(shape="uniform", low=min(sizes) + more, high=max(sizes) + more + 1, mean=sum(sizes) / len(sizes) + more)

    def _lines(self) -> list[int]:
        return [len(line) for line in lines_of(self.content)]

    def _whole(self) -> list[int]:
        return [len(self.content)] if self.content else []

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
