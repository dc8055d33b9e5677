"""Passes over files: the numbers of files at once that are tried, and the reports on them."""

from __future__ import annotations

import pytest

from hydrotest.analysis.by_test.files import file_rows, next_at_once, rate_of
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import FilesPass, Load, Trial


def course(rates: dict[int, float], most: int) -> list[int]:
    passes: list[tuple[int, float]] = []
    while (number := next_at_once(passes, most)) is not None:
        passes.append((number, rates[number]))
    return [at_once for at_once, _ in passes]


def test_it_stops_when_twice_as_many_bring_nothing() -> None:
    assert course({1: 100.0, 2: 190.0, 4: 192.0, 8: 400.0}, 8) == [1, 2, 4]


def test_it_never_takes_more_than_there_may_be() -> None:
    assert course({1: 1.0, 2: 2.0, 3: 3.0}, 3) == [1, 2, 3]
    assert course({1: 1.0}, 1) == [1]


def test_repeats_do_not_begin_it_anew() -> None:
    assert next_at_once([(1, 1.0), (2, 2.0), (4, 2.0), (2, 2.5)], 8) is None


def test_the_rate_is_of_all_files_together() -> None:
    done = FilesPass.model_validate(
        {"at_once": 2, "began_wall_s": 0.0, "seconds": 2.0, "files": [{"bytes": 100, "seconds": 2.0, "correct": True}] * 4}
    )
    assert rate_of(done) == 200.0


def test_a_rate_that_is_all_that_was_offered_is_no_limit() -> None:
    files = [{"bytes": 100, "seconds": 1.0, "correct": True}] * 2

    def rows(seconds: float, allowed: float | None) -> list[bool]:
        done = {"at_once": 1, "began_wall_s": 0.0, "seconds": seconds, "files": files, "allowed_bytes_per_s": allowed}
        load = Load.model_validate({"workload": "put", "kind": "hdfs-write", "client": "hadoop", "files": done})
        trial = Trial(number=1, slug="files-put", purpose=Purpose.FILES, tenancy="isolated", warm_up_s=0, window_s=0, prepared_wall_s=0, ended_wall_s=1,
                      status="done", loads=[load])  # fmt: skip
        return [row.is_allowed for row in file_rows([trial], "hdfs")]

    assert rows(2.0, 100.0) == [True]
    assert rows(4.0, 100.0) == [False]
    assert rows(2.0, None) == [False]


def test_operations_of_all_passes_are_one_latency() -> None:
    def trial(number: int, micros: dict[str, int]) -> Trial:
        files = [{"bytes": 100, "seconds": 1.0, "correct": True}]
        done = {"at_once": 1, "began_wall_s": 0.0, "seconds": 1.0, "files": files, "operation_bytes": 10, "operations_us": micros}
        load = Load.model_validate({"workload": "get", "kind": "hdfs-read", "client": "hadoop", "files": {**done, "is_cold": True}})
        return Trial(number=number, slug="files-get", purpose=Purpose.FILES, tenancy="isolated", warm_up_s=0, window_s=0, prepared_wall_s=0,
                     ended_wall_s=1, status="done", loads=[load])  # fmt: skip

    (row,) = file_rows([trial(1, {"1000": 98}), trial(2, {"1000": 1, "50000": 1})], "hdfs")
    assert row.latency_ms is not None
    assert row.latency_ms.p50 == pytest.approx(1.0, rel=0.01)
    assert row.latency_ms.p99 == pytest.approx(1.0, rel=0.01)
    assert row.latency_ms.max == pytest.approx(50.0, rel=0.01)
    assert (row.operation_bytes, row.is_cold, row.is_random) == (10, True, False)
    # A run of before operations were timed.
    (row,) = file_rows([trial(1, {})], "hdfs")
    assert row.latency_ms is None
