"""What records cost a broker: requests, records and bytes, of its own partitions and of copies."""

from __future__ import annotations

import math

from hydrotest.analysis.demand.laws.base import Axes, Load, Work
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.kafka_produce import BATCH_BYTES_PER_RECORD, KafkaProduce

NEEDED_COPIES = "min.insync.replicas"
LINGER_S_MIN = 0.0005
"""A batch goes no sooner: so long generators sleep at least."""

LOOKS_PER_LINGER, TICK_S_MIN, TICK_S_MAX = 5.0, 1e-4, 1e-3
"""How often a producer of ours looks for ready batches (rust/kafka/src/producer.rs)."""


def _in_batch(spec: KafkaProduce) -> float:
    """Bytes of a record in a batch."""
    return spec.record_bytes + BATCH_BYTES_PER_RECORD


class ProduceLaw:
    """Of `kafka-produce`. Without keys a batch is filled before the next partition's begins (the sticky partitioner, KIP-480), and goes
    when it is full or `linger` old: so with a schedule each of P producers sends λ ÷ min(N, 1 + λ·linger) batches a second, λ being its
    records a second, N those that fit into a batch. Without a schedule batches are full, and those that are ready for one leader ride in
    one request."""

    axes = Axes(
        numbers={
            "record_size": lambda spec: spec.record_bytes,
            "linger": lambda spec: max(spec.linger, LINGER_S_MIN),
            "batch_size": lambda spec: spec.batch_size,
            "partitions": lambda spec: spec.partitions_in_all,
            "replication": lambda spec: spec.replication,
            "producers": lambda spec: spec.producers_each,
        },
        free=frozenset({"on", "generators", "threads", "kind", "arrivals", "wakes", "topics"}),
    )
    has_groups = True

    def batches(self, spec: KafkaProduce, load: Load) -> float:
        fit = max(1.0, spec.batch_size // _in_batch(spec))
        if load.is_closed or load.rate <= 0:
            return load.rate / fit / load.hosts
        each = load.rate / (spec.producers_each * (spec.generators or 1))
        # Of a key's partition only its own records fill a batch.
        filling = each if spec.key is None else each / spec.partitions_in_all
        return load.rate / min(fit, 1.0 + filling * max(spec.linger, LINGER_S_MIN)) / load.hosts

    def refusal(self, spec: KafkaProduce) -> str | None:
        return next((key for key in ("transactions", "payload") if getattr(spec, key) is not None), None)

    def data_share(self, spec: KafkaProduce) -> float:
        return 1.0

    def kept_share(self, spec: KafkaProduce) -> float:
        return 1.0

    def copies_needed(self, spec: KafkaProduce, system: Kafka) -> int:
        """`min.insync.replicas` of its topics, or of the brokers, which is 1 unless they set it; only writers that wait for all copies
        are refused for fewer."""
        given = spec.topic.get(NEEDED_COPIES, system.config.get(NEEDED_COPIES, 1))
        return int(given) if spec.acks == -1 else 1

    def copies_waited(self, spec: KafkaProduce) -> int:
        """With `acks: all` every copy that is in sync; else its leader."""
        return spec.replication if spec.acks == -1 else 1

    def data_bytes(self, spec: KafkaProduce, hosts: int) -> float:
        return 0.0

    def riders_max(self, spec: KafkaProduce, hosts: int) -> float:
        """Partitions that each broker leads: one batch of each in a request."""
        return max(1.0, spec.partitions_in_all / hosts)

    def work(self, spec: KafkaProduce, load: Load) -> Work:
        most, share = self.riders_max(spec, load.hosts), 1.0
        if load.on_busiest:
            # Leaders are spread evenly, as far as their number can be divided.
            most, mean = math.ceil(spec.partitions_in_all / load.hosts), spec.partitions_in_all / load.hosts
            share = most / mean
        batches, copies = self.batches(spec, load) * share, spec.replication - 1
        requests, records = self._requests(spec, load, batches, most), load.rate / load.hosts * share
        led = records * _in_batch(spec)
        drivers = {"requests": requests, "batches": batches, "records": records, "bytes": led}
        if copies:
            # Each batch is fetched by its followers; those that came in one request are fetched together, by each other broker once at
            # most. A broker follows as much as it leads.
            each = min(load.hosts - 1.0, copies * batches / requests) if requests > 0 else 0.0
            drivers |= {"copied requests": requests * each, "copied bytes": led * copies}
        if load.groups:
            # A fetch waits for records: the first batch of a producer's request ends the one that waits, and the others of that request
            # are in the next. What is fresh is in the page cache, so that no disk is read.
            drivers |= {"served requests": min(batches, 2 * requests) * load.groups, "served bytes": led * load.groups}
        return Work(drivers, into=led * spec.replication, out=led * (copies + load.groups), written=led * spec.replication,
                    clients=led * (1 + load.groups))  # fmt: skip

    def _requests(self, spec: KafkaProduce, load: Load, batches: float, most: float) -> float:
        """Requests a second to a host. By schedule each producer looks for ready batches once a tick: one request takes one of each
        partition."""
        if load.is_closed:
            return batches / float(most**load.ride)
        producers = spec.producers_each * (spec.generators or 1)
        each, tick = batches / producers, min(max(spec.linger / LOOKS_PER_LINGER, TICK_S_MIN), TICK_S_MAX)
        return producers * max(min(each, 1 / tick), math.ceil(each * tick / most) / tick if each * tick > 1 else 0.0)
