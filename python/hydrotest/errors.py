"""The error tree. Every error that a user can cause states what is wrong and what to do instead."""

from __future__ import annotations

from pathlib import PurePath

EXIT_DONE = 0
EXIT_MISSED = 1
EXIT_BAD_INPUT = 2
EXIT_FAILED = 3
EXIT_REFUSED = 4
"""A prediction that the runs do not bear."""
EXIT_BROKEN_PIPE = 141
"""What shells show of a program that SIGPIPE ended."""

OTHERS_READ = "Remove this trial's folder; the others are read then."
"""Hint at a file of a trial that is damaged."""


def shaped(word: str, what: str, hint: str | None = None, file: PurePath | str | None = None, line: int | None = None) -> str:
    """An error or a warning as the command line prints it: what is wrong, where, and what to write instead.

    Each line of the hint is a help of its own.
    """
    lines = [f"{word}: {what}"]
    if file is not None:
        lines.append(f"  --> {_place(file, line)}")
    lines += [f"help: {one.strip()}" for one in (hint or "").splitlines()]
    return "\n".join(lines)


def _place(file: PurePath | str, line: int | None) -> str:
    return f"{file}" if line is None else f"{file}:{line}"


class HydrotestError(Exception):
    """What is wrong, with a hint if there is a remedy, and with the file that it is about. `line` counts from 1.

    `exit_code` is what the command line returns for it.
    """

    exit_code = EXIT_FAILED

    def __init__(self, what: str, hint: str | None = None, *, file: PurePath | str | None = None, line: int | None = None) -> None:
        self.what = what
        self.message = what if file is None else f"{_place(file, line)}: {what}"
        """With its place: one line for logs and journals."""
        super().__init__(self.message)
        self.hint = hint
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def shaped(self) -> str:
        """As the command line prints it."""
        return shaped("error", self.what, self.hint, self.file, self.line)


class BadInputError(HydrotestError):
    """Unusable input: nothing was started."""

    exit_code = EXIT_BAD_INPUT


class MissingToolError(BadInputError):
    """The machine lacks something that has to be installed first."""


class RunFailedError(HydrotestError):
    """The run cannot continue; what was measured so far is kept."""


class TrialFailedError(HydrotestError):
    """One trial is void; the run may continue."""


class OverdueError(TrialFailedError):
    """Something did not answer in time. States what it was, how long the wait was, and the reason for that
    time."""

    def __init__(self, who: str, what: str, seconds: float, why: str) -> None:
        super().__init__(f"{who} did not {what} within {seconds:.4g} s ({why})")
        self.who = who
        self.seconds = seconds
        self.why = why


class SystemFailedError(RunFailedError):
    """A system under test did not start, or died."""
