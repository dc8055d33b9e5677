"""Objects are removed within what is allowed, past what is refused, and what stays is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hydrotest.errors import OverdueError, TrialFailedError
from hydrotest.hosts.node import Event
from hydrotest.hosts.protocol import understood
from hydrotest.run.attached.leftovers import _remove
from hydrotest.run.attached.owned import Leftover, OwnThing
from hydrotest.run.workloads import buckets
from hydrotest.run.workloads.buckets import Prefixes, answered_s
from hydrotest.systems.s3.client import Key, Place, S3Client
from tests.fake_host import FakeHost, FakeNode


def removing(monkeypatch: pytest.MonkeyPatch, *events: Event) -> tuple[Prefixes, list[Any]]:
    """Prefixes of a store whose program says this."""
    asked: list[Any] = []

    async def program(*_: Any) -> list[str]:
        return ["java"]

    class Saying(FakeHost):
        async def node(self, subcommand: str, settings: Any, program: Sequence[str] = ()) -> FakeNode:
            asked.append(settings)
            return FakeNode("java", list(events))

    monkeypatch.setattr(buckets, "program", program)
    return Prefixes(S3Client(Place("tests"), Key("access", "secret"), requests_per_s=50.0), Saying(), lambda _: None), asked


async def test_a_removal_keeps_to_the_rate_and_waits_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"event": "done", "result": {"removed": 2, "kept": ["a"], "failed": {}}}
    prefixes, asked = removing(monkeypatch, *[understood("java", '{"event": "progress", "done": 1}')] * 5, done)
    assert await prefixes.remove("p", "i") == ["a"]
    (settings,) = asked
    assert (settings["do"], settings["requests_per_s"]) == ("remove", 50.0)


async def test_what_a_store_refuses_to_remove_is_told_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    prefixes, _ = removing(monkeypatch, {"event": "done", "result": {"removed": 2, "kept": [], "failed": {"SlowDown": 3}}})
    with pytest.raises(TrialFailedError, match="SlowDown"):
        await prefixes.remove("p", "i")
    prefixes, _ = removing(monkeypatch, {"event": "failed", "error": "its own words"})
    with pytest.raises(TrialFailedError, match="its own words"):
        await prefixes.remove("p", "i")


def test_a_request_has_time_for_its_content_beside_others() -> None:
    assert answered_s(0, 1e6) == 60.0
    # Eight of 64 MiB on a link of 1 MB/s: none may fail for being one of many.
    assert answered_s(8 * (64 << 20), 1e6) == pytest.approx(60 + 536.87, rel=1e-3)


class Removing:
    """Dealings with one thing that cannot be removed, one that takes too long, and others."""

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return dict.fromkeys(names, "ours")

    async def remove(self, name: str, identity: str) -> list[str]:
        if name == "refused":
            raise TrialFailedError("AccessDenied")
        if name == "slow":
            raise OverdueError("java", "say anything", 1.0, "a rate")
        return ["mixed/theirs"] if name == "mixed" else []


@pytest.mark.parametrize("more", [[], ["refused"], ["slow"], ["mixed"], ["refused", "slow", "mixed"]])
async def test_what_cannot_be_removed_hinders_nothing_else_and_stays_in_the_list(tmp_path: Path, more: list[str]) -> None:
    path = tmp_path / "s3-1.jsonl"
    path.touch()
    removed: list[str] = []
    kept: list[str] = []
    failed: list[str] = []
    things = tuple(OwnThing(name, "ours") for name in [*more, "last"])
    await _remove(Leftover(path, "c", things), Removing(), removed, kept, failed)  # type: ignore[arg-type]
    assert removed == ["last"]
    assert kept == (["mixed/theirs"] if "mixed" in more else [])
    assert len(failed) == len({"refused", "slow"} & set(more))
    assert not any("right" in one for one in failed if "rate" in one)
    assert path.exists() == bool(more)
