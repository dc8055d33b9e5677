"""A card for each workload: from its limit, or from the test that measured it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hydrotest.report.glance.chips import account_chip, bound_chip
from hydrotest.report.glance.model import Card, Chip, Gauge, Span
from hydrotest.report.sections import Section
from hydrotest.spec.workload import catches_up
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes, show_count, show_duration, show_rate
from hydrotest.verdicts.binding import Kind
from hydrotest.verdicts.limit import DRIFT_MIN, RateVerdict

ROOM = 1.15
"""A bar's scale goes on for so long behind the interval."""


Bounds = Mapping[str, float]
"""The bound of each percentile, milliseconds, by its name (`p99`)."""
Objectives = Mapping[str, Bounds]
"""Of each workload."""


def cards_of(summary: Summary, kinds: Mapping[str, str], objectives: Objectives | None = None) -> list[Card]:
    """One for each workload of which something was measured, in the order of the experiment. `objectives` are for what is not a
    limit, which has its own."""
    makers: tuple[Callable[[Summary, str, str, Bounds], Card | None], ...] = (
        _of_limit, _of_jobs, _of_given_rate, _of_soak, _of_dataflow, _of_profile, _of_fault, _of_levels, _of_files, _of_interference,
    )  # fmt: skip
    found = ((make(summary, name, kind, (objectives or {}).get(name, {})) for make in makers) for name, kind in kinds.items())
    return [card for one in found if (card := next(filter(None, one), None)) is not None]


def _account(summary: Summary, workload: str) -> Chip | None:
    return account_chip([row for row in summary.integrity if row.workload == workload])


def gauge_of(latency: Latency | None, bounds: Bounds) -> Gauge | None:
    """The latency that the objective bounds, p99 first; p99 without one."""
    if latency is None:
        return None
    name = next((one for one in ("p99", "p999", "p95", "p50") if one in bounds), next(iter(bounds), "p99"))
    value = latency.get(name)
    return None if value is None else Gauge(PERCENTILE.get(name, name), value, bounds.get(name))


def _bounds_of(row: Limit) -> dict[str, float]:
    return {name.removesuffix("_ms"): bound for name, bound in row.objective.items() if name.endswith("_ms") and bound is not None}


PERCENTILE = {"p999": "p99.9", "p50": "median"}


def _of_limit(summary: Summary, workload: str, kind: str, _bounds: Bounds) -> Card | None:
    rows = [row for row in summary.limits if row.workload == workload]
    row = next((one for one in rows if one.tenancy == "isolated"), None)
    if row is None:
        return None
    if row.limit is None:
        why = row.invalid_because[0] if row.invalid_because else "Nothing was sustained."
        return Card(workload, kind, "limit", "none found", "", notes=[f"{why[:1].upper()}{why[1:].rstrip('.')}."], gauge=gauge_of(row.latency_ms, _bounds_of(row)),
                    bound=bound_chip(row.bound_by), account=_account(summary, workload), is_missed=True)  # fmt: skip
    measure = "as fast as it can" if catches_up(row.kind) else "limit"
    is_open = row.precise is False or (row.drift or 0.0) >= DRIFT_MIN
    return Card(
        workload, kind, measure, f"{'≥ ' if row.at_least else ''}{show_rate(row.limit)}", row.unit, safe=_safe(row), notes=_limit_notes(row), span=_span(row),
        gauge=gauge_of(row.latency_ms, _bounds_of(row)), bound=bound_chip(row.bound_by), account=_account(summary, workload), curve=row.chances,
        at_least=row.at_least, is_provisional=is_open and not row.at_least,
    )  # fmt: skip


def _safe(row: Limit) -> str:
    """The rate at which nearly all windows hold."""
    if row.safe is None or row.confidence is None or row.at_least:
        return ""
    return f"Safe: {show_rate(row.safe)} ({row.confidence:.0%} of the windows hold)."


