"""Ends a run of another process in good order."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hydrotest.errors import BadInputError, OverdueError, RunFailedError
from hydrotest.hosts.deadlines import SLOW, Patience, until_here
from hydrotest.store import layout
from hydrotest.store.folder import STARTED, RunFolder
from hydrotest.store.lock import is_held

STOP = Patience.of(services_to_end_and_results_to_be_written=SLOW * 100.0)


def stop_run(path: Path) -> None:
    """Asks the run that writes to a folder to end, as Ctrl-C does, and waits for it.

    Raises `BadInputError` where no run writes there, `RunFailedError` where it does not end.
    """
    lock = path / layout.LOCK
    if not is_held(lock):
        raise BadInputError("no run writes to this folder", "Name the folder of a run that is under way.", file=path)
    started = [entry for entry in RunFolder.open(path).read_journal() if entry["what"] == STARTED]
    pid = started[-1].get("pid") if started else None
    if pid is None:
        raise BadInputError("the run does not say which process it is", "End it where it was started, by Ctrl-C.", file=path)
    os.kill(pid, signal.SIGINT)
    try:
        until_here(lambda: not is_held(lock), STOP, f"the run (process {pid})", "end", 0.2)
    except OverdueError as error:
        raise RunFailedError(error.message, "End it by hand.") from error
