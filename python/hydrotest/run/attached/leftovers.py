"""What runs that were killed left in clusters that are there already."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError, TrialFailedError
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


async def remove_leftovers(experiment: Experiment) -> Removed:
    """Removes what killed runs left in the clusters of an experiment, by the identity that was noted when it was made.

    Raises `BadInputError` where a cluster cannot be asked.
    """
    removed: list[str] = []
    kept: list[str] = []
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
                        await _remove(left, dealings(system), removed, kept)
        finally:
            await site.clear()
    return Removed(tuple(removed), tuple(kept))


async def _remove(left: Leftover, ours: Dealings[Any], removed: list[str], kept: list[str]) -> None:
    """Of one run; its list goes when nothing of it is left."""
    names = [one.name for one in left.things]
    there = await ours.identities(names) if names else {}
    unproven = []
    for one in left.things:
        identity = there[one.name]
        if identity is None:
            continue  # it was never made, or is gone
        if identity != one.identity:
            unproven.append(one.name)
            continue
        try:
            kept += await ours.remove(one.name, identity)
        except TrialFailedError as error:
            raise BadInputError(
                f"{one.name} is hydrotest's own, and cannot be removed: {error.message}", "Give the user that right."
            ) from error
        removed.append(one.name)
    kept += unproven
    if not unproven:
        await asyncio.to_thread(left.path.unlink, missing_ok=True)
