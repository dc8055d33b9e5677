"""`hydrotest import`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import yaml

from hydrotest.cli.output import err_console, print_json
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.imports.nosqlbench import import_nosqlbench
from hydrotest.imports.note import Aim, Fate, Imported
from hydrotest.imports.omb import import_omb
from hydrotest.imports.producer_perf import import_producer_perf
from hydrotest.imports.stress import import_stress
from hydrotest.report.wording.imported import note_words
from hydrotest.spec.header import header_of
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.plan import make_plan

FORMS = ("omb", "cassandra-stress", "kafka-producer-perf-test", "nosqlbench")
ODD = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
"""What an importer meets in a definition of an odd shape."""
ASKS = "What does this definition of another tool give here?"


def import_(form: str, source: str, driver: Path | None, aim: Aim, out: Path | None, *, force: bool, as_json: bool) -> int:
    """Writes the experiment of a foreign definition, with what was kept, changed and left out of it."""
    try:
        made = _made(form, source, driver, aim)
    except ODD as error:
        raise BadInputError(f"the definition is not as {form} has it: {error!r}", "Correct it, or leave out what is odd.") from error
    body = yaml.safe_dump(made.experiment, sort_keys=False, allow_unicode=True, width=160, default_flow_style=None)
    target = out or Path(f"{made.experiment['name']}.yaml")
    if any(file.exists() and target.resolve() == file.resolve() for file in made.files):
        if out is not None:
            raise BadInputError("that is the definition itself, which is not written over", "Name another file by --out.", file=target)
        target = Path(f"hydrotest-{target.name}")
    try:
        plan = make_plan(experiment_of(parse_document(body, target)))
    except BadInputError as error:  # its place is in a file that is not written
        raise BadInputError(f"hydrotest does not take what the definition asks for: {error.what}", error.hint) from error
    lines = [*header_of(plan, ASKS).lines(), "#", f"# Imported from {made.source}:", *(f"#   {note_words(note)}" for note in made.notes)]
    text = "\n".join(" ".join(line.split("\n")) for line in lines) + "\n" + body
    if target.exists() and not force:
        raise BadInputError("the file is there already", "Name another one by --out, or give --force.", file=target)
    target.write_text(text)
    counts = Counter(note.fate for note in made.notes)
    if as_json:
        print_json(
            {
                "file": str(target),
                "experiment": made.experiment,
                "notes": [asdict(note) | {"words": note_words(note)} for note in made.notes],
            }
        )
        return EXIT_DONE
    messages = err_console()
    for note in made.notes:
        if note.fate is not Fate.KEPT:
            messages.print(note_words(note), highlight=False, markup=False, soft_wrap=True)
    messages.print(f"{counts[Fate.KEPT]} kept, {counts[Fate.CHANGED]} changed, {counts[Fate.LEFT_OUT]} left out. Look at it, then: hydrotest check {target}",
                   highlight=False, markup=False, soft_wrap=True)  # fmt: skip
    print(target)
    return EXIT_DONE


def _made(form: str, source: str, driver: Path | None, aim: Aim) -> Imported:
    if driver is not None and form != "omb":
        raise BadInputError("only `import omb` has a driver", "Leave --driver out.")
    match form:
        case "omb":
            return import_omb(Path(source), driver, aim)
        case "cassandra-stress":
            return import_stress(source, aim)
        case "kafka-producer-perf-test":
            return import_producer_perf(source, aim)
        case "nosqlbench":
            return import_nosqlbench(Path(source), aim)
    raise BadInputError(f"{form!r} is no form that can be imported", f"Write one of {', '.join(FORMS)}.")
