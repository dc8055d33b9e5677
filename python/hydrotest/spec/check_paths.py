"""Checks the paths of data, jars and results against what the systems can use. Pure: the paths are passed
in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import narrowed
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.models import Experiment
from hydrotest.spec.system import IN_CLASS_PATH, JavaSystem

IN_JARS = {":": IN_CLASS_PATH}
IN_CACHE = {**IN_JARS, "=": "parts a Java agent's jar from its options", ",": "parts the entries of `spark.jars`"}


@dataclass(frozen=True)
class Roots:
    """Absolute paths, without links."""

    data: Path
    cache: Path
    takes_letters: bool = True
    """True if this machine has a locale in which Java writes names beyond ASCII, and hydrotest's has the same
    encoding."""


def check_paths(experiment: Experiment, document: Document, roots: Roots) -> None:
    """Raises `BadInputError` for a path that a system would misread: its data would lie elsewhere, or it
    would not start."""
    checker = Checker(document)
    named = next((name for name, host in experiment.hosts.items() if host.data and not host.is_remote), None)
    place: Path_ = ("hosts", named, "data") if named is not None else ()
    remedy = "Give `data:` another directory." if named is not None else "Set XDG_CACHE_HOME to another directory, or give a host `data:`."
    _check(roots.data, roots, {}, place, remedy, checker)
    _check(roots.cache, roots, IN_CACHE, (), "Set XDG_CACHE_HOME to another directory.", checker)
    for name, host in experiment.hosts.items():
        for system in experiment.systems.present().values() if host.is_remote and host.data else ():
            at: Path_ = ("hosts", name, "data")
            _check(Path(host.data or ""), roots, {**IN_CACHE, **system.not_in_data}, at, "Give `data:` another directory.", checker)
    for name, system in experiment.systems.present().items():
        _check(roots.data, roots, system.not_in_data, place, remedy, checker)
        home = None if (on_java := narrowed(system, JavaSystem)) is None else on_java.home
        if home is not None:
            _check(
                Path(home).expanduser(),
                roots,
                IN_JARS,
                ("systems", name, "home"),
                "Link to it from another directory, and name that.",
                checker,
            )


def _check(path: Path, roots: Roots, signs: Mapping[str, str], place: Path_, remedy: str, checker: Checker) -> None:
    text = str(path)
    if not text.isprintable():
        raise checker.fail(place, f"the path {text!r} holds characters that are not letters, digits or signs in UTF-8", remedy)
    for sign, why in signs.items():
        if sign in text:
            raise checker.fail(place, f"the path {text} holds {sign!r}, which {why}", remedy)
    if not text.isascii() and not roots.takes_letters:
        raise checker.fail(place, f"the path {text} holds letters beyond ASCII, which Java and hydrotest would write differently in this machine's locales",
                           f"{remedy[:-1]}, or call hydrotest with LC_ALL=C.UTF-8 on a machine that has this locale (`locale -a`).")  # fmt: skip
