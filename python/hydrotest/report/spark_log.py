"""An event log of anybody's application: what it took, what to change, and two logs next to each other."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.analysis.spark.time_spent import OTHER, PARTS
from hydrotest.report.spark import stage_name
from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.event_log import (
    ApplicationRow,
    ChangeKind,
    ChangeRow,
    ComparedLogs,
    ExecutionRow,
    JobRow,
    LogTotals,
    StageRow,
    StageTotals,
)
from hydrotest.units import show_bytes

SHOWN = 10
"""Rows of stages, jobs and queries that are shown: those that matter first."""
NAME_MAX = 60
PEAK_NAMES = {
    "JVMHeapMemory": "heap", "JVMOffHeapMemory": "off the heap", "OnHeapExecutionMemory": "execution", "OnHeapStorageMemory": "storage",
    "ProcessTreeJVMRSSMemory": "resident",
}  # fmt: skip


def _short(name: str | None) -> str:
    text = (name or NONE).split("\n", maxsplit=1)[0]
    return text if len(text) <= NAME_MAX else f"{text[: NAME_MAX - 1]}…"


def time_sentences(row: ApplicationRow) -> list[str]:
    """What the application's time was."""
    if row.seconds is None or row.without_tasks_s is None:
        return [f"Tasks ran for {row.with_tasks_s:,.1f} s. How long the application took is not in the log."]
    out = [f"It took {row.seconds:,.1f} s: {row.with_tasks_s:,.1f} s with tasks, {row.without_tasks_s:,.1f} s without."]
    parts = {
        "before the first job": row.before_first_job_s, "in jobs, without a task": row.in_jobs_without_tasks_s,
        "between jobs": row.between_jobs_s, "after the last job": row.after_last_job_s,
    }  # fmt: skip
    said = [f"{seconds:,.1f} s {name}" for name, seconds in parts.items() if seconds is not None and seconds >= 0.05]
    if said:
        planning = f"; {row.planning_s:,.1f} s between jobs are in SQL queries (planning, commit)" if row.planning_s >= 0.05 else ""
        out.append(f"The driver alone: {', '.join(said)}{planning}.")
    if row.peak_memory_bytes:
        peaks = ", ".join(f"{PEAK_NAMES.get(name, name)} {show_bytes(value)}" for name, value in row.peak_memory_bytes.items())
        asked = f" of a heap of {row.executor_memory}" if row.executor_memory else ""
        out.append(f"Most memory of an executor: {peaks}{asked}.")
    return out


def most_first(rows: Sequence[StageRow]) -> list[StageRow]:
    """The stages that account for most of the application's time."""
    return sorted(rows, key=lambda row: -row.share_s)[:SHOWN]


def first_sheet(rows: Sequence[StageRow], seconds: float | None) -> Table:
    """What they took of the application's time, how uneven they are, and what was done in vain."""
    cells = []
    for row in most_first(rows):
        share = f"{row.share_s / seconds:.0%}" if seconds else NONE
        in_vain = f"{row.failed_tasks:,} / {row.killed_tasks:,} / {row.repeated_tasks:,}"
        peak = NONE if row.peak_task_memory_bytes is None else show_bytes(row.peak_task_memory_bytes)
        cells.append([stage_name(row.stage, row.attempt), _short(row.name), decimal(row.share_s, 2), share, f"{row.tasks:,}", decimal(row.skew, 1),
                      decimal(row.tail_s, 2), in_vain, f"{row.speculative_tasks:,}", decimal(row.wasted_s, 1), peak])  # fmt: skip
    heads = ["stage", "name", "of the run s", "share", "tasks", "skew", "slow tail s", "failed / ended / repeated", "speculative", "in vain s",
             "most memory of a task"]  # fmt: skip
    return Table("Stages that took most of the run", heads, cells)


