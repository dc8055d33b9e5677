"""What commands have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=())]
Hosts = Annotated[
    Path | None, Parameter(help="A file with `hosts:`, by the names that the experiment has: they take the place of its own.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON for programs.")]
