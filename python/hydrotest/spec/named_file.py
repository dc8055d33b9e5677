"""A file of the user's own that a workload is made of: read when the experiment is checked, and known again by its
digest when a run is resumed."""

from __future__ import annotations

import hashlib
from pathlib import Path

FILE_BYTES_MAX = 64 << 20


def read_named(file: str) -> bytes:
    """All of it. Raises `OSError`, and `ValueError` where it is too large."""
    path = Path(file)
    if path.stat().st_size > FILE_BYTES_MAX:
        raise ValueError(f"{file} has more than {FILE_BYTES_MAX >> 20} MiB")
    return path.read_bytes()


def digest_of(content: bytes) -> str:
    """Its SHA-256."""
    return hashlib.sha256(content).hexdigest()


def lines_of(content: bytes) -> list[bytes]:
    """Its lines without their ends; empty ones are left out."""
    return [line for line in (line.removesuffix(b"\r") for line in content.split(b"\n")) if line]
