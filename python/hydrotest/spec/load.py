"""From file to experiment: parse, validate, cross-check; every error with its line and a remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hydrotest.errors import BadInputError
from hydrotest.spec.base import Model
from hydrotest.spec.check import check_files, check_references, memory_needed
from hydrotest.spec.fleet import with_hosts
from hydrotest.spec.lines import SHOWN_CHARS_MAX, Document, Path_, read_document, shown
from hydrotest.spec.models import Experiment
from hydrotest.spec.parts import model_at, tags
from hydrotest.spec.scale import scaled

_QUOTED = re.compile(r"'([^']*)'")
"""A value that a message repeats, or a part of it, such as an argument. What stands between two of them is none."""
SHORT = "test"
"""The key that a test's name becomes (`- levels: {…}`); files do not contain it."""


def load_experiment(file: Path, hosts: Path | None = None, *, opens_files: bool = True) -> tuple[Experiment, Document]:
    """Reads and validates an experiment file, with the hosts of a fleet file where one is given. `opens_files`: also the files that it
    names; a run that is over is read without them.

    Raises `BadInputError`; nothing is started.
    """
    document = read_document(file)
    if hosts is not None:
        document = with_hosts(document, hosts)
    return experiment_of(document, opens_files=opens_files), document


def experiment_of(document: Document, *, opens_files: bool = True) -> Experiment:
    """The experiment in a parsed file. Raises `BadInputError`."""
    if not isinstance(document.value, dict):
        raise BadInputError("the file is not an experiment: it must be a mapping with name, hosts, systems, …", "`hydrotest init --list` shows files to begin with.",
                            file=document.file, line=1)  # fmt: skip
    try:
        experiment = Experiment.model_validate(document.value)
    except ValidationError as error:
        raise translated(error, document) from error
    if opens_files:
        check_files(experiment, document)
    check_references(experiment, document)
    if experiment.lab is not None:
        hosts = scaled(experiment.hosts, experiment.lab, memory_needed(experiment))
        experiment = experiment.model_copy(update={"hosts": hosts})
    return experiment


def translated(error: ValidationError, document: Document, root: type[Model] = Experiment) -> BadInputError:
    """The first error in the order of the file, in our words. `root`: the model of the whole file."""
    details = sorted(error.errors(), key=lambda detail: document.line(_place(detail["loc"], document)))
    first = details[0]
    place = _place(first["loc"], document)
    message, hint = _words(first, place, root)
    return BadInputError(message, hint, file=document.file_of(place), line=document.line(place))


def _place(loc: Iterable[str | int], document: Document) -> Path_:
    """The document's path for a pydantic location, which also contains names of union members."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in document.lines:
            path = (*path, part)
    return path


def _words(detail: ErrorDetails, place: Path_, root: type[Model]) -> tuple[str, str | None]:
    name = ".".join(str(part) for part in place) or "the file"
    kind = detail["type"]
    if kind == "extra_forbidden":
        key = str(detail["loc"][-1])
        return f"unknown key {shown(key)} in {_parent(place, root)}", _similar(key, detail, root)
    if kind == "missing":
        return f"{name} is missing the key {detail['loc'][-1]!r}", _meaning(detail, root)
    if kind == "union_tag_not_found":
        return f"{name} is missing the key {_tag(detail)!r}", f"It is one of {_tags(detail)}."
    if kind == "union_tag_invalid":
        tag = str(detail.get("ctx", {}).get("tag", ""))
        return f"{name}: {_tag(detail)} {shown(tag)} is not known", _similar_tag(tag, detail)
    given = shown(detail["input"])
    if kind == "value_error":
        message = detail["msg"].removeprefix("Value error, ").replace(repr(detail["input"]), given)
        message = _QUOTED.sub(lambda found: shown(found[1]) if len(found[1]) >= SHOWN_CHARS_MAX else found[0], message)
        message, _, remedy = message.partition("; write ")
        return f"{name}: {message}" + ("" if given in message else f" (given: {given})"), f"Write {remedy}." if remedy else None
    if kind == "less_than_equal":
        return f"{name}: must be at most {detail.get('ctx', {}).get('le'):,} (given: {given})", _meaning(detail, root)
    if kind == "literal_error":
        return f"{name}: {given} is not known", f"It is {detail.get('ctx', {}).get('expected')}."
    if kind in ("model_attributes_type", "model_type", "dict_type"):
        return f"{name} must be settings, one key in each line or in braces (given: {given})", _example(detail, root)
    if kind == "list_type":
        return f"{name} must be a list (given: {given})", "Write it in brackets: [one, another]."
    return f"{name}: {detail['msg'][0].lower()}{detail['msg'][1:]} (given: {given})", _meaning(detail, root)


def _tag(detail: ErrorDetails) -> str:
    return str(detail.get("ctx", {}).get("discriminator", "kind")).strip("'")


def _tags(detail: ErrorDetails) -> str:
    return ", ".join(repr(tag) for tag in tags(_tag(detail)))


def _similar_tag(tag: str, detail: ErrorDetails) -> str:
    close = difflib.get_close_matches(tag, tags(_tag(detail)), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"It is one of {_tags(detail)}."


def _parent(place: Path_, root: type[Model]) -> str:
    return ".".join(str(part) for part in place[:-1]) or f"the {root.__name__.lower()}"


def _meaning(detail: ErrorDetails, root: type[Model]) -> str | None:
    """The purpose of a key that is missing or has a wrong value."""
    *above, key = detail["loc"]
    field = model_at(above, root).model_fields.get(str(key))
    return None if field is None or field.description is None else f"Write `{key}: …`: {field.description}"


def _example(detail: ErrorDetails, root: type[Model]) -> str:
    """The keys that settings must have, or may."""
    fields = model_at(detail["loc"], root).model_fields
    needed = [key for key, field in fields.items() if field.is_required() and key != SHORT]
    return f"Write {{{', '.join(f'{key}: …' for key in needed or sorted(set(fields) - {SHORT})[:3])}}}."


def _similar(key: str, detail: ErrorDetails, root: type[Model]) -> str:
    """The known key of this part of the file that is nearest to an unknown one, or all known keys."""
    known = sorted(set(model_at(detail["loc"][:-1], root).model_fields) - {SHORT})
    close = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known keys here are {', '.join(known)}."
