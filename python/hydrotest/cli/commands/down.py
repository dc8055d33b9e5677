"""`hydrotest down`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE, EXIT_FAILED
from hydrotest.hosts.remote.make import sweep
from hydrotest.run.attached.leftovers import remove_leftovers
from hydrotest.run.lifecycle.held_clusters import take_down
from hydrotest.spec.hosts import CommandHost, SshHost
from hydrotest.spec.load import load_experiment


def down(experiment: Path, hosts: Path | None, as_json: bool) -> int:
    """Ends and removes held clusters, and prints them."""
    spec, _ = load_experiment(experiment, hosts, opens_files=False)
    ended, found = take_down(spec)
    removed = [str(path) for path in found]
    remote = spec.hosts_of(SshHost) | spec.hosts_of(CommandHost)
    if remote:
        removed += [f"{host}:{folder}" for host, folders in asyncio.run(sweep(remote)).items() for folder in folders]
    there = asyncio.run(remove_leftovers(spec))
    removed += there.removed
    if as_json:
        print_json({"ended": ended, "removed": removed, "kept": list(there.kept), "failed": list(there.failed)})
    else:
        print(f"ended {ended}, removed {len(removed)} folders and topics that killed runs left")
        for name in there.kept:
            print(f"{name} stays: it is where a run was about to make something, but nothing proves that it is hydrotest's own")
        for said in there.failed:
            print(said)
    return EXIT_FAILED if there.failed else EXIT_DONE
