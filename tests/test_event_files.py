"""The forms in which Spark's event logs lie around: compressed as Spark does it, rolled, compacted, delivered, zipped, several in a directory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.event_files import LogFile, find_logs, log_lines
from hydrotest.analysis.spark.event_log import EventLog, FlawKind, read_event_log
from hydrotest.analysis.spark.event_streams import StreamBrokenError, lzf_decompressed
from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from tests.spark_log import Event, application, application_end, job, log_start, one_stage, stage_end, task_end, text, write

DATA = Path("tests/data")
LOG = DATA / "spark-event-log.jsonl"
BY_SPARK = [DATA / f"spark-event-log.{codec}" for codec in ("lz4", "lzf", "snappy", "zstd")]
"""The same log as Spark 4.2's own codecs (CompressionCodec) write it, flushed in between."""


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def tasks_of(log: EventLog) -> int:
    return sum(len(stage.tasks) for stage in log.stages)


def kinds(log: EventLog) -> set[FlawKind]:
    return {flaw.kind for flaw in log.flaws}


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["show", "--spark-log", str(path), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("path", BY_SPARK, ids=lambda path: path.suffix)
@pytest.mark.parametrize("name", ["app-1{}", "app-1", "app-1{}.inprogress", "other.log"])
def test_what_spark_compresses_is_read_whatever_its_name(path: Path, name: str, tmp_path: Path) -> None:
    copy = tmp_path / name.format(path.suffix)
    shutil.copy(path, copy)
    log = read_event_log(copy)
    assert [stage.tasks for stage in log.stages] == [stage.tasks for stage in read_event_log(LOG).stages]
    assert log.flaws == []


@pytest.mark.parametrize("path", BY_SPARK, ids=lambda path: path.suffix)
def test_a_compressed_log_is_found_by_its_applications_name(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / f"app-1{path.suffix}.inprogress")
    assert tasks_of(read_event_log(tmp_path / "app-1")) == 6


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, lambda data: gzip.compress(zstd(data)),
                                      lambda data: zstd(data[:5000]) + zstd(data[5000:])],
                         ids=["gzip", "bzip2", "xz", "zstd in gzip", "two frames"])  # fmt: skip
