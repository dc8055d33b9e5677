"""Takes cores of a complete machine away, by occupying them (`hydrotest-node cpu-hog`)."""

from __future__ import annotations

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.node import Node
from hydrotest.hosts.reached import Reached


class CpuHog:
    """What occupies cores of one host, while it does."""

    def __init__(self, host: Reached) -> None:
        self._host = host
        self._running: Node | None = None

    async def leave(self, share: float, remedy: str | None) -> None:
        """Leaves that share of each core to all but generators; 1 gives all back.

        Raises `TrialFailedError` where it is refused, with the `remedy` if there is one, and where what was taken did not
        stay taken.
        """
        if self._running is not None:
            ended, self._running = self._running, None
            has_lasted = ended.is_running
            problem = await ended.close()
            if not has_lasted:
                raise TrialFailedError(await ended.exit_status_text())
            if problem is not None:
                raise TrialFailedError(problem)
        if share < 1:
            begun = await self._host.node("cpu-hog", {"left": share})
            try:
                await begun.expect("ready")
            except BaseException as error:  # refused, or a run that is being ended: it takes nothing any longer
                await begun.close()
                if isinstance(error, TrialFailedError) and remedy is not None:
                    raise TrialFailedError(f"taking cores away needs root (real-time scheduling): {remedy}. {error.message}") from error
                raise
            self._running = begun
