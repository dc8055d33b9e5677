"""Two logs of one application, stage by stage. One run each: what differs may be chance, and nothing here says otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hydrotest.analysis.spark.application import application_row
from hydrotest.analysis.spark.event_parser import EventLog
from hydrotest.analysis.spark.task_table import DURATION, summed
from hydrotest.analysis.spark.tasks import Group, Stage
from hydrotest.analysis.spark.time_spent import job_time, stage_time, wall_shares_s
from hydrotest.summary.event_log import ComparedLogs, ComparedStage, LogTotals, StageTotals


def compared(before: EventLog, after: EventLog) -> ComparedLogs:
    """Stages are matched by their names, the nth of a name with the nth; those without a counterpart stand alone."""
    first, second = _by_name(before.stages), _by_name(after.stages)
    shares = {id(log): wall_shares_s(log.stages) for log in (before, after)}
    rows = [
        ComparedStage(
            name=name,
            nth=nth,
            before=_stage(first.get((name, nth)), shares[id(before)]),
            after=_stage(second.get((name, nth)), shares[id(after)]),
        )
        for name, nth in dict.fromkeys([*first, *second])
    ]
    rows.sort(key=lambda row: -max(abs((row.after.share_s if row.after else 0.0) - (row.before.share_s if row.before else 0.0)), 0.0))
    return ComparedLogs(before=_totals(before), after=_totals(after), stages=rows)


def _by_name(stages: Sequence[Stage]) -> dict[tuple[str, int], list[Stage]]:
    """The attempts of a stage count as one."""
    attempts: dict[int, list[Stage]] = {}
    for stage in stages:
        if stage.tasks:
            attempts.setdefault(stage.number, []).append(stage)
    seen: Counter[str] = Counter()
    found = {}
    for number, own in attempts.items():
        name = next((stage.name for stage in own if stage.name), f"stage {number}")
        seen[name] += 1
        found[name, seen[name]] = own
    return found


def _stage(attempts: Sequence[Stage] | None, shares: dict[tuple[int, int], float]) -> StageTotals | None:
    if not attempts:
        return None
    group = Group(list(attempts))

    def whole(what: str) -> int | None:
        known = [value for stage in attempts if (value := stage.known_total(what)) is not None]
        return int(sum(known)) if known else None

    return StageTotals(
        stage=attempts[0].number, attempts=len(attempts), seconds=sum(stage_time(stage).seconds for stage in attempts),
        share_s=sum(shares.get((stage.number, stage.attempt), 0.0) for stage in attempts), tasks=sum(stage.done for stage in attempts),
        task_s=group.total("duration_s"), input_bytes=whole("input_bytes"), shuffle_read_bytes=whole("shuffle_read_bytes"),
        spill_bytes=whole("spill_bytes"), skew=attempts[-1].skew,
    )  # fmt: skip


def _totals(log: EventLog) -> LogTotals:
    group = Group(log.stages, log.cores)
    return LogTotals(
        application=log.application or None, name=log.name or None, spark=log.version or None, cores=log.cores, time=application_row(log),
        stages=len(log.stages), tasks=sum(stage.done for stage in log.stages), task_s=summed(stage.done_tasks.figure(DURATION) for stage in log.stages),
        parts_s=job_time(group).parts_s, input_bytes=int(group.total("input_bytes")), shuffle_read_bytes=int(group.total("shuffle_read_bytes")),
        spill_bytes=int(group.total("spill_bytes")),
    )  # fmt: skip
