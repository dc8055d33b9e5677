"""Tables of a Spark application: its stages, and where their time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from hydrotest.analysis.spark.event_log import EventLog
from hydrotest.analysis.spark.executors import Removal
from hydrotest.analysis.spark.failure import first_line
from hydrotest.analysis.spark.task_table import DURATION, summed
from hydrotest.analysis.spark.tasks import Doubt, Outcome, Stage, doubt_of
from hydrotest.analysis.spark.time_spent import OTHER, PARTS, cores_max, critical_path_s, share_of
from hydrotest.report.table import NONE, Table, decimal, yes_no
from hydrotest.report.wording.problem import log_flaw_words
from hydrotest.summary.event_log import LogRow, StageRow
from hydrotest.summary.model import Summary
from hydrotest.summary.spark import Doubt as DoubtRow
from hydrotest.summary.spark import Fuller, JobTest, JobTime
from hydrotest.units import show_bytes

SHOWN_MIN = 0.02
"""Parts below this share of the total get no sentence."""
DOUBTS_SHOWN = 10
"""Most stages with missing tasks to name."""
SKEWED = 3.0
"""A longest task of so many medians is reported."""


def stage_name(number: int, attempt: int) -> str:
    """The name in Spark's own messages; without the attempt if it is the first."""
    return f"{number}.{attempt}" if attempt else str(number)


def _at_least(row: StageRow | JobTime, figure: str) -> str:
    """A figure of a stage with missing tasks is too low."""
    return f"≥ {figure}" if row.doubt and figure != NONE else figure


def _bytes(value: float | None) -> str:
    return NONE if value is None else show_bytes(value)


def stage_sheet(rows: Sequence[StageRow]) -> Table:
    """A row for each attempt of a stage: what it read, shuffled and spilled."""
    heads = ["stage", "name", "tasks", "time s", "input", "shuffle read", "of it remote", "shuffle write", "slowest read wait s", "slowest write s",
             "spilled", "skew"]  # fmt: skip
    cells = []
    for row in rows:
        figures = [decimal(row.seconds, 2), *map(_bytes, (row.input_bytes, row.shuffle_read_bytes, row.remote_bytes, row.shuffle_write_bytes)),
                   decimal(row.max_shuffle_read_s, 3), decimal(row.max_shuffle_write_s, 3), _bytes(row.spill_bytes)]  # fmt: skip
        planned = row.planned
        tasks = f"{row.tasks:,}" if planned in (None, row.tasks) else f"{row.tasks:,} of {planned:,}"
        cells.append([stage_name(row.stage, row.attempt), row.name or NONE, tasks, *(_at_least(row, figure) for figure in figures),
                      decimal(row.skew, 1)])  # fmt: skip
    return Table("Stages", heads, cells)


def where_sheet(rows: Sequence[StageRow]) -> Table:
    """A row for each attempt of a stage: what its tasks spent their time on, as shares of their total
    time."""
    parts = [*PARTS, OTHER]
    cells = []
    for row in rows:
        every = _every(row)
        cells.append([stage_name(row.stage, row.attempt), _at_least(row, decimal(every, 2)), *_shares(row.parts_s),
                      _at_least(row, decimal(row.cores_used, 1))])  # fmt: skip
    return Table("Where the tasks' time went", ["stage", "task time s", *parts, "cores busy"], cells)


def _every(row: StageRow | JobTime) -> float | None:
    """Seconds of all its tasks."""
    known = [value for value in row.parts_s.values() if value is not None]
    return sum(known) if known else None


def _shares(parts_s: Mapping[str, float | None]) -> list[str]:
    shares = (share_of(parts_s, part) for part in [*PARTS, OTHER])
    return [NONE if share is None else f"{share:.0%}" for share in shares]


def doubt_sentences(rows: Sequence[StageRow]) -> list[str]:
    """What is missing from the figures of each stage above."""
    out = []
    for row in rows:
        if doubt := row.doubt:
            name = stage_name(row.stage, row.attempt)
            out.append(
                f"Stage {name}: {_missing(doubt)}; its figures marked ≥ are too low, and its shares and skew are those of the others."
            )
    more = len(out) - DOUBTS_SHOWN
    return out if more <= 0 else [*out[:DOUBTS_SHOWN], f"The same holds for {more:,} other stages."]


def _missing(doubt: Doubt | DoubtRow) -> str:
    ends = doubt.started - doubt.known - doubt.left_out
    what = []
    if ends:
        what.append(f"of {doubt.started:,} attempts of tasks the log does not have the ends of {ends:,}")
    if doubt.left_out:
        what.append(f"{doubt.left_out:,} attempts of tasks are left out, whose times cannot be (0, or an end before the launch)")
    return "; ".join(what)


