"""What the reads of Cassandra workloads found: summed, shown, and held against the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args
from unittest.mock import AsyncMock, Mock

import pytest

from hydrotest.analysis.integrity.reads import Reads, contended_by_workload, reads_of
from hydrotest.analysis.summary import ROWS_ACCOUNTED, ROWS_BEGUN, UNKNOWN_ROWS, integrity_rows
from hydrotest.report.missed_objectives import missed
from hydrotest.report.narrative import integrity_sentence
from hydrotest.report.unchecked import WHAT, WHY, conditional_sheet, reads_sentences, unchecked_sheet
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.statement import verb
from hydrotest.store.folder import RunFolder
from hydrotest.store.merging import merged_load
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Counts, Load, Outcome, Trial
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.summary.integrity import Integrity, Reason, Unchecked
from tests.rows import summary_of


def unchecked(reads: int, absent: int = 0, **more: Any) -> dict[str, Any]:
    return {"statement": "look", "what": "presence", "reason": "deleted", "columns": [], "reads": reads, "absent": absent, **more}


def found(checked: int = 10, missing: int = 0, corrupted: int = 0, rows: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"checked_reads": checked, "missing_reads": missing, "corrupted_reads": corrupted, "unchecked": rows or [],
            "not_applied": {"put": 0}, "answered": {"put": 1, "look": checked}, "acked_keys": [], "attempted_keys": []}  # fmt: skip


def load(extra: dict[str, Any]) -> Load:
    outcome = Outcome(counts=Counts(), started_wall_s=0, ended_wall_s=5, extra=extra)
    return Load(workload="del", kind="cassandra", client="native", offered=100.0, outcome=outcome)


def accounts(*loads: Load) -> list[Integrity]:
    trials = [
        Trial(number=n, slug="level-del", purpose=Purpose.LEVEL, tenancy="isolated", warm_up_s=1, window_s=4, prepared_wall_s=0, ended_wall_s=5,
              status="done", loads=[one])
        for n, one in enumerate(loads)
    ]  # fmt: skip
    journal: list[dict[str, Any]] = [
        {"what": ROWS_BEGUN, "workload": "del", "keyspace": "k"},
        {"what": ROWS_ACCOUNTED, "workload": "del", "keyspace": "k", "fates": UNKNOWN_ROWS.model_dump()},
    ]
    return integrity_rows(trials, journal)


Counted = tuple[list[str], dict[str, list[float]]]


def contended(path: Path, *trials: Counted, resumed_after: Sequence[int] = (), failed: Sequence[int] = ()) -> dict[str, int]:
    """Of trials: the workloads with conditional writes, and what each node had counted when it was asked."""
    run = RunFolder(path)
    made = []
    for number, (workloads, counted) in enumerate(trials):
        loads = [load(found() | {"conditional": ["put"]}).model_copy(update={"workload": name}) for name in workloads] or [load(found())]
        if number in failed:
            loads = [one.model_copy(update={"outcome": None}) for one in loads]
        made.append(
            Trial(number=number, slug="t", purpose=Purpose.LEVEL, tenancy="isolated", warm_up_s=1, window_s=4, prepared_wall_s=0,
                  ended_wall_s=5, status="done", loads=loads)
        )  # fmt: skip
        buffer = SampleBuffer()
        for node, readings in counted.items():
            for at, value in enumerate(readings):
                buffer.add_gauges(10.0 * number + at, {node: {"cassandra_contended_total": value, "other_total": 3.0}})
        buffer.flush(run.folder_of(made[-1]))
    return contended_by_workload(run, made, resumed_after)


def test_writes_that_met_others_are_counted_by_the_nodes(tmp_path: Path) -> None:
    """Two nodes count from what they had before; one of them was started again meanwhile."""
    nodes = {"a": [5.0, 9.0, 1.0, 2.0], "b": [0.0, 2.0]}
    assert contended(tmp_path / "1", (["del"], nodes)) == {"del": 8}
    assert contended(tmp_path / "2", ([], nodes)) == {}
    assert contended(tmp_path / "3", (["del"], {})) == {}


def test_what_nodes_count_between_trials_is_of_those_that_wrote(tmp_path: Path) -> None:
    """Tables are filled sooner than a node is asked; its last count of a trial is not that of its end."""
    before: Counted = [], {"a": [7.0]}
    fill: Counted = ["lwt"], {}
    warm_up: Counted = ["lwt"], {"a": [9.0, 611.0]}
    level: Counted = ["lwt"], {"a": [784.0, 784.0]}
    after: Counted = [], {"a": [790.0, 791.0]}
    assert contended(tmp_path / "1", before, fill, warm_up, level, after) == {"lwt": 783}
    assert contended(tmp_path / "2", fill, warm_up, level) == {"lwt": 775}
    assert contended(tmp_path / "3", before, fill, ([], {"a": [7.0]})) == {"lwt": 0}
    # A trial that failed wrote, too.
    assert contended(tmp_path / "4", before, fill, warm_up, ([], {"a": [650.0]}), failed=[1]) == {"lwt": 643}
    # Nobody was asked after the last write.
    assert contended(tmp_path / "5", before, warm_up, fill) == {}
    # The run was begun again, and the nodes with it, or others wrote meanwhile.
    assert contended(tmp_path / "6", before, warm_up, level, resumed_after=[2]) == {"lwt": 604}
    assert contended(tmp_path / "7", before, fill, level, resumed_after=[2]) == {}


def test_of_two_workloads_that_wrote_at_once_nobody_knows_whose_they_are(tmp_path: Path) -> None:
    one, both = (["one"], {"a": [0.0, 4.0]}), (["one", "other"], {"a": [4.0, 5.0]})
    assert contended(tmp_path / "1", one, both) == {}
    assert contended(tmp_path / "2", one, (["one", "other"], {"a": [4.0, 4.0]})) == {"one": 4, "other": 0}
    # One after the other, without a reading between them.
    assert contended(tmp_path / "3", one, (["other"], {}), (["third"], {"a": [6.0, 8.0]})) == {}
    assert contended(tmp_path / "4", one, (["other"], {"a": [4.0, 6.0]})) == {"one": 4, "other": 2}


def test_what_was_not_checked_is_summed_by_statement_and_reason() -> None:
    static = unchecked(4, what="values", reason="static", columns=["s"])
    first = load(found(rows=[unchecked(10, 3), static, unchecked(0, statement="never")]))
    both = merged_load([first, load(found(rows=[unchecked(20, 5)]))])
    (row,) = accounts(both, load(found(30, rows=[unchecked(30, 7)])))
    assert [one.written() for one in row.unchecked] == [unchecked(60, 15), static]
    assert (row.checked_reads, row.missing_reads, row.corrupted_reads, row.not_applied) == (50, 0, 0, {})


def test_conditional_writes_that_did_not_hold_are_no_writes() -> None:
    (row,) = accounts(load({**found(), "not_applied": {"put": 7}}), load({**found(), "not_applied": {"put": 1}}))
    assert row.not_applied == {"put": 8}
    assert unchecked_sheet(summary_of(integrity=[row])).rows[0][5] == "8"


def test_contention_of_conditional_writes_is_told_by_statement() -> None:
    extra = {**found(), "not_applied": {"put": 30, "other": 0}, "answered": {"put": 100, "other": 5, "look": 10}, "conditional": ["put"]}
    first = load(extra)
    assert first.outcome is not None
    errors = {"put WriteTimeout": 4, "put Unavailable": 1, "other WriteTimeout": 2}
    timed_out = first.model_copy(update={"outcome": first.outcome.model_copy(update={"errors": errors})})
    (row,) = accounts(timed_out, first)
    assert [one.written() for one in row.conditional] == [{"statement": "put", "answered": 200, "not_applied": 60, "timed_out": 4}]
    summary = summary_of(integrity=[row])
    assert conditional_sheet(summary).rows == [["del", "put", "200", "140", "60", "70.0%", "4", "–"]]
    assert unchecked_sheet(summary).rows == []


def test_counts_that_an_older_run_has_not_kept_are_not_known() -> None:
    assert reads_of([{"missing_reads": 1, "corrupted_reads": 2}]) == Reads(None, 1, 2)


def test_flawed_reads_are_held_against_the_run_and_unchecked_ones_are_not() -> None:
    sound = accounts(load(found(rows=[unchecked(10, 10)])))
    assert missed(summary_of(integrity=sound)) == []
    flawed = accounts(load(found(missing=1, corrupted=2)))
    assert len(missed(summary_of(integrity=flawed))) == 2
    assert len(reads_sentences(flawed)) == 1


def test_nothing_is_said_of_what_nobody_could_check() -> None:
    """Neither that no rows were lost, nor that reads were well."""
    rows = accounts(load(found(checked=0, rows=[unchecked(10, what="read", reason="range")])))
    (sentence,) = reads_sentences(rows)
    assert "0" not in sentence
    assert "0" not in integrity_sentence(rows)
    assert reads_sentences(accounts(load(found(checked=0)))) == []
    assert reads_sentences(accounts(load(found(checked=0, rows=[unchecked(10, what="read", reason="nearest")])))) == []


def test_every_reason_has_words() -> None:
    """The codes are the contract's, and those that the generators give (rust/cassandra/src/checks.rs)."""
    assert set(WHY) == set(get_args(Reason))
    assert set(WHAT) == set(get_args(Unchecked.model_fields["what"].annotation))
    source = Path("rust/cassandra/src/checks.rs").read_text()
    names = ["".join(part.capitalize() for part in code.split("_")) for code in WHY]
    assert all(f"    {name},\n" in source for name in names)
    assert source.partition("enum Reason {")[2].partition("}")[0].count(",\n") == len(names)


