"""How a run reacts to a request to end."""

from __future__ import annotations

import asyncio
import signal


def cancel_on_signals() -> None:
    """Ctrl-C and SIGTERM cancel the running task, which then tears down in order."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
