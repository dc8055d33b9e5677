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


ENVIRONMENT = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables whose options a JVM takes, too."""
WRITE_NOTHING = ("-Xms", "-Xmx", "-Xmn", "-Xss", "-XX:TieredStopAtLevel=", "-XX:ActiveProcessorCount=")
"""How much memory there is, and how code is compiled."""


def writes_at_end(options: Sequence[str]) -> bool:
    """Whether a JVM may write something when it ends in good order, such as a recording: with options of the user's own, also by the
    environment, except for those that are known to write nothing."""
    own = [*options, *(option for name in ENVIRONMENT for option in os.environ.get(name, "").split())]
    return not all(option.startswith(WRITE_NOTHING) for option in own)
