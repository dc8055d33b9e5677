"""A command's cost before it does anything: CPU time (user and system) of `--help`, `check` and `show`,
next to `python -c pass`.

Usage: python benchmarks/startup.py [--rounds 9] [--run runs/quickstart-…] [--out runs/startup]
Writes OUT/table.md. Commands run in rounds whose order is reversed from one to the next; figures are
medians over them. A ratio to `python -c pass` depends less on the machine than seconds do. Without `--run`,
`show` gets a simulated run with as many trials as the quickstart plans, which is made below OUT.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from one_run import users_environment

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "experiments/quickstart.yaml"
TRIAL_S = 10
"""Seconds of a made-up trial: the quickstart's windows and what is cut off before them."""
MOST_S = {"--help": 0.25, "check": 0.6, "show": 1.5}
"""What is aimed at, on two idle cores."""


def made_up_run(base: Path) -> Path:
    """A run's folder with a search and levels behind it, as many trials in all as the quickstart plans."""
    from hydrotest.spec.load import load_experiment  # noqa: PLC0415 - not in the process that measures, unless it is needed
    from hydrotest.spec.plan import make_plan  # noqa: PLC0415

    sys.path.insert(0, str(ROOT))
    from tests.synthetic import SyntheticRun  # noqa: PLC0415

    if not (base / "run").exists():
        made = SyntheticRun(base)
        made.search()
        for _ in range(make_plan(load_experiment(QUICKSTART)[0]).trials - made.number):
            made.trial("level", made.limit / 2, seconds=TRIAL_S)
    return base / "run"


def cpu_s(argv: list[str]) -> float:
    """CPU time of a process and of what it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, env=users_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measures, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/startup"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    run = options.run or made_up_run(options.out / "made-up")
    hydrotest = str(Path(sys.executable).parent / "hydrotest")
    calls = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--help": [hydrotest, "--help"],
        "check": [hydrotest, "check", str(QUICKSTART)],
        "show": [hydrotest, "show", str(run)],
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    for argv in calls.values():
        cpu_s(argv)  # compiles what is imported, and brings it into the page cache
    for number in range(options.rounds):
        for name in calls if number % 2 == 0 else reversed(calls):
            found[name].append(cpu_s(calls[name]))
    nothing = statistics.median(found["python -c pass"])
    lines = ["| command | CPU s | least … most | × `python -c pass` | aimed at |", "|---" * 5 + "|"]
    for name, values in found.items():
        middle = statistics.median(values)
        most = f"≤ {MOST_S[name]} s" if name in MOST_S else ""
        lines.append(f"| `{name}` | {middle:.3f} | {min(values):.3f} … {max(values):.3f} | {middle / nothing:.1f} | {most} |")
    table = "\n".join(lines) + "\n"
    (options.out / "table.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
