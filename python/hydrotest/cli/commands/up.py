"""`hydrotest up`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from hydrotest.cli.experiment import load_for_here
from hydrotest.cli.output import err_console, print_json
from hydrotest.cli.progress import PlainProgress
from hydrotest.errors import EXIT_DONE
from hydrotest.hosts.catalogue import check_rights
from hydrotest.hosts.java import find_java
from hydrotest.run.lifecycle.held_clusters import hold
from hydrotest.run.lifecycle.interrupt import cancel_on_signals
from hydrotest.systems.extras import check_extras


def up(experiment: Path, hosts: Path | None, as_json: bool) -> int:
    """Starts, prints the addresses, and holds."""
    spec, _ = load_for_here(experiment, hosts)
    check_rights(spec)
    check_extras(spec)
    if spec.needs_java_here:
        find_java()

    def announce(endpoints: dict[str, list[str]]) -> None:
        if as_json:
            print_json(endpoints)
        else:
            for name, addresses in endpoints.items():
                print(f"{name}: {', '.join(addresses)}")
        sys.stdout.flush()

    async def body() -> None:
        cancel_on_signals()
        await hold(spec, PlainProgress(err_console()), announce)

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(body())
    return EXIT_DONE
