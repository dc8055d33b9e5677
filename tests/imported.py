"""What tests of `hydrotest import` share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from hydrotest.imports.note import Aim, Fate, Imported, Why
from hydrotest.report.wording.imported import note_words
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment

HERE, THERE = Aim(), Aim(attach=("b1:9092", "b2:9092", "b3:9092"))


def accepted(made: Imported) -> Experiment:
    """The experiment, as `check` reads it; and each note has its words."""
    assert all(note_words(note) for note in made.notes)
    assert all((note.why is None) == (note.fate is Fate.KEPT) for note in made.notes)
    return experiment_of(parse_document(yaml.safe_dump(made.experiment, sort_keys=False), Path("imported.yaml")))


def written(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False))
    return path


def notes_of(made: Imported, said: str) -> set[tuple[Fate, Why | None]]:
    """What became of what begins so."""
    return {(note.fate, note.why) for note in made.notes if note.said.startswith(said)}