def test_what_people_compress_is_read_without_an_ending(compress: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(compress(LOG.read_bytes()))
    assert [stage.tasks for stage in read_event_log(tmp_path / "log").stages] == [stage.tasks for stage in read_event_log(LOG).stages]


@pytest.mark.parametrize("path", [*BY_SPARK, LOG], ids=lambda path: path.suffix)
def test_a_log_that_is_cut_gives_what_it_has(path: Path, tmp_path: Path) -> None:
    # Streams that are appended to each other are one; the second ends early, within a block that is larger than the log.
    data = path.read_bytes()
    (tmp_path / "log").write_bytes(data + data[:-60])
    whole, found = LOG.read_text().splitlines(), list[str]()
    with contextlib.suppress(StreamBrokenError):
        found.extend(log_lines(LogFile(tmp_path / "log")))
    assert found[: len(whole)] == whole
    (tmp_path / "log").write_bytes(data[:-60])
    assert kinds(read_event_log(tmp_path / "log")) in ({FlawKind.CUT}, {FlawKind.UNFINISHED})


@pytest.mark.parametrize("path", BY_SPARK, ids=lambda path: path.suffix)
def test_a_damaged_file_is_said_and_the_next_is_read(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "events_1_app-1").write_bytes(data[: len(data) // 2] + b"\xff" * 40 + data[len(data) // 2 + 40 :])
    write(folder / "events_2_app-1", one_stage(task_end(90, 900)))
    log = read_event_log(folder)
    assert FlawKind.BROKEN in kinds(log)
    assert 90 in {stage.number for stage in log.stages}


def test_an_lz4_frame_is_refused_with_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_bytes(b"\x04\x22\x4d\x18" + bytes(40))
    assert main(["show", "--spark-log", str(tmp_path / "log")]) == 2
    assert "LZ4 frame" in capsys.readouterr().err


def lzf(data: bytes) -> bytes:
    """As LibLZF does, but slowly: the longest earlier match of three bytes or more, or literals."""
    out, literals, at = bytearray(), bytearray(), 0

    def flush() -> None:
        for begin in range(0, len(literals), 32):
            part = literals[begin : begin + 32]
            out.append(len(part) - 1)
            out.extend(part)
        literals.clear()

    while at < len(data):
        best, distance = 0, 0
        for start in range(max(0, at - 8192), at):
            size = 0
            while size < 264 and at + size < len(data) and data[start + size] == data[at + size]:
                size += 1
            if size > best:
                best, distance = size, at - start - 1
        if best < 3:
            literals.append(data[at])
            at += 1
            continue
        flush()
        length = best - 2
        out.append((min(length, 7) << 5) | (distance >> 8))
        if length >= 7:
            out.append(length - 7)
        out.append(distance & 255)
        at += best
    flush()
    return bytes(out)


@given(st.lists(st.sampled_from([b"a", b"ab", b"task", b"\0", b"stage 1"]), max_size=80).map(b"".join))
def test_lzf_gives_back_what_was_compressed(data: bytes) -> None:
    assert lzf_decompressed(lzf(data), len(data)) == data


def rolled(folder: Path, **files: list[Event]) -> Path:
    for name, events in files.items():
        write(folder / name, events)
    return folder


def test_a_compacted_file_stands_for_its_originals(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    events = one_stage(*(task_end(0, n) for n in range(8)))
    begin, end = events[:8], events[8:]
    write(folder / "events_1_app-1.zstd", begin[:4])
    (folder / "events_1_app-1.zstd").write_bytes(zstd(text(begin[:4]).encode()))
    (folder / "events_2_app-1.zstd").write_bytes(zstd(text(begin[4:]).encode()))
    (folder / "events_2_app-1.zstd.compact").write_bytes(zstd(text(begin).encode()))
    (folder / "events_3_app-1.zstd").write_bytes(zstd(text(end).encode()))
    (folder / "appstatus_app-1").touch()
    for path in (folder, tmp_path / "app-1"):
        log = read_event_log(path)
        (stage,) = log.stages
        assert (stage.done, len(stage.tasks), stage.total("input_bytes")) == (8, 8, 8000.0)
        assert log.flaws == []


def test_ends_that_stand_there_twice_count_once(tmp_path: Path) -> None:
    events = one_stage(*(task_end(0, n) for n in range(8)))
    log = read_event_log(write(tmp_path / "log", [*events, *events]))
    assert [stage.done for stage in log.stages] == [8]
    assert log.stages[0].total("input_bytes") == 8000
    assert kinds(log) == {FlawKind.DUPLICATES}


def test_missing_files_of_a_rolled_log_are_said(tmp_path: Path) -> None:
    events = one_stage(task_end(0, 0), task_end(0, 1), task_end(0, 2))
    folder = rolled(tmp_path / "eventlog_v2_app-1", **{"events_2_app-1": events[:6], "events_4_app-1": events[6:]})
    (flaw,) = (flaw for flaw in read_event_log(folder).flaws if flaw.kind is FlawKind.GAP)
    assert flaw.count == 2


def test_what_databricks_delivers_is_one_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "0501-cluster" / "eventlog" / "0501-cluster_10_0_0_1" / "1234567890"
    folder.mkdir(parents=True)
    parts = one_stage(*(task_end(0, n) for n in range(4)))
    (folder / "eventlog-2024-05-01--10-00.gz").write_bytes(gzip.compress(text(parts[:5]).encode()))
    (folder / "eventlog-2024-05-01--11-00.gz").write_bytes(gzip.compress(text(parts[5:7]).encode()))
    write(folder / "eventlog", parts[7:])
    for path in (folder, tmp_path):
        found = shown(path, capsys)
        assert [(row["tasks"], row["doubt"]) for row in found["stages"]] == [(4, None)]
        assert found["flaws"] == []


def test_a_zip_of_the_history_server_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = one_stage(task_end(0, 0), task_end(0, 1))
    path = tmp_path / "eventLogs-app-1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("eventlog_v2_app-1/", b"")
        archive.writestr("eventlog_v2_app-1/events_1_app-1.zstd", zstd(text(events[:6]).encode()))
        archive.writestr("eventlog_v2_app-1/events_2_app-1.zstd", zstd(text(events[6:]).encode()))
        archive.writestr("eventlog_v2_app-1/appstatus_app-1", b"")
    assert [row["tasks"] for row in shown(path, capsys)["stages"]] == [2]
    # With the folder unpacked next to it, the name means the folder.
    write(tmp_path / "eventLogs-app-1" / "app-1", one_stage(task_end(0, 0)))
    assert [row["tasks"] for row in shown(tmp_path / "eventLogs-app-1", capsys)["stages"]] == [1]


def test_a_damaged_zip_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app-1", text(one_stage(*(task_end(0, n) for n in range(200)))))
    data = bytearray(path.read_bytes())
    data[300:310] = b"\xff" * 10
    path.write_bytes(data)
    assert FlawKind.BROKEN in kinds(read_event_log(path))


def several(folder: Path) -> None:
    """A log directory as a history server reads it, with what else lies there."""
    write(folder / "app-1", one_stage(task_end(0, 0)))
    (folder / "app-2.zstd.inprogress").write_bytes(zstd(text([log_start("3.5.1"), application("two [x]", "app-2")]).encode()))
    write(folder / "eventlog_v2_app-3" / "events_1_app-3", [log_start(), application("three", "app-3"), application_end()])
    (folder / "eventlog_v2_app-3" / "appstatus_app-3.inprogress").touch()
    (folder / ".app-1.crc").write_bytes(b"crc\0")
    (folder / "README").write_text("not a log")
    with zipfile.ZipFile(folder / "both.zip", "w") as archive:
        for attempt in (1, 2):
            archive.writestr(
                f"app-4_{attempt}", text([application("four", "app-4"), job(0, 0), task_end(0, 0), stage_end(0, 1), application_end()])
            )


def test_of_several_applications_there_is_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several(tmp_path)
    rows = shown(tmp_path, capsys)["applications"]
    assert [(row["application"], row["name"], row["in_progress"]) for row in rows] == [
        ("app-1", "etl", False), ("app-2", "two [x]", True), ("app-4", "four", False), ("app-4", "four", False), ("app-3", "three", True),
    ]  # fmt: skip
    assert (rows[1]["spark"], rows[2]["spark"]) == ("3.5.1", None)
    assert all(row["bytes"] > 0 and row["files"] == 1 and row["started"].startswith("2023-11-14T22:13:20") for row in rows)
    assert main(["show", "--spark-log", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "two [x]" in out
    assert "README" not in out


def test_each_of_a_list_is_found_by_the_path_that_is_listed(tmp_path: Path) -> None:
    several(tmp_path)
    # Files of two applications in one folder, as a copy without folders leaves them.
    for name in ("app-5", "app-6"):
        write(tmp_path / "flat" / f"events_1_{name}", [application("five", name)])
    logs = find_logs(tmp_path)
    assert len(logs) == 7
    assert [find_logs(log.path) for log in logs] == [[log] for log in logs]
    with pytest.raises(BadInputError):
        read_event_log(tmp_path)


def test_this_folder_is_looked_into(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "app-1", one_stage(task_end(0, 0)))
    monkeypatch.chdir(tmp_path)
    assert len(shown(Path("."), capsys)["stages"]) == 1


def test_where_there_is_no_log_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").touch()
    for name in ("none", "empty", "nothing"):
        assert main(["show", "--spark-log", str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err
