"""The command line: all commands. Each imports what carries it out when it is called: so `--help` does not pay for the analysis, nor
`check` for the systems."""

from __future__ import annotations

from cyclopts import App

from hydrotest import __version__
from hydrotest.cli import measuring, planning

app = App(
    name="hydrotest", version=__version__, help="Pressure-test a data pipeline: how much it takes, at what latency, and what bounds it."
)
for _part in (measuring, planning):
    app.command(_part.commands, name="*")
