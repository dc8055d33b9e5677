"""Lines of an event log as bytes: each is what it is as text, wherever it is read, and whatever is wrong with it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark import event_files, event_streams, event_tasks
from hydrotest.analysis.spark.event_files import LogFile, log_lines, raw_lines
from hydrotest.analysis.spark.event_log import EventLog, FlawKind, parse_event_log, read_event_log
from hydrotest.analysis.spark.event_parser import Parser
from hydrotest.analysis.spark.tasks import Outcome
from hydrotest.analysis.spark.time_spent import time_rows
from tests.spark_log import Event, executor_gone, lines, one_stage, task_end, task_start, write
from tests.test_any_event_log import DAMAGE, OLD

DATA = Path("tests/data")
LOGS = sorted(DATA.glob("spark-event-log.*"))


def contents(log: EventLog) -> dict[str, Any]:
    """All that is in a log; where its flaws are is named otherwise in a file."""
    groups = {name: [vars(stage) | {"job": stage.job and vars(stage.job)} for stage in group.stages] for name, group in log.groups.items()}
    places = [(flaw.place or "").rpartition(":")[2].removeprefix("line ") for flaw in log.flaws]
    flaws = [replace(flaw, place=place) for flaw, place in zip(log.flaws, places, strict=True)]
    return vars(log) | {"flaws": flaws, "groups": groups, "jobs": {number: vars(job) for number, job in log.jobs.items()}}


def of_bytes(whole: list[bytes]) -> EventLog:
    parser = Parser()
    for at, line in enumerate(whole, 1):
        parser.feed_raw(line, f"line {at}")
    return parser.finish()


def same(whole: list[bytes]) -> None:
    """The same as bytes and as text."""
    assert contents(of_bytes(whole)) == contents(parse_event_log(line.decode(errors="replace") for line in whole))


STARTS = [
    '{"Event":"SparkListenerTaskStart"',
    '{"Event": "SparkListenerTaskStart"',
    '{"Event":"SparkListenerTaskEnd"',
    '{"Event": "SparkListenerTaskEnd"',
]
"""As lines begin that are read by themselves."""
RESTS = [
    "", "}", ',"Stage ID":0}', ',"Stage ID":"0","Task Info":{"Task ID":1}}', ',"Stage ID":0,"Task Info":{"Task ID":true}}', ',"Stage ID":0,"Task Info":null}',
    ',"Stage ID":0,"Stage Attempt ID":-1,"Task Info":{"Task ID":1}}', ',"Stage ID":0,"Stage Attempt ID":null,"Task Info":{"Task ID":1}}',
    ',"Stage ID":0,"Task Info":{"Task ID":9},"x":NaN}', ',"Stage ID":0.0,"Task Info":{"Task ID":1}}', ',"Stage ID":0,"Task Info":{"Task ID":1}} x',
    ',"x":' + "[" * 100_000, ',"Stage ID":0,"Task Info":{"Task ID":1,"Launch Time":5,"Finish Time":1e999}}', ',"Stage ID":-7,"Task Info":{"Task ID":1}}',
    ',"Stage ID":0,"Task Info":{"Task ID":1,"Launch Time":5,"Finish Time":6,"Host":"half \\ud800"}}',
]  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("rest", RESTS, ids=range(len(RESTS)))
def test_a_line_is_the_same_as_bytes_and_as_text(start: str, rest: str) -> None:
    whole = lines(one_stage(task_start(0, 0), task_start(0, 1), task_end(0, 0), task_start(0, 2)))
    for at in (7, len(whole)):
        same([line.encode() for line in [*whole[:at], start + rest, *whole[at:]]])


@pytest.mark.parametrize("damaged", DAMAGE, ids=range(len(DAMAGE)))
def test_so_is_a_damaged_one(damaged: str) -> None:
    whole = lines(one_stage(task_end(0, 0), task_end(0, 1)))
    same([line.encode() for line in [*whole[:6], damaged, *whole[6:], damaged]])
    same([line.encode() for line in lines(OLD)])


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=4))
def test_so_is_one_with_any_bytes_in_it(at: int, odd: bytes) -> None:
    whole = [line.encode() for line in lines(one_stage(task_start(0, 0), task_end(0, 0), task_end(0, 1)))]
    for index in (5, 6, 7):
        cut = at % len(whole[index])
        same([*whole[:index], whole[index][:cut] + odd.replace(b"\n", b"") + whole[index][cut:], *whole[index + 1 :]])


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.suffix)
@pytest.mark.parametrize("chunk", [1, 7, 100, 64 << 10])
def test_a_file_has_the_same_lines_however_it_is_read(path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "CHUNK", chunk)
    text = (DATA / "spark-event-log.jsonl").read_text()
    assert list(log_lines(LogFile(path))) == text.splitlines()
    assert contents(read_event_log(path)) == contents(parse_event_log(text.splitlines()))


@given(st.lists(st.sampled_from([b"", b"\n", b"a", b"bc", b"\n\n", b"\r\n", b"\xff"]), max_size=12).map(b"".join), st.integers(1, 5))
def test_lines_end_with_a_line_feed_and_nothing_else(data: bytes, chunk: int) -> None:
    class Here(LogFile):
        def open(self) -> Any:
            return _Open(io.BytesIO(data))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_streams, "CHUNK", chunk)
        found = list(raw_lines(Here(Path("here"))))
    *whole, last = data.split(b"\n")
    assert found == [*whole, last] if last else found == whole


class _Open:
    def __init__(self, inside: IO[bytes]) -> None:
        self.inside = inside

    def __enter__(self) -> IO[bytes]:
        return self.inside

    def __exit__(self, *_: object) -> None:
        self.inside.close()


def test_of_a_line_that_is_too_long_only_the_start_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "CHUNK", 10)
    monkeypatch.setattr(event_files, "LINE_MAX", 25)
    (tmp_path / "log").write_bytes(b"first\n" + b"x" * 95 + b"y\nlast")
    first, long, last = raw_lines(LogFile(tmp_path / "log"))
    assert (first, last) == (b"first", b"last")
    assert 25 <= len(long) < 45


def interleaved() -> list[Event]:
    """Attempts of three stages at once: some ends twice, some outputs lost, some tasks lost with an executor that was not wanted."""
    lost = {"Reason": "ExecutorLostFailure"}
    ends = [
        task_end(number % 3, number, number / 7, 1 + number % 5, attempt=number % 2, executor_id=str(number % 2), index=number // 3)
        for number in range(60)
    ]
    ends[4] |= {"Task End Reason": lost}
    ends[5] |= {"Task End Reason": lost}
    ends += [ends[8], ends[9], ends[4]]
    ends.append(task_end(0, 0, reason={"Reason": "Resubmitted"}))
    ends += [task_end(1, 100 + number, seconds=-1) for number in range(5)]
    return one_stage(*ends, executor_gone("0", "Executor killed by driver."))


@pytest.mark.parametrize("piece", [1, 2, 7, 64, 1000])
def test_columns_are_the_same_in_pieces_of_any_size(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = contents(parse_event_log(lines(interleaved())))
    monkeypatch.setattr(event_tasks, "PIECE", piece)
    found = parse_event_log(lines(interleaved()))
    assert contents(found) == expected
    assert [(stage.number, stage.attempt, len(stage.tasks), stage.duplicates, stage.left_out) for stage in found.stages] == [
        (0, 0, 10, 0, 0), (0, 1, 10, 1, 0), (1, 0, 10, 1, 5), (1, 1, 10, 0, 0), (2, 0, 10, 1, 0), (2, 1, 10, 0, 0),
    ]  # fmt: skip
    outcomes = {task.outcome: task for stage in found.stages for task in stage.tasks if task.outcome is not Outcome.DONE}
    assert {outcome: task.index for outcome, task in outcomes.items()} == {Outcome.REPEATED: 0, Outcome.KILLED: 1, Outcome.FAILED: 1}
    assert outcomes[Outcome.KILLED].executor == "0"


@pytest.mark.parametrize("huge", [1 << 63, 10**30, 10**400])
@pytest.mark.parametrize("where", [("Stage ID",), ("Task Info", "Task ID"), ("Task Info", "Index"), ("Task Metrics", "Disk Bytes Spilled"),
                                   ("Task Metrics", "Shuffle Read Metrics", "Remote Bytes Read")])  # fmt: skip
def test_a_number_that_no_java_has_is_no_end(huge: int, where: tuple[str, ...], tmp_path: Path) -> None:
    odd = task_end(0, 1)
    *outer, last = where
    inside = odd
    for name in outer:
        inside = inside[name]
    inside[last] = huge
    log = read_event_log(write(tmp_path / "log", one_stage(task_end(0, 0), odd, task_end(0, 2))))
    assert [(flaw.kind, flaw.count, flaw.kinds) for flaw in log.flaws] == [(FlawKind.SKIPPED, 1, (("odd-event", 1),))]
    assert [stage.done for stage in log.stages] == [2]


@pytest.mark.parametrize("name", ["Disk Bytes Spilled", "Result Size", "Peak Execution Memory"])
def test_a_size_below_zero_is_not_known(name: str) -> None:
    ends = [task_end(0, number) for number in range(2)]
    for end, size in zip(ends, (-1, 5), strict=True):
        end["Task Metrics"][name] = size
    stage, both = (parse_event_log(lines(one_stage(*some))).stages[0] for some in (ends[:1], ends))
    (row,) = time_rows([stage])
    field = {"Disk Bytes Spilled": "spill_bytes", "Result Size": "result_bytes", "Peak Execution Memory": "peak_task_memory_bytes"}[name]
    assert (row.tasks, getattr(row, field)) == (1, None)
    assert getattr(time_rows([both])[0], field) == 5


def test_starts_and_ends_meet_whichever_way_they_are_read(tmp_path: Path) -> None:
    events = one_stage(*(task_start(0, number) for number in range(4)), task_end(0, 1), task_end(0, 3), tasks=4)
    turned = [dict(reversed(event.items())) for event in events]  # not as Spark writes them, and read by themselves no more
    for log in (read_event_log(write(tmp_path / "log", events)), parse_event_log(lines(events)), parse_event_log(lines(turned))):
        assert log.stages[0].running == {0, 2}
    assert json.loads(lines(turned)[5])["Event"] == "SparkListenerTaskStart"
