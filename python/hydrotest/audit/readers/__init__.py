"""The readers of tools' outputs: which tool it was is recognised by what stands in the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hydrotest.audit.claim import Audited, Claim, Tool
from hydrotest.audit.readers import consumer, dfsio, latte, latte_text, nosqlbench, omb, producer, stress, tables, ycsb
from hydrotest.errors import BadInputError, TrialFailedError

YAML = (".yaml", ".yml")
SIZE_MAX = 200_000_000
NAMED = "Name a benchmark's output, or the folder of a run."
KNOWN = (
    "Audit reads what kafka-producer-perf-test, kafka-consumer-perf-test, cassandra-stress, OpenMessaging Benchmark (JSON), latte (JSON or text), "
    "NoSQLBench (log, CSV or summary), TestDFSIO and YCSB print, the folders of hydrotest's runs, and tables in YAML (docs/how-to/audit-a-benchmark.md)."
)
TEXTS: tuple[tuple[Tool, Callable[[str], bool], Callable[[str], list[Claim]]], ...] = (
    (Tool.STRESS, stress.is_it, stress.claims), (Tool.PRODUCER, producer.is_it, producer.claims), (Tool.CONSUMER, consumer.is_it, consumer.claims),
    (Tool.LATTE, latte_text.is_it, latte_text.claims), (Tool.YCSB, ycsb.is_it, ycsb.claims), (Tool.DFSIO, dfsio.is_it, dfsio.claims),
    (Tool.NOSQLBENCH, nosqlbench.is_it, nosqlbench.claims),
)  # fmt: skip


ODD = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""What a reader meets in text that is damaged, or not of the tool that it seems to be of."""


def read_output(path: Path) -> Audited:
    """A tool's output, or a table, from a file. Raises `BadInputError` where it is neither, or cannot be read."""
    text = _text(path)
    try:
        if text.lstrip()[:1] == "{" and path.suffix not in YAML:
            return _json(path, text)
        for tool, is_it, claims in TEXTS:
            if is_it(text):
                return Audited(str(path), tool, tuple(claims(text)))
    except TrialFailedError as error:
        raise BadInputError(error.message, error.hint, file=path) from error
    except ODD as error:
        raise BadInputError(
            f"a part of it is not as the tool writes it: {error!r}", "Name the tool's output as it has written it.", file=path
        ) from error
    if path.suffix in YAML:
        return tables.read_tables(path, text)
    if text.lstrip()[:1] == "[":
        return _json(path, text)
    raise BadInputError("this is the output of no tool that audit knows", KNOWN, file=path)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > SIZE_MAX:
            raise BadInputError(f"the file has more than {SIZE_MAX // 10**6} MB", "Name the tool's output, not its data.", file=path)
        content = path.read_bytes()
        # PowerShell redirects in UTF-16.
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        return content.decode(encoding, errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError as error:
        raise refused(path, error) from error


def refused(path: Path, error: OSError) -> BadInputError:
    """What the operating system did not let be read."""
    if isinstance(error, FileNotFoundError):
        return BadInputError("the file is not there", NAMED, file=path)
    hint = "Give yourself the right to read it." if isinstance(error, PermissionError) else NAMED
    return BadInputError(f"it cannot be read: {error.strerror}", hint, file=error.filename or path)


def _json(path: Path, text: str) -> Audited:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInputError(f"not JSON: {error.msg}", "Name the file as the tool has written it.", file=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not JSON that can be read: {error}", "Name the file as the tool has written it.", file=path) from error
    results = value if isinstance(value, list) else [value]
    for tool, is_it, claims in ((Tool.OMB, omb.is_it, omb.claims), (Tool.LATTE, latte.is_it, latte.claims)):
        if results and all(map(is_it, results)):
            return Audited(str(path), tool, tuple(claim for one in results for claim in claims(one)))
    raise BadInputError("this JSON is the result of no tool that audit knows", KNOWN, file=path)
