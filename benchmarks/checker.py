"""The cost of accounting for very many records: one topic is filled at the highest rate, then every record
of it is read back and checked. Reports the checker's memory and time.

Usage: python benchmarks/checker.py [--seconds 120] [--out runs/checker]
Writes OUT/table.md. At 3 M records a second the default is more than 300 M records, and about 6 GB of disk
while it runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from one_run import summary_of

from hydrotest.store.folder import RunFolder

EXPERIMENT = """\
name: checker
hosts:
  here: {{connect: local}}
systems:
  kafka: {{hosts: [here], heap: 2 GiB}}
workloads:
  tiny: {{kind: kafka-produce, record_size: 10 B, batch_size: 256 KiB, threads: 2}}
tests:
  - saturated: {{workload: tiny, duration: {seconds:g} s}}
warm_up: {{least: 16 s, most: 48 s}}
"""


def main() -> None:
    """Runs, reads the journal, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--out", type=Path, default=Path("runs/checker"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file, folder = options.out / "checker.yaml", options.out / "run"
    if not folder.exists():
        file.write_text(EXPERIMENT.format(seconds=options.seconds))
    summary = summary_of(file, folder)
    (fates,) = summary["integrity"]
    account = max((e for e in RunFolder.open(folder).read_journal() if e["what"] == "records accounted for"), key=lambda e: e["seen"])
    text = "| records | lost | doubled | corrupted | out of order | checked in s | records/s checked | checker's memory |\n|---|---|---|---|---|---|---|---|\n"
    text += (
        f"| {account['seen']:,} | {fates['lost']} | {fates['duplicated']} | {fates['corrupted']} | {fates['out_of_order']} | {account['seconds']:.1f} "
        f"| {account['seen'] / account['seconds']:,.0f} | {account['memory_bytes'] / 1e6:.1f} MB |\n"
    )
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
