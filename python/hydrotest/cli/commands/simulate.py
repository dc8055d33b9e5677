"""`hydrotest simulate`."""

from __future__ import annotations

import json
from pathlib import Path

from hydrotest import units
from hydrotest.catalogue.cost import Wanted, check_prices, prices_of
from hydrotest.catalogue.machine import TERMS
from hydrotest.catalogue.machines import machines
from hydrotest.cli.commands.catalogue import warn_of_age
from hydrotest.cli.output import out_console, print_json, say_on_stderr
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, BadInputError
from hydrotest.predict.known import read_runs
from hydrotest.predict.simulation.prepared import prepared
from hydrotest.predict.simulation.scenario import SEEDS_MAX, read_scenario
from hydrotest.predict.simulation.simulate import simulated
from hydrotest.report.figures.course import course_page
from hydrotest.report.simulation import print_simulated
from hydrotest.store.folder import write_whole

DURATION_S_MAX = 366 * 86_400.0


def simulate(file: Path, model: list[Path], duration: str | None, seeds: int | None, region: str | None, term: str, own: Path | None,
             out: Path | None, as_json: bool) -> int:  # fmt: skip
    """Plays a scenario, and prints what went wrong first."""
    scenario, document = read_scenario(file)
    if term not in TERMS:
        raise BadInputError(f"--term {term}: there is no such choice", f"Write one of {', '.join(TERMS)}.")
    if seeds is not None and not 1 <= seeds <= SEEDS_MAX:
        raise BadInputError(f"--seeds {seeds}: so many courses cannot be", f"Write 1 to {SEEDS_MAX}.")
    try:
        seconds = scenario.duration if duration is None else units.duration_s(duration)
    except ValueError as error:
        raise BadInputError(f"--for {duration}: {error}", "Write e.g. --for 30d.") from error
    if not 0 < seconds <= DURATION_S_MAX:
        where = "duration" if duration is None else f"--for {duration}"
        raise BadInputError(f"{where}: so long cannot be simulated", "Write a time up to 366 d.", file=None if duration else file)
    late = next((at for at, event in enumerate(scenario.events) if event.at is not None and event.at >= seconds), None)
    if duration is None and late is not None:
        raise BadInputError("the event is after the end of the scenario", "Write a longer `duration`, or an earlier time.", file=file,
                            line=document.line(("events", late, "at")))  # fmt: skip
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "the folder is not empty" if out.is_dir() else "it is a file"
        raise BadInputError(what, "Name another folder with --out.", file=out)
    names = [scenario.model] if isinstance(scenario.model, str) else scenario.model
    folders = model or [file.parent / name for name in names]
    runs = read_runs(folders, with_jobs=False)
    all_ = prepared(scenario, runs, machines(own), document)
    if all_.machines and (region is not None or term != Wanted().term):
        check_prices(list(all_.machines.values()), Wanted(region, term))
    found, series = simulated(
        all_, duration_s=seconds, seeds=scenario.seeds if seeds is None else seeds, wanted=Wanted(region, term), say=say_on_stderr()
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / "simulated.json", json.dumps(found.written(), indent=1) + "\n")
        write_whole(out / "scenario.yaml", document.text)
        write_whole(out / "course.html", course_page(found, series))
        series.write_parquet(out / "series.parquet")
    if as_json:
        print_json(found.written())
    else:
        print_simulated(found, out_console())
        if found.cost is not None:
            warn_of_age(prices_of(found.cost.lines))
        if out is not None:
            out_console().print(f"{out / 'course.html'}", highlight=False)
    return EXIT_MISSED if any(one.minutes > 0 for one in found.missed) else EXIT_DONE
