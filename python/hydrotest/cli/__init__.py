"""The command line: parses, calls, prints; nothing else."""

from hydrotest.cli.entry import main

__all__ = ["main"]
