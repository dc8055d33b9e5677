"""`hydrotest stop`."""

from __future__ import annotations

from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE
from hydrotest.run.lifecycle.stopping import stop_run


def stop(run: Path, as_json: bool) -> int:
    """Ends a run that is under way, and waits for it."""
    stop_run(run)
    if as_json:
        print_json({"stopped": str(run)})
    else:
        print(f"the run has ended; what was measured is in {run}")
    return EXIT_DONE
