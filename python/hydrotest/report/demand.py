"""What operations cost a system, as a table."""

from __future__ import annotations

from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.demand import Estimate, SystemDemand
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


def _interval(estimate: Estimate, digits: int) -> str:
    return f"{decimal(estimate.low, digits)} … {decimal(estimate.high, digits)}"
