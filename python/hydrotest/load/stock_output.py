"""The output of the systems' own tools, read into one record: finite figures of at least zero, or
`TrialFailedError` with the problem. Never a guess."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hydrotest.errors import TrialFailedError
from hydrotest.percentiles import FIGURES
from hydrotest.printed.consumer import TOOL as CONSUMER
from hydrotest.printed.consumer import consumed, consumed_rows, is_cut_short
from hydrotest.printed.figures import Printed, read_figures
from hydrotest.printed.producer import RESULT, WARM_UP, exceptions, produced
from hydrotest.printed.producer import TOOL as PRODUCER
from hydrotest.printed.stress import LABELS, RESULTS, stress_cells
from hydrotest.printed.stress import TOOL as STRESS
from hydrotest.store.records import StockResult

MIB = 1 << 20
SEE_OUTPUT = "See its output in the trial's logs/."
RATE_ERROR_MAX = 1e-3
"""ConsumerPerformance prints its rate to four places; a larger difference from count ÷ time means that a
figure was misread."""


def parse_producer(output: str, cpu_s: float, asked: int | None = None) -> StockResult:
    """ProducerPerformance's last line: of the steady state, where it had a warm-up. Its MB are MiB.

    CPU includes the tool's start and warm-up. `asked`: records to be sent, warm-up included; those that it
    did not count have failed.
    """
    lines = list(RESULT.finditer(output))
    wholes, steadies = [line for line in lines if not line["steady"]], [line for line in lines if line["steady"]]
    if not lines:
        raise TrialFailedError(f"{PRODUCER} printed no result line", SEE_OUTPUT)
    if len(wholes) > 1 or len(steadies) > 1:
        raise TrialFailedError(f"{PRODUCER} printed {len(lines)} result lines: which one counts is not known", SEE_OUTPUT)
    if WARM_UP.search(output) and not steadies:
        raise TrialFailedError(f"{PRODUCER} printed no result line of its steady state", SEE_OUTPUT)
    figures = values(produced((steadies or wholes)[0]))
    if figures["count"] == 0:
        raise TrialFailedError(f"{PRODUCER} sent nothing{_named(exceptions(output))}", SEE_OUTPUT)
    _check(PRODUCER, figures)
    if figures["rate"] == 0:
        raise TrialFailedError(f"{PRODUCER} printed a rate of 0 for {figures['count']:,.0f} records", SEE_OUTPUT)
    in_all = _whole(PRODUCER, "count", produced(wholes[0])["count"].value) if wholes else None
    errors = None if asked is None or in_all is None else asked - in_all
    if errors is not None and errors < 0:
        raise TrialFailedError(f"{PRODUCER} was to send {asked:,} records and printed {in_all:,}", SEE_OUTPUT)
    names = exceptions(output)
    count, rate = _whole(PRODUCER, "count", figures["count"]), figures["rate"]
    latency: dict[str, float | None] = {key: figures[key] for key in FIGURES if key in figures}
    return StockResult(
        count=count, seconds=count / rate, rate_per_s=rate, bytes_per_s=figures["mb"] * MIB, errors=errors, cpu_s=cpu_s, latency_ms=None,
        latency_from_send_ms=latency, count_in_all=in_all, errors_by_name=names if sum(names.values()) == errors else {},
    )  # fmt: skip


def values(figures: Mapping[str, Printed]) -> dict[str, float]:
    """Without what rounding left open."""
    return {key: figure.value for key, figure in figures.items()}


def _named(errors: dict[str, int]) -> str:
    return "".join(f"; {name} {count:,}" for name, count in errors.items())


def parse_consumer(output: str, cpu_s: float) -> StockResult:
    """ConsumerPerformance's table: one header, one row. The rate leaves out the group's first rebalance."""
    heads, rows = consumed_rows(output)
    if not rows:
        raise TrialFailedError(f"{CONSUMER} printed no result row", SEE_OUTPUT)
    if len(rows) > 1:
        raise TrialFailedError(f"{CONSUMER} printed {len(rows)} result rows: which one counts is not known", SEE_OUTPUT)
    missing = [head for head in ("data.consumed.in.MB", "data.consumed.in.nMsg", "rebalance.time.ms", "fetch.time.ms", "fetch.nMsg.sec")
               if head not in heads]  # fmt: skip
    if missing:
        raise TrialFailedError(
            f"{CONSUMER} printed no {', '.join(missing)}: its rate would hold the group's rebalance", "Use the tool of Kafka 1.1 or later."
        )
    row = values(consumed(heads, rows[0]))
    count, fetch_ms = row["data.consumed.in.nMsg"], row["fetch.time.ms"]
    if is_cut_short(output) or count == 0:
        raise TrialFailedError(f"{CONSUMER} consumed {count:,.0f} records and gave up before it had all", SEE_OUTPUT)
    if fetch_ms <= 0 or row["rebalance.time.ms"] < 0:
        raise TrialFailedError(
            f"{CONSUMER} printed a fetch time of {fetch_ms:,.0f} ms and a rebalance time of {row['rebalance.time.ms']:,.0f} ms: it took the "
            "rebalance's end for its length", "Use the tool of a later Kafka.")  # fmt: skip
    _check(CONSUMER, row)
    rate = count / (fetch_ms / 1e3)
    if not math.isclose(rate, row["fetch.nMsg.sec"], rel_tol=1e-6, abs_tol=RATE_ERROR_MAX):
        raise TrialFailedError(
            f"{CONSUMER} printed {row['fetch.nMsg.sec']:,.4f} records/s for {count:,.0f} records in {fetch_ms:,.0f} ms", SEE_OUTPUT
        )
    return StockResult(
        count=_whole(CONSUMER, "data.consumed.in.nMsg", count), seconds=fetch_ms / 1e3, rate_per_s=rate,
        bytes_per_s=row["data.consumed.in.MB"] * MIB / (fetch_ms / 1e3), errors=None, cpu_s=cpu_s, latency_ms=None,
    )  # fmt: skip


def parse_stress(output: str, cpu_s: float) -> StockResult:
    """cassandra-stress's `Results:` block, in total and by operation.

    Its latencies include failed operations (`StressMetrics.record`).
    """
    blocks = RESULTS.split(output)[1:]
    if not blocks:
        raise TrialFailedError(f"{STRESS} printed no results", SEE_OUTPUT)
    if len(blocks) > 1:
        raise TrialFailedError(f"{STRESS} printed {len(blocks)} blocks of results: which one counts is not known", "Give it `threads=`.")
    cells = [cell for line in blocks[0].split("\n") for cell in stress_cells(line)]
    figures: dict[tuple[str | None, str], float] = {}
    for cell, value in zip(cells, read_figures([cell.text for cell in cells], grouped=True, tool=STRESS), strict=True):
        if (cell.op, cell.key) in figures:
            raise TrialFailedError(f"{STRESS} printed two figures for {cell.key}{f' of {cell.op}' if cell.op else ''}", SEE_OUTPUT)
        figures[cell.op, cell.key] = value
    return _stressed(figures, cpu_s)


def _stressed(figures: dict[tuple[str | None, str], float], cpu_s: float) -> StockResult:
    total = {key: value for (op, key), value in figures.items() if op is None}
    missing = [label for label, key in LABELS.items() if key not in total and key != "partitions_per_s"]
    if missing:
        raise TrialFailedError(f"{STRESS} printed no {', '.join(missing)}", SEE_OUTPUT)
    if total["count"] == 0 or total["rate_per_s"] == 0:
        raise TrialFailedError(f"{STRESS} completed nothing: {total['errors']:,.0f} errors", SEE_OUTPUT)
    _check(STRESS, total)
    by_op: dict[str, dict[str, float | None]] = {}
    for (op, key), value in figures.items():
        if op is not None:
            by_op.setdefault(op, {})[key] = None if math.isnan(value) else value
    for op, own in by_op.items():
        _check(f"{STRESS}, {op},", {key: value for key, value in own.items() if value is not None})
    count = _whole(STRESS, "partitions", total["count"])
    return StockResult(
        count=count, seconds=count / (total.get("partitions_per_s") or total["rate_per_s"]), rate_per_s=total["rate_per_s"], bytes_per_s=None,
        errors=_whole(STRESS, "errors", total["errors"]), cpu_s=cpu_s, latency_ms={key: total[key] for key in FIGURES if key in total},
        by_op=by_op if len(by_op) > 1 else {},
    )  # fmt: skip


def _check(tool: str, figures: dict[str, float]) -> None:
    """Raises `TrialFailedError` for an impossible figure."""
    for name, value in figures.items():
        if not math.isfinite(value) or value < 0:
            raise TrialFailedError(f"{tool} printed {value:g} for {name}", SEE_OUTPUT)


def _whole(tool: str, name: str, value: float) -> int:
    if not value.is_integer():
        raise TrialFailedError(f"{tool} printed {value:g} for {name}, which must be a whole number", SEE_OUTPUT)
    return int(value)
