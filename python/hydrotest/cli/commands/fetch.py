"""`hydrotest fetch`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hydrotest.cli.output import err_console, print_json, say_on_stderr
from hydrotest.cli.progress import PlainProgress
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.run.lifecycle.class_archives import ARCHIVED, archive_classes
from hydrotest.systems.catalogue import bundles


def fetch(systems: Sequence[str], as_json: bool) -> int:
    """Fetches the named systems, or all, and prints their locations; makes the archives of their classes."""
    fetched = bundles()
    names = list(systems) or list(fetched)
    for name in names:
        if name not in fetched:
            raise BadInputError(f"there is no system {name!r} to fetch", f"There are {', '.join(fetched)}.")
    say = say_on_stderr()
    folders = {bundle.name: str(bundle.fetched(say)) for name in names for bundle in fetched[name]}
    for name in names:
        if name in ARCHIVED:
            asyncio.run(archive_classes(name, PlainProgress(err_console())))
    if as_json:
        print_json(folders)
    else:
        for name, folder in folders.items():
            print(f"{name}: {folder}")
    return EXIT_DONE
