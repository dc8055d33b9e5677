"""The command line: parses, calls, prints; nothing else."""

from hydrotest.cli.app import main

__all__ = ["main"]