def log_sheet(rows: Sequence[LogRow]) -> Table:
    """A row for each log of a directory."""
    cells = [
        [row.path, row.application or NONE, row.name or NONE, row.spark or NONE, row.started or NONE, show_bytes(row.bytes),
         str(row.files), yes_no(row.in_progress)]
        for row in rows
    ]  # fmt: skip
    return Table("Event logs", ["log", "application", "name", "Spark", "started", "size", "files", "still written"], cells)


def job_time_sheet(summary: Summary) -> Table:
    """A row for each test: what its tasks spent their time on, the possible gain, and how many cores it can
    use."""
    parts = [*PARTS, OTHER]
    rows = []
    for row in summary.spark:
        stated = row.time
        every = (_every(stated) or 0.0) if stated else 0.0
        if not stated or every <= 0:
            continue
        gains = sorted(
            ((pct, part) for part, pct in stated.shorter_pct.items() if pct is not None and pct >= 100 * SHOWN_MIN), reverse=True
        )
        without = ", ".join(f"{part} {pct:.0f} %" for pct, part in gains[:3])
        rows.append([row.test, row.tenancy, f"{row.scale_factor:g}", _at_least(stated, decimal(every, 1)), *_shares(stated.parts_s),
                     decimal(stated.critical_path_s, 2), f"{decimal(stated.cores_max)} of {stated.cores}", without or NONE])  # fmt: skip
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
    return Table("Spark: where the time went", heads, rows)


def scaling_sheet(summary: Summary) -> Table:
    """A row for each test at several scale factors: how its time grows, and where growth is no longer
    linear."""
    rows = []
    for row in summary.scaling:
        points = ", ".join(f"{point.scale_factor:g}: {point.seconds:.1f} s" for point in row.points)
        line = f"{row.fixed_s:.2f} ± {row.fixed_s_error:.2f} s + {row.per_unit_s:.2f} ± {row.per_unit_s_error:.2f} s a unit"
        grew = _grew(row.fuller)
        rows.append([row.test, row.tenancy, str(row.cores or NONE), points, line, f"{row.from_:g} … {row.to:g}; beyond it is a guess",
                     NONE if row.bends_at is None else f"{row.bends_at:g}", grew])  # fmt: skip
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
    return Table("Spark: how times grow", heads, rows)


def _grew(fuller: Fuller | None) -> str:
    """What took more of the tasks' time than before."""
    if fuller is None:
        return NONE
    if fuller.unit == "bytes":
        return f"{fuller.what}: {show_bytes(fuller.after)}"
    return f"{fuller.what}: {fuller.before:.0%} of the tasks' time before, {fuller.after:.0%} there"


def speedup_sheet(summary: Summary) -> Table:
    """A row for each test on several numbers of cores: how its time falls, by the universal scalability law,
    and where more no longer pay."""
    rows = []
    for row in summary.speedup:
        points = ", ".join(f"{point.cores}: {point.seconds:.1f} s" for point in row.points)
        law = f"{_with_error(row.serial, row.serial_error)}, {_with_error(row.crosstalk, row.crosstalk_error)}"
        fastest = (
            NONE if row.fastest_at is None else f"{row.fastest_at:.0f}" + ("" if row.from_ <= row.fastest_at <= row.to else " (a guess)")
        )
        rows.append([row.test, row.tenancy, f"{row.scale_factor:g}", points, law, NONE if row.error_pct is None else f"{row.error_pct:.0f} %",
                     fastest, f"{row.from_} … {row.to}; beyond it is a guess", str(row.stops_paying_at or NONE), _grew(row.fuller)])  # fmt: skip
    heads = ["test", "tenancy", "scale factor", "time on cores", "serial, crosstalk (± standard error)", "off where not measured", "fastest on", "holds for",
             "more cores stop paying at", "what grew there"]  # fmt: skip
    return Table("Spark: how times fall with cores", heads, rows)


