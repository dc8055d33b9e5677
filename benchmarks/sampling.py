"""What it costs to look at many hosts: the CPU of the controller and of the samplers, and the controller's memory.

Each host has a hub and a sampler of its own, real ones, on this machine: what the controller takes in is what as many machines
would send. Nothing else runs. Writes OUT/sampling.json, and prints a table.

    python benchmarks/sampling.py [--hosts 1,10,100] [--seconds 60] [--rounds 3] [--out DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

from hydrotest.analysis.resources.rates import read_host_rates
from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.sampling import Sampling


def main() -> None:
    """Measures each number of hosts, the rounds in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="1,10,100")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/sampling"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[int, list[dict[str, float]]] = {}
    for number in range(options.rounds):
        counts = [int(count) for count in options.hosts.split(",")]
        for count in counts if number % 2 == 0 else reversed(counts):
            with tempfile.TemporaryDirectory() as folder:
                found.setdefault(count, []).append(asyncio.run(measured(count, options.seconds, Path(folder))))
            print(number + 1, count, json.dumps(found[count][-1]), flush=True)
    (options.out / "sampling.json").write_text(json.dumps(found, indent=1))
    print("| hosts | controller, % of a core | a sampler with its hub, % of a core | readings |\n|---|---|---|---|")
    for count in sorted(found):
        figures = [statistics.median(one[name] for one in found[count]) for name in ("controller_pct", "sampler_pct", "readings")]
        print(f"| {count} | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.0f} of {count * options.seconds:.0f} |")


async def measured(count: int, seconds: float, folder: Path) -> dict[str, float]:
    """Shares of a core, and how many readings came."""
    hosts = {f"host{number:03}": LocalHost(f"host{number:03}", folder) for number in range(1, count + 1)}
    sampling = Sampling(hosts, Silent(), spill=folder / "spill")
    try:
        await sampling.start()
        await asyncio.sleep(2.0)
        sampling.buffer.flush(folder / "before")
        cpu_s, begun = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        controller = (time.process_time() - cpu_s) / (time.monotonic() - begun)
        sampling.buffer.flush(folder / "measured")
    finally:
        problems = await sampling.stop()
        for host in hosts.values():
            await host.close()
    assert not problems, problems
    rates = [read_host_rates(folder / "measured", name)["sampler_cores"] for name in hosts]
    means = [float(mean) for own in rates if isinstance(mean := own.mean(), float)]
    return {
        "controller_pct": 100 * controller,
        "sampler_pct": 100 * statistics.fmean(means),
        "readings": float(sum(len(own) + 1 for own in rates)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
