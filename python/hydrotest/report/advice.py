"""What to do about what binds: the resource to buy or the setting to change, each with its source."""

from __future__ import annotations

from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.kinds.registry import SYSTEMS, WORKLOADS
from hydrotest.report.bounds import full_inside
from hydrotest.summary.limits import Job, Limit
from hydrotest.verdicts.binding import Kind

SPARK = "https://spark.apache.org/docs/latest/"


def advice(row: Limit | Job) -> str | None:
    """Advice for a limit whose binding resource is proven, or that a limit inside the system seems to set;
    None otherwise, or without general advice."""
    bound = row.bound_by
    if bound.kind == Kind.GENERATOR and bound.confirmed:
        hosts = " and ".join(bound.binds)
        return f"What to do: give {hosts}, on which only generators run, more of it, or take further hosts for them (`on`): this limit is not the system's."
    if bound.kind == Kind.GENERATOR:
        return "What to do: raise `generators` or `threads` of this workload, or run it on a host without services (`on`): this limit is not the system's."
    if bound.kind == Kind.SYSTEM:
        stated = {f"`{line.setting}`: {line.remedy} ({line.source})": None for line in inside(bound.evidence)}
        return f"What to do: {'; '.join(stated)}." if stated else None
    if not bound.confirmed or bound.resource is None:
        return None
    if set(bound.binds).isdisjoint(row.workers if isinstance(row, Job) else bound.binds):
        hosts = " and ".join(bound.binds)
        return f"What to do: give {hosts}, where no tasks run but the driver or the master, more of it, or put them elsewhere ({SPARK}cluster-overview.html)."
    kind = WORKLOADS[row.kind]
    own = kind.advice
    general = SYSTEMS[kind.system].advice if kind.system is not None else {}
    full = {line.setting for line in full_inside(row)}
    short = next((setting for setting in ("heap", "memory") if setting in full and setting in general), bound.resource)
    found = own.get(short, general.get(short))
    return None if found is None else f"What to do: {found[0]} ({found[1]})."
