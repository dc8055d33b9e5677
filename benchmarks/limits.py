"""Does the interval of a limit hold the limit as often as it claims, and after how many trials? Simulated systems whose limit is known.

Usage: python benchmarks/limits.py [--systems 300] [--precision 0.075] [--budget 60] [--out runs/limits]
Writes OUT/table.md. Twelve kinds of systems (tests/limit_systems.py), each with seeds of its own. Next to hydrotest's search stands
bisection as load testing tools do it: the highest rate of a 10 % grid that holds and the lowest that does not, each failure asked
twice, three times around the answer; its interval is where most of the three ended.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process for each core, not a thread
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.limit_systems import KINDS, SATURATED, Kind, System, searched  # noqa: E402

from hydrotest.verdicts.limit import DRIFT_MIN  # noqa: E402

GRID = 1.1
REPEATS = 3


@dataclass(frozen=True)
class Found:
    """What a search found of one system, as multiples of the true limit; lapse and drift as it states them."""

    trials: int
    value: float
    low: float
    high: float
    lapse: float = math.nan
    drift: float = math.nan


def hydrotest(kind: Kind, seed: int, precision: float, budget: int) -> Found:
    """Carries hydrotest's search out."""
    one = searched(kind, seed, precision, budget)
    estimate = one.limit.estimate
    ends = (math.nan,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
    value, low, high = (end / one.true for end in ends)
    return Found(one.trials, value, low, high, one.limit.lapse.value, one.limit.drifts)


def bisected(kind: Kind, seed: int) -> Found:
    """Bisection of a grid, and three more around the answer."""
    system = System(kind, seed)
    first = _bisect(
        system.holds, math.floor(math.log(0.7 * SATURATED * kind.told) / math.log(GRID)), math.floor(math.log(1.25) / math.log(GRID))
    )
    middle = first[0] if first[0] is not None else first[1] or 0
    ends = [_bisect(system.holds, middle + number % 3 - 1, 1) for number in range(1, REPEATS + 1)]
    held = sorted((one for one, _ in ends if one is not None), reverse=True)
    failed = sorted(one for _, one in ends if one is not None)
    majority = REPEATS // 2 + 1
    low = GRID ** held[majority - 1] / system.limit if len(held) >= majority else math.nan
    high = GRID ** failed[majority - 1] / system.limit if len(failed) >= majority else math.nan
    return Found(system.windows, math.sqrt(low * high), low, high)


def _bisect(holds: Callable[[float], bool], start: int, stride: int) -> tuple[int | None, int | None]:
    """The highest step of the grid that held, the lowest that did not; at most 60 windows."""
    held: int | None = None
    failed: int | None = None
    step = start
    for _ in range(30):
        if holds(GRID**step) or holds(GRID**step):
            held = step
        else:
            failed = step
        if held is not None and failed is not None:
            if failed - held <= 1:
                break
            step = (held + failed) // 2
            continue
        step = max(1, step + stride if failed is None else step - stride)
        stride *= 2
    return held, failed


def summed_up(found: Sequence[Found], kind: Kind) -> list[str]:
    """Cells of the table."""
    known = [one for one in found if not math.isnan(one.value)]
    errors = sorted(abs(math.log(one.value)) for one in known)
    covered = sum(one.low <= 1 <= one.high for one in known) / len(found)
    lapse = [abs(one.lapse - kind.lapse) for one in known if not math.isnan(one.lapse)]
    drift = [one.drift >= DRIFT_MIN for one in known if not math.isnan(one.drift)]
    return [
        f"{statistics.mean(one.trials for one in found):.1f}", f"{covered:.0%}",
        f"{statistics.median(errors):.1%} / {errors[int(0.9 * len(errors))]:.1%}" if errors else "–",
        f"{statistics.median(lapse):.2f}" if lapse else "–", f"{statistics.mean(drift):.0%}" if drift else "–",
    ]  # fmt: skip


def main() -> None:
    """Simulates, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=300)
    parser.add_argument("--precision", type=float, default=0.075)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("runs/limits"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    heads = ["systems", "search", "trials", "interval holds the limit", "error, median / 90th", "lapse, median error", "said to drift"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    with ProcessPoolExecutor() as pool:
        for name, kind in KINDS.items():
            ours = partial(hydrotest, kind, precision=options.precision, budget=options.budget)
            for search, run in (("posterior", ours), ("bisection", partial(bisected, kind))):
                found = list(pool.map(run, range(options.systems), chunksize=5))
                lines.append(f"| {' | '.join([name, search, *summed_up(found, kind)])} |")
                print(lines[-1], flush=True)
    (options.out / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