def ernest_sheet(summary: Summary) -> Table:
    """Ernest's form of each test with enough points: a row for each."""
    rows = []
    for row in summary.ernest:
        terms = row.terms
        form = (f"{terms.fixed:.2f} s + {terms.per_core_share:.2f} s · factor ÷ cores + {terms.tree:.2f} s · log cores + "
                f"{terms.per_core:.2f} s · cores")  # fmt: skip
        rows.append([row.test, row.tenancy, str(row.points), form, NONE if row.error_pct is None else f"{row.error_pct:.0f} %",
                     f"{row.cores_from} … {row.cores_to} cores; beyond it is a guess"])  # fmt: skip
    return Table(
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
"""What slows a stage down, by the part whose removal would gain most time."""


def job_sentences(spark: Sequence[JobTest]) -> list[str]:
    """What each single test spends most of its time on: a sentence for each such part, with the tests."""
    found: dict[str, list[tuple[str, float]]] = {}
    several = len({row.time.cores for row in spark if row.time}) > 1
    for row in spark:
        stated = row.time
        if row.tenancy == "isolated" and row.finished and stated and any(stated.parts_s.values()):
            gains = [(pct, part) for part, pct in stated.shorter_pct.items() if pct is not None]
            if not gains:
                continue
            pct, part = max(gains)
            on = f" on {stated.cores}" if several else ""
            if pct >= 100 * SHOWN_MIN:
                found.setdefault(part, []).append((f"{row.test} at {row.scale_factor:g}{on}", pct))
    return [
        f"Spark: {', '.join(dict.fromkeys(test for test, _ in tests))}: bound most by {LIMITS[part]} "
        f"({_span([pct for _, pct in tests])} shorter without)."
        for part, tests in found.items()
    ]  # fmt: skip


def _span(pcts: Sequence[float]) -> str:
    low, high = f"{min(pcts):.0f}", f"{max(pcts):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def spark_sentences(log: EventLog) -> list[str]:
    """How many cores it can use, the possible gain, and what went wrong."""
    out = [_cores_sentence(log)]
    if unknown := _unknown_parts(log.stages):
        out.append(f"The log does not have how long tasks spent on {', '.join(unknown)}: it is a part of {OTHER}.")
    skewed = [stage for stage in log.stages if (stage.skew or 0.0) >= SKEWED]
    for stage in sorted(skewed, key=lambda stage: -(stage.skew or 0.0))[:3]:
        out.append(f"{_stage(stage)} is skewed: its longest task took {stage.skew:.1f} times the median one.")
    failed, killed, repeated = (
        sum(stage.count(what) for stage in log.stages) for what in (Outcome.FAILED, Outcome.KILLED, Outcome.REPEATED)
    )
    if failed:
        out.append(f"{failed:,} attempts of tasks failed.")
    if killed:
        out.append(
            f"{killed:,} attempts of tasks were ended before their end, since another attempt was faster or they were no longer wanted."
        )
    if repeated:
        out.append(f"{repeated:,} tasks were done again, since their results were lost with their executors.")
    out += [f"{_stage(stage)} failed: {first_line(stage.failure)}" for stage in log.stages if stage.failure]
    out += _executor_sentences(log)
    out += [f"The log is not whole: {log_flaw_words(flaw)}." for flaw in log.flaws]
    return out


def _unknown_parts(stages: Sequence[Stage]) -> list[str]:
    """Parts that no task of the log has."""
    done = [tasks for stage in stages if (tasks := stage.done_tasks)]
    return [part for part, seconds in PARTS.items() if all(np.isnan(seconds(tasks)).all() for tasks in done)] if done else []


def _stage(stage: Stage) -> str:
    name = f" ({stage.name})" if stage.name else ""
    return f"Stage {stage_name(stage.number, stage.attempt)}{name}"


def _cores_sentence(log: EventLog) -> str:
    most = cores_max(log.stages)
    had = f"It had {log.cores or 'an unknown number of'} cores" + (f", of which a task takes {log.cpus}." if log.cpus > 1 else ".")
    doubt = doubt_of(log.stages)
    if most is None:
        can = "How many cores it can use is not known: the log has no task that was done."
    else:
        work = summed(stage.done_tasks.figure(DURATION) for stage in log.stages)
        can = (f"At most {most:.1f} cores can be used at a time: {work:.1f} s of tasks, of which {critical_path_s(log.stages):.1f} s wait for each "
               "other.")  # fmt: skip
    unsure = "" if doubt is None else f" But {_missing(doubt)}: both times are too low, and the cores may be more or fewer."
    return f"{can}{unsure} {had}"


def _executor_sentences(log: EventLog) -> list[str]:
    """Lost executors one by one; those removed for other reasons, counted."""
    out = [f"Executor {one.executor} was lost: {first_line(one.reason)}" for one in log.executors.lost]
    counts = Counter(one.kind for one in log.executors.removed)
    words = {
        Removal.SCALED_DOWN: "executors were ended by dynamic allocation, which had no more use for them.",
        Removal.DECOMMISSIONED: "executors were decommissioned.",
        Removal.UNKNOWN: "executors went; the log does not say why.",
    }
    return out + [f"{counts[kind]:,} {text}" for kind, text in words.items() if counts[kind]]
