"""Distributions of keys, values and sizes: what the file says, what generators get, and what is drawn on average."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hydrotest.cli.commands.run import open_folder
from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.local import LocalHost
from hydrotest.load import kafka
from hydrotest.load.stock import stress_command
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.distribution import Distribution, parse_keys, parse_sizes, show_sizes
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document, read_document
from hydrotest.spec.load import experiment_of, load_experiment
from hydrotest.spec.maker import EXAMPLE, Maker, parse_maker, show_maker
from hydrotest.spec.means import gaussian_mean, zipf_mean
from hydrotest.spec.weibull import mean_above_low, usual_scale


def keys(text: str) -> Distribution:
    found = parse_keys(text)
    assert isinstance(found, Distribution)
    return found


def sizes(value: object) -> Distribution:
    found = parse_sizes(value)
    assert isinstance(found, Distribution)
    return found


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("exp(0, 1M)", {"min": 0, "max": 999_999, "exponent": 1.0, "scale": 999_999 / (math.log(999_999) / 2)}),
        ("exp(10, 1000, 60)", {"min": 10, "max": 999, "exponent": 1.0, "scale": 50.0}),
        ("weibull(1, 1001, 3)", {"min": 1, "max": 1000, "exponent": 3.0, "scale": 999 / (math.log(999) / 2) ** (1 / 3)}),
        ("weibull(0, 1K, 0.5, 2.5)", {"min": 0, "max": 999, "exponent": 0.5, "scale": 2.5}),
    ],
)
def test_skewed_keys(text: str, wire: dict[str, Any]) -> None:
    assert keys(text).wire() == {"shape": "weibull", **{name: pytest.approx(value) for name, value in wire.items()}}


@pytest.mark.parametrize("text", ["zipf(5, 1005, 1.1)", "exp(0, 1K, 30)", "weibull(0, 1K, 2)", "gaussian(0, 100, 30, 5)"])
def test_an_inverted_one_counts_from_its_other_end(text: str) -> None:
    plain, inverted = keys(text), keys(f"~{text}")
    assert inverted.wire() == {"shape": "inverted", "of": plain.wire()}
    assert plain.middle + inverted.middle == pytest.approx(plain.low + plain.high - 1)
    assert plain.middle != pytest.approx(inverted.middle)
    with pytest.raises(ValueError, match="no other end"):
        parse_keys("~sequential(0, 10)")


def test_skewed_sizes_and_values_come_back_as_text() -> None:
    assert show_sizes(sizes("~exp(100 B, 1 KiB, 200 B)")) == "~exp(100, 1024, 200)"
    assert show_sizes(sizes("exp(100 B, 1 KiB, 200 B)")) == "exp(100, 1024, 200)"
    assert show_sizes(sizes("weibull(100 B, 1 KiB, 2, 300 B)")) == "weibull(100, 1024, 2, 300)"
    for text in ("exp(1, 101, 20)", "weibull(0, 101, 2, 30)", "zipf(0, 101, 1.2)", "~zipf(0, 101, 1.2)"):
        maker = parse_maker(text)
        assert isinstance(maker, Maker)
        assert show_maker(maker) == text
    assert parse_maker("exp(10 B, 2000 B)").make == "bytes"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exp(0, 2)", "too narrow"), ("exp(10, 100, 10)", "mean must be above"), ("exp(0, 1K, 5, 6)", "arguments"), ("weibull(0, 1K)", "arguments"),
        ("weibull(0, 1K, 0)", "exponent must be"), ("weibull(0, 1K, 1, 0)", "scale must be"), ("weibull(0, 1K, k)", "not a number"),
    ],
)  # fmt: skip
def test_what_is_no_skewed_distribution_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_keys(text)


@pytest.mark.parametrize(("exponent", "scale"), [(1.0, 3.0), (1.0, 40_000.0), (3.0, 700_000.0), (0.5, 20_000.0), (0.3, 5.0), (2.0, 1e9)])
@pytest.mark.parametrize("span", [1, 5, 9_999, 10_001, 3_000_000])
def test_the_mean_is_the_sum_of_the_closed_form(span: int, exponent: float, scale: float) -> None:
    reached = np.exp(-((np.arange(1, span + 1) / scale) ** exponent))
    assert mean_above_low(span, exponent, scale) == pytest.approx(reached.sum(), rel=1e-6)


def test_the_last_number_of_the_usual_scale_is_as_likely_as_in_cassandra_stress() -> None:
    for span, exponent in ((2, 1.0), (999, 3.0), (10**9, 1.0)):
        assert math.exp(-((span / usual_scale(span, exponent)) ** exponent)) == pytest.approx(span**-0.5)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.2, 2.0, 3.5])
@pytest.mark.parametrize("count", [1, 50, 10_000, 10_001, 2_000_000])
def test_the_mean_of_a_zipf_is_the_sum_of_the_closed_form(count: int, exponent: float) -> None:
    weights = np.arange(1, count + 1, dtype=float) ** -exponent
    expected = (np.arange(1, count + 1) * weights).sum() / weights.sum()
    assert zipf_mean(count, exponent) == pytest.approx(expected, rel=1e-6)
    assert keys(f"zipf(5, {5 + count}, {exponent})").middle == pytest.approx(4 + expected, rel=1e-6)


@pytest.mark.parametrize(("mean", "sd"), [(500.0, 150.0), (100.0, 500.0), (-50.0, 100.0), (1500.0, 200.0), (10.0, 2.0)])
def test_the_mean_of_a_gaussian_is_that_of_what_is_drawn(mean: float, sd: float) -> None:
    """Numbers beyond the range are drawn again: each within has the weight of what is rounded to it."""
    edges = np.array([math.erf((edge - mean) / sd / math.sqrt(2)) for edge in np.arange(9.5, 1001, 1)])
    weights = np.diff(edges)
    expected = (np.arange(10, 1001) * weights).sum() / weights.sum()
    assert gaussian_mean(10, 1000, mean, sd) == pytest.approx(expected, abs=0.1)
    # Where nothing of it is in the range, it is the nearer end.
    assert gaussian_mean(10, 1000, -1e6, 5.0) == 10


def test_what_is_drawn_on_average() -> None:
    drawn = sizes("exp(100 B, 1 MB, 1100 B)")
    # Whole parts are half a byte less than what was drawn.
    assert drawn.middle == pytest.approx(1099.5, abs=0.01)
    assert keys("exp(0, 1M)").middle == pytest.approx(np.exp(-np.arange(1, 1_000_000) * math.log(999_999) / 2 / 999_999).sum(), rel=1e-6)


def test_the_stock_client_draws_the_same_or_refuses() -> None:
    def population(text: str) -> str:
        workload = CassandraLoad.model_validate({"kind": "cassandra", "mix": {"write": 1}, "keys": text})
        argv = stress_command(Path("java"), "cp", "a:1", "k", workload, 5, 4, None, Path("/x")).argv
        return argv[argv.index("-pop") + 1]

    assert population("exp(0, 1M)") == "dist=EXP(1..1000000)"
    assert population("~exp(0, 1M)") == "dist=~EXP(1..1000000)"
    assert population("weibull(0, 1M, 2.5)") == "dist=EXTREME(1..1000000,2.5)"
    for text in ("zipf(0, 1M)", "exp(0, 1M, 10)", "weibull(0, 1M, 2, 10)"):
        with pytest.raises(TrialFailedError, match="cassandra-stress has no"):
            population(text)


def test_sizes_by_weights() -> None:
    drawn = sizes({"weights": {"1 KB": 2, "100 B": 8, "7 B": 0}})
    assert (drawn.low, drawn.high, drawn.middle) == (100, 1001, 280)
    assert drawn.wire() == {"shape": "weights", "values": [[100, 8.0], [1000, 2.0]]}
    assert show_sizes(drawn) == {"weights": {"100 B": 8.0, "1000 B": 2.0}}
    assert sizes(show_sizes(drawn)) == drawn


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"weights": {"100": 1}}, "is not a size"), ({"weights": {"100 B": -1}}, "not a number"), ({"weights": {"100 B": 0}}, "above 0"),
        ({"weights": {"1 kB": 1, "1000 B": 1}}, "twice"), ({"weights": 5}, "is not a distribution"), ({"weight": {}}, "is not a distribution"),
        ({"file": 5}, "is not a path"), ({"weights": {"100 B": "often"}}, "not a number"), ({"weights": {"0 B": 1}}, "above 0"),
    ],
)  # fmt: skip
def test_what_are_no_weights_says_why(value: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_sizes(value)


def test_sizes_and_keys_from_files(tmp_path: Path) -> None:
    """Each as often as it is there; the digest tells one file from another."""
    (tmp_path / "sizes.txt").write_text("100\n2000\r\n\n100\n100\n")
    drawn = sizes({"file": str(tmp_path / "sizes.txt")})
    assert (drawn.weights, drawn.low, drawn.high, drawn.middle) == (((100, 3), (2000, 1)), 100, 2001, 575)
    (tmp_path / "keys.txt").write_text("alice\nbob\nalice\ncéline")
    named = keys_from(tmp_path / "keys.txt")
    assert (named.texts, named.weights, named.size) == (("alice", "bob", "céline"), ((0, 2), (1, 1), (2, 1)), 3)
    assert named.model_dump() == {"file": str(tmp_path / "keys.txt"), "sha256": named.digest}
    workload = KafkaProduce.model_validate(
        {"kind": "kafka-produce", "record_size": {"file": str(tmp_path / "sizes.txt")}, "key": {"file": str(tmp_path / "keys.txt")}}
    )
    assert workload.digests == {"record_size": drawn.digest, "key": named.digest}
    assert (workload.record_bytes, workload.beside_value_bytes) == (575 + (5 + 3 + 5 + 7) / 4, 7)
    (made,) = kafka.producers(
        "w", workload, [LocalHost("here", Path("/tmp"))], Cluster(["a:1"]), "t", 1, {"model": {"closed": {"in_flight": 1}}, "seconds": 1.0}
    )
    records = made.settings["records"]
    assert (records["key_texts"], records["key"]["values"], records["size"]["values"]) == (
        ["alice", "bob", "céline"], [[0, 2.0], [1, 1.0], [2, 1.0]], [[100, 3.0], [2000, 1.0]],
    )  # fmt: skip


def keys_from(file: Path) -> Distribution:
    found = parse_keys({"file": str(file)})
    assert isinstance(found, Distribution)
    return found


TEXT = """\
name: listed
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}, cassandra: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce, record_size: {file: FILE}}
  keyed: {kind: kafka-produce, key: {file: keys.txt}}
  store: {kind: cassandra, mix: {write: 1, read: 1}, keys: {file: keys.txt}}
