"""Tables of a Spark application: its stages, and where their time went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydrotest.analysis.event_log import EventLog, is_farewell
from hydrotest.analysis.spark_time import OTHER, PARTS, cores_max, critical_path_s
from hydrotest.report.sheet import NONE, Sheet, decimal
from hydrotest.units import show_bytes

SHOWN_MIN = 0.02
"""Parts below this share of all are not worth a sentence."""
SKEWED = 3.0
"""A longest task of so many medians is told of."""


def stage_sheet(rows: Sequence[dict[str, Any]]) -> Sheet:
    """A row for each stage: what it read, shuffled and spilled."""
    heads = ["stage", "name", "tasks", "time s", "input", "shuffle read", "of it remote", "shuffle write", "slowest read wait s", "slowest write s",
             "spilled", "skew"]  # fmt: skip
    cells = [
        [str(row["stage"]), row["name"], f"{row['tasks']:,} of {row['planned']:,}" if row["tasks"] != row["planned"] else f"{row['tasks']:,}",
         decimal(row["seconds"], 2), show_bytes(row["input_bytes"]), show_bytes(row["shuffle_read_bytes"]), show_bytes(row["remote_bytes"]),
         show_bytes(row["shuffle_write_bytes"]), decimal(row["max_shuffle_read_s"], 3), decimal(row["max_shuffle_write_s"], 3),
         show_bytes(row["spill_bytes"]), decimal(row["skew"], 1)]
        for row in rows
    ]  # fmt: skip
    return Sheet("Stages", heads, cells)


def where_sheet(rows: Sequence[dict[str, Any]]) -> Sheet:
    """A row for each stage: what its tasks spent their time on, of their time in all."""
    parts = [*PARTS, OTHER]
    cells = []
    for row in rows:
        every = sum(row["parts_s"].values())
        shares = [f"{row['parts_s'][part] / every:.0%}" if every > 0 else NONE for part in parts]
        cells.append([str(row["stage"]), decimal(every, 2), *shares, decimal(row["cores_used"], 1)])
    return Sheet("Where the tasks' time went", ["stage", "task time s", *parts, "cores busy"], cells)


def job_time_sheet(summary: dict[str, Any]) -> Sheet:
    """A row for each test: what its tasks spent their time on, what would be gained, how many cores it can use."""
    parts = [*PARTS, OTHER]
    rows = []
    for row in summary["spark"]:
        told = row.get("time")
        every = sum(told["parts_s"].values()) if told else 0.0
        if not told or every <= 0:
            continue
        gains = sorted(((pct, part) for part, pct in told["shorter_pct"].items() if pct >= 100 * SHOWN_MIN), reverse=True)
        without = ", ".join(f"{part} {pct:.0f} %" for pct, part in gains[:3])
        rows.append([row["test"], row["tenancy"], f"{row['scale_factor']:g}", decimal(every, 1), *(f"{told['parts_s'][part] / every:.0%}" for part in parts),
                     decimal(told["critical_path_s"], 2), f"{told['cores_max']:.1f} of {told['cores']}", without or NONE])  # fmt: skip
    heads = [
        "test",
        "tenancy",
        "scale factor",
        "task time s",
        *parts,
        "critical path s",
        "cores it can use, of those it had",
        "shorter without",
    ]
    return Sheet("Spark: where the time went", heads, rows)


def scaling_sheet(summary: dict[str, Any]) -> Sheet:
    """A row for each test at several scale factors: how its time grows, and where it stops being linear."""
    rows = []
    for row in summary.get("scaling", []):
        points = ", ".join(f"{point['scale_factor']:g}: {point['seconds']:.1f} s" for point in row["points"])
        line = f"{row['fixed_s']:.2f} ± {row['fixed_s_error']:.2f} s + {row['per_unit_s']:.2f} ± {row['per_unit_s_error']:.2f} s a unit"
        grew = _grew(row["fuller"])
        rows.append([row["test"], row["tenancy"], str(row["cores"] or NONE), points, line, f"{row['from']:g} … {row['to']:g}; beyond it is a guess",
                     NONE if row["bends_at"] is None else f"{row['bends_at']:g}", grew])  # fmt: skip
    heads = [
        "test",
        "tenancy",
        "cores",
        "time at scale factor",
        "line (± standard error)",
        "holds for",
        "stops being linear at",
        "what grew there",
    ]
    return Sheet("Spark: how times grow", heads, rows)


def _grew(fuller: dict[str, Any] | None) -> str:
    """What took more of the tasks' time than before."""
    if fuller is None:
        return NONE
    if fuller["what"].startswith("spilling"):
        return f"{fuller['what']}: {show_bytes(fuller['after'])}"
    return f"{fuller['what']}: {fuller['before']:.0%} of the tasks' time before, {fuller['after']:.0%} there"


