"""`hydrotest down`."""

from __future__ import annotations

from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE
from hydrotest.run.lifecycle.held_clusters import take_down
from hydrotest.spec.load import load_experiment


def down(experiment: Path, as_json: bool) -> int:
    """Ends and removes held clusters, and prints them."""
    spec, _ = load_experiment(experiment)
    ended, removed = take_down(spec)
    if as_json:
        print_json({"ended": ended, "removed": [str(path) for path in removed]})
    else:
        print(f"ended {ended}, removed {len(removed)} folders that killed runs left")
    return EXIT_DONE
