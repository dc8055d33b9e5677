"""`hydrotest status`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE
from hydrotest.run.lifecycle.held_clusters import standing
from hydrotest.run.lifecycle.scratch import abandoned, scratch_root
from hydrotest.spec.load import load_experiment


def status(experiment: Path, hosts: Path | None, as_json: bool) -> int:
    """Prints what is up, and what killed runs left."""
    spec, _ = load_experiment(experiment, hosts, opens_files=False)
    found, left = standing(spec), abandoned(scratch_root(spec))
    if as_json:
        print_json({"up": [asdict(one) for one in found], "left": [str(path) for path in left]})
        return EXIT_DONE
    for one in found:
        addresses = "; ".join(f"{name} at {', '.join(where)}" for name, where in one.endpoints.items())
        print(f"{one.experiment} (pid {one.pid}): {addresses}")
        for host in one.hosts:
            print(f"- {host.name} at {host.address}{f', {host.gets}' if host.gets else ''}: {', '.join(host.services) or 'no services'}")
    if not found:
        print(f"nothing of {spec.name} is up")
    for path in left:
        print(f"a killed run left {path}; `hydrotest down` removes it, with its processes and its lab")
    return EXIT_DONE
