"""Secrets and certificates that a user's own cluster needs: read where they are, kept in memory, sent by stdin."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from hydrotest.errors import BadInputError
from hydrotest.spec.secret import Secret


def secret_text(secret: Secret, what: str) -> str:
    """The secret. Raises `BadInputError` where it is not at its place; `what` it is, for the message."""
    if secret.env is not None:
        value = os.environ.get(secret.env)
        if not value:
            raise BadInputError(f"{what} is not in the environment: {secret.env} is {'empty' if value == '' else 'not set'}",
                                f"Set it without writing it into your shell's history: `read -rs {secret.env} && export {secret.env}`.")  # fmt: skip
        return _plain(value, what, f"in {secret.env}")
    lines = file_text(secret.file or "", what).splitlines()
    if not lines or not lines[0]:
        raise BadInputError(f"{what} is not in its file: the first line is empty", "Write it there.", file=secret.file)
    return _plain(lines[0], what, f"in {secret.file}")


def _plain(text: str, what: str, where: str) -> str:
    """The secret. Raises `BadInputError`, which does not show it, where it has more than one line, or signs that cannot be sent."""
    if not text.isprintable():
        raise BadInputError(f"{what} {where} has a line break, or another sign that cannot be sent", "Write it there without.")
    return text


def file_text(name: str, what: str) -> str:
    """The text of a user's file. Raises `BadInputError` where it cannot be read."""
    path = Path(name).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInputError(f"{what} cannot be read: {reason}", "Correct its path in the experiment.", file=path) from error


def authorities() -> str:
    """The certificates that this machine trusts, PEM. Raises `BadInputError` where there are none."""
    paths = ssl.get_default_verify_paths()
    for name in (paths.cafile, paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt"):
        if name and Path(name).is_file():
            return Path(name).read_text(encoding="utf-8")
    raise BadInputError("this machine trusts no authority", "Name the file of the cluster's own: `authority: PATH`.")
