"""What runs that were killed left in clusters that are there already."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.errors import OverdueError, TrialFailedError
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.run.attached.contact import attached_systems
from hydrotest.run.attached.dealings import Dealings, dealings
from hydrotest.run.attached.owned import Leftover, leftovers
from hydrotest.spec.attach import attached
from hydrotest.spec.models import Experiment


@dataclass(frozen=True)
class Removed:
    """What was found of killed runs in a cluster."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    """Not proven to be hydrotest's own: there is something of that name, but the cluster names it otherwise; or it is in what was ours."""
    failed: tuple[str, ...] = ()
    """What could not be removed, and why: it is in the list still."""


async def remove_leftovers(experiment: Experiment) -> Removed:
    """Removes what killed runs left in the clusters of an experiment, by the identity that was noted when it was made.

    Raises `BadInputError` where a cluster cannot be asked.
    """
    removed: list[str] = []
    kept: list[str] = []
    failed: list[str] = []
    of = {name: list(leftovers(name)) for name in attached(experiment)}
    if not any(of.values()):
        return Removed((), ())
    with tempfile.TemporaryDirectory() as folder:
        site = await make_host_pool(experiment, Path(folder))
        try:
            for name, system in attached_systems(experiment, site.hosts).items():
                facts = await system.contact(system.askers[0])
                for left in of[name]:
                    if left.cluster == facts.identity:
                        await _remove(left, dealings(system), removed, kept, failed)
        finally:
            await site.clear()
    return Removed(tuple(removed), tuple(kept), tuple(failed))


async def _remove(left: Leftover, ours: Dealings[Any], removed: list[str], kept: list[str], failed: list[str]) -> None:
    """Of one run; its list goes when nothing of it is left."""
    names = [one.name for one in left.things]
    there = await ours.identities(names) if names else {}
    is_left = False
    for one in left.things:
        identity = there[one.name]
        if identity is None:
            continue  # it was never made, or is gone
        if identity != one.identity:
            kept.append(one.name)
            is_left = True
            continue
        try:
            stays = await ours.remove(one.name, identity)
        except OverdueError as error:
            failed.append(
                f"{one.name} is hydrotest's own, and is not removed in time: {error.message}. Repeat it: it goes on where it ended."
            )
            is_left = True
            continue
        except TrialFailedError as error:
            failed.append(
                f"{one.name} is hydrotest's own, and cannot be removed: {error.message}. Give the user that right, and repeat it."
            )
            is_left = True
            continue
        kept += stays
        # It may be what is known to be ours by its marker only, which then stays.
        is_left |= bool(stays)
        if not stays:
            removed.append(one.name)
    if not is_left:
        await asyncio.to_thread(left.path.unlink, missing_ok=True)