@pytest.mark.parametrize(
    ("cql", "word"),
    [("select v", "SELECT"), ("-- mine\n INSERT INTO t", "INSERT"), ("/* a\nb */ // c\nupdate t", "UPDATE"), (" -- nothing", ""), ("", "")],
)
def test_a_statement_begins_after_its_comments(cql: str, word: str) -> None:
    assert verb(cql) == word


@pytest.mark.parametrize(("acked", "is_filled"), [([[0, 100]], True), ([[0, 60], [61, 100]], False)])
async def test_rows_are_expected_only_where_each_was_written(acked: list[list[int]], is_filled: bool) -> None:
    spec = CassandraLoad.model_validate({"kind": "cassandra", "mix": {"write": 1, "read": 1}, "keys": "uniform(0, 100)"})
    bench = Mock()
    bench.experiment.workloads = {"store": spec}
    bench.experiment.generator_hosts.return_value = ["here"]
    bench.hosts, bench.systems, bench.run = {"here": Mock()}, {"cassandra": Mock()}, "t"
    bench.systems["cassandra"].cluster.wire.return_value = {}
    bench.runner.claim.return_value = 1
    trial = Mock(status="done")
    trial.load.return_value = load({"acked_keys": acked})
    bench.experiment.systems.present.return_value = {}
    bench.runner.press = AsyncMock(return_value=trial)
    store = Store("store", spec, bench)
    await store._populate()
    pressing = Mock(times=1)
    pressing.load.return_value = {"open": {"rate_per_s": 1.0, "arrivals": "even"}}
    bench.load_settings.return_value = {"model": pressing.load.return_value}
    (generator,) = store.part(2, Mock(), pressing).generators
    assert generator.settings["filled"] is is_filled
