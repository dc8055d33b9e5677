"""`hydrotest init`."""

from __future__ import annotations

import os
import shlex
import shutil
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hydrotest.cli.catalogue import Template, template_of, templates
from hydrotest.cli.draft import Wanted, draft
from hydrotest.cli.output import print_json
from hydrotest.cli.questions import Answers, wanted
from hydrotest.errors import EXIT_DONE, BadInputError, HydrotestError
from hydrotest.hosts.local import cores
from hydrotest.spec.fields import is_name
from hydrotest.spec.header import EDITOR, Header, header_of
from hydrotest.spec.schema import schema
from hydrotest.store.folder import write_whole

__all__ = ["Answers", "Target", "init"]

SCHEMA = "experiment.schema.json"
IN_SOURCE_TREE = Path("contract", SCHEMA)
AS_ROOT = 'sudo env PATH="$PATH" JAVA_HOME="$JAVA_HOME" '
COLUMNS = 100


@dataclass(frozen=True)
class Target:
    """The file to write."""

    out: Path | None
    force: bool
    has_schema: bool
    """True if editors are to find the schema by it."""


def init(template: str | None, answers: Answers, target: Target, *, is_list: bool, is_schema: bool, as_json: bool) -> int:
    """Writes an experiment file, or shows what there is. Raises `BadInputError`; then nothing is written."""
    if is_schema or is_list:
        what = "--schema" if is_schema else "--list"
        others = [
            "--list" if is_schema and is_list else "",
            template or "",
            *answers.given,
            "--out" if target.out else "",
            "--force" if target.force else "",
        ]
        if given := [one for one in others if one]:
            raise BadInputError(f"{', '.join(given)}: {what} only prints", f"Leave it out, or leave out {what}.")
    if is_schema:
        print(schema(), end="")
        return EXIT_DONE
    if is_list:
        return _list(templates().values(), as_json)
    if template is not None and answers.given:
        raise BadInputError(f"{', '.join(answers.given)}: a template is written as it is", "Leave it out, or leave out the template.")
    if template is not None:
        made = template_of(template)
        return _write(target, Path(f"{made.name}.yaml"), made, as_json)
    if target.out is not None:
        _check_free(target.out, target.force)  # before anything is asked
    asked = wanted(answers, cores())
    return _write(target, Path(f"{'-'.join(asked.systems)}.yaml"), asked, as_json)


def _list(found: Iterable[Template], as_json: bool) -> int:
    if as_json:
        print_json([{"template": one.name, **one.header.data()} for one in found])
        return EXIT_DONE
    width = min(COLUMNS, shutil.get_terminal_size((COLUMNS, 24)).columns)
    for one in found:
        print(one.name)
        for line in (one.header.question, f"about {one.header.time} on two cores; needs {one.header.needs}"):
            print(textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    "))
    return EXIT_DONE


def _write(target: Target, default: Path, content: Template | Wanted, as_json: bool) -> int:
    file = target.out or default
    _check_free(file, target.force)
    found = _schema_for(file) if target.has_schema else None
    line = None if found is None else os.path.relpath(found.resolve(), file.parent.resolve())
    text, header = _text(content, file, line)
    is_new = found is not None and not found.exists()
    # The schema first: a file that names one that is not there misleads an editor.
    for path, content_of in (*([(found, schema())] if found is not None and is_new else []), (file, text)):
        try:
            write_whole(path, content_of)
        except OSError as error:
            raise HydrotestError(
                f"the file cannot be written: {error.strerror}", "Free some space there, or name another with --out.", file=path
            ) from error
    following = _following(file, header)
    if as_json:
        print_json({"file": str(file), "schema": None if found is None else str(found), "next": following, **header.data()})
        return EXIT_DONE
    print(f"wrote {file}: {header.question}")
    print(f"  about {header.time} on two cores; needs {header.needs}")
    if is_new:
        print(f"wrote {found}, by which your editor completes and explains keys")
    print(f"next: {following[0]}")
    print(f"then: {following[1]}")
    return EXIT_DONE


def _schema_for(file: Path) -> Path:
    """The schema that the file names: the one next to it, that of the source tree that it is in, or a new one next to it."""
    own = file.parent / SCHEMA
    above = [folder / IN_SOURCE_TREE for folder in file.resolve().parents]
    return own if own.exists() else next((path for path in above if path.exists()), own)


def _text(content: Template | Wanted, file: Path, schema_path: str | None) -> tuple[str, Header]:
    if isinstance(content, Wanted):
        name = file.stem if is_name(file.stem) else "-".join(content.systems)
        text, plan = draft(content, name, file, schema_path)
        return text, header_of(plan, content.question)
    first, _, rest = content.text.partition("\n")
    body = rest if first.startswith(EDITOR) else content.text
    return body if schema_path is None else f"{EDITOR}{schema_path}\n{body}", content.header


def _check_free(file: Path, force: bool) -> None:
    """Raises `BadInputError` for a file that cannot be written, or may not be replaced."""
    if not file.parent.is_dir():
        raise BadInputError("there is no such folder", "Make it, or name another file with --out.", file=file.parent)
    if os.path.lexists(file) and not file.is_dir() and not file.is_file():
        raise BadInputError("the path is no plain file", "Name another with --out.", file=file)
    if file.is_dir():
        raise BadInputError("the path is a folder", "Name a file with --out.", file=file)
    if file.exists() and not force:
        raise BadInputError("the file is there already", "Name another with --out, or add --force to replace it.", file=file)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise BadInputError("the file cannot be written: no permission", "Name another with --out.", file=file)


def _following(file: Path, header: Header) -> list[str]:
    """The commands that come next."""
    name = shlex.quote(str(file))
    return [f"hydrotest check {name}", f"{AS_ROOT if header.root else ''}hydrotest run {name}"]
