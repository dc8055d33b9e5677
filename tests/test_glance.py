"""What one sees first: which card, chip and action a run leads to, and that it fits a screen."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from hydrotest.analysis.summary import summarise_run
from hydrotest.cli import main
from hydrotest.report.doubts import not_valid
from hydrotest.report.glance.actions import ACTIONS_MAX, actions_of
from hydrotest.report.glance.cards import cards_of
from hydrotest.report.glance.chips import account_chip, bound_chip
from hydrotest.report.glance.model import Look
from hydrotest.report.glance.of_run import glance
from hydrotest.report.glance.together import together_of
from hydrotest.report.sections import QUESTIONS, Section
from hydrotest.report.sheets import sheets
from hydrotest.report.terminal import LINES_MAX, print_glance
from hydrotest.report.wording.summary import worded
from hydrotest.summary.integrity import Integrity
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.verdicts.binding import BoundBy, Kind, Near, Nearest, Next, Role, SqueezeRow
from hydrotest.verdicts.causes import NearCeiling, NoRoom
from hydrotest.verdicts.figures import Usage
from hydrotest.verdicts.trial import Lack, Lacking
from tests.rows import a, summary_of
from tests.synthetic import SyntheticRun

KINDS = {"ingest": "kafka-produce"}
PROVEN = BoundBy(
    Kind.RESOURCE, host="broker", resource="network", confirmed=True, binds=("broker",), basis="squeeze",
    squeezed=(SqueezeRow(("broker",), "network", 0.5, Role.BINDS, 1.0, 0.9, 1.1, 5, ()),),
    next=Next(Kind.UNKNOWN, None, None, None, 2.0, 92.0, 85.0, 99.0, None, True),
)  # fmt: skip
SUSPECTED = BoundBy(Kind.RESOURCE, (NearCeiling((Usage("here", "cpu", 0.93, 0.0),)),), host="here", resource="cpu")


def limit(**given: object) -> Limit:
    fields = {"workload": "ingest", "kind": "kafka-produce", "tenancy": "isolated", "unit": "records/s", "limit": 8_000.0, "low": 7_000.0, "high": 9_000.0,
              "interval": "90 % credible", "objective": {"p99_ms": 50.0}, "latency_ms": {"p99": 20.0, "p50": 2.0}, "valid": True, "bound_by": PROVEN}  # fmt: skip
    return a(Limit, **{**fields, **given})


def account(**given: object) -> Integrity:
    return a(Integrity, **{"workload": "ingest", "tenancy": "isolated", "acked": 1_000, "sent": 1_000, "seen": 1_000, "lost": 0, **given})


@pytest.fixture
def made(tmp_path: Path) -> SyntheticRun:
    run = SyntheticRun(tmp_path)
    run.search()
    return run


@pytest.mark.parametrize(("bound", "look", "figure"), [
    (PROVEN, Look.PROVEN, "fell 50 %"),
    (SUSPECTED, Look.SUSPECTED, "93%"),
    (BoundBy(Kind.GENERATOR, (NoRoom((Lack(Lacking.THREAD, 0.97, 0.8),)),)), Look.SUSPECTED, "97%"),
    (BoundBy(Kind.UNKNOWN, nearest=(Nearest(Near.USE, "here", "cpu", 0.6, 0.85, 0.7, False),)), Look.UNKNOWN, "60%"),
    (BoundBy(Kind.UNDECIDED), Look.UNKNOWN, ""),
    (BoundBy(Kind.UNDECIDED, (NearCeiling((Usage("a", "cpu", 0.9, 0.0), Usage("a", "network", 0.9, 0.0))),)), Look.UNKNOWN, "undecided"),
])  # fmt: skip
def test_what_binds_has_one_of_three_looks_and_a_figure(bound: BoundBy, look: Look, figure: str) -> None:
    chip = bound_chip(bound)
    assert chip.look is look
    assert figure in chip.figure


def test_an_account_is_good_bad_or_not_known() -> None:
    known, lost, wrong, unknown, odd = account(), account(lost=3), account(corrupted_reads=2), account(lost=None), account(out_of_order=7)
    looks = [
        chip.look
        for rows in ([known], [known, lost], [wrong], [unknown], [known, odd], [known, unknown])
        if (chip := account_chip(rows)) is not None
    ]
    assert looks == [Look.GOOD, Look.BAD, Look.BAD, Look.UNKNOWN, Look.ODD, Look.ODD]
    assert account_chip([]) is None


def test_a_card_has_limit_interval_latency_and_account() -> None:
    [card] = cards_of(summary_of(limits=[limit()], integrity=[account()]), KINDS)
    assert card.span is not None
    assert (card.span.low, card.span.value, card.span.high) == (7_000.0, 8_000.0, 9_000.0)
    assert card.gauge is not None
    assert (card.gauge.value_ms, card.gauge.bound_ms, card.gauge.is_held) == (20.0, 50.0, True)
    assert card.account is not None
    assert not card.is_missed


def test_a_workload_without_a_limit_is_missed() -> None:
    [card] = cards_of(summary_of(limits=[limit(limit=None, low=None, high=None, bound_by=BoundBy(Kind.UNKNOWN))]), KINDS)
    assert card.is_missed
    assert card.span is None


def test_what_was_lost_comes_first_then_what_was_measured() -> None:
    actions = actions_of(summary_of(limits=[limit()], integrity=[account(lost=3)]))
    assert [action.section for action in actions] == [Section.INTEGRITY, Section.BOTTLENECKS]
    assert "+92 %" in actions[1].gain


def test_no_more_than_three_actions_each_once() -> None:
    rows = [limit(workload=f"w{number}", bound_by=SUSPECTED) for number in range(9)]
    doubts = [{"workload": f"w{number}", "seconds": 8.0, "settled": False} for number in range(9)]
    actions = actions_of(summary_of(limits=rows, integrity=[account(workload=f"w{n}", lost=1) for n in range(9)], warm_ups=doubts))
    assert len(actions) == ACTIONS_MAX
    assert len({action.what for action in actions}) == ACTIONS_MAX


def test_together_shows_what_is_left_of_each() -> None:
    point = {"fraction": 0.25, "low": 0.2, "high": 0.3, "confidence": 0.9, "rates": {"ingest": 2_000.0}, "first": "ingest"}
    found = together_of(summary_of(limits=[limit(), limit(tenancy="combined", limit=3_000.0)], safe_working_point=point))
    assert found is not None
    [pair] = found.pairs
    assert (pair.share, pair.own) == (0.25, 3_000.0)
    assert together_of(summary_of(limits=[limit()])) is None


def test_what_is_said_of_several_in_the_same_words_is_said_once() -> None:
    doubts = [{"workload": name, "seconds": 8.0, "settled": False} for name in ("a", "b", "c")]
    assert len(not_valid(summary_of(warm_ups=doubts))) == 1


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_answers_fit_a_screen(width: int, count: int) -> None:
    kinds = {f"workload-{number}": "kafka-produce" for number in range(count)}
    rows = [limit(workload=name, bound_by=SUSPECTED) for name in kinds]
    doubts = [{"workload": name, "seconds": float(number), "settled": False} for number, name in enumerate(kinds)]
    summary = summary_of(experiment="fits", limits=rows, integrity=[account(workload=name) for name in kinds], warm_ups=doubts)
    out = io.StringIO()
    print_glance(summary, kinds, Console(file=out, width=width), "run", "/somewhere/report.html")
    lines = out.getvalue().splitlines()
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= width
    assert "workload-0" in out.getvalue()
    assert "/somewhere/report.html" in out.getvalue()


def test_every_sentence_of_the_answers_is_short(made: SyntheticRun) -> None:
    summary = worded(summarise_run(made.folder, made.experiment, "complete", "now"))
    found = glance(summary, KINDS)
    sentences = [note for card in found.cards for note in card.notes] + [action.what for action in found.actions]
    sentences += list(found.together.sentences) if found.together else []
    assert sentences
    assert max(len(sentence.split()) for sentence in sentences) <= 25


def test_each_question_has_its_tables(made: SyntheticRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(QUESTIONS) == set(Section)
    for section in Section:
        assert main(["show", str(made.folder.path), section]) == 0
        assert QUESTIONS[section] in capsys.readouterr().out


def test_all_is_all_tables(made: SyntheticRun, capsys: pytest.CaptureFixture[str]) -> None:
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    assert main(["show", str(made.folder.path), "all"]) == 0
    out = capsys.readouterr().out
    assert all(sheet.title in out for sheet in sheets(summary, KINDS))


def test_an_unknown_question_is_an_error(made: SyntheticRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(made.folder.path), "speed"]) == 2
    assert "limits" in capsys.readouterr().err


def test_a_run_of_nothing_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SyntheticRun(tmp_path).folder.path)]) == 0
    assert capsys.readouterr().out


def test_a_summary_without_anything_has_no_cards() -> None:
    empty: Summary = summary_of()
    assert not glance(empty, KINDS).cards


def test_a_ceiling_of_which_more_was_used_is_a_doubt() -> None:
    def near(share: float) -> Limit:
        return limit(bound_by=BoundBy(Kind.UNDECIDED, (NearCeiling((Usage("here", "network", share, 0.0),)),)))

    assert not_valid(summary_of(limits=[near(1.05)])) == []
    assert len(not_valid(summary_of(limits=[near(1.5)]))) == 1


def test_of_a_pipeline_the_slowest_and_worst_end_counts() -> None:
    step = {"workload": "flow", "acked": 100, "arrived_once": 100, "hop": "save", "records_per_s": 9.0}
    slow = {**step, "sink": "kafka", "latency_ms": {"p99": 700.0}}
    level = {"workload": "flow", "tenancy": "isolated", "accepted": False, "client": "native"}
    [card] = cards_of(summary_of(dataflow=[slow, {**step, "sink": "hdfs", "latency_ms": None}], levels=[level]), {"flow": "dataflow"})
    assert card.gauge is not None
    assert card.gauge.value_ms == 700.0
    assert card.is_missed


def test_of_a_fault_the_latency_meanwhile_counts() -> None:
    load = {"workload": "ingest", "recovery": {"without_progress_s": 3.9, "longest_stall_s": 3.9, "recovered_s": 4.2, "caught_up_s": 0.1},
            "latency_ms": {"before": {"p99": 7.0}, "during": {"p99": 4_000.0}, "after": None}}  # fmt: skip
    [card] = cards_of(summary_of(faults=[{"service": "kafka-0", "action": "pause", "workloads": [load]}]), KINDS)
    assert card.gauge is not None
    assert card.gauge.value_ms == 4_000.0


def test_all_that_a_squeeze_could_prove_is_one_action() -> None:
    rows = [limit(workload=name, bound_by=SUSPECTED) for name in ("a", "b")]
    assert [action.section for action in actions_of(summary_of(limits=rows))] == [Section.BOTTLENECKS]
