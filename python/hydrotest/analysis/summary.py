"""summary.json, rebuilt from a run folder at any time. The schema is contract/summary.schema.json."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import ValidationError

from hydrotest import __version__
from hydrotest.analysis.by_test.doubling import doubling_rows
from hydrotest.analysis.by_test.fault import fault_rows
from hydrotest.analysis.by_test.files import file_rows
from hydrotest.analysis.by_test.groups import group_rows
from hydrotest.analysis.by_test.levels import given_rates, level_rows
from hydrotest.analysis.by_test.nearest import nearest_rows, untold_rows
from hydrotest.analysis.by_test.profile import profile_rows
from hydrotest.analysis.by_test.soak import soak_rows
from hydrotest.analysis.dataflow.rows import dataflow_rows, query_rows, window_rows
from hydrotest.analysis.demand.parts import part_rows
from hydrotest.analysis.demand.rows import demand_rows
from hydrotest.analysis.integrity.reads import Reads, contended_by_workload, reads_by_workload
from hydrotest.analysis.integrity.views import view_accounts
from hydrotest.analysis.limits.curves import curves
from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.headroom import judge_headroom
from hydrotest.analysis.limits.rows import Limits
from hydrotest.analysis.measured import Measured, each_read_once, read_together
from hydrotest.analysis.missing import missing_files
from hydrotest.analysis.resources.before import baseline_of
from hydrotest.analysis.resources.by_host import host_windows, measured_trials, usage_by_test, usage_rows
from hydrotest.analysis.resources.rates import rates_together, read_host_rates, read_speeds
from hydrotest.analysis.spark.bounds import job_rows
from hydrotest.analysis.spark.jobs import batch_rows
from hydrotest.analysis.spark.scaling import scaling_rows
from hydrotest.analysis.spark.speedup import ernest_rows, flow_rows, speedup_rows
from hydrotest.analysis.together.combined import COMBINED_SKIPPED, Together
from hydrotest.analysis.together.starvation import resource_shares, service_shares, starved
from hydrotest.errors import BadInputError
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.store import layout
from hydrotest.store.folder import REBUILT, STARTED, RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import RecordAccounting, Tenancy, Trial
from hydrotest.summary.base import Row
from hydrotest.summary.generator import Generator
from hydrotest.summary.integrity import Integrity, ViewAccount
from hydrotest.summary.limits import Limit
from hydrotest.summary.machine import Host, Overhead, Speed, System
from hydrotest.summary.model import VERSION, FailedTrial, Published, Status, Summary, WarmUp
from hydrotest.summary.together import Together as TogetherRow
from hydrotest.verdicts.binding import BoundBy
from hydrotest.verdicts.problem import NoIsolatedLimit, Noted, OtherThreshold, Problem, Rejudged

R = TypeVar("R", bound=Row)

REJUDGED: tuple[Literal["limit", "high", "stopped_by", "bound_by"], ...] = ("limit", "high", "stopped_by", "bound_by")
ROWS_BEGUN, ROWS_ACCOUNTED = "rows begun", "rows accounted for"
"""Journal entries about a table: rows are written to it from here on; the account of its rows."""
UNKNOWN_ROWS = RecordAccounting(
    unit="rows",
    sent=0,
    acked=0,
    seen=None,
    lost=None,
    duplicated=None,
    corrupted=None,
    out_of_order=None,
    unacked_present=None,
    in_flight=None,
)
"""A table under load that could not be read back."""


@each_read_once()
def summarise_run(run: RunFolder, experiment: Experiment, status: Status, finished: str, *, rejudge: bool = False) -> Summary:
    """Everything in the contract but its texts (see `report/wording`); unknown values are null or an empty
    list.

    Trials of searches count as the run decided at the time; with `rejudge` by today's rules.
    """
    environment = run.environment()
    hosts = environment["hosts"]
    overhead = environment.get("overhead")
    trials = run.trials()
    journal = run.read_journal()
    rates_together(run, trials, [host["name"] for host in hosts[:1]])
    read_together(run, [trial for trial in trials if trial.status == "done"])
    decided = Decided.none() if rejudge else Decided.of(journal)
    limits, combined, limit_rows = _limits(run, experiment, trials, hosts, decided)
    anew = rejudged(_limits(run, experiment, trials, hosts, Decided.of(journal))[-1], limit_rows) if rejudge else []
    interference = [row for together in combined for row in together.interference()]
    batch = batch_rows(run, experiment, trials)
    windows = host_windows(run, trials, hosts)
    # First, since a soak's stretches are its window, too: its logs are read once.
    soak = soak_rows(run, experiment, trials)
    # Starvation is reported for the trials that interference is reported for: those of the search apply more
    # load, and less.
    pressed_together = [trial for trial in trials if trial.status == "done" and trial.purpose == Purpose.TOGETHER]
    shares = resource_shares(run, pressed_together, hosts)
    services = service_shares(run, pressed_together)
    places = {row.workload: experiment.needs(row.workload) for row in interference}
    return Summary(
        schema_version=VERSION,
        experiment=experiment.name,
        run=run.path.name,
        hydrotest=__version__,
        started=journal[0]["at"] if journal else finished,
        finished=finished,
        status=status,
        # Hosts of a later version may have more fields.
        hosts=_rows(Host, hosts, run),
        systems=_rows(System, environment.get("systems", []), run),
        limits=limit_rows,
        levels=level_rows(run, experiment, trials) + [row for together in combined for row in together.all_out_rows()],
        given_rates=given_rates(run, experiment, trials, decided),
        curves=curves(run, experiment, trials),
        interference=interference,
        integrity=integrity_rows(trials, journal, view_accounts(run, trials, journal), contended_by_workload(run, trials, _resumed_after(journal))),
        groups=group_rows(experiment, trials),
        nearest=nearest_rows(run, trials, limit_rows),
        nearest_untold=untold_rows(trials),
        demand=demand_rows(run, experiment, trials),
        parts=part_rows(run, experiment, trials),
        spark=batch.rows,
        jobs=job_rows(limits),
        scaling=scaling_rows(batch.rows),
        speedup=speedup_rows(batch.rows),
        ernest=ernest_rows(batch.rows),
        baseline=baseline_of(run, experiment),
        usage=usage_rows(windows),
        usage_by_test=usage_by_test(experiment, windows),
        generator=generator_rows(run, experiment, trials, limit_rows),
        safe_working_point=next((point for together in combined if (point := together.safe_working_point()) is not None), None),
        hdfs=file_rows(trials, "hdfs"),
        objects=file_rows(trials, "s3"),
        dataflow=dataflow_rows(run, trials),
        executors=flow_rows(limit_rows, experiment),
        queries=query_rows(run, trials),
        windows=window_rows(trials),
        soak=soak,
        faults=fault_rows(run, trials),
        profiles=profile_rows(run, experiment, trials),
        doublings=doubling_rows(run, experiment, trials),
        together=TogetherRow(resources=shares, services=services, starved=starved(interference, shares, services, places)),
        published=None if experiment.published is None else Published(
            source=experiment.published, scale=experiment.lab.scale.cores if experiment.lab is not None else 1.0,
        ),
        problem_causes=[
            *missing_files(run, trials), *anew, *batch.problems, *skipped(journal),
            *(OtherThreshold(name, then, now) for name, (then, now) in decided.other_thresholds().items()),
        ],
        problems=[],
        speed=speed_summary(run, trials, hosts),
        failed_trials=[FailedTrial(trial=t.number, slug=t.slug, reason=t.reason) for t in trials if t.status == "failed"],
        overhead=None if overhead is None else Overhead.model_validate(overhead, extra="ignore"),
        warm_ups=[WarmUp(workload=entry["workload"], seconds=entry["seconds"], settled=entry["settled"])
                     for entry in journal if entry["what"] == "warmed up"],
    )  # fmt: skip


def _resumed_after(journal: list[dict[str, Any]]) -> set[int]:
    """The numbers of trials after which the run was begun again."""
    return {entry["resumed_after"] for entry in journal if entry["what"] == STARTED and entry.get("resumed_after")}


def _rows(model: type[R], given: Iterable[Any], run: RunFolder) -> list[R]:
    """Rows of environment.json. Raises `BadInputError` if one is none."""
    try:
        return [model.model_validate(one, extra="ignore") for one in given]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInputError(
            f"the file is damaged: {place} of a {model.__name__.lower()}: {first['msg']}", REBUILT, file=run.path / layout.ENVIRONMENT
        ) from error


def _limits(
    run: RunFolder, experiment: Experiment, trials: list[Trial], hosts: list[dict[str, Any]], decided: Decided
) -> tuple[Limits, list[Together], list[Limit]]:
    """The limits, alone and together, and all their rows."""
    limits = Limits(run, experiment, trials, hosts, decided)
    rows = limits.rows()
    isolated = {row.workload: row.limit for row in rows if row.limit is not None}
    combined = [Together(run, experiment, trials, isolated, i, decided) for i, _ in experiment.tests_of(Combined)]
    return limits, combined, rows + [row for together in combined for row in together.limit_rows(limits)]


def rejudged(then: Sequence[Limit], now: Sequence[Limit]) -> list[Rejudged]:
    """The limits that differ by today's rules from what the run decided."""
    after = {(row.workload, row.tenancy): row for row in now}
    pairs = [(row, after[row.workload, row.tenancy]) for row in then if (row.workload, row.tenancy) in after]
    return [
        Rejudged(row.workload, row.tenancy, of, before, anew)
        for row, other in pairs
        for of in REJUDGED
        for before, anew in [(_code(getattr(row, of)), _code(getattr(other, of)))]
        if before != anew
    ]