def rest_sentence(rows: Sequence[StageRow]) -> list[str]:
    """What is not in the table of stages."""
    rest = sorted(rows, key=lambda row: -row.share_s)[SHOWN:]
    if not rest:
        return []
    return [f"{len(rest):,} other stages account for {sum(row.share_s for row in rest):,.1f} s together; --json has all of them."]


def job_sheet(rows: Sequence[JobRow]) -> Table:
    """The longest jobs."""
    shown = sorted(rows, key=lambda row: -(row.seconds or 0.0))[:SHOWN]
    cells = [
        [str(row.job), _short(row.name), NONE if row.execution is None else str(row.execution), decimal(row.seconds, 2), decimal(row.without_tasks_s, 2),
         str(row.stages), f"{row.tasks:,}", decimal(row.task_s, 1), "yes" if row.failure else "no"]
        for row in shown
    ]  # fmt: skip
    heads = ["job", "name", "SQL query", "time s", "without tasks s", "stages", "tasks", "task time s", "failed"]
    return Table(f"Jobs{_of(shown, rows)}", heads, cells)


def execution_sheet(rows: Sequence[ExecutionRow]) -> Table:
    """The longest SQL queries."""
    shown = sorted(rows, key=lambda row: -(row.seconds or 0.0))[:SHOWN]
    cells = [
        [str(row.execution), _short(row.name), decimal(row.seconds, 2), str(row.jobs), decimal(row.in_jobs_s, 2), decimal(row.task_s, 1),
         "yes" if row.failure else "no"]
        for row in shown
    ]  # fmt: skip
    return Table(f"SQL queries{_of(shown, rows)}", ["query", "name", "time s", "jobs", "in jobs s", "task time s", "failed"], cells)


def _of(shown: Sequence[object], rows: Sequence[object]) -> str:
    return f", the {len(shown)} longest of {len(rows):,}" if len(shown) < len(rows) else ""


def change_sentences(rows: Sequence[ChangeRow]) -> list[str]:
    """What to change, with its gain."""
    return [f"{_gain(row)}: {_place(row)}{_what(row)}" for row in rows]


def _gain(row: ChangeRow) -> str:
    if row.gain_s is None:
        return "Gain not known"
    share = f" ({row.gain_pct:.0f} %)" if row.gain_pct is not None else ""
    return f"{'At most ' if row.is_bound else 'About '}{row.gain_s:,.1f} s less{share}"


def _place(row: ChangeRow) -> str:
    if row.stage is None:
        return ""
    return f"stage {stage_name(row.stage, row.attempt or 0)} ({_short(row.name)}): "


def _what(row: ChangeRow) -> str:
    of = row.figures
    match row.kind:
        case ChangeKind.SKEW:
            return (
                f"{of['tasks']:,.0f} tasks have up to {show_bytes(of['data_bytes'])} where the median has {show_bytes(of['median_bytes'])}, and take up to "
                f"{of['longest_s']:,.1f} s ({of['median_s']:,.1f} s). Split them: AQE's skew join, more partitions, a salted key."
            )
        case ChangeKind.STRAGGLERS:
            return (
                f"{of['tasks']:,.0f} tasks take up to {of['longest_s']:,.1f} s (median {of['median_s']:,.1f} s) with as much data as the others. Look at their "
                "hosts; spark.speculation starts copies of them."
            )
        case ChangeKind.MORE_TASKS:
            return f"{of['tasks']:,.0f} tasks for {of['slots']:,.0f} slots: take more partitions, so that the last wave is short."
        case ChangeKind.FEWER_TASKS:
            return (
                f"{of['tasks']:,.0f} tasks, of whose time {of['overhead']:.0%} is scheduling and deserialisation: coalesce to about {of['fewer']:,.0f} "
                "partitions."
            )
        case ChangeKind.HEAP:
            return f"garbage collection takes {of['share']:.0%} of the tasks' time: give executors more heap, or fewer cores each."
        case ChangeKind.NETWORK:
            return f"waiting for shuffled data takes {of['share']:.0%} of the tasks' time: shuffle less (filter earlier, broadcast), or faster links."
        case ChangeKind.SPILL:
            return f"{show_bytes(of['spilled_bytes'])} were spilled ({show_bytes(of['memory_bytes'])} in memory): more memory a task, or more partitions."
        case ChangeKind.FAILURES:
            return f"{of['failed']:,.0f} attempts of tasks failed, after {of['wasted_s']:,.1f} s of work: find out why."
        case ChangeKind.DRIVER:
            planning = f", {of['planning_s']:,.1f} s of it in SQL queries" if of["planning_s"] >= 0.05 else ""
            return f"nothing runs but the driver between jobs{planning}: start independent jobs at once, collect less, list fewer files."
        case ChangeKind.WITHIN_JOBS:
            return (
                "jobs run without a task: executors are awaited, or the driver plans and takes results in. Keep executors, or collect less."
            )


