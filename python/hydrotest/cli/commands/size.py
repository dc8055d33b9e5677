"""`hydrotest size`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hydrotest import units
from hydrotest.catalogue.cost import Wanted, prices_of
from hydrotest.catalogue.machine import TERMS
from hydrotest.catalogue.machines import machines, selected
from hydrotest.cli.commands.catalogue import warn_of_age
from hydrotest.cli.commands.predict import check_writable, groups_of, loads
from hydrotest.cli.output import err_console, out_console, print_json
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, EXIT_REFUSED, BadInputError
from hydrotest.predict.axes import REFUSED
from hydrotest.predict.known import read_runs
from hydrotest.predict.needs import ZONES_MAX, Ask
from hydrotest.predict.size import TOP_MAX
from hydrotest.predict.size import size as sized
from hydrotest.report.figures.alone import plans_page
from hydrotest.report.size import print_size
from hydrotest.store.folder import write_whole

LOST = ("none", "host", "zone")
SHARED = ("allow", "never")


def size(runs: Sequence[Path], need: str, survive: str, headroom: str, retain: str | None, types: Sequence[str], shared: str, far: bool, speed: float,
         region: str | None, term: str, zones: int, top: int, groups: str | None, own: Path | None, save: Path | None, figure: Path | None,
         as_json: bool) -> int:  # fmt: skip
    """Prints plans, cheapest first."""
    if not runs:
        raise BadInputError("there is nothing to size from", "Name the folder of a run, best of one with a `calibrate` test.")
    for option, value, known in (("survive", survive, LOST), ("shared", shared, SHARED), ("term", term, TERMS)):
        if value not in known:
            raise BadInputError(f"--{option} {value}: there is no such choice", f"Write one of {', '.join(known)}.")
    if not (2 if survive == "zone" else 1) <= zones <= ZONES_MAX:
        raise BadInputError(f"--zones {zones}: so many cannot be", "Write e.g. --zones 3.")
    if not 1 / REFUSED <= speed <= REFUSED:
        raise BadInputError(
            f"--speed {speed:g}: nothing is said of cores so different from those that were measured",
            f"Write {1 / REFUSED:g} to {REFUSED:g}.",
        )
    if not 1 <= top <= TOP_MAX:
        raise BadInputError(f"--top {top}: so many plans cannot be", f"Write 1 to {TOP_MAX}.")
    check_writable(save, "save")
    check_writable(figure, "figure")
    needs = loads(need, "need")
    if any(rate <= 0 for rate in needs.values()):
        raise BadInputError(f"--need {need}: a need is above 0", "Write e.g. --need ingest=1M,store=20K.")
    ask = Ask(needs, selected(types, machines(own)), Wanted(region, term), _read(headroom, "headroom", units.share), survive, zones,
              0.0 if retain is None else _read(retain, "retain", units.duration_s), shared == "allow", far, speed, top, groups_of(groups))  # fmt: skip
    found = sized(read_runs(runs), ask)
    if save is not None:
        write_whole(save, json.dumps(found.written(), indent=1) + "\n")
    if figure is not None and found.plans:
        write_whole(figure, plans_page(found))
    elif figure is not None:
        err_console().print(f"{figure} is not written: there is no plan", highlight=False, markup=False)
    if as_json:
        print_json(found.written())
    else:
        print_size(found, out_console())
        warn_of_age(price for plan in found.plans for part in plan.parts for price in prices_of(part.lines))
    return EXIT_DONE if found.plans else EXIT_REFUSED if found.is_not_shown else EXIT_MISSED


def _read(text: str, option: str, read: object) -> float:
    assert callable(read)
    try:
        return float(read(text))
    except ValueError as error:
        raise BadInputError(f"--{option} {text}: {error}", f"Write e.g. --{option} {'30%' if option == 'headroom' else '3d'}.") from error
