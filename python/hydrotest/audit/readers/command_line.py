"""Options of a tool's command line, where its output has it: people paste both."""

from __future__ import annotations

import itertools
import re
import shlex


def options(text: str, tool: str) -> dict[str, str]:
    """`--throughput 1000`, `--throughput=1000`, `-threads 16`, `threads=16` of the last line that names the tool: a log may hold several
    runs, and a line may be continued behind a backslash."""
    text = text.replace("\\\n", " ")
    called = re.compile(rf"(?<![\w.]){tool}(?P<rest>[^\n]*)")
    line = next((one["rest"] for one in reversed(list(called.finditer(text))) if re.search(r"\s-{1,2}\w|\w=\w", one["rest"])), None)
    if line is None:
        return {}
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark in a sentence: no command line
        return {}
    found: dict[str, str] = {}
    for word, following in itertools.pairwise([*words, ""]):
        name, is_given, value = word.partition("=")
        if is_given:
            found[name.lstrip("-")] = value
        elif word.startswith("-"):
            found[word.lstrip("-")] = following
    return found


def number(found: dict[str, str], *names: str) -> float | None:
    """The first of these options that is a positive number."""
    for name in names:
        if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", found.get(name, "")):
            return float(found[name]) or None
    return None