def _limit_notes(row: Limit) -> list[str]:
    notes = []
    if row.low is not None and row.high is not None:
        sure = {"90 % credible": "90 % sure: ", "95 %": "95 % sure: "}.get(row.interval, "")
        notes.append(f"{sure}{show_rate(row.low)} to {show_rate(row.high)}.")
    if row.at_least:
        notes.append("Our own generator ended the search." if row.bound_by.kind is Kind.GENERATOR else "No higher rate failed.")
    elif row.lapse is not None and row.confidence is not None:
        notes.append(
            "Half of the windows hold there."
            if row.safe is not None
            else f"Half of the windows hold there; {row.lapse.share:.0%} fail at any rate."
        )
    return notes


def _span(row: Limit) -> Span | None:
    if row.limit is None or row.low is None or row.high is None:
        return None
    return Span(row.low, row.high, row.limit, max(row.high * ROOM, row.saturated or 0.0), row.safe)


def _of_jobs(summary: Summary, workload: str, kind: str, _bounds: Bounds) -> Card | None:
    rows = [row for row in summary.spark if row.workload == workload and row.tenancy == "isolated"]
    rows = rows or [row for row in summary.spark if row.workload == workload]
    if not rows:
        return None
    row = max(rows, key=lambda one: one.total_s)
    job = next((one for one in summary.jobs if one.workload == workload), None)
    others = [f"{one.test} takes {show_rate(one.total_s)} s." for one in rows if one is not row][:1]
    interval = (
        [f"Mean {show_rate(row.total_s_low)} to {show_rate(row.total_s_high)} s, 95 % sure."]
        if row.total_s_low is not None and row.total_s_high is not None
        else []
    )
    missed = any(one.accepted is False or not one.finished for one in rows)
    return Card(workload, kind, f"median time of {row.test}", show_rate(row.total_s), "s", notes=[*interval, *others][:2],
                bound=None if job is None else bound_chip(job.bound_by), account=_account(summary, workload), section=Section.SPARK,
                is_missed=missed)  # fmt: skip


