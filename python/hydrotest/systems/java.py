"""Options of the JVMs that the systems run on."""

from __future__ import annotations

import os
from collections.abc import Sequence

COMPILERS_FIRST = ("-XX:ThreadPriorityPolicy=1", "-XX:CompilerThreadPriority=-10")
"""Lets the JIT compiler's threads run before the service's.

On few cores, a busy service starves them and stays slow for minutes (seen with Cassandra on two
cores). Without the right to it, the JVM runs without it.
"""

BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a program that runs for a second: what the optimising compiler would do for it is of no use by then."""


def writes_at_end(options: Sequence[str]) -> bool:
    """Whether a JVM may write something when it ends in good order, such as a recording: with options of the user's own, also by the
    environment."""
    return bool(options) or any(name in os.environ for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"))
