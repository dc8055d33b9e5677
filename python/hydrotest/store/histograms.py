"""HdrHistogram interval logs (.hlog), as the standard tools read them. Values are microseconds.

They are summed by hydrotest-node: a day of a generator is 86,400 histograms for each kind of operation.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

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
READ_BYTES = 1 << 20
BUNCH_BYTES = 1 << 14
"""Of questions that are asked at once: less than a pipe holds, so that neither side waits for the other to read."""
SMALL_BYTES = 1 << 20
"""Logs of a window up to this size are summed with others."""
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
    (answer,) = _summing.ask([_question(files, op, stretches)])
    if "damage" in answer:
        raise _damaged(Path(answer["damage"]["file"]), answer["damage"]["error"])
    # Each is 170 kB.
    return map(decoded, answer["sums"])


class Window(NamedTuple):
    """One histogram log of a workload in a trial's folder, from a moment to another one (wall time)."""

    folder: Path
    workload: str
    which: str
    begin_s: float
    end_s: float


def window_sums(windows: Sequence[Window]) -> Iterator[str | None]:
    """What `stretch_histograms` finds of each, for all kinds of operations together, as `decoded` takes it: of thousands of trials to wait
    for each takes longer than to sum it up. None of what is damaged, or large, or without a log: it is read where it is needed."""
    questions: dict[int, dict[str, Any]] = {}
    for number, one in enumerate(windows):
        files = layout.of_all_generators(one.folder / layout.histogram(one.workload, one.which))
        if files and sum(file.stat().st_size for file in files) <= SMALL_BYTES:
            questions[number] = _question(files, None, [(one.begin_s - EDGE_S, one.end_s - EDGE_S)])
    answers = dict(zip(questions, _summing.ask(list(questions.values())), strict=True)) if questions else {}
    for number in range(len(windows)):
        sums = answers.get(number, {}).get("sums", [None])
        yield sums[0]


def _question(files: Sequence[Path], op: str | None, stretches: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {"files": [str(file.absolute()) for file in files], "op": op, "stretches": stretches}


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


def decoded(text: str | None) -> HdrHistogram:
    """It has the bounds of all that hydrotest-node sums. None: nothing was in it."""
    return empty() if text is None else HdrHistogram.decode(text)


def _bunches(questions: Sequence[bytes]) -> Iterator[list[bytes]]:
    bunch: list[bytes] = []
    for question in questions:
        if bunch and sum(map(len, bunch)) + len(question) > BUNCH_BYTES:
            yield bunch
            bunch = []
        bunch.append(question)
    if bunch:
        yield bunch


class _Summing:
    """One hydrotest-node for all questions of this process. It ends with its stdin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._node: subprocess.Popen[bytes] | None = None

    def ask(self, wanted: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answer to each question. Raises `MissingToolError` where there is no such program, or one of another version."""
        with self._lock:
            if self._node is None or self._node.poll() is not None:
                self._start()
            node = self._node
            assert node is not None
            found: list[dict[str, Any]] = []
            try:
                for questions in _bunches([json.dumps(one).encode() + b"\n" for one in wanted]):
                    lines = self._answers(node, questions)
                    if len(lines) < len(questions):
                        break
                    found += map(json.loads, lines)
            except BaseException:
                self.end()  # an answer that nobody has read would be that to the next question
                raise
            if len(found) < len(wanted):
                self.end()
                how = (
                    f"ended with code {node.returncode}"
                    if node.returncode >= 0
                    else f"gave no answer within {ANSWER_S_MAX:g} s, or was ended"
                )
                raise MissingToolError(f"hydrotest-node did not sum histograms: it {how}", BOTH)
            return found

    def _answers(self, node: subprocess.Popen[bytes], questions: Sequence[bytes]) -> list[bytes]:
        """A line for each; less where it ended, or is late."""
        assert node.stdin is not None
        assert node.stdout is not None
        read = bytearray()
        with (
            suppress(BrokenPipeError),
            selectors.DefaultSelector() as selector,
        ):  # `select` fails where a controller has a thousand files open
            node.stdin.write(b"".join(questions))
            node.stdin.flush()
            selector.register(node.stdout, selectors.EVENT_READ)
            count = 0
            while count < len(questions) and selector.select(ANSWER_S_MAX):
                part = os.read(node.stdout.fileno(), READ_BYTES)
                if not part:
                    break
                read += part
                count += part.count(b"\n")
        return [line for line in bytes(read).splitlines(keepends=True) if line.endswith(b"\n")]

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