def _of_given_rate(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    rows = [row for row in summary.given_rates if row.workload == workload]
    if not rows:
        return None
    held = [row for row in rows if row.verdict is RateVerdict.HOLDS]
    row = max(held or rows, key=lambda one: one.offered)
    level = next((one for one in summary.levels if one.trial == row.trials[-1] and one.workload == workload), None)
    gauge = None if level is None else gauge_of(level.latency_ms, bounds)
    return Card(workload, kind, {"holds": "holds", "fails": "does not hold", "unknown": "may hold"}[row.verdict], show_rate(row.offered), "/s",
                notes=[f"{row.held} of {row.windows} windows held, {row.probability:.1%} sure."], gauge=gauge, account=_account(summary, workload),
                section=Section.TRIALS, is_missed=len(held) < len(rows))  # fmt: skip


def _of_soak(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    for soak in summary.soak:
        for load in soak.workloads:
            if load.workload == workload:
                missed = f"{len(load.missed_at_s)} of {len(load.buckets)} stretches missed the latency." if load.buckets else ""
                held = "held" if load.accepted else "not held" if load.accepted is False else "ran"
                return Card(workload, kind, f"{held} for {show_duration(soak.seconds)}", show_rate(load.offered or load.achieved), "/s",
                            notes=[missed] if missed else [], gauge=gauge_of(load.latency_ms, bounds), account=_account(summary, workload),
                            section=Section.TRIALS, is_missed=load.accepted is False)  # fmt: skip
    return None


def _of_dataflow(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    steps = [step for step in summary.dataflow if step.workload == workload]
    if not steps:
        return None
    # Of several ends the worst counts: each has to deliver.
    timed = [step for step in steps if step.latency_ms is not None and step.latency_ms.p99 is not None]
    slowest = max(timed, key=lambda step: (step.latency_ms or Latency()).p99 or 0.0, default=None)
    last = min(reversed(steps), key=lambda step: step.arrived_once / step.acked if step.acked else 1.0)
    judged = [row for row in summary.levels if row.workload == workload and row.accepted is not None]
    failed = sum(row.accepted is False for row in judged)
    notes = [f"{last.arrived_once:,} of {last.acked:,} records arrived once at {last.sink or last.hop}."]
    notes += [f"{failed} of {len(judged)} levels not held."] if failed else []
    return Card(workload, kind, "through the pipeline", show_rate(last.records_per_s), "records/s", notes=notes,
                gauge=gauge_of(None if slowest is None else slowest.latency_ms, bounds),
                account=_account(summary, workload), section=Section.DATAFLOW, is_missed=last.lost > 0 or failed > 0)  # fmt: skip


def _of_profile(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    row = next((one for one in summary.profiles if one.workload == workload), None)
    known = [
        (one.latency_ms.p99, one) for one in (row.stretches if row else []) if one.latency_ms is not None and one.latency_ms.p99 is not None
    ]
    if not known:
        return None
    _, worst = max(known, key=lambda one: one[0])
    return Card(workload, kind, "at a changing rate", show_rate(max(worst.rate, worst.end_rate)), "/s at the worst",
                notes=[f"From second {worst.from_s:.0f} to {worst.to_s:.0f}."], gauge=gauge_of(worst.latency_ms, bounds), account=_account(summary, workload),
                section=Section.TRIALS)  # fmt: skip


def _of_fault(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    found = [
        (load, fault) for fault in summary.faults for load in fault.workloads if load.workload == workload and load.recovery is not None
    ]
    if not found:
        return None
    load, fault = max(found, key=lambda one: one[0].recovery.without_progress_s if one[0].recovery else 0.0)
    recovery = load.recovery
    assert recovery is not None
    back = "Not back as before in time." if recovery.recovered_s is None else f"Back as before after {recovery.recovered_s:.1f} s."
    before, during = (gauge_of(phase, bounds) for phase in (load.latency_ms.before, load.latency_ms.during))
    back += "" if before is None else f" {before.name} {before.value_ms:.1f} ms before."
    return Card(workload, kind, f"without progress: {fault.action} of {fault.service}", f"{recovery.without_progress_s:.1f}", "s", notes=[back],
                gauge=None if during is None else replace(during, name=f"{during.name} during it"), account=_account(summary, workload), section=Section.TRIALS,
                is_missed=recovery.recovered_s is None)  # fmt: skip


def _of_levels(summary: Summary, workload: str, kind: str, bounds: Bounds) -> Card | None:
    rows = [row for row in summary.levels if row.workload == workload and row.op in (None, "mix")]
    if not rows:
        return None
    row = max(rows, key=lambda one: one.achieved)
    judged = [one for one in rows if one.accepted is not None]
    held = sum(one.accepted is True for one in judged)
    is_alone = len(rows) == 1
    notes = [f"{held} of {len(judged)} levels held."] if judged else [] if is_alone else [f"The highest of {len(rows)}."]
    return Card(workload, kind, "at its one level" if is_alone else "highest level", show_rate(row.achieved), "/s", notes=notes, gauge=gauge_of(row.latency_ms, bounds),
                account=_account(summary, workload), section=Section.TRIALS, is_missed=held < len(judged))  # fmt: skip


def _of_files(summary: Summary, workload: str, kind: str, _bounds: Bounds) -> Card | None:
    things = "objects" if any(row.workload == workload for row in summary.objects) else "files"
    rows = [row for row in (*summary.hdfs, *summary.objects) if row.workload == workload]
    if not rows:
        return None
    row = max(rows, key=lambda one: one.bytes_per_s)
    notes = [f"With {show_count(row.at_once, things[:-1])} at once."]
    if failed := sum(sum(one.errors.values()) for one in rows):
        notes.append(f"{show_count(failed, 'operation')} failed.")
    if row.is_allowed:
        notes.append("As much as `most` allows; there may be more.")
    return Card(workload, kind, f"{row.op}s {things}", *_per_second(row.bytes_per_s), notes=notes,
                account=_account(summary, workload), section=Section.LIMITS)  # fmt: skip


def _per_second(bytes_per_s: float) -> tuple[str, str]:
    """A figure, and its unit."""
    figure, _, unit = show_bytes(bytes_per_s).partition(" ")
    return figure, f"{unit}/s"


def _of_interference(summary: Summary, workload: str, kind: str, _bounds: Bounds) -> Card | None:
    row = next((one for one in summary.interference if one.workload == workload and one.metric == "achieved"), None)
    if row is None:
        return None
    return Card(workload, kind, "next to the others", show_rate(row.combined), "/s", notes=[f"Alone {show_rate(row.isolated)}."],
                account=_account(summary, workload), section=Section.TOGETHER)  # fmt: skip
