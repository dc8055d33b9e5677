"""What a window failed by that fails whatever the rate: collections, compactions, stolen cores, compiling; else the rule alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import polars as pl

from hydrotest.analysis.limits.verdict import disturbance
from hydrotest.analysis.measured import Measured
from hydrotest.store import layout
from hydrotest.store.samples import read_samples
from hydrotest.verdicts.limit import LapseCause
from hydrotest.verdicts.trial import Disturbing

PAUSE_MIN = 0.5
"""Share of the latency objective that a collection's mean pause, within a second, takes at least to explain a miss."""
COLLECTION = "jvm_gc_collection_seconds"
COLLECTED_S, COLLECTIONS = f"{COLLECTION}_sum", f"{COLLECTION}_count"
COMPACTED = "cassandra_compacted_bytes_total"
OF_DISTURBANCE = {Disturbing.COMPILING: LapseCause.COMPILING, Disturbing.STOLEN: LapseCause.STOLEN}


def lapse_causes(failed: Iterable[tuple[Measured, str | None]], objectives_ms: Mapping[str, float]) -> dict[str, int]:
    """How many of some windows failed by what: each with the rule that failed. A window may have several causes."""
    found: Counter[str] = Counter()
    for measured, rule in failed:
        explained = [str(cause) for cause in causes_of(measured, objectives_ms)]
        found.update(explained or [rule or "unknown"])
    return dict(found.most_common())


def causes_of(measured: Measured, objectives_ms: Mapping[str, float]) -> list[LapseCause]:
    """What happened in a window that explains a missed latency."""
    causes = [OF_DISTURBANCE[one.code] for one in disturbance(measured)]
    is_needed = (pl.col("gauge") == COMPACTED) | pl.col("gauge").str.starts_with(COLLECTION)
    is_inside = (pl.col("wall_s") > measured.start_s - 0.5) & (pl.col("wall_s") <= measured.end_s + 1.0)
    inside = read_samples(measured.folder, layout.GAUGE_SAMPLES, is_needed & is_inside)
    if inside.is_empty():
        return causes
    inside = inside.sort("wall_s")
    bound = min(objectives_ms.values(), default=None)
    if bound is not None and longest_pause_ms(inside) >= PAUSE_MIN * bound:
        causes.append(LapseCause.COLLECTION)
    compacted = inside.filter(pl.col("gauge") == COMPACTED)["value"]
    if len(compacted) > 1 and compacted.max() != compacted.min():
        causes.append(LapseCause.COMPACTION)
    return list(dict.fromkeys(causes))


def longest_pause_ms(gauges: pl.DataFrame) -> float:
    """The longest mean pause of a collector between two readings, milliseconds; 0 without any."""
    by = ["host", "service", "collector"]
    read = gauges.filter(pl.col("gauge").str.starts_with(COLLECTION)).with_columns(
        pl.col("gauge").str.extract(r'gc="([^"]*)"').alias("collector"), pl.col("gauge").str.starts_with(COLLECTED_S).alias("is_sum")
    )
    times, counts = (read.filter(pl.col("is_sum") == is_sum).select(*by, "wall_s", "value") for is_sum in (True, False))
    both = times.join(counts, on=[*by, "wall_s"], suffix="_count").sort("wall_s")
    if both.is_empty():
        return 0.0
    pauses = both.with_columns(
        (pl.col("value").diff().over(by) / pl.col("value_count").diff().over(by) * 1e3).alias("pause_ms"),
        pl.col("value_count").diff().over(by).alias("number"),
    ).filter(pl.col("number") > 0)
    longest = pauses["pause_ms"].max()
    return float(longest) if isinstance(longest, int | float) else 0.0
