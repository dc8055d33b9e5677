"""What operations cost a system, as a table."""

from __future__ import annotations

from hydrotest.analysis.demand.body import SOFT_MIN
from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.demand import DriverDemand, Estimate, PartDemand, SystemDemand
from hydrotest.summary.model import Summary


def demand_sheet(summary: Summary) -> Table:
    """A row for each system and workload."""
    rows = [cells for row in summary.demand if row.fixed_cores is not None for cells in _cells(row)]
    columns = ["system", "services", "operation of", "CPU µs each", "90 % sure", "fixed cores", "fixed, 90 % sure", "windows", "error"]
    return Table("What operations cost", columns, rows, lead=("system", "operation of", "CPU µs each", "90 % sure", "fixed cores"))


def _cells(row: SystemDemand) -> list[list[str]]:
    fixed = row.fixed_cores
    assert fixed is not None
    return [
        [row.system, str(row.services), one.workload, decimal(one.cpu_us.value, 2), _interval(one.cpu_us, 2), decimal(fixed.value, 3),
         _interval(fixed, 3), str(row.windows), NONE if row.error is None else f"{row.error:.0%}"]
        for one in row.operations
    ]  # fmt: skip


def _interval(estimate: Estimate, digits: int, scale: float = 1.0) -> str:
    return f"{decimal(estimate.low * scale, digits)} … {decimal(estimate.high * scale, digits)}"


def part_sheet(summary: Summary) -> Table:
    """A row for each part of each pipeline."""
    heads = [
        "pipeline",
        "part",
        "hosts",
        "CPU µs a record",
        "90 % sure",
        "fixed cores of each",
        "fixed, 90 % sure",
        "windows",
        "error",
        "CPU",
    ]
    return Table("What a record costs each part", heads, [_part_cells(row) for row in summary.parts],
                 lead=("pipeline", "part", "CPU µs a record", "90 % sure", "CPU"))  # fmt: skip


def _part_cells(row: PartDemand) -> list[str]:
    each, fixed = row.cpu_us, row.fixed_cores
    return [
        row.workload, row.part, f"{row.hosts:.3g}", *([NONE, NONE] if each is None else [decimal(each.value, 2), _interval(each, 2)]),
        *([NONE, NONE] if fixed is None else [decimal(fixed.value, 3), _interval(fixed, 3)]), str(row.windows),
        NONE if row.error is None else f"{row.error:.0%}", "full, needed or not" if row.is_full else NONE,
    ]  # fmt: skip


SINGLE = {
    "requests": "request", "batches": "batch", "records": "record", "bytes": "byte", "copied requests": "copied request",
    "copied bytes": "copied byte", "served requests": "request of a group", "served bytes": "byte to a group", "reads": "read", "writes": "write",
    "replica reads": "replica read", "replica writes": "replica write",
    "remote reads": "remote read", "remote writes": "remote write", "read bytes": "read byte", "written bytes": "written byte",
    "reads while writing": "read while rows are written", "reads that wait": "read that waits for other nodes",
}  # fmt: skip
"""A driver's name in the singular."""


def driver_sheet(summary: Summary) -> Table:
    """A row for each driver of each law."""
    rows = [cells for row in summary.demand for law in row.drivers for cells in _driver_cells(row.system, law)]
    heads = ["system", "each", "CPU µs", "90 % sure", "of", "windows", "error", "use beyond need"]
    return Table("What drives the CPU of a host", heads, rows, lead=("system", "each", "CPU µs", "90 % sure", "use beyond need"))


def _driver_cells(system: str, law: DriverDemand) -> list[list[str]]:
    about = [
        ", ".join(law.workloads),
        str(law.windows),
        f"{law.error:.0%}",
        f"{law.softness:.0%} of the cores" if law.softness >= SOFT_MIN else NONE,
    ]
    rows = (
        []
        if law.fixed_cores is None
        else [[system, "second, whatever it does", decimal(law.fixed_cores.value * 1e6, 0), _interval(law.fixed_cores, 0, 1e6), *about]]
    )
    for one in law.drivers:
        name = ", with its ".join([SINGLE[one.driver], *([", ".join(one.along)] if one.along else [])])
        rows.append(
            [
                system,
                name,
                *(["not separated", NONE] if one.cpu_us is None else [decimal(one.cpu_us.value, 4), _interval(one.cpu_us, 4)]),
                *about,
            ]
        )
    return rows
