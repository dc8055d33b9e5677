"""The entry point: from arguments to an exit code, whatever goes wrong."""

from __future__ import annotations

import errno
import os
import select
import sys
import traceback
from collections.abc import Sequence

from cyclopts import CycloptsError, MissingArgumentError

from hydrotest.cli.app import app
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_BROKEN_PIPE, EXIT_DONE, EXIT_FAILED, BadInputError, HydrotestError

REFUSED = {
    errno.EACCES: "Change the file's rights, or call hydrotest as its owner.",
    errno.EPERM: "Call hydrotest as the file's owner, or as root.",
    errno.EROFS: "Name a folder on a disk that can be written to.",
    errno.EMFILE: "Allow more open files: `ulimit -n 10000`.",
}
"""What to do about an error of the operating system."""


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code of the contract."""
    _open_what_is_closed()
    try:
        result = app(list(argv) if argv is not None else None, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _print_error(_misused(error))
        return EXIT_BAD_INPUT
    except HydrotestError as error:
        _print_error(error)
        return error.exit_code
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _is_reader_gone():
            # Python must not flush into the pipe at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_BROKEN_PIPE
        _print_error(_explained(error))
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001  a defect of hydrotest: Python would exit with 1, which says that an objective was missed
        traceback.print_exc()
        _print_error(
            HydrotestError(f"hydrotest itself failed: {type(error).__name__}: {error}", "Please report it, with what stands above.")
        )
        return EXIT_FAILED
    return result if isinstance(result, int) else EXIT_DONE


def _misused(error: CycloptsError) -> BadInputError:
    """A command line that is none. What has no option is called as its place in the usage is."""
    argument = error.argument if isinstance(error, MissingArgumentError) else None
    if argument is None or not error.command_chain or argument.field_info.kind is not argument.field_info.POSITIONAL_OR_KEYWORD:
        given = error.keyword if isinstance(error, MissingArgumentError) else None
        # What begins with a dash and is not a number, such as -5d, is taken for an option.
        dash = "" if given is None else f" A value that begins with a dash is written with an equals sign: {given}=-…"
        return BadInputError(str(error), f"See `hydrotest --help`.{dash}")
    command, name = " ".join(error.command_chain), argument.name.lstrip("-").upper()
    return BadInputError(f"{command}: {name} is missing", f"See `hydrotest {command} --help`.")


def _open_what_is_closed() -> None:
    """A shell's `>&-` closes an output: what is written to it is discarded, and no file that is opened later takes its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _explained(error: OSError) -> HydrotestError:
    """What the operating system refused, the file, and what to do about it where that is known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        if error.filename is None and _is_output_full():
            return HydrotestError(
                f"the output cannot be written: {error.strerror}", "Free some space there, or send the output to another file."
            )
        what, hint = f"a file cannot be written: {error.strerror}", "Free some space there, or name a folder on another disk."
        return HydrotestError(what, hint, file=error.filename)
    return HydrotestError(f"the machine refused: {error.strerror or error}", REFUSED.get(error.errno or 0), file=error.filename)


def _is_output_full() -> bool:
    """True if stdout takes nothing more. Python drops what it could not write, and does not say where to."""
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except OSError:
        return True
    return False


def _is_reader_gone() -> bool:
    """True if nobody reads stdout any more, as after `| head`; the pipe that broke may be a child's."""
    output = select.poll()
    output.register(sys.stdout, 0)
    return bool(output.poll(0))


def _print_error(error: Exception) -> None:
    from hydrotest.cli.output import print_error

    print_error(error)
