"""Hosts of the user's `~/.ssh/config`: their names from the file and what it includes, all else as ssh itself says it (`ssh -G`)."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

from hydrotest.errors import BadInputError, MissingToolError
from hydrotest.hosts.inventories.fleet import Imported

SAY_S = 10.0
DEPTH_MAX = 16
"""Of files that include each other; ssh's own bound."""


def from_ssh_config(pattern: str, config: Path | None = None) -> list[Imported]:
    """The hosts whose names match a pattern. `config`: another file than the user's own.

    Raises `BadInputError` where there is no such file, `MissingToolError` without ssh.
    """
    file = config or Path("~/.ssh/config").expanduser()
    if not file.is_file():
        raise BadInputError("there is no such file", "Name hosts there, or use another list.", file=file)
    names = dict.fromkeys(name for name in _names(file, file.parent, 0) if fnmatchcase(name, pattern))
    return [_host(name, config) for name in names]


def _names(file: Path, base: Path, depth: int) -> Iterator[str]:
    """Names of `Host` lines that are no patterns, in order, those of included files in their place."""
    if depth > DEPTH_MAX:
        raise BadInputError("files include each other too deeply", "Remove the circle.", file=file)
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        words = _words(line)
        if not words:
            continue
        if words[0].lower() == "host":
            yield from (name for name in words[1:] if not any(sign in name for sign in "*?!"))
        elif words[0].lower() == "include":
            for included in words[1:]:
                path = Path(included).expanduser()
                for found in sorted(glob(str(path if path.is_absolute() else base / path))):
                    yield from _names(Path(found), base, depth + 1)


def _words(line: str) -> list[str]:
    """Of a line: `Keyword value …` or `Keyword=value`."""
    try:
        words = shlex.split(line.replace("=", " ", 1) if "=" in line.split("#", maxsplit=1)[0] else line, comments=True)
    except ValueError:
        return []
    return words


def _host(name: str, config: Path | None) -> Imported:
    argv = ["ssh", *(["-F", str(config)] if config is not None else []), "-G", name]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=SAY_S)
    except OSError as error:
        raise MissingToolError("ssh is not installed", "Install OpenSSH's client (Debian: apt-get install openssh-client).") from error
    if done.returncode != 0:
        raise BadInputError(f"ssh refuses its configuration of {name}: {done.stderr.strip()}", "Correct it.")
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    return Imported(name, name, (said.get("hostname"),))
