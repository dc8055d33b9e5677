"""A lost host of generators is reached again; one that stays away ends the run."""

from __future__ import annotations

import pytest

from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.hosts.clocks import Clocks
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.recovery import WAITS_S, Recovery


class Away:
    """A host that is away for so many attempts."""

    lease_s = 60.0

    def __init__(self, attempts: int) -> None:
        self.left = attempts

    async def reopen(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise TrialFailedError("nobody answers")


class Sampled:
    """Samplers, of which one has ended."""

    def __init__(self) -> None:
        self.ended = {"j": "gone"}

    async def restart(self, name: str) -> None:
        del self.ended[name]


def of(host: Away, sampled: Sampled) -> Recovery:
    return Recovery({"j": host}, sampled, Clocks(), Silent(), ["j"])  # type: ignore[dict-item,arg-type]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("hydrotest.run.lifecycle.recovery.asyncio.sleep", sleep)
    return waited


@pytest.mark.parametrize("attempts", range(len(WAITS_S)))
async def test_a_host_that_comes_back_is_sampled_again(at_once: list[float], attempts: int) -> None:
    sampled = Sampled()
    own = of(Away(attempts), sampled)
    assert own.spares("j")
    assert not own.spares("a")
    await own.restore()
    assert sampled.ended == {}
    assert at_once == [1.0, 4.0, 60.0][: attempts + 1]
    await own.restore()
    assert len(at_once) == attempts + 1


async def test_a_host_that_stays_away_ends_the_run() -> None:
    with pytest.raises(RunFailedError, match="j is lost"):
        await of(Away(9), Sampled()).restore()
