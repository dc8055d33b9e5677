"""The one process of a host: what goes through it, and that nothing outlives the connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path, PurePath

import pytest

from hydrotest.errors import MissingToolError, TrialFailedError
from hydrotest.hosts import hub as hubs
from hydrotest.hosts.base import Service
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.frames import BODY_BYTES_MAX
from hydrotest.hosts.hub import OWN_BINARY, Hub
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.protocol import PROTOCOL
from hydrotest.places import node_binary

LONG = Patience.of(a_slow_machine=60.0)
HUB = [str(node_binary()), "hub"]
HELLO = json.dumps({"event": "hello", "protocol": PROTOCOL})


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    opened = await Hub.open("there", HUB)
    yield opened
    await opened.close()


def is_alive(pid: int) -> bool:
    """True for a process that runs; one that nobody has reaped yet does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


async def gone(*pids: int) -> None:
    async def look() -> bool:
        return not any(is_alive(pid) for pid in pids)

    await until(look, LONG, "the processes", "end")


async def asleep(hub: Hub, tmp_path: Path, grace_s: float = 5.0) -> tuple[int, int]:
    """A supervised process and its supervisor."""
    service = Service("sleep", ["sleep", "1000"], tmp_path, tmp_path / "log", grace_s=grace_s)
    node = await hub.start("supervise", [OWN_BINARY, "supervise"], service.settings())
    return int((await node.expect("spawned"))["pid"]), node.pid


async def test_a_hub_says_who_it_is(hub: Hub) -> None:
    assert (hub.hello.uid, hub.hello.home) == (os.getuid(), PurePath(Path.home()))
    assert hub.hello.arch == os.uname().machine
    assert is_alive(hub.hello.pid)


async def test_many_nodes_speak_at_once(hub: Hub) -> None:
    """Each hears its own answers only."""
    clocks = [await hub.start("clock", [OWN_BINARY, "clock"], {}) for _ in range(20)]
    assert len({clock.pid for clock in clocks}) == 20
    for _ in range(5):
        await asyncio.gather(*(clock.command("report") for clock in clocks))
        times = await asyncio.gather(*(clock.expect("clock") for clock in clocks))
        assert all(abs(one["wall_s"] - time.time()) < 60 for one in times)
    assert await asyncio.gather(*(clock.close() for clock in clocks)) == [None] * 20


async def test_long_lines_come_whole(hub: Hub) -> None:
    """As an account of records: longer than any frame."""
    length = 3 * BODY_BYTES_MAX + 17
    script = f"""
import json, sys
sys.stdin.readline()
print(json.dumps({{"event": "hello", "protocol": {PROTOCOL}}}), flush=True)
settings = sys.stdin.readline()
print(json.dumps({{"event": "done", "result": ["x" * {length}, len(settings)]}}), flush=True)
sys.stdin.read()
"""
    node = await hub.start("long", [sys.executable, "-c", script], {"padding": "y" * length})
    said, heard = (await node.expect("done"))["result"]
    assert said == "x" * length
    assert heard > length
    await node.close()


async def test_what_cannot_be_started_says_why(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="nothing-there"):
        await hub.start("tool", [str(tmp_path / "nothing-there")], {})


async def test_the_last_words_of_a_node_are_kept(hub: Hub) -> None:
    script = f"import sys; sys.stdin.readline(); print({HELLO!r}, flush=True); sys.exit('no luck')"
    node = await hub.start("tool", [sys.executable, "-c", script], {})
    with pytest.raises(TrialFailedError, match="exit code 1: no luck"):
        await node.expect("done")
    assert await node.close() is None


async def test_what_a_signal_ended_is_known(hub: Hub) -> None:
    node = await hub.start("clock", [OWN_BINARY, "clock"], {})
    os.kill(node.pid, signal.SIGKILL)
    assert await node.next_event() is None
    assert "signal 9" in await node.exit_status_text()
    # Commands for one that is gone harm nobody.
    await node.command("report")
    assert await node.close() is None


@pytest.mark.parametrize("end", ["close", "kill"])
async def test_nothing_outlives_the_connection(tmp_path: Path, end: str) -> None:
    """A hub that is closed, and one that is killed."""
    hub = await Hub.open("there", HUB)
    service, supervisor = await asleep(hub, tmp_path)
    if end == "close":
        assert await hub.close() is None
        assert not is_alive(service)
    else:
        os.kill(hub.hello.pid, signal.SIGKILL)
    await gone(service, supervisor, hub.hello.pid)
    assert "there" in await hub.lost
    with pytest.raises(ConnectionLostError, match="there"):
        await hub.ask("size", path="/")
    with pytest.raises(ConnectionLostError, match="there"):
        await hub.start("clock", [OWN_BINARY, "clock"], {})


async def test_a_controller_that_falls_silent_has_lost_its_lease(tmp_path: Path) -> None:
    """As behind a network that is cut: no end of the connection ever comes."""
    hub = await Hub.open("there", HUB, lease_s=1.0)
    service, supervisor = await asleep(hub, tmp_path)
    await asyncio.sleep(2.5)  # beats keep it
    assert is_alive(service)
    assert hub._beating is not None
    hub._beating.cancel()
    await gone(service, supervisor, hub.hello.pid)


