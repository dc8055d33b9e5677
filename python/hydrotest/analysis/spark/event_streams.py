"""Decompression of Spark's event logs: a file's first bytes decide how it is compressed, never its name.

Spark writes lz4, lzf and snappy in the framings of its Java libraries (lz4-java's LZ4BlockOutputStream,
compress-lzf's chunks, snappy-java's SnappyOutputStream), which no general tool reads. `cramjam` decompresses
the blocks inside. LZF has no maintained package with wheels, so its two kinds of instruction are followed
here.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

import cramjam
import zstandard

CHUNK = 64 << 10
"""Compressed bytes that are read at a time."""
BLOCK_MAX = 64 << 20
"""No writer makes larger blocks (lz4-java's are 32 MiB at most): a larger one is a damaged length."""
WINDOW_MAX = 1 << 31
LAYERS_MAX = 3
"""Compressions on top of each other, e.g. a `.zstd` that was gzipped on its way."""


class StreamBrokenError(Exception):
    """A compressed file breaks off. `is_cut`: it only ends too early, like one that is still written; else
    the rest is damaged."""

    def __init__(self, words: str, *, is_cut: bool) -> None:
        super().__init__(words)
        self.is_cut = is_cut


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Source:
    """Bytes that come in pieces, taken in the requested sizes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def peek(self, size: int) -> bytes:
        """Up to so many bytes, without taking them."""
        while len(self._held) < size and (piece := next(self._pieces, None)) is not None:
            self._held += piece
        return self._held[:size]

    def take(self, size: int) -> bytes:
        """Exactly so many bytes. Raises `StreamBrokenError` if there are fewer."""
        taken = self.peek(size)
        if len(taken) < size:
            raise StreamBrokenError("it ends inside a block", is_cut=True)
        self._held = self._held[size:]
        return taken

    def rest(self) -> Iterator[bytes]:
        """All that was not taken, in pieces."""
        if self._held:
            held, self._held = self._held, b""
            yield held
        yield from self._pieces


def decompressed(raw: IO[bytes]) -> Iterator[bytes]:
    """The contents of a file in pieces, decompressed if its first bytes show a compression. Raises
    `StreamBrokenError` after the last readable bytes if there should be more."""
    source = _Source(iter(lambda: raw.read(CHUNK), b""))
    for _ in range(LAYERS_MAX):
        start = source.peek(16)
        reader = next((reader for magic, reader in READERS if start.startswith(magic)), None)
        if reader is None:
            break
        source = _Source(reader(source))
    return source.rest()


def _frames(make: Callable[[], _Decompressor]) -> Callable[[_Source], Iterator[bytes]]:
    """A reader of complete frames, one after the other: Spark and `cat` append them."""

    def read(source: _Source) -> Iterator[bytes]:
        current, is_begun = make(), False
        for piece in source.rest():
            data = piece
            while data:
                try:
                    out = current.decompress(data)
                except (zstandard.ZstdError, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
                    raise StreamBrokenError(f"it cannot be decompressed: {error}", is_cut=False) from error
                is_begun = True
                yield out
                if not current.eof:
                    break
                # Files are padded by zeros up to a block's end on some storage.
                data = current.unused_data.lstrip(b"\0")
                current, is_begun = make(), False
        if is_begun:
            raise StreamBrokenError("it ends inside a compressed frame", is_cut=True)

    return read


def _lz4_blocks(source: _Source) -> Iterator[bytes]:
    """lz4-java's LZ4BlockOutputStream: `LZ4Block`, a token, sizes and a checksum (little endian), the block.
    An empty block ends a stream."""
    while source.peek(1):
        header = source.take(21)
        magic, token, size, full = struct.unpack("<8sBii", header[:17])
        method = token & 0xF0
        if magic != LZ4_BLOCK or method not in (0x10, 0x20) or not (0 <= size <= BLOCK_MAX and 0 <= full <= BLOCK_MAX):
            raise StreamBrokenError("a block of LZ4 has no header", is_cut=False)
        yield _block(cramjam.lz4.decompress_block, source.take(size), full) if method == 0x20 else source.take(size)


def _snappy_blocks(source: _Source) -> Iterator[bytes]:
    """snappy-java's SnappyOutputStream: a header of 16 bytes, then blocks after their sizes (big endian).
    Appended streams repeat the header."""
    while source.peek(1):
        if source.peek(len(SNAPPY)) == SNAPPY:
            source.take(16)
            continue
        (size,) = struct.unpack(">i", source.take(4))
        if not 0 <= size <= BLOCK_MAX:
            raise StreamBrokenError("a block of Snappy has no size", is_cut=False)
        block = source.take(size)
        yield _block(cramjam.snappy.decompress_raw, block)


def _lzf_chunks(source: _Source) -> Iterator[bytes]:
    """compress-lzf: `ZV`, the kind of the chunk, its sizes (big endian), the chunk."""
    while source.peek(1):
        magic, kind, size = struct.unpack(">2sBH", source.take(5))
        if magic != LZF or kind not in (0, 1):
            raise StreamBrokenError("a chunk of LZF has no header", is_cut=False)
        if kind == 0:
            yield source.take(size)
        else:
            (full,) = struct.unpack(">H", source.take(2))
            yield lzf_decompressed(source.take(size), full)


def _block(decompress: Callable[..., cramjam.Buffer], data: bytes, *sizes: int) -> bytes:
    if not data:
        return b""
    try:
        return bytes(decompress(data, *sizes))
    except (cramjam.DecompressionError, ValueError) as error:
        raise StreamBrokenError(f"a block cannot be decompressed: {error}", is_cut=False) from error


def lzf_decompressed(data: bytes, size: int) -> bytes:
    """A chunk of LZF (LibLZF's format). A byte below 32 precedes that many literals, plus one. Others hold a
    length in their upper three bits (7: the next byte adds to it). Their lower five bits and the following
    byte are a distance back. Raises `StreamBrokenError`."""
    out, at, end = bytearray(), 0, len(data)
    try:
        while at < end:
            control = data[at]
            at += 1
            if control < 32:
                out += data[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += data[at]
                at += 1
            start = len(out) - ((control & 31) << 8) - data[at] - 1
            at += 1
            if start < 0:
                break
            length += 2
            while length > 0:  # a copy may include what it has just written
                copied = out[start : start + length]
                out += copied
                start += len(copied)
                length -= len(copied)
    except IndexError as error:
        raise StreamBrokenError("a chunk of LZF breaks off", is_cut=False) from error
    if len(out) != size:
        raise StreamBrokenError(f"a chunk of LZF has {len(out)} bytes instead of {size}", is_cut=False)
    return bytes(out)


def _refused(what: str) -> Callable[[_Source], Iterator[bytes]]:
    def read(_: _Source) -> Iterator[bytes]:
        raise StreamBrokenError(f"it is {what}, which Spark does not write; unpack it first", is_cut=False)
        yield b""

    return read


LZ4_BLOCK = b"LZ4Block"
SNAPPY = b"\x82SNAPPY\0"
LZF = b"ZV"
READERS: tuple[tuple[bytes, Callable[[_Source], Iterator[bytes]]], ...] = (
    (b"\x28\xb5\x2f\xfd", _frames(lambda: zstandard.ZstdDecompressor(max_window_size=WINDOW_MAX).decompressobj())),
    (LZ4_BLOCK, _lz4_blocks),
    (SNAPPY, _snappy_blocks),
    (LZF, _lzf_chunks),
    (b"\x1f\x8b", _frames(lambda: zlib.decompressobj(wbits=31))),
    (b"BZh", _frames(bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\0", _frames(lzma.LZMADecompressor)),
    (b"\x04\x22\x4d\x18", _refused("an LZ4 frame (of the lz4 command)")),
    (b"\xff\x06\0\0sNaPpY", _refused("a Snappy frame")),
)
"""Readers of a file, by its first bytes."""