def compared_sheet(both: ComparedLogs) -> Table:
    """The two applications, figure by figure."""
    before, after = both.before, both.after

    def row(what: str, one: float | None, other: float | None) -> list[str]:
        return [what, decimal(one, 1), decimal(other, 1), _ratio(one, other)]

    def sizes(what: str, one: int, other: int) -> list[str]:
        return [what, show_bytes(one), show_bytes(other), _ratio(one, other)]

    rows = [
        row("time s", before.time.seconds, after.time.seconds), row("with tasks s", before.time.with_tasks_s, after.time.with_tasks_s),
        row("without tasks s", before.time.without_tasks_s, after.time.without_tasks_s), row("task time s", before.task_s, after.task_s),
        *(row(f"of it {part} s", before.parts_s.get(part), after.parts_s.get(part)) for part in [*PARTS, OTHER]),
        ["cores", str(before.cores or NONE), str(after.cores or NONE), _ratio(before.cores, after.cores)],
        [*_counts("stages", before, after)], [*_counts("tasks", before, after)],
        sizes("input", before.input_bytes, after.input_bytes), sizes("shuffle read", before.shuffle_read_bytes, after.shuffle_read_bytes),
        sizes("spilled", before.spill_bytes, after.spill_bytes),
    ]  # fmt: skip
    return Table("Both applications", ["what", "first", "second", "second ÷ first"], rows)


def _counts(what: str, before: LogTotals, after: LogTotals) -> list[str]:
    one, other = getattr(before, what), getattr(after, what)
    return [what, f"{one:,}", f"{other:,}", _ratio(one, other)]


def _ratio(one: float | None, other: float | None) -> str:
    return f"{other / one:.2f}" if one and other is not None else NONE


def compared_stage_sheet(both: ComparedLogs) -> Table:
    """The stages whose part of the time changed most."""

    def cells(one: StageTotals | None) -> list[str]:
        if one is None:
            return [NONE, NONE, NONE, NONE]
        return [
            str(one.stage),
            decimal(one.share_s, 2),
            f"{one.tasks:,}",
            NONE if one.shuffle_read_bytes is None else show_bytes(one.shuffle_read_bytes),
        ]

    rows = []
    for stage in both.stages[:SHOWN]:
        change = (stage.after.share_s if stage.after else 0.0) - (stage.before.share_s if stage.before else 0.0)
        nth = f" ({stage.nth})" if stage.nth > 1 else ""
        rows.append(
            [
                f"{_short(stage.name)}{nth}",
                f"{change:+,.2f}",
                *(cell for pair in zip(cells(stage.before), cells(stage.after), strict=True) for cell in pair),
            ]
        )
    heads = [
        "stage by name",
        "change s",
        "first",
        "second",
        "first s",
        "second s",
        "first tasks",
        "second tasks",
        "first shuffle read",
        "second shuffle read",
    ]
    return Table(
        f"Stages{_of(both.stages[:SHOWN], both.stages)}",
        heads,
        rows,
        lead=("stage by name", "change s", "first s", "second s", "first tasks", "second tasks"),
    )
