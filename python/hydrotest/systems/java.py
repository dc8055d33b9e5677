"""Options of the JVMs that the systems run on."""

from __future__ import annotations

COMPILERS_FIRST = ("-XX:ThreadPriorityPolicy=1", "-XX:CompilerThreadPriority=-10")
"""Lets the JIT compiler's threads run before the service's.

On few cores, a busy service starves them and stays slow for minutes (seen with Cassandra on two
cores). Without the right to it, the JVM runs without it.
"""
