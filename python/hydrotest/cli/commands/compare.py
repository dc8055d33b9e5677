"""`hydrotest compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from hydrotest.analysis.comparison.compare import Comparison, Run
from hydrotest.analysis.comparison.compare import compare as compare_runs
from hydrotest.analysis.comparison.placement import Placed, placed
from hydrotest.analysis.comparison.repeated import compare_repeated
from hydrotest.cli.output import out_console, print_json
from hydrotest.cli.run_folder import read_run
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.report.comparing import (
    comparison_sheet,
    contended_words,
    difference_words,
    placement_sentences,
    placement_sheet,
    unequal_words,
)
from hydrotest.report.terminal import print_head, print_sheet, print_text

DELIMITER = Path("--")
"""Between two groups of repeated runs."""


def compare(runs: Sequence[Path], as_json: bool) -> int:
    """Prints how runs differ from the first of them."""
    base, found, placement = _compared(runs)
    if as_json:
        print_json({
            "first": base.summary.run,
            "comparisons": [
                {"run": name, "differences": [*map(difference_words, one.differences)], "differing": [*map(asdict, one.differences)],
                 "rows": [vars(row) for row in one.rows]}
                for name, one in found.items()
            ],
            "placement": None if placement is None else _as_json(placement),
        })  # fmt: skip
        return EXIT_DONE
    out = out_console()
    for name, one in found.items():
        _print_comparison(f"{base.summary.run} and {name}", one, out)
    if placement is not None:
        print_sheet(placement_sheet(placement), out)
        for sentence in placement_sentences(placement):
            print_text(f"• {sentence}", out)
    return EXIT_DONE


def _compared(paths: Sequence[Path]) -> tuple[Run, dict[str, Comparison], Placed | None]:
    """The first run, and each comparison by the name of what is compared with it; of two groups, by the second's first."""
    if len([path for path in paths if path != DELIMITER]) < 2:
        raise BadInputError("there is nothing to compare", "Name two runs at least: `hydrotest compare RUN OTHER`.")
    groups = [list(group) for is_mark, group in groupby(paths, lambda path: path == DELIMITER) if not is_mark]
    if DELIMITER not in paths:
        base, *rest = (Run(*read_run(path)) for path in paths)
        return base, {run.summary.run: compare_runs(base, run) for run in rest}, placed([base, *rest])
    if len(groups) != 2 or sum(map(len, groups)) < 3:
        raise BadInputError("repeated runs are two groups, of which one has two runs at least", "Write `compare A1 A2 A3 -- B1 B2 B3`.")
    first, second = ([Run(*read_run(path)) for path in group] for group in groups)
    names = ", ".join(run.summary.run for run in second)
    return first[0], {names: compare_repeated(first, second)}, None


def _as_json(placement: Placed) -> dict[str, Any]:
    """Contended and unequal resources as figures, and in words."""
    answers = [{**asdict(one), "fought_for": [*map(contended_words, one.contended)]} for one in placement.answers]
    sums = [*map(asdict, placement.unequal)]
    return {"answers": answers, "unequal": [*map(unequal_words, placement.unequal)], "unequal_sums": sums}


def _print_comparison(runs: str, found: Comparison, out: Console) -> None:
    print_head(runs, "", out)
    if found.differences:
        out.print("[bold]The runs differ not only in their results[/bold]")
        for difference in found.differences:
            print_text(f"• {difference_words(difference)}", out)
    if found.rows:
        print_sheet(comparison_sheet(found.rows), out)
    else:
        out.print("The runs have nothing in common that could be compared.")