def _code(value: Any) -> Any:
    return str(value.kind) if isinstance(value, BoundBy) else value


def skipped(journal: list[dict[str, Any]]) -> list[Problem]:
    """The combined tests that were skipped."""
    entries = [entry for entry in journal if entry["what"] == COMBINED_SKIPPED]
    return [NoIsolatedLimit(tuple(entry["workloads"])) if "workloads" in entry else Noted(entry["reason"]) for entry in entries]


def integrity_rows(
    trials: list[Trial],
    journal: list[dict[str, Any]],
    views: Mapping[str, list[ViewAccount]] = MappingProxyType({}),
    contended: Mapping[str, int] = MappingProxyType({}),
) -> list[Integrity]:
    """The account of each workload over all its trials, warm-up included. Rows of a table are accounted for
    once, at the end, from the scan in the journal. `views`: the accounts of each workload's views; `contended`: of conditional writes."""
    accounts: dict[tuple[str, Tenancy], list[RecordAccounting]] = defaultdict(list)
    for trial in trials:
        for load in trial.loads:
            if load.fates is not None:
                accounts[load.workload, trial.tenancy].append(load.fates)
    # Each run (a resumed one is another) has its own table, and one account of all that was written to it in
    # any test: they add up. Without an account nothing is known of a table.
    accounted = {entry["keyspace"]: RecordAccounting.model_validate(entry["fates"]) for entry in journal if entry["what"] == ROWS_ACCOUNTED}
    for entry in journal:
        if entry["what"] == ROWS_BEGUN:
            accounts[entry["workload"], "isolated"].append(accounted.get(entry["keyspace"], UNKNOWN_ROWS))
    # A workload's reads, like its table's rows, are accounted for once.
    reads = reads_by_workload(trials)
    nothing = Reads(), list[ViewAccount](), None
    return [
        _integrity_row(
            workload,
            tenancy,
            fates,
            *((reads.get(workload, Reads()), views.get(workload, []), contended.get(workload)) if tenancy == "isolated" else nothing),
        )
        for (workload, tenancy), fates in accounts.items()
    ]


