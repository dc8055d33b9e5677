"""What operations cost a node: as their coordinator, and as a replica."""

from __future__ import annotations

from hydrotest.analysis.demand.laws.base import Axes, Load, Work
from hydrotest.spec.cassandra import CassandraLoad

NEEDED = {"ANY": 1, "ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3}


def asked(consistency: str, copies: int) -> int:
    """Replicas that a read asks."""
    if consistency in NEEDED:
        return min(NEEDED[consistency], copies)
    return copies if consistency == "ALL" else copies // 2 + 1


class MixLaw:
    """Of `cassandra` with a `mix`. A coordinator sends a write to every replica, and a read to as many as its level needs."""

    axes = Axes(
        numbers={
            "replication": lambda spec: spec.copies,
            "consistency": lambda spec: asked(spec.consistency, spec.copies),
            "mix": lambda spec: 1.0 + (spec.mix.write_share if spec.mix else 0.0),
            "row": lambda spec: spec.operation_bytes,
            "keys": lambda spec: spec.keys.size,
        },
        parts={"keys": lambda spec: spec.keys.shape},
        free=frozenset({"on", "generators", "threads", "kind", "arrivals", "wakes", "timeout", "tick", "columns", "column_size"}),
    )
    has_groups = False

    def batches(self, spec: CassandraLoad, load: Load) -> float:
        return load.rate / load.hosts

    def riders_max(self, spec: CassandraLoad, hosts: int) -> float:
        return 1.0

    def data_share(self, spec: CassandraLoad) -> float:
        return 0.5  # the other half is the commit log

    def kept_share(self, spec: CassandraLoad) -> float:
        return 0.0

    def copies_needed(self, spec: CassandraLoad, system: object) -> int:
        return asked(spec.consistency, spec.copies)

    def copies_waited(self, spec: CassandraLoad) -> int:
        return asked(spec.consistency, spec.copies)

    def data_bytes(self, spec: CassandraLoad, hosts: int) -> float:
        return spec.rows_before * spec.operation_bytes * spec.copies / hosts

    def refusal(self, spec: CassandraLoad) -> str | None:
        return "statements" if spec.statements else None

    def work(self, spec: CassandraLoad, load: Load) -> Work:
        share = 0.0 if spec.mix is None else spec.mix.write_share
        each, row = load.rate / load.hosts, spec.operation_bytes
        writes, reads = each * share, each * (1 - share)
        copies, read_by = spec.copies, asked(spec.consistency, spec.copies)
        # The coordinator is any node: it is a replica itself in this share of the cases.
        own = min(1.0, copies / load.hosts)
        # What a coordinator asks of others goes through messages and threads on both sides, and that it asks at all costs most of that:
        # seen, a read of all three replicas costs four to seven times as much as one of its own, and a read of two nearly as much as of three.
        remote = max(0.0, read_by - own)
        drivers = {"writes": writes, "reads": reads, "replica writes": writes * copies, "replica reads": reads * read_by,
                   "remote writes": writes * (copies - own), "remote reads": reads * remote, "reads that wait": reads * min(1.0, remote),
                   "written bytes": writes * copies * row, "read bytes": reads * row}  # fmt: skip
        if writes and reads:
            # Reads of rows that are being written cost both more than each alone: seen, a third less of 1:3 than from pure reads and
            # writes. Of the forms that grow with the load alone and vanish for a pure one, this is the simplest.
            drivers["reads while writing"] = 1 / (1 / (writes * copies) + 1 / (reads * read_by))
        sent_on, fetched = writes * row * (copies - own), reads * row * (1 - own)
        return Work(drivers, into=writes * row + sent_on + fetched, out=reads * row + sent_on + fetched, written=2 * writes * copies * row,
                    clients=each * row)  # fmt: skip