tests:
  - saturated: {workload: store}
"""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("", "holds no size"),
        ("100\n\n12 kB\n", "line 2 that is not empty: '12 kB'"),
        ("0\n", "is no size"),
        ("9\n", "too small"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    content: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.txt").write_text("alice\nbob\nalice\n")
    if content is not None:
        (tmp_path / "sizes.txt").write_text(content)
    (tmp_path / "x.yaml").write_text(TEXT.replace("FILE", "sizes.txt"))
    with pytest.raises(BadInputError, match=words) as refused:
        load_experiment(tmp_path / "x.yaml")
    assert refused.value.line == 5


def test_a_run_goes_on_with_the_same_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("keys.txt", "alice\nbob\nalice\n"), ("sizes.txt", "100\n200\n")):
        (tmp_path / name).write_text(content)
    (tmp_path / "x.yaml").write_text(TEXT.replace("FILE", "sizes.txt"))
    experiment, _ = load_experiment(tmp_path / "x.yaml")
    store = experiment.workload("store", CassandraLoad)
    assert store is not None
    assert (store.rows_before, store.is_filled_before) == (2, True)
    text = (tmp_path / "x.yaml").read_bytes()
    folder = open_folder(text, experiment, tmp_path / "run", resume=False)
    assert set(json.loads((folder.path / "payloads.json").read_text())) == {"ingest.record_size", "keyed.key", "store.keys"}
    folder.unlock()
    open_folder(text, experiment, tmp_path / "run", resume=True).unlock()
    (tmp_path / "keys.txt").write_text("alice\nbob\nbob\n")
    changed, _ = load_experiment(tmp_path / "x.yaml")
    with pytest.raises(BadInputError, match="other files"):
        open_folder(text, changed, tmp_path / "run", resume=True)
    # What is over is read without them.
    (tmp_path / "keys.txt").unlink()
    gone = experiment_of(read_document(tmp_path / "x.yaml"), opens_files=False)
    assert gone.workloads["store"].rows_before == 1
    stock = TEXT.replace("FILE", "sizes.txt").replace("workload: store", "workload: store, client: stock")
    (tmp_path / "keys.txt").write_text("alice\n")
    (tmp_path / "x.yaml").write_text(stock)
    with pytest.raises(BadInputError, match="draws no keys from a file"):
        load_experiment(tmp_path / "x.yaml")


def test_collections_have_a_count_and_elements() -> None:
    def maker(value: object) -> Maker:
        found = parse_maker(value)
        assert isinstance(found, Maker)
        return found

    tags = maker({"count": 3, "each": "uniform(5 B, 10 B)"})
    assert tags.wire() == {
        "many": {"count": {"shape": "uniform", "min": 3, "max": 3}, "each": {"bytes": {"shape": "uniform", "min": 5, "max": 10}}}
    }
    assert show_maker(tags) == {"count": "uniform(3, 4)", "each": "uniform(5, 10)"}
    assert maker({"each": {"count": "exp(1, 100)"}}).wire()["many"]["each"]["many"]["each"] is None
    assert maker({"count": "uniform(0, 1001)"}).wire() == {"many": {"count": {"shape": "uniform", "min": 0, "max": 1000}, "each": None}}


def test_partitions_and_times_follow_from_the_row() -> None:
    for text, wire in (
        ("row % 1000", {"modulo": 1000}),
        ({"rows": "uniform(10, 11)"}, {"shared": {"shape": "uniform", "min": 10, "max": 10}}),
        ({"rows": "weights"}, None),
    ):
        if wire is None:
            with pytest.raises(ValueError, match="makes no value"):
                parse_maker(text)
            continue
        maker = parse_maker(text)
        assert isinstance(maker, Maker)
        assert (maker.wire(), show_maker(maker)) == (wire, text)
    assert parse_maker("row%1K").divisor == 1000  # type: ignore[attr-defined]
    assert parse_maker({"rows": 10}) == parse_maker({"rows": "uniform(10, 11)"})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("row % 0", "divided by 0"), ("row % x", "not a count"), ({"rows": 0}, "at least one row"), ({"rows": "uniform(0, 5)"}, "at least one row"),
        ({"rows": "5 B"}, "no number of rows"), ({"each": "row % 3"}, "are alike"),
        ({"counts": 3}, "makes no value"), ({"count": "row"}, "no number of elements"), ({"count": "3 B"}, "no number of elements"),
        ({"count": "uniform(0, 2K)"}, "more than 1,000"), ({"each": "row"}, "are alike"), ({"count": -1}, "-1"), ({"each": "sometimes"}, "makes no value"),
    ],
)  # fmt: skip
def test_what_is_no_collection_says_why(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_maker(value)


def test_what_the_messages_and_pages_propose_is_accepted() -> None:
    """Commas part the entries of `{…}`: what has some of its own stands in quotes."""
    page = Path("docs/how-to/shape-rows-and-records.md").read_text()
    proposed = [
        *(one for one in re.findall(r"\{(?:count|rows): [^}…]*\}", page) if "kind" not in one),
        EXAMPLE,
        "{weights: {100 B: 8, 1 KB: 2}}",
    ]
    assert len(proposed) > 4
    for text in proposed:
        value = parse_document(f"one: {text}", Path("page.md")).value["one"]
        found = parse_sizes(value) if "weights" in value else parse_maker(value)
        assert isinstance(found, (Maker, Distribution)), text
