"""Locks, and their users: no second holder gets in, a look disturbs no holder, and the remains of a
killed run are found."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hydrotest.errors import BadInputError
from hydrotest.run.lifecycle.scratch import LOCK, Scratch, abandoned, clear_abandoned, is_owned
from hydrotest.store.folder import RunFolder
from hydrotest.store.lock import Lock, is_held


def test_one_at_a_time(tmp_path: Path) -> None:
    one, two = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert not is_held(one.path)
    assert one.take()
    assert is_held(one.path)
    assert not two.take()
    one.release()
    assert not is_held(one.path)
    assert two.take()


def test_the_file_of_who_comes_next_is_not_removed(tmp_path: Path) -> None:
    """One waits for a lock whose holder removes its file: the waiting one's lock must be on the file that others see."""
    one, two, three = (Lock(tmp_path / "lock") for _ in range(3))
    assert one.take()
    waiting = threading.Thread(target=two.wait)
    waiting.start()
    one.release(remove=True)
    waiting.join(timeout=30)
    assert two.is_taken
    assert is_held(two.path)
    assert not three.take()
    two.release(remove=True)
    assert not two.path.exists()


def test_a_lock_on_a_removed_file_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is removed between its opening and its locking."""
    lock, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    removals = [True]

    def removed_first(file: int, command: int, request: bytes) -> bytes:
        if removals and removals.pop():
            lock.path.unlink()
        return real(file, command, request)

    import fcntl  # noqa: PLC0415 - the real one, before it is replaced

    real = fcntl.fcntl
    monkeypatch.setattr("hydrotest.store.lock.fcntl.fcntl", removed_first)
    assert lock.take()
    assert lock.path.exists()
    assert not other.take()


def test_who_looks_keeps_nobody_out(tmp_path: Path) -> None:
    """`status` looks while runs start: none of them may take it for another run."""
    path = tmp_path / "lock"
    path.touch()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_held(path)

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    lock = Lock(path)
    try:
        for _ in range(2000):
            assert lock.take()
            lock.release()
    finally:
        over.set()
        for thread in looking:
            thread.join()


@pytest.mark.parametrize("left", [[], [".lock"], [".lock", "experiment.yaml.partial"]])
def test_a_run_folder_that_was_killed_at_once_can_be_used(tmp_path: Path, left: list[str]) -> None:
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).touch()
    folder = RunFolder(tmp_path / "run")
    folder.create(b"name: x\r\n")
    assert (tmp_path / "run" / "experiment.yaml").read_bytes() == b"name: x\r\n"
    folder.unlock()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["experiment.yaml"]


def test_a_run_folder_that_another_run_uses_or_has_left_is_refused(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    first.create(b"first")
    with pytest.raises(BadInputError, match="another run"):
        second.create(b"second")
    with pytest.raises(BadInputError, match="another run"):
        second.lock()
    first.unlock()
    with pytest.raises(BadInputError, match="not empty"):
        second.create(b"second")
    assert (tmp_path / "run" / "experiment.yaml").read_bytes() == b"first"
    second.lock()
    second.unlock()


def test_a_run_that_has_come_and_gone_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two begin in one folder: the first is through before the second, who found it empty, has the lock."""
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    lock = second.lock

    def late() -> None:
        first.create(b"first")
        first.unlock()
        lock()

    monkeypatch.setattr(second, "lock", late)
    with pytest.raises(BadInputError, match="not empty"):
        second.create(b"second")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["experiment.yaml"]
    assert (tmp_path / "run" / "experiment.yaml").read_bytes() == b"first"


def test_a_directory_is_found_however_early_its_run_was_killed(tmp_path: Path) -> None:
    begun, unmarked, foreign = tmp_path / ".hydrotest-run-1", tmp_path / "hydrotest-run-2", tmp_path / "hydrotest-run-notes"
    for path in (begun, unmarked, foreign):
        path.mkdir()
    (foreign / "notes.txt").touch()
    (tmp_path / "hydrotest-run-file").touch()
    marked = tmp_path / ".hydrotest-run-3"
    marked.mkdir()
    (marked / LOCK).touch()
    assert set(abandoned(tmp_path)) == {begun, unmarked, marked}
    assert set(clear_abandoned(tmp_path)) == {begun, unmarked, marked}
    assert {path.name for path in tmp_path.iterdir()} == {"hydrotest-run-notes", "hydrotest-run-file"}


def test_a_starting_run_is_not_hindered_by_who_clears_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run finds the fresh directory before its lock is there, and removes it."""
    wait = Lock.wait
    cleared: list[Path] = []

    def cleared_first(lock: Lock) -> None:
        if not cleared:
            cleared.extend(clear_abandoned(tmp_path))
        wait(lock)

    monkeypatch.setattr(Lock, "wait", cleared_first)
    scratch = Scratch(tmp_path, "starting")
    scratch.claim()
    assert len(cleared) == 1
    assert is_owned(scratch.path)
    assert clear_abandoned(tmp_path) == []
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_found_while_it_is_removed_costs_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the end of its mark and its own another takes it for killed, and marks it anew."""
    scratch = Scratch(tmp_path, "ending")
    scratch.claim()
    other = Lock(scratch.path / LOCK)
    rmdir = Path.rmdir

    def found_first(path: Path) -> None:
        other.take()
        rmdir(path)

    monkeypatch.setattr(Path, "rmdir", found_first)
    scratch.remove()
    monkeypatch.undo()
    other.release()
    assert clear_abandoned(tmp_path) == [scratch.path]
