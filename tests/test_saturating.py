"""How many operations in flight saturate a ring: tried, where more bring more."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad


@pytest.mark.parametrize(
    ("nodes", "rates", "chosen"),
    [
        (3, {128: 1_139.0, 384: 1_963.0}, 384),
        (3, {128: 4_966.0, 384: None}, 128),  # with more some time out
        (3, {128: 5_000.0, 384: 5_300.0}, 384),
        (3, {128: 5_000.0, 384: 4_000.0}, 128),  # with more less comes
        (3, {128: None, 384: 5_500.0}, 128),
        (1, {}, 128),
        (100, {128: 10_000.0, 4096: 90_000.0}, 4096),
    ],
)
async def test_as_many_are_in_flight_as_all_nodes_have_threads_unless_less_comes(
    nodes: int, rates: dict[int, float | None], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = dict(rates)

    async def rate(_self: Store, in_flight: int) -> float | None:
        return left.pop(in_flight)

    monkeypatch.setattr(Store, "_rate_with", rate)
    spec = CassandraLoad.model_validate({"kind": "cassandra", "mix": {"write": 1, "read": 1}, "keys": "uniform(0, 100)"})
    bench = Mock(run="t", hosts={"here": Mock()}, systems={"cassandra": Mock(hosts=[Mock()] * nodes)})
    bench.experiment.workloads = {"store": spec}
    bench.experiment.generator_hosts.return_value = ["here"]
    bench.experiment.systems.present.return_value = {}
    store = Store("store", spec, bench)
    await store._settle()
    assert not left
    pressing = Mock(times=1)
    pressing.load.return_value = {"closed": {"in_flight": chosen}}
    bench.load_settings.return_value = {"model": pressing.load.return_value}
    bench.systems["cassandra"].cluster.wire.return_value = {}
    store.part(1, Mock(), pressing)
    assert pressing.load.call_args.args[2] == chosen
