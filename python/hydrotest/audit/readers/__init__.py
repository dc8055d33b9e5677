"""The readers of tools' outputs: which tool it was is recognised by what stands in the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hydrotest.audit.claim import Audited, Claim, Tool
from hydrotest.audit.readers import consumer, dfsio, latte, nosqlbench, omb, producer, stress, tables, ycsb
from hydrotest.errors import BadInputError, TrialFailedError

SIZE_MAX = 200_000_000
KNOWN = (
    "Audit reads what kafka-producer-perf-test, kafka-consumer-perf-test, cassandra-stress, OpenMessaging Benchmark (JSON), latte (JSON), "
    "NoSQLBench (log or CSV), TestDFSIO and YCSB print, the folders of hydrotest's runs, and tables in YAML (docs/how-to/audit-a-benchmark.md)."
)
TEXTS: tuple[tuple[Tool, Callable[[str], bool], Callable[[str], list[Claim]]], ...] = (
    (Tool.STRESS, stress.is_it, stress.claims), (Tool.PRODUCER, producer.is_it, producer.claims), (Tool.CONSUMER, consumer.is_it, consumer.claims),
    (Tool.YCSB, ycsb.is_it, ycsb.claims), (Tool.DFSIO, dfsio.is_it, dfsio.claims), (Tool.NOSQLBENCH, nosqlbench.is_it, nosqlbench.claims),
)  # fmt: skip


def read_output(path: Path) -> Audited:
    """A tool's output, or a table, from a file. Raises `BadInputError` where it is neither, or cannot be read."""
    text = _text(path)
    try:
        if text.lstrip()[:1] == "{":
            return _json(path, text)
        for tool, is_it, claims in TEXTS:
            if is_it(text):
                return Audited(str(path), tool, tuple(claims(text)))
    except TrialFailedError as error:
        raise BadInputError(error.message, error.hint, file=path) from error
    if path.suffix in (".yaml", ".yml"):
        return tables.read_tables(path, text)
    raise BadInputError("this is the output of no tool that audit knows", KNOWN, file=path)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > SIZE_MAX:
            raise BadInputError(f"the file has more than {SIZE_MAX // 10**6} MB", "Name the tool's output, not its data.", file=path)
        return path.read_bytes().decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    except FileNotFoundError as error:
        raise BadInputError("the file is not there", "Name a benchmark's output, or the folder of a run.", file=path) from error


def _json(path: Path, text: str) -> Audited:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInputError(f"not JSON: {error.msg}", "Name the file as the tool has written it.", file=path, line=error.lineno) from error
    for tool, is_it, claims in ((Tool.OMB, omb.is_it, omb.claims), (Tool.LATTE, latte.is_it, latte.claims)):
        if is_it(value):
            try:
                return Audited(str(path), tool, tuple(claims(value)))
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise BadInputError(
                    f"{tool}'s result lacks what it always has: {error!r}", "Name the file as the tool has written it.", file=path
                ) from error
    raise BadInputError("this JSON is the result of no tool that audit knows", KNOWN, file=path)
