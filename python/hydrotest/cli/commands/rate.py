"""`hydrotest rate`."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from hydrotest import __version__
from hydrotest.cli.commands.predict import check_writable
from hydrotest.cli.output import out_console, print_json, say_on_stderr
from hydrotest.errors import EXIT_DONE, BadInputError, MissingToolError, TrialFailedError
from hydrotest.hosts.base import ask
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.java import find_java
from hydrotest.hosts.local import LocalHost
from hydrotest.jobs.rating import JVM_START_S, jvm_slices
from hydrotest.predict.rating import JVM, KindRate, Rating, compared, read_rating
from hydrotest.report.rating import print_compared, print_rating
from hydrotest.store.folder import write_whole

SECONDS_MIN, SECONDS_MAX = 6.0, 3600.0
"""Three slices of a fifth of a second of each kind of work at least."""
KINDS = 11
"""One of them that of a JVM, where there is one."""
SET_UP_S = 60.0
"""Slow memory takes long until 256 MiB of it are in disorder."""


def rate(seconds: float, against: Path | None, out: Path | None, as_json: bool) -> int:
    """Measures this machine, and prints it beside another."""
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise BadInputError(f"--seconds {seconds:g}: so long it is not measured", f"Write {SECONDS_MIN:g} to {SECONDS_MAX:,.0f}.")
    there = None if against is None else read_rating(against)
    check_writable(out, "out")
    say = say_on_stderr()
    say(f"{KINDS} kinds of work, about {seconds + JVM_START_S:.0f} s; nothing else should run meanwhile")
    each = seconds / KINDS
    found = asyncio.run(_measured(seconds - each))
    try:
        found = found.model_copy(update={"rates": {**found.rates, JVM: KindRate.of(jvm_slices(find_java(), each))}})
    except (MissingToolError, TrialFailedError) as error:
        say(f"without the kind of work that systems in a JVM do: {error.message}")
    if out is not None:
        write_whole(out, json.dumps(found.written(), indent=1) + "\n")
    if there is not None:
        both = compared(found, there)
        if as_json:
            print_json(both.written())
        else:
            print_compared(both, out_console())
    elif as_json:
        print_json(found.written())
    else:
        print_rating(found, out_console())
    return EXIT_DONE


async def _measured(seconds: float) -> Rating:
    with tempfile.TemporaryDirectory() as folder:
        host = LocalHost("here", Path(folder))
        facts = await host.facts()
        result = await ask(host, "rate", {"seconds": seconds}, Patience.of(kinds_of_work=2 * seconds, memory_in_disorder=SET_UP_S))
    return Rating.model_validate({"version": __version__, "cpu_model": facts.cpu_model, **result})
