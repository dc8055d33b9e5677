"""The account of a dataflow, on made-up readings of which it is known what was planted."""

from __future__ import annotations

from typing import Any

import pytest

from hydrotest.analysis.dataflow.rows import Found, Step, account, acknowledged, batch_rate
from hydrotest.report.dataflow import promise_sentences, step_sentences
from hydrotest.summary.dataflow import Query
from hydrotest.summary.dataflow import Step as StepRow
from tests.rows import a

PRODUCER = 3 << 16 | 128


def reading(*runs: tuple[int, int], doubled: tuple[tuple[int, int], ...] = (), **flaws: int) -> dict[str, Any]:
    """What a reader found of one producer."""
    part = {"producer": PRODUCER, "runs": list(runs), "doubled": list(doubled), "duplicated": 0, "out_of_order": 0}
    return {"seen": [part], "corrupted": 0, "wrong_branch": 0, **flaws}


ACKED = acknowledged({"acked": [{"producer": PRODUCER, "runs": [[0, 100]], "sent": 100}]})
WHOLE = Found.of([reading((0, 100))])


def test_a_querys_rate_is_between_ends_of_batches() -> None:
    # Ends, lengths, records: a batch may be longer than the window that it ended in.
    batches = [(10.0, 4.0, 400), (14.0, 4.0, 4_000), (20.0, 6.0, 6_000), (41.0, 21.0, 99_000)]
    assert batch_rate(batches, 9.0, 39.0) == pytest.approx(1_000)
    assert batch_rate(batches, 19.0, 21.0) == pytest.approx(1_000)
    assert batch_rate(batches, 21.0, 40.0) is None


def test_all_arrived_once() -> None:
    steps = [Step("input", None, WHOLE, None), Step("splitter", None, Found.of([reading((0, 60)), reading((60, 100))]), 0),
             Step("persister", "kafka", WHOLE, 1)]  # fmt: skip
    for hop in account(ACKED, steps, drained=True):
        assert (hop.acked, hop.arrived_once, hop.arrived_more, hop.lost, hop.in_flight) == (100, 100, 0, 0, 0)


def test_a_loss_is_pinned_to_the_step_where_it_happened() -> None:
    split = Found.of([reading((0, 40), (50, 100))])
    steps = [
        Step("input", None, WHOLE, None),
        Step("splitter", None, split, 0),
        Step("persister", "kafka", Found.of([reading((0, 40), (50, 99))]), 1),
    ]
    first, second, third = account(ACKED, steps, drained=True)
    assert (first.lost, second.lost, third.lost) == (0, 10, 11)
    assert (second.lost_here, third.lost_here) == (10, 1)
    assert third.missing == [(PRODUCER, 40, 50), (PRODUCER, 99, 100)]


def test_a_double_is_seen_within_a_part_and_across_parts() -> None:
    split = Found.of([reading((0, 60), doubled=((5, 7),)), reading((58, 100))])
    assert split.doubled == {PRODUCER: [(5, 7), (58, 60)]}
    steps = [Step("input", None, WHOLE, None), Step("splitter", None, split, 0), Step("persister", "kafka", split, 1)]
    _, second, third = account(ACKED, steps, drained=True)
    assert (second.arrived_once, second.arrived_more, second.doubled_here) == (96, 4, 4)
    assert (third.arrived_more, third.doubled_here) == (4, 0)


def test_what_a_step_has_not_come_to_is_in_flight_and_stays_so_behind_it() -> None:
    split = Found.of([reading((0, 80))])
    steps = [
        Step("input", None, WHOLE, None),
        Step("splitter", None, split, 0),
        Step("persister", "kafka", Found.of([reading((0, 70))]), 1),
    ]
    first, second, third = account(ACKED, steps, drained=False)
    assert (first.in_flight, second.in_flight, third.in_flight) == (0, 20, 30)
    assert (second.lost, third.lost) == (0, 0)


def test_flaws_are_added_up() -> None:
    found = Found.of([reading((0, 10), corrupted=1, wrong_branch=2), reading((10, 20), corrupted=3, out_of_order=4)])
    assert (found.corrupted, found.wrong_branch, found.out_of_order) == (4, 2, 4)


def test_what_was_never_acknowledged_does_not_count() -> None:
    steps = [Step("input", None, Found.of([reading((0, 150), doubled=((120, 130),))]), None)]
    (hop,) = account(ACKED, steps, drained=True)
    assert (hop.arrived_once, hop.arrived_more, hop.lost) == (100, 0, 0)


def test_the_slowest_step_is_told_where_most_was_offered() -> None:
    def query(name: str, offered: float, median: float | None, purpose: str = "search") -> Query:
        return a(
            Query,
            **{
                "workload": "flow",
                "tenancy": "isolated",
                "purpose": purpose,
                "offered": offered,
                "query": name,
                "batch_s_median": median,
                "work_pct": 95.0,
            },
        )

    rows = [
        query("splitter", 1e3, 9.0),
        query("splitter", 4e3, 2.0),
        query("persist-info-kafka", 4e3, 6.0),
        query("persist-error-kafka", 4e3, None),
    ]
    (told,) = step_sentences(rows)
    assert told.startswith(
        "Of flow's steps persist-info-kafka is the slowest where most was offered: 6.0 s a batch (median), of which 95 %"
    )
    assert step_sentences([query("splitter", 1e3, 9.0, "level"), query("persist-info-kafka", 1e3, 8.0, "level")]) == []


def promised(**row: Any) -> str:
    """The text for a sink `cassandra` with this row behind a complete input and splitter."""
    whole = {"workload": "flow", "acked": 1_000, "lost": 0, "arrived_more": 0, "in_flight": 0, "wrong_branch": 0, "lost_here": 0, "doubled_here": 0, "fault": None,
             "fault_action": None, "fault_service": None,
             "promise": None, "sink": None}  # fmt: skip
    steps = [
        a(StepRow, **whole | {"hop": "input"}),
        a(StepRow, **whole | {"hop": "splitter"}),
        a(StepRow, **whole | {"hop": "persister", "sink": "cassandra", "promise": "at least once"} | row),
    ]
    (sentence,) = promise_sentences(steps)
    return sentence


def test_a_promise_that_did_not_hold_is_said_to_with_what_a_killed_node_forgets() -> None:
    assert promised() == "flow → cassandra: no loss and no duplicate seen in 1,000 acknowledged records; its engine promises at least once."
    lost = promised(lost=34, lost_here=34, fault="pause cassandra-0", fault_action="pause", fault_service="cassandra-0")
    assert "34 lost" in lost
    assert lost.endswith("its engine promises at least once, which did NOT hold.")
    assert "commitlog_sync: batch" in promised(
        lost=34, lost_here=34, fault="kill cassandra-0", fault_action="kill", fault_service="cassandra-0"
    )
    assert "commitlog_sync" not in promised(fault="kill cassandra-0", fault_action="kill", fault_service="cassandra-0")
