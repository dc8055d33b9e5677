"""`hydrotest fetch`."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.cli.output import print_json, say_on_stderr
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.systems.catalogue import bundles


def fetch(systems: Sequence[str], as_json: bool) -> int:
    """Fetches the named systems, or all, and prints their locations."""
    fetched = bundles()
    names = list(systems) or list(fetched)
    for name in names:
        if name not in fetched:
            raise BadInputError(f"there is no system {name!r} to fetch", f"There are {', '.join(fetched)}.")
    say = say_on_stderr()
    folders = {bundle.name: str(bundle.fetched(say)) for name in names for bundle in fetched[name]}
    if as_json:
        print_json(folders)
    else:
        for name, folder in folders.items():
            print(f"{name}: {folder}")
    return EXIT_DONE