async def test_a_host_that_falls_silent_is_lost(tmp_path: Path) -> None:
    hub = await Hub.open("there", HUB, lease_s=1.0)
    service, supervisor = await asleep(hub, tmp_path)
    node = await hub.start("clock", [OWN_BINARY, "clock"], {})
    os.kill(hub.hello.pid, signal.SIGSTOP)
    try:
        assert await node.next_event() is None
        assert "there has said nothing" in await node.exit_status_text()
        with pytest.raises(ConnectionLostError):
            await hub.ask("size", path="/")
    finally:
        os.kill(hub.hello.pid, signal.SIGKILL)
    await gone(service, supervisor)


async def test_a_login_shell_may_say_what_it_likes_first(tmp_path: Path) -> None:
    script = tmp_path / "shell"
    script.write_text(f"#!/bin/sh\necho hello; echo '{{\"not\": 1}}'; printf 'half '; echo a line\nexec {HUB[0]} hub\n")
    script.chmod(0o700)
    hub = await Hub.open("there", [str(script)])
    assert await hub.ask("size", path=str(script)) == script.stat().st_size
    await hub.close()


async def test_what_is_no_hub_is_named_with_its_last_words(tmp_path: Path) -> None:
    script = tmp_path / "shell"
    script.write_text("#!/bin/sh\necho busy; echo 'not today' >&2; exit 3\n")
    script.chmod(0o700)
    with pytest.raises(ConnectionLostError, match=r"there.*not today"):
        await Hub.open("there", [str(script)])


async def test_a_host_that_says_nonsense_is_lost(tmp_path: Path) -> None:
    script = tmp_path / "shell"
    script.write_text(f"#!/bin/sh\necho '{HELLO}'; echo '{{\"say\": \"dance\"}}'; cat > /dev/null\n")
    script.chmod(0o700)
    with pytest.raises(ConnectionLostError, match="not of a hub"):
        await Hub.open("there", [str(script)])


async def test_a_file_is_given_up_where_it_stops(hub: Hub, tmp_path: Path) -> None:
    """While others go on."""
    path = tmp_path / "a"
    path.write_text("before")

    async def stops() -> AsyncIterator[bytes]:
        yield b"x" * (5 * BODY_BYTES_MAX)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        await hub.put(PurePath(path), stops())
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
    assert path.read_text() == "before"


async def test_a_full_disk_says_so(hub: Hub) -> None:
    with pytest.raises(OSError, match="No space left"):
        await hub.ask("append", b"x", path="/dev/full")


async def test_files_of_any_size_and_name_pass(tmp_path: Path) -> None:
    host = LocalHost("here", tmp_path)
    for length in (0, 1, BODY_BYTES_MAX, hubs.WINDOW_BYTES + 1):
        content = os.urandom(length)
        path = PurePath(tmp_path / f"größe [{length}]")
        await host.put(path, content)
        assert await host.get(path) == content
        assert await host.glob(PurePath(tmp_path), "größe*") != []
    assert await host.close() is None


async def test_a_port_is_kept_until_the_hub_ends(hub: Hub) -> None:
    other = await Hub.open("other", HUB)
    port = 20_000
    while not await hub.ask("reserve", port=port):
        port += 1
    assert not await other.ask("reserve", port=port)
    assert await hub.close() is None
    assert await other.ask("reserve", port=port)
    await other.close()


async def test_a_host_that_was_given_up_stays_so(tmp_path: Path) -> None:
    """Whoever still asks for something would start a hub that nobody ends, and wait for it for ever while all else is over."""
    host = LocalHost("here", tmp_path)
    assert await host.size(tmp_path / "none") is None
    assert await host.close() is None
    with pytest.raises(ConnectionLostError, match="was closed"):
        await host.size(tmp_path / "none")
    await host.reopen()
    assert await host.size(tmp_path / "none") is None
    await host.close()


async def test_a_carrier_that_ends_leaves_nothing_there_and_asks_for_nothing_more(tmp_path: Path) -> None:
    """`kubectl exec` may end with code 0 while what it carried goes on (kubernetes#73056)."""
    ends, kept = tmp_path / "ends", tmp_path / "kept"
    kept.touch()
    script = f'exec 3<&0; "$@" <&3 & while [ ! -e "{ends}" ]; do sleep 0.05; done; exit 0'
    hub = await Hub.open("there", ["sh", "-c", script, "sh", *HUB])
    sleeper, supervisor = await asleep(hub, tmp_path)
    ends.touch()
    await hub.lost
    # Whoever clears up now must not do so while things still run there.
    with pytest.raises(ConnectionLostError):
        await hub.ask("remove", path=str(kept))
    await gone(sleeper, supervisor, hub.hello.pid)
    assert kept.exists()
    await hub.close()