def _integrity_row(workload: str, tenancy: Tenancy, fates: list[RecordAccounting], reads: Reads, views: list[ViewAccount],
                   contended: int | None) -> Integrity:  # fmt: skip
    return Integrity(
        workload=workload, tenancy=tenancy, unit=fates[0].unit, trials=len(fates), sent=sum(one.sent for one in fates),
        acked=sum(one.acked for one in fates), seen=_sum(one.seen for one in fates), lost=_sum(one.lost for one in fates),
        duplicated=_sum(one.duplicated for one in fates), corrupted=_sum(one.corrupted for one in fates),
        out_of_order=_sum(one.out_of_order for one in fates), unacked_present=_sum(one.unacked_present for one in fates),
        in_flight=_sum(one.in_flight for one in fates), checked_reads=reads.checked, missing_reads=reads.missing,
        corrupted_reads=reads.corrupted, unchecked=reads.unchecked, not_applied=reads.not_applied, conditional=reads.conditional,
        contended=contended, views=views,
    )  # fmt: skip


def _sum(values: Iterable[int | None]) -> int | None:
    """None if one of them is unknown."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def generator_rows(run: RunFolder, experiment: Experiment, trials: list[Trial], limits: list[Limit]) -> list[Generator]:
    """Each workload's generator in its last trial at the limit; without one, in its last open-loop trial or
    its last trial."""
    at_limit = {(row.workload, row.tenancy): row.at_limit for row in limits}
    best: dict[tuple[str, Tenancy], tuple[tuple[bool, bool, int], Trial]] = {}
    clock_errors_ms: dict[tuple[str, Tenancy], float] = {}
    for trial in measured_trials(trials):
        for load in trial.loads if trial.purpose != Purpose.ALL_OUT else []:
            key = load.workload, trial.tenancy
            if load.clock_error_s is not None:
                clock_errors_ms[key] = max(load.clock_error_s * 1e3, clock_errors_ms.get(key, 0.0))
            is_open = load.offered is not None
            rank = (is_open and trial.number in at_limit.get(key, ()), is_open, trial.number)
            if load.is_generated and (key not in best or rank > best[key][0]):
                best[key] = rank, trial
    rows = []
    for (workload, tenancy), (_, trial) in best.items():
        measured = Measured.read(run, trial, workload)
        room = judge_headroom(measured, experiment.objective(workload).latencies_ms())
        rows.append(Generator(
            workload=workload, tenancy=tenancy, kind=measured.load.kind, client=measured.load.client,
            cpu_s_per_million=measured.cpu_s_per_million,
            busiest_thread_pct=None if room.busiest_thread is None else room.busiest_thread * 100,
            run_delay_pct=None if room.run_delay is None else room.run_delay * 100,
            wait_p99_ms=room.wait_p99_ms if measured.load.offered is not None else None,
            arrivals_by_kernel=measured.load.outcome.extra.get("arrivals_by_kernel") if measured.load.outcome else None,
            memory_bytes=measured.load.outcome.memory_bytes_max if measured.load.outcome else None,
            has_room=room.has_room, lacks=list(room.lacks), why_not=[], trial=trial.number,
            clock_error_ms=clock_errors_ms.get((workload, tenancy)),
        ))  # fmt: skip
    return rows


STEAL = "steal_cores"


def speed_summary(run: RunFolder, trials: list[Trial], hosts: list[dict[str, Any]]) -> list[Speed]:
    """The speed reference over the whole run, per machine: all local hosts are one."""
    if not hosts:
        return []
    name = hosts[0]["name"]
    speeds, rates = [], []
    for trial in trials:
        speeds.append(read_speeds(run.folder_of(trial), name))
        rates.append(read_host_rates(run.folder_of(trial), name, [STEAL]))
    speeds = [frame for frame in speeds if not frame.is_empty()]
    rates = [frame for frame in rates if not frame.is_empty()]
    if not speeds:
        return []
    values = [float(value) for value in pl.concat(speeds)["speed"].to_list()]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - 1))
    steal = pl.concat([frame[STEAL] for frame in rates]).mean() if rates else None
    steal_pct = steal / hosts[0]["cores"] * 100 if isinstance(steal, float) else None
    return [Speed(machine=name, mean=mean, cv_pct=deviation / mean * 100, steal_pct=steal_pct,
                  unit="fixed computations per CPU-millisecond")]  # fmt: skip
