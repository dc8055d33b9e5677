"""All systems are stopped at once, and each one's problems are named."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from hydrotest.run.lifecycle import startup


async def test_a_system_that_does_not_stop_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = 0, 0

    async def stop(_site: object, system: SimpleNamespace) -> Sequence[str]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        if system.name == "kafka":
            raise OSError("gone")
        return ["slow"] if system.name == "spark" else []

    monkeypatch.setattr(startup, "_stop", stop)
    systems = [SimpleNamespace(name=name) for name in ("kafka", "cassandra", "spark")]
    assert await startup._stop_all(SimpleNamespace(), systems) == ["kafka: OSError: gone", "spark: slow"]  # type: ignore[arg-type]
    assert most == 3
