"""Files of hosts: one contract for those of a disk and those in memory."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path, PurePath

import pytest

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import OWNER, Files, Private, place
from hydrotest.hosts.local import LocalHost
from tests.fake_host import FakeHost, MemoryFiles

SECRET = "c2VjcmV0"


@pytest.fixture(params=["disk", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return LocalHost("here", tmp_path) if request.param == "disk" else MemoryFiles()


@pytest.fixture
def folder(tmp_path: Path) -> PurePath:
    """An absolute path; on a disk it exists."""
    return PurePath(tmp_path)


def mode_of(files: Files, path: PurePath) -> int:
    return files.modes[path] if isinstance(files, MemoryFiles) else stat.S_IMODE(os.stat(path).st_mode)


async def pieces(*parts: bytes, fails: bool = False) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if fails:
        raise ConnectionResetError


def test_hosts_have_files(tmp_path: Path) -> None:
    hosts: list[Host] = [LocalHost("here", tmp_path), FakeHost()]
    assert all(host.scratch("r").is_absolute() for host in hosts)


async def test_what_is_put_is_read_whole_from_a_byte_on_and_piece_by_piece(files: Files, folder: PurePath) -> None:
    path = folder / "not there yet" / "a.txt"
    await files.put(path, b"0123456789")
    assert await files.get(path) == b"0123456789"
    assert await files.get(path, 7) == b"789"
    assert await files.get(path, 12) == b""
    assert b"".join([piece async for piece in files.open(path, 3)]) == b"3456789"
    assert (await files.tail(path, 4), await files.tail(path, 99)) == (b"6789", b"0123456789")
    assert await files.size(path) == 10


async def test_a_large_file_comes_in_pieces_and_is_copied_so(files: Files, folder: PurePath) -> None:
    whole = os.urandom((2 << 20) + 5)
    await files.put(folder / "one", pieces(whole[:7], whole[7:]))
    assert len([piece async for piece in files.open(folder / "one")]) > 1
    await files.put(folder / "two", files.open(folder / "one"))
    assert await files.get(folder / "two") == whole


async def test_what_fails_half_way_leaves_what_was_there(files: Files, folder: PurePath) -> None:
    await files.put(folder / "a", b"before")
    with pytest.raises(ConnectionResetError):
        await files.put(folder / "a", pieces(b"aft", fails=True))
    assert await files.get(folder / "a") == b"before"
    assert await files.glob(folder, "*") == [folder / "a"]


async def test_a_secret_is_its_owner_s_alone_whatever_was_there(files: Files, folder: PurePath) -> None:
    await files.put(folder / "there", b"a longer text than the one that comes")
    for name in ("there", "new"):
        await files.put(folder / name, SECRET.encode(), OWNER)
        assert await files.get(folder / name) == SECRET.encode()
        assert mode_of(files, folder / name) == 0o600


async def test_a_secret_is_its_owner_s_alone_from_its_first_byte_on(tmp_path: Path) -> None:
    """Also under its name until it is complete."""
    path = tmp_path / "secret"
    path.write_text("open")
    seen: list[dict[str, int]] = []

    async def watched() -> AsyncIterator[bytes]:
        for part in (b"se", b"cret"):
            yield part
            while not (found := list(tmp_path.glob("*.partial"))):  # until the host has begun
                await asyncio.sleep(0.01)
            seen.append({one.name: stat.S_IMODE(one.stat().st_mode) for one in found})

    await LocalHost("here", tmp_path).put(path, watched(), OWNER)
    assert [set(modes.values()) for modes in seen] == [{0o600}] * 2
    assert [one.name for one in tmp_path.iterdir()] == ["secret"]


async def test_what_is_added_stands_at_the_end(files: Files, folder: PurePath) -> None:
    await files.append(folder / "x" / "log", b"one\n")
    await files.append(folder / "x" / "log", b"two\n")
    assert await files.get(folder / "x" / "log") == b"one\ntwo\n"


async def test_what_is_not_there(files: Files, folder: PurePath) -> None:
    nothing = folder / "nothing"
    with pytest.raises(FileNotFoundError):
        await files.get(nothing)
    with pytest.raises(FileNotFoundError):
        [piece async for piece in files.open(nothing)]
    assert await files.size(nothing) is None
    assert await files.tail(nothing, 10) == b""
    assert await files.glob(nothing, "**/*") == []
    await files.remove(nothing)


async def test_a_folder_is_no_file(files: Files, folder: PurePath) -> None:
    await files.make_folder(folder / "a" / "b", 0o700)
    await files.make_folder(folder / "a" / "b")
    assert mode_of(files, folder / "a" / "b") == 0o700
    assert await files.size(folder / "a") is None
    with pytest.raises(IsADirectoryError):
        await files.put(folder / "a", b"")
    await files.put(folder / "file", b"x")
    with pytest.raises(FileExistsError):
        await files.make_folder(folder / "file")
    assert await files.size(folder / "file" / "below") is None


async def test_names_are_found_by_pattern(files: Files, folder: PurePath) -> None:
    for name in ("b.jar", "a.jar", "deep/c.jar", "deep/er/d.jar", "deep/x.txt"):
        await files.put(folder / name, b"")
    assert await files.glob(folder, "*.jar") == [folder / "a.jar", folder / "b.jar"]
    assert await files.glob(folder, "**/*.jar") == [folder / name for name in ("a.jar", "b.jar", "deep/c.jar", "deep/er/d.jar")]
    assert await files.glob(folder, "deep/*") == [folder / name for name in ("deep/c.jar", "deep/er", "deep/x.txt")]


async def test_what_is_removed_is_gone_with_all_that_is_in_it(files: Files, folder: PurePath) -> None:
    for name in ("keep", "run/a", "run/deep/b"):
        await files.put(folder / name, b"")
    await files.remove(folder / "run" / "a")
    assert await files.glob(folder / "run", "*") == [folder / "run" / "deep"]
    await files.remove(folder / "run")
    assert await files.glob(folder, "**/*") == [folder / "keep"]


async def test_what_a_link_leads_to_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a").touch()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    await LocalHost("here", tmp_path).remove(tmp_path / "link")
    assert [one.name for one in (tmp_path / "there").iterdir()] == ["a"]
    assert not (tmp_path / "link").is_symlink()


async def test_texts_are_placed_with_the_mode_that_they_need(files: Files, folder: PurePath) -> None:
    await place(files, folder / "service", {"conf/open": "größer", "secret": Private(SECRET)}, ["empty"])
    assert await files.get(folder / "service/conf/open") == "größer".encode()
    assert await files.get(folder / "service/secret") == SECRET.encode()
    assert mode_of(files, folder / "service/secret") == 0o600
    assert mode_of(files, folder / "service/conf/open") & 0o400
    assert await files.glob(folder / "service", "empty") == [folder / "service/empty"]


def test_a_private_text_does_not_show_itself() -> None:
    text = Private(SECRET)
    assert text == SECRET
    assert SECRET not in repr({"file": text})
