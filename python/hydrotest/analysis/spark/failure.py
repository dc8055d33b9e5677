"""Spark's reason for the end of an application, in a line, and its meaning: a reader of a stack trace wants
the cause and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

LENGTH_MAX = 500
LOOKED_AT = 64 << 10
"""Characters at the end of the output: earlier ones do not explain the end."""
_NO_HEAP = r"OutOfMemoryError: (?:Java heap space|GC overhead|\[UNABLE_TO_ACQUIRE|Unable to acquire)"
"""A larger heap does not help threads, metaspace and direct buffers."""
_ITS_OWN = r"(?:[^\n]|\n(?=\s+at |\s+\.\.\. |Caused by: ))*?"
"""The rest of an exception, with its causes."""


@dataclass(frozen=True)
class Sign:
    """A cause that Spark's own words identify."""

    pattern: re.Pattern[str]
    means: str
    """The problem and its remedy; `{where}`: the executor's host."""


SIGNS = (
    # Before memory: an executor that cannot write ends in many ways.
    Sign(
        re.compile(r"No space left on device"),
        "the disk{where} that shuffles and spills are written to is full: give its host a larger one (`data`, `disk_size`), more workers, or less "
        "to shuffle (`data_scale`)",
    ),
    # 52 is SparkExitCode.OOM, with which an executor's handler of uncaught errors ends it.
    Sign(
        re.compile(rf"executor \d+\): {_ITS_OWN}{_NO_HEAP}|exited with code 52\b"),
        "the heap of an executor{where} was too small for one of its tasks: give the workers more `memory`, or the tests smaller partitions (a "
        "larger `scale_factor` with a smaller `data_scale`)",
    ),
    # SIGKILL, as the kernel sends it to a process that exceeds a host's memory.
    Sign(
        re.compile(r"exited with code 137\b"),
        "an executor{where} was killed from outside, as the kernel does where a host's memory is used up: its heap (`memory` of the workers) and "
        "all else there must fit into the host",
    ),
    Sign(re.compile(_NO_HEAP), "the driver's heap was too small: give it more `driver_memory`"),
    Sign(
        re.compile(r"Cannot run program \"[^\"]*python[^\"]*\"|python[\d.]*: (command )?not found"),
        "there is no such Python{where}: set `spark.pyspark.python` to one that is on all hosts",
    ),
    Sign(re.compile(r"All masters are unresponsive|Failed to connect to master"), "no Spark master answers at that address"),
    Sign(
        re.compile(r"ClassNotFoundException|NoClassDefFoundError|NoSuchMethodError"),
        "a jar is missing, or is for another release of Spark or Scala: see `spark.jars` in `config`",
    ),
    Sign(
        re.compile(r"(?:Jar|File|Path) \S+ (?:does not exist|not found)|Local jar \S+ does not exist"),
        "a file that the application is to be given is not there",
    ),
)

_AT = re.compile(r"\(TID \d+\) \((\S+) executor [^)]+\)|Lost executor \S+ on ([^\s:]+)")


def in_brief(said: str, hosts: Mapping[str, str] | None = None) -> str:
    """Spark's words without stack traces, and their meaning if it is known. `hosts`: names by address."""
    lines = [line.strip() for line in said.strip().splitlines()]
    kept = [line for line in lines if line and not re.match(r"at [\w.$]+|\.\.\. \d+ more|Driver stacktrace", line)]
    text = " ".join(kept)
    short = text if len(text) <= LENGTH_MAX else f"{text[: LENGTH_MAX // 2]} … {text[-LENGTH_MAX // 2 :]}"
    meaning = means(said, hosts)
    return short if meaning is None else f"{meaning} ({short})"


def first_line(said: str | None) -> str:
    """The first line that is not empty; empty if there is none."""
    return next((line.strip() for line in (said or "").splitlines() if line.strip()), "")


def means(said: str, hosts: Mapping[str, str] | None = None) -> str | None:
    """The problem, by Spark's words; None if they do not identify it."""
    said = said[-LOOKED_AT:]
    for sign in SIGNS:
        found = list(sign.pattern.finditer(said))
        if found:
            # Of the lost tasks and executors, the one that it refers to; the last words are the reason for
            # the end.
            before = [at.group(1) or at.group(2) for at in _AT.finditer(said, 0, found[-1].end())]
            return sign.means.format(where=f" of {(hosts or {}).get(before[-1], before[-1])}" if before else "")
    return None
