"""Whole cores: which of the machine's processors each host of a lab has to itself, and which are left for all others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.lab.groups import Trees
from hydrotest.spec.hosts import NetnsHost as Spec

TASKS = Path("/proc/self/task")
LABS = "hydrotest-"
"""Names of all runs begin so, and with them those of groups."""


@dataclass(frozen=True)
class Processors:
    """Numbers of processors, as the kernel counts them."""

    own: Mapping[str, Sequence[int]]
    """By host that has whole cores."""
    others: Sequence[int]
    """Of all other hosts, and of hydrotest itself."""

    def of(self, host: str) -> Sequence[int]:
        """Those that a host may run on."""
        return self.own.get(host, self.others)


def divided(specs: Mapping[str, Spec], trees: Trees, run: str) -> Processors | None:
    """Whole cores are taken from the end; None if no host has any. Raises `SystemFailedError` if none would be left for the others, or if
    another lab has chosen processors: the same ones would be whole twice."""
    if not any(spec.whole for spec in specs.values()):
        return None
    root = trees.root("cpuset")
    others = sorted(path.name for path in root.glob(f"{LABS}*") if not path.name.startswith(f"{run}-"))
    if others:
        raise SystemFailedError(
            f"another lab has whole cores: {others[0].rpartition('-')[0]}", "Wait until it ends, or remove it with `hydrotest down`."
        )
    left, own = numbers(_text(root)), {}
    for name, spec in specs.items():
        if spec.whole:
            own[name], left = left[-spec.whole :], left[: -spec.whole]
    if not left or any(len(own[name]) < specs[name].whole for name in own):
        raise SystemFailedError(f"{sum(spec.whole for spec in specs.values())} cores are to be whole, and none would be left for the others",
                                "Give fewer hosts whole cores.")  # fmt: skip
    return Processors(own, left)


def _text(root: Path) -> str:
    """The processors of a tree: of version 2 the root has only those in effect."""
    for name in ("cpuset.effective_cpus", "cpuset.cpus.effective", "cpuset.cpus"):
        if (root / name).exists():
            return (root / name).read_text()
    raise SystemFailedError(f"{root} does not name processors", "Use a machine whose kernel has the `cpuset` controller.")


def numbers(text: str) -> list[int]:
    """`0-3,8` as the kernel writes it."""
    spans = [part.split("-") for part in text.strip().split(",") if part]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def keep_off(processors: Processors | None) -> Callable[[], None]:
    """From now on this process, and what it starts, keeps off whole cores; what enters a host runs where the host does. Returns what undoes
    it."""
    if processors is None:
        return lambda: None
    before = os.sched_getaffinity(0)
    try:
        _move(set(processors.others))
    except SystemFailedError:
        _move(before)
        raise
    return lambda: _move(before)


def _move(to: set[int]) -> None:
    for task in TASKS.iterdir():
        try:
            os.sched_setaffinity(int(task.name), to)
        except ProcessLookupError:  # a thread that has just ended
            continue
        except OSError as error:
            raise SystemFailedError(f"hydrotest may not run on processors {sorted(to)} alone: {error.strerror}",
                                    "Start it without `taskset`, or give no host whole cores.") from error  # fmt: skip