def speedup_sheet(summary: dict[str, Any]) -> Sheet:
    """A row for each test on several numbers of cores: how its time falls, by the universal scalability law, and where more no longer pay."""
    rows = []
    for row in summary.get("speedup", []):
        points = ", ".join(f"{point['cores']}: {point['seconds']:.1f} s" for point in row["points"])
        law = f"{_with_error(row['serial'], row['serial_error'])}, {_with_error(row['crosstalk'], row['crosstalk_error'])}"
        fastest = (
            NONE
            if row["fastest_at"] is None
            else f"{row['fastest_at']:.0f}" + ("" if row["from"] <= row["fastest_at"] <= row["to"] else " (a guess)")
        )
        rows.append([row["test"], row["tenancy"], f"{row['scale_factor']:g}", points, law, NONE if row["error_pct"] is None else f"{row['error_pct']:.0f} %",
                     fastest, f"{row['from']} … {row['to']}; beyond it is a guess", str(row["stops_paying_at"] or NONE), _grew(row["fuller"])])  # fmt: skip
    heads = ["test", "tenancy", "scale factor", "time on cores", "serial, crosstalk (± standard error)", "off where not measured", "fastest on", "holds for",
             "more cores stop paying at", "what grew there"]  # fmt: skip
    return Sheet("Spark: how times fall with cores", heads, rows)


def ernest_sheet(summary: dict[str, Any]) -> Sheet:
    """Ernest's form of each test that has points enough: a row each."""
    rows = []
    for row in summary.get("ernest", []):
        terms = row["terms"]
        form = (f"{terms['fixed']:.2f} s + {terms['per_core_share']:.2f} s · factor ÷ cores + {terms['tree']:.2f} s · log cores + "
                f"{terms['per_core']:.2f} s · cores")  # fmt: skip
        rows.append([row["test"], row["tenancy"], str(row["points"]), form, NONE if row["error_pct"] is None else f"{row['error_pct']:.0f} %",
                     f"{row['cores_from']} … {row['cores_to']} cores; beyond it is a guess"])  # fmt: skip
    return Sheet(
        "Spark: times by size and cores (Ernest's form)", ["test", "tenancy", "points", "time", "off where not measured", "holds for"], rows
    )


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


LIMITS = {
    "cpu": "the CPU of its executors",
    "network wait": "the network between the workers",
    "shuffle write": "the disks that shuffles are written to",
    "garbage collection": "the heaps of its executors",
    "scheduler": "the driver, which hands out tasks and takes their results",
    "serialisation": "the serialisation of tasks and results",
    OTHER: "reading from disk, and waiting for a core",
}
"""What is in the way where most time would be gained without a part of it."""


def job_sentences(spark: Sequence[dict[str, Any]]) -> list[str]:
    """What each test alone spends most of its length on: a sentence for each such thing, with the tests."""
    found: dict[str, list[tuple[str, float]]] = {}
    several = len({row["time"]["cores"] for row in spark if row.get("time")}) > 1
    for row in spark:
        told = row.get("time")
        if row["tenancy"] == "isolated" and row["finished"] and told and any(told["parts_s"].values()):
            part, pct = max(told["shorter_pct"].items(), key=lambda one: one[1])
            on = f" on {told['cores']}" if several else ""
            if pct >= 100 * SHOWN_MIN:
                found.setdefault(part, []).append((f"{row['test']} at {row['scale_factor']:g}{on}", pct))
    return [
        f"Spark: {', '.join(dict.fromkeys(test for test, _ in tests))}: bound most by {LIMITS[part]} "
        f"({_span([pct for _, pct in tests])} shorter without)."
        for part, tests in found.items()
    ]  # fmt: skip


def _span(pcts: Sequence[float]) -> str:
    low, high = f"{min(pcts):.0f}", f"{max(pcts):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def spark_sentences(log: EventLog) -> list[str]:
    """How many cores it can use, what would be gained, what went wrong."""
    from_tasks = [task for stage in log.stages for task in stage.tasks if not task.failed]
    work = sum(task.duration_s for task in from_tasks)
    out = [f"At most {cores_max(log.stages):.1f} cores can be used at a time: {work:.1f} s of tasks, of which {critical_path_s(log.stages):.1f} s wait for "
           f"each other. It had {log.cores or 'an unknown number of'} cores."]  # fmt: skip
    skewed = [stage for stage in log.stages if (stage.skew or 0.0) >= SKEWED]
    for stage in sorted(skewed, key=lambda stage: -(stage.skew or 0.0))[:3]:
        out.append(f"Stage {stage.number} ({stage.name}) is skewed: its longest task took {stage.skew:.1f} times the median one.")
    failed = sum(stage.failed_tasks for stage in log.stages)
    if failed:
        out.append(f"{failed} attempts of tasks failed.")
    out += [f"Stage {stage.number} ({stage.name}) failed: {stage.failure.splitlines()[0]}" for stage in log.stages if stage.failure]
    out += [f"Executor {executor} was lost: {why}" for executor, why in log.lost_executors.items() if not is_farewell(why)]
    if log.cut:
        out.append(f"The log is not whole: {log.cut}.")
    return out
