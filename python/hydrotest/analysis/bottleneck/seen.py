"""What is known of the hosts of a cluster that is there already, by how they were seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.bottleneck.windows import READINGS_MIN, Window
from hydrotest.spec.attach import Attachable
from hydrotest.verdicts.causes import NotSampled, Seen, Sparse

TRIED = ("cpu", "disk", "network")
"""Resources that have a ceiling."""


def seen_by(
    there: Mapping[str, Attachable], hosts: Sequence[Mapping[str, Any]], uses: Iterable[Use], windows: Sequence[Window]
) -> Iterator[Seen | Sparse | NotSampled]:
    """Of the hosts of attached systems: who read their counters, of which resources no ceiling is known, and which of them were not
    seen in these windows. `hosts`: those of environment.json."""
    named = {host for system in there.values() for host in system.hosts}
    # On this machine all names share what was used, and it is measured.
    watched = sorted((host for host in hosts if host["name"] in named and host.get("every_s") and host["connect"] != "local"), key=_reader)
    used = {(use.host, use.resource): use for use in uses}
    for (by, every_s), group in groupby(watched, key=_reader):
        names = [host["name"] for host in group]
        visible = tuple(name for name in names if (name, "cpu") in used)
        hidden = tuple(name for name in names if name not in visible)
        if visible:
            yield Seen(visible, by, every_s, tuple(what for what in TRIED if any(used[name, what].share is None for name in visible)))
        window_s = max((end - begin for _, begin, end in windows), default=0.0)
        needed_s = every_s * READINGS_MIN
        if hidden:
            yield Sparse(hidden, every_s, window_s, needed_s) if needed_s > window_s else NotSampled(hidden)


def _reader(host: Mapping[str, Any]) -> tuple[str, float]:
    # Scrapes of one configuration are a few milliseconds apart.
    return host["connect"], round(host["every_s"], 1)
