"""HdrHistogram interval logs (.hlog), as the standard tools read them. Values are microseconds.

They are summed by hydrotest-node: a day of a generator is 86,400 histograms for each kind of operation.
"""

from __future__ import annotations

import atexit
import json
import selectors
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from hydrotest.errors import OTHERS_READ, BadInputError, MissingToolError
from hydrotest.places import node_binary
from hydrotest.store import layout

LOWEST_US = 1
HIGHEST_US = 600_000_000
DIGITS = 3
"""The bounds of rust/core/src/recorder.rs: histograms of the same bounds add without loss."""

HEADER = (
    "#[Histogram log format version 1.3]\n"
    "#[latencies in microseconds; intervals by intended start; times are seconds since the epoch]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)

EDGE_S = 0.002
"""Interval starts are written to the millisecond."""
ANSWER_S_MAX = 600.0
"""For the logs of a workload's generators: a gigabyte takes some seconds."""
END_S_MAX = 5.0
"""From the end of its stdin."""
TAG = b"Tag="
BOTH = "Install both from one source: `make install`."


def empty() -> HdrHistogram:
    """A histogram of the bounds that all of ours have."""
    return HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)


def stretch_histograms(folder: Path, workload: str, which: str, op: str | None, edges_s: Sequence[float]) -> Iterator[HdrHistogram]:
    """The operations of all generators of a workload in a trial's folder, by the stretch between two neighbours of `edges_s`
    (wall time, ascending) in which they were meant to start; merged without loss. `op`: null for all kinds together.

    Raises `BadInputError` for a damaged log.
    """
    files = layout.of_all_generators(folder / layout.histogram(workload, which))
    stretches = [(begin - EDGE_S, end - EDGE_S) for begin, end in pairwise(edges_s)]
    if not files or not stretches:
        return (empty() for _ in stretches)
    answer = _summing.ask({"files": [str(file.absolute()) for file in files], "op": op, "stretches": stretches})
    if "damage" in answer:
        raise _damaged(Path(answer["damage"]["file"]), answer["damage"]["error"])
    # Each is 170 kB.
    return map(_decoded, answer["sums"])


def operations(folder: Path, workload: str) -> list[str]:
    """The kinds of operations that a workload's logs have separately, without the sum of all. Raises `BadInputError` for a damaged log."""
    files = layout.of_all_generators(folder / layout.histogram(workload, "response"))
    return sorted({name for file in files for name in _tags(file)})


def _tags(file: Path) -> Iterator[str]:
    with file.open("rb") as log:
        for line in log:
            if line.startswith(TAG):
                tag, comma, _ = line.removeprefix(TAG).partition(b",")
                if not comma or not tag.isascii():
                    raise _damaged(file, "a line is no interval")
                yield tag.decode()


def _damaged(file: Path, how: str) -> BadInputError:
    return BadInputError(f"the file is damaged: {how}", OTHERS_READ, file=file)


def _decoded(text: str | None) -> HdrHistogram:
    """It has the bounds of all that hydrotest-node sums."""
    return empty() if text is None else HdrHistogram.decode(text)


class _Summing:
    """One hydrotest-node for all questions of this process. It ends with its stdin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._node: subprocess.Popen[bytes] | None = None

    def ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question. Raises `MissingToolError` where there is no such program, or one of another version."""
        with self._lock:
            if self._node is None or self._node.poll() is not None:
                self._start()
            node = self._node
            assert node is not None
            try:
                line = self._answer(node, json.dumps(wanted).encode() + b"\n")
            except BaseException:
                self.end()  # an answer that nobody has read would be that to the next question
                raise
            if not line.endswith(b"\n"):
                self.end()
                how = (
                    f"ended with code {node.returncode}"
                    if node.returncode >= 0
                    else f"gave no answer within {ANSWER_S_MAX:g} s, or was ended"
                )
                raise MissingToolError(f"hydrotest-node did not sum histograms: it {how}", BOTH)
            found: dict[str, Any] = json.loads(line)
            return found

    def _answer(self, node: subprocess.Popen[bytes], question: bytes) -> bytes:
        """A line; less where it ended, or is late."""
        assert node.stdin is not None
        assert node.stdout is not None
        with suppress(BrokenPipeError):
            node.stdin.write(question)
            node.stdin.flush()
            with selectors.DefaultSelector() as selector:  # `select` fails where a controller has a thousand files open
                selector.register(node.stdout, selectors.EVENT_READ)
                if selector.select(ANSWER_S_MAX):
                    return node.stdout.readline()
        return b""

    def _start(self) -> None:
        try:
            # Ctrl-C is for the controller, which sums up what there is.
            self._node = subprocess.Popen(
                [str(node_binary()), "histograms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise MissingToolError(f"hydrotest-node does not start: {error}", BOTH) from error

    def end(self) -> None:
        """Ends it; it is started again where it is needed."""
        if self._node is None:
            return
        node, self._node = self._node, None
        with suppress(BrokenPipeError):
            try:
                node.communicate(timeout=END_S_MAX)
            except subprocess.TimeoutExpired:
                node.kill()
                node.communicate()


_summing = _Summing()
atexit.register(_summing.end)
