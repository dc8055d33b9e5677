"""How verdicts are scored against planted bottlenecks: benchmarks/verdict_scores.py."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hydrotest.analysis.bottleneck.use import Use
from hydrotest.verdicts.binding import BoundBy, Kind, Role, SqueezeRow
from hydrotest.verdicts.figures import EMULATING_MACHINE


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    yield importlib.import_module("verdict_scores")
    del sys.modules["verdict_scores"], sys.modules["plants"]


def planted(verdicts: Any, **fields: Any) -> Any:
    return verdicts.Plant("it", **fields)


CPU = {"binds": ("cpu", frozenset("ab"))}
INSIDE = {"inside": frozenset(["num.io.threads"])}
CLIENT = {"by_client": True}
PROVEN = BoundBy(Kind.RESOURCE, (), None, "cpu", confirmed=True)


@pytest.mark.parametrize(
    ("plant", "verdict", "named", "settings", "is_none", "word"),
    [
        (CPU, PROVEN, "ab", [], False, "right"),
        (CPU, PROVEN, "a", [], False, "in part"),
        (CPU, PROVEN, "abc", [], False, "wrong"),
        (CPU, PROVEN, "ab", ["heap"], False, "in part"),
        (CPU | {"inside": frozenset(["heap"])}, PROVEN, "ab", ["heap"], False, "right"),
        (CPU | {"inside": frozenset(["heap"])}, PROVEN, "ab", [], False, "in part"),
        (CPU, BoundBy(Kind.UNDECIDED, ()), "", [], False, "undecided"),
        (CPU, BoundBy(Kind.RESOURCE, (), "a", "cpu"), "", [], False, "undecided"),
        (CPU, BoundBy(Kind.RESOURCE, (), "c", "cpu"), "", [], False, "mistaken"),
        (CPU, BoundBy(Kind.RESOURCE, (), "a", "disk"), "", [], False, "mistaken"),
        (CPU, BoundBy(Kind.SYSTEM, ()), "", [], True, "mistaken"),
        (INSIDE, BoundBy(Kind.SYSTEM, ()), "", ["num.io.threads"], True, "right"),
        (INSIDE, BoundBy(Kind.SYSTEM, ()), "", ["num.io.threads"], False, "undecided"),
        (INSIDE | {"may_tell": frozenset(["flush"])}, BoundBy(Kind.SYSTEM, ()), "", ["num.io.threads", "flush"], True, "right"),
        (INSIDE | {"may_tell": frozenset(["flush"])}, BoundBy(Kind.SYSTEM, ()), "", ["flush"], True, "undecided"),
        (INSIDE, BoundBy(Kind.SYSTEM, ()), "", ["heap"], True, "mistaken"),
        ({"inside": frozenset(["one", "other"])}, BoundBy(Kind.SYSTEM, ()), "", ["one"], True, "undecided"),
        (INSIDE, PROVEN, "a", ["num.io.threads"], False, "wrong"),
        ({}, BoundBy(Kind.UNKNOWN, ()), "", [], False, "undecided"),
        ({}, BoundBy(Kind.SYSTEM, ()), "", [], True, "right"),
        ({}, BoundBy(Kind.GENERATOR, ()), "", [], True, "mistaken"),
        (CLIENT, BoundBy(Kind.GENERATOR, ()), "", [], True, "right"),
        (CLIENT, BoundBy(Kind.GENERATOR, ()), "", ["heap"], True, "mistaken"),
        (CLIENT, BoundBy(Kind.GENERATOR, (), "clients", "cpu"), "", [], True, "mistaken"),
        (CLIENT, BoundBy(Kind.SYSTEM, ()), "", [], True, "mistaken"),
        (CLIENT, BoundBy(Kind.UNKNOWN, ()), "", [], False, "undecided"),
        (CLIENT, PROVEN, "a", [], False, "wrong"),
        ({}, BoundBy(Kind.SYSTEM, ()), "", ["heap"], True, "mistaken"),
        ({}, BoundBy(Kind.RESOURCE, (), "a", "cpu"), "", [], False, "mistaken"),
        ({}, PROVEN, "a", [], False, "wrong"),
    ],
)
def test_the_word_for_a_verdict(
    verdicts: Any, plant: dict[str, Any], verdict: BoundBy, named: str, settings: list[str], is_none: bool, word: str
) -> None:
    assert verdicts.score(planted(verdicts, **plant), replace(verdict, binds=tuple(named)), set(settings), is_none=is_none) == word


def test_a_planted_host_that_is_said_not_to_bind_makes_a_verdict_wrong(verdicts: Any) -> None:
    out = SqueezeRow(("b",), "cpu", 0.5, Role.OUT, 0.0, -0.1, 0.1, 3, ())
    for row, word in ((out, "wrong"), (replace(out, resource="disk"), "in part"), (replace(out, role=Role.UNKNOWN), "in part")):
        found = verdicts.score(planted(verdicts, **CPU), replace(PROVEN, binds=("a",), squeezed=(row,)), set(), is_none=False)
        assert found == word


@pytest.mark.parametrize(
    ("plant", "shares", "word"),
    [
        (CPU, {"a": 0.9, "b": 0.85}, "right"),
        (CPU, {"a": 0.9, "b": 0.7}, "in part"),
        (CPU, {"a": 0.9, "c": 0.85}, "wrong"),
        # Users with real machines do not have the one that emulates them.
        (CPU, {"a": 0.9, "b": 0.85, EMULATING_MACHINE: 0.95}, "right"),
        (CPU, {"a": 0.7}, "nothing"),
        (INSIDE, {"a": 0.9}, "wrong"),
        ({}, {"a": 0.7}, "right"),
        (CLIENT, {"a": 0.7}, "nothing"),
    ],
)
def test_the_usual_rule_is_scored_alike(verdicts: Any, plant: dict[str, Any], shares: dict[str, float], word: str) -> None:
    uses = [Use("cpu", host, share, 1.0, "cores") for host, share in shares.items()]
    assert verdicts.usual(uses, planted(verdicts, **plant))[0] == word


def test_the_matrix_tells_another_host_from_the_planted_one(verdicts: Any) -> None:
    plant = planted(verdicts, **CPU)
    for verdict, word, kind in (
        (replace(PROVEN, binds=("a", "b")), "right", "cpu"),
        (replace(PROVEN, binds=("c",)), "wrong", verdicts.ELSEWHERE),
        (replace(PROVEN, resource="disk", binds=("a",)), "wrong", "disk"),
        (BoundBy(Kind.GENERATOR, ()), "mistaken", verdicts.CLIENT),
        (BoundBy(Kind.UNDECIDED, ()), "undecided", "undecided"),
    ):
        assert verdicts.named_kind(word, verdict, plant) == kind
    rows = [
        {"family": "kafka", "plant": plant, "planted_kind": "cpu", "named_kind": kind, "word": word}
        for plant, kind, word in (
            ("one", "cpu", "right"),
            ("one", "undecided", "undecided"),
            ("two", "cpu", "right"),
            ("two", "cpu", "right"),
        )
    ]
    told = "\n".join(verdicts.confusion(rows))
    assert "Cases: right 3 of 4" in told
    assert "Plants, by the worst case of each: right 1 of 2" in told
