"""The error tree. Every error that a user can cause states what is wrong and what to do instead."""

from __future__ import annotations

from pathlib import Path

EXIT_DONE = 0
EXIT_MISSED = 1
EXIT_BAD_INPUT = 2
EXIT_FAILED = 3
EXIT_BROKEN_PIPE = 141
"""What shells show of a program that SIGPIPE ended."""

OTHERS_READ = "Remove this trial's folder; the others are read then."
"""Hint at a file of a trial that is damaged."""


class HydrotestError(Exception):
    """A message for the user, with a hint if there is a remedy.

    `exit_code` is what the command line returns for it.
    """

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"


class BadInputError(HydrotestError):
    """Unusable input: nothing was started. `line` counts from 1."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, message: str, hint: str | None = None, *, file: Path | str | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(f"{place}{message}", hint)
        self.file = file
        self.line = line


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
