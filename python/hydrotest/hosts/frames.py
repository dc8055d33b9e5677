"""What controller and hub say to each other: `Request` and `Reply` of rust/node/src/hub/frames.rs.

A frame is a header, one JSON line, then as many bytes as it announces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

BODY_BYTES_MAX = 1 << 20
"""The longest body; what is longer is sent in several frames."""
HEADER_BYTES_MAX = 16 << 20
"""The longest header: paths of a large folder."""
REPLIES = frozenset({"ready", "beat", "started", "out", "out_end", "err", "err_end", "exited", "taken", "piece", "done", "failed"})

Header = dict[str, Any]


def frame(number: int, ask: str, body: bytes = b"", **fields: Any) -> bytes:
    """A request about `number`, with its body."""
    return json.dumps({"id": number, "bytes": len(body), "ask": ask, **fields}).encode() + b"\n" + body


class Frames:
    """Takes bytes in as they come, and gives complete frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._header: Header | None = None

    def feed(self, data: bytes) -> Iterator[tuple[Header, bytes]]:
        """The frames that are complete with `data`.

        Raises `ValueError` for bytes that are none.
        """
        self._buffer += data
        while True:
            if self._header is None:
                end = self._buffer.find(b"\n", self._searched)
                if end < 0:
                    self._searched = len(self._buffer)
                    if self._searched > HEADER_BYTES_MAX:
                        raise ValueError("a header without end")
                    return
                header = json.loads(self._buffer[:end])
                if not isinstance(header, dict) or header.get("say") not in REPLIES:
                    raise ValueError(f"{bytes(self._buffer[:end])!r} is no reply")
                self._header = header
                del self._buffer[: end + 1]
            length = self._header["bytes"]
            if len(self._buffer) < length:
                return
            body = bytes(self._buffer[:length])
            del self._buffer[:length]
            header, self._header, self._searched = self._header, None, 0
            yield header, body
