"""The JSON Schema of the experiment file: it accepts what the loader accepts, and refuses what editors should mark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import HOSTS, SYSTEMS, TESTS, WORKLOADS
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import SHORT, experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.parts import every_model
from hydrotest.spec.schema import schema

COMMITTED = Path("contract/experiment.schema.json")
EXPERIMENTS = sorted(Path("experiments").glob("*.yaml"))
GOOD = """\
name: good
hosts:
  one: {connect: local, address: 127.0.0.2}
  two: {connect: local}
systems:
  kafka: {hosts: [one, two], heap: 1 GiB, config: {num.io.threads: 4}}
  cassandra: {hosts: [one, two]}
  spark: {master: one, workers: [two]}
workloads:
  ingest: {kind: kafka-produce, partitions: 6, record_size: 100 B, acks: all, compressible: 50 %}
  drain:  {kind: kafka-consume, reads: ingest}
  store:  {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)"}
  own:
    kind: cassandra
    keys: sequential(0, 1K)
    table: CREATE TABLE t (id bigint PRIMARY KEY, note text)
    statements: {put: {cql: "INSERT INTO t (id, note) VALUES (?, ?)", weight: 1}}
    values: {note: 20 B}
  batch:  {kind: spark-perf, tests: [count], scale_factor: 0.05}
objectives:
  ingest: {p99: 50 ms, loss: 0}
tests:
  - isolated: [ingest, drain]
  - levels: {workload: ingest, rates: [100K, 5000], duration: 10 s}
search: {precision: 5 %, window: 6 s, trials: 12}
"""


@pytest.fixture(scope="module")
def editor() -> Draft7Validator:
    """Checks a file as an editor does."""
    rules = json.loads(schema())
    Draft7Validator.check_schema(rules)
    return Draft7Validator(rules)


def value_of(text: str) -> Any:
    return parse_document(text, Path("x.yaml")).value


def loads(text: str) -> bool:
    try:
        experiment_of(parse_document(text, Path("x.yaml")))
    except BadInputError:
        return False
    return True


def test_the_committed_schema_is_the_one_that_the_models_give() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == schema(), "run `make docs`"


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_each_experiment_is_accepted(file: Path, editor: Draft7Validator) -> None:
    assert [f"{list(error.absolute_path)}: {error.message}" for error in editor.iter_errors(value_of(file.read_text()))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: good", "name: good"),
        ("1 GiB", "1.5 GB"),
        ("1 GiB", "1024MiB"),
        ("[one, two], heap", "[one], release: 3.9, heap"),
        ("[one, two], heap", '[one], release: "3.9", heap'),
        ("{num.io.threads: 4}", "{auto.create.topics.enable: false, log.cleaner.enable: /x, some.ratio: 0.5}"),
        ("partitions: 6", 'partitions: "6"'),
        ("partitions: 6", "partitions: 1K"),
        ("record_size: 100 B", 'record_size: "uniform(100 B, 1 KiB)"'),
        ("record_size: 100 B", 'record_size: "gaussian(100 B, 1 KiB, 500 B, 100 B)"'),
        ("acks: all", "acks: 1"),
        ("acks: all", 'acks: "0"'),
        ("acks: all", "acks: -1"),
        ("acks: all", "idempotent: yes"),
        ("acks: all", 'key: "zipf(0, 1M, 1.2)"'),
        ("acks: all", "arrivals: poisson"),
        ("acks: all", "arrivals: bursts(1K)"),
        ("acks: all", "generators: 2"),
        ("acks: all", "on: one"),
        ("acks: all", "on: [one, two]"),
        ("acks: all", "linger: 0.5 ms"),
        ("acks: all", "levels: {info: 8, error: 0.5}"),
        ("acks: all", "headers: {count: 2, size: 10 B}"),
        ("acks: all", "transactions: {every: 100 ms, aborts: 5 %}"),
        ("acks: all", "headers:"),
        ("compressible: 50 %", "compressible: 0"),
        ("compressible: 50 %", "compressible: 0.25"),
        ("table: CREATE TABLE t (id bigint PRIMARY KEY, note text)", 'table: ["CREATE TABLE t (id bigint PRIMARY KEY, note text)"]'),
        ("note: 20 B", 'note: "uniform(5 B, 20 B)", id: row'),
        ("note: 20 B", 'id: "uniform(0, 100)"'),
        ("scale_factor: 0.05", 'scale_factor: "0.05", cores: 2, budget: 1 h'),
        ("p99: 50 ms, loss: 0", "p999: 250us, p50: 1_0 ms, total: 5 min, errors: 3"),
        ("- isolated: [ingest, drain]", "- isolated: {workloads: [ingest], squeeze:}"),
        ("- isolated: [ingest, drain]", "- isolated: [ingest]\n  - combined: [ingest, drain]"),
        ("- isolated: [ingest, drain]", "- combined: {workloads: [ingest], rates: {ingest: 1e3}, pairs: 6}"),
        ("- isolated: [ingest, drain]", "- profile: {workload: ingest, stretches: [{rate: 5K/s, to: 1M, duration: 10 s}]}"),
        ("- isolated: [ingest, drain]", "- soak: {workloads: [ingest, drain], rates: {ingest: 5K}, duration: 1 d}"),
        ("- isolated: [ingest, drain]", "- fault: {workloads: [ingest], rates: {ingest: 5K}, service: kafka-0, action: kill}"),
        (
            "- isolated: [ingest, drain]",
            "- concurrency: {workload: store, counts: [16, 1K]}\n  - saturated: {workload: drain, client: stock}",
        ),
        ("- isolated: [ingest, drain]", "- doubling: {workload: store}"),
        ("rates: [100K, 5000]", "rates: [0.5], verdict: 95 %"),
        ("rates: [100K, 5000]", "rates: [100K], verdict: 0.95, windows: 8"),
        ("precision: 5 %", "precision: 0.05, confidence: 90%"),
        ("search:", "published: packet-2016\nlab:\nsearch:"),
    ],
    ids=lambda text: text[:40],
)
def test_each_way_of_writing_is_accepted(old: str, new: str, editor: Draft7Validator) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    experiment_of(parse_document(text, Path("x.yaml")))
    assert [f"{list(error.absolute_path)}: {error.message}" for error in editor.iter_errors(value_of(text))] == []


def test_machines_and_scales_are_accepted(editor: Draft7Validator) -> None:
    text = GOOD.replace("{connect: local, address: 127.0.0.2}", "{connect: netns, type: big, cores: 0.5}").replace(
        "{connect: local}", "{connect: netns, memory: 6 GB, disk: 100 MB/s, network: 1 Gbit/s}"
    )
    text += "lab: {types: {big: {cores: 4, memory: 128 GB, disk: 500 MB/s, network: 2 Gbit/s}}, scale: {cores: 4.17 %, memory: 5 %, disk: 5 %, network: 5 %}}\n"
    assert loads(text)
    assert editor.is_valid(value_of(text))


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("name: good", "nam: good", ()),
        ("name: good", "", ()),
        ("name: good", "name: a b", ("name",)),
        ("systems:", "systms:", ()),
        ("connect: local}", "connect: carrier-pigeon}", ("hosts", "two", "connect")),
        ("connect: local}", "conect: local}", ("hosts", "two")),
        ("127.0.0.2", "10.0.0.1", ("hosts", "one", "address")),
        ("  two: {", "  two hosts: {", ("hosts",)),
        ("heap: 1 GiB", "heap: 1", ("systems", "kafka")),
        ("heap: 1 GiB", "heep: 1 GiB", ("systems", "kafka")),
        ("kafka: {hosts: [one, two]", "kafka: {hosts: one", ("systems", "kafka")),
        ("kafka: {", "kafca: {", ("systems",)),
        ("kind: kafka-consume", "kind: kafka-comsume", ("workloads", "drain", "kind")),
        ("reads: ingest", "read: ingest", ("workloads", "drain")),
        ("partitions: 6", "partitons: 6", ("workloads", "ingest")),
        ("partitions: 6", "partitions: 6 MB", ("workloads", "ingest", "partitions")),
        ("partitions: 6", "partitions: 0.5", ("workloads", "ingest", "partitions")),
        ("partitions: 6", "partitions: 1000000", ("workloads", "ingest", "partitions")),
        ("record_size: 100 B", "record_size: 100", ("workloads", "ingest", "record_size")),
        ("record_size: 100 B", 'record_size: "zipf(1 B, 5 B)"', ("workloads", "ingest", "record_size")),
        ("acks: all", "acks: some", ("workloads", "ingest", "acks")),
        ('"uniform(0, 100K)"', "100K", ("workloads", "store", "keys")),
        ("tests: [count]", "tests: [cout]", ("workloads", "batch", "tests", 0)),
        ("p99: 50 ms", "p99: 50", ("objectives", "ingest", "p99")),
        ("p99: 50 ms", "p98: 50 ms", ("objectives", "ingest")),
        ("- isolated: [", "- isolatd: [", ("tests", 0)),
        ("- isolated: [ingest, drain]", "- isolated: {workload: ingest}", ("tests", 0, "isolated")),
        ("- isolated: [ingest, drain]", "- isolated: [ingest]\n    combined: [ingest]", ("tests", 0)),
        ("- isolated: [ingest, drain]", "- isolated", ("tests", 0)),
        ("- isolated: [ingest, drain]", "- levels: [ingest]", ("tests", 0, "levels")),
        ("workload: ingest, rates", "rates", ("tests", 1, "levels")),
        ("duration: 10 s", "duraton: 10 s", ("tests", 1, "levels")),
        ("trials: 12", "trials: 3", ("search", "trials")),
        ("precision: 5 %", "precision: five", ("search", "precision")),
    ],
    ids=lambda part: str(part)[:40],
)
def test_what_is_wrong_is_marked_where_it_is(old: str, new: str, path: tuple[str | int, ...], editor: Draft7Validator) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    assert not loads(text)
    found = {tuple(error.absolute_path)[: len(path)] for error in editor.iter_errors(value_of(text))}
    assert found == {path}


def test_an_unknown_key_is_refused_with_the_known_ones(editor: Draft7Validator) -> None:
    """An editor offers `properties` where a key is not allowed."""
    (error,) = editor.iter_errors(value_of(GOOD.replace("partitions: 6", "partitons: 6")))
    model = WORKLOADS["kafka-produce"].model.load()
    assert (error.validator, set(error.schema["properties"])) == ("additionalProperties", set(model.model_fields))


def test_every_key_of_every_model_is_offered_with_its_meaning() -> None:
    rules = json.loads(schema())
    parts = {**rules["$defs"], Experiment.__name__: rules}
    for model in every_model():
        offered = parts[model.__name__]
        assert offered["additionalProperties"] is False
        assert set(offered["properties"]) == set(model.model_fields) - {SHORT}
        for name, field in model.model_fields.items():
            if field.description is not None and name != SHORT:
                assert offered["properties"][name]["description"].startswith(field.description)


def test_every_kind_can_be_chosen() -> None:
    rules = json.loads(schema())
    (hosts,), (workloads,) = (rules["properties"][part]["patternProperties"].values() for part in ("hosts", "workloads"))
    assert hosts["properties"]["connect"]["enum"] == list(HOSTS)
    assert workloads["properties"]["kind"]["enum"] == list(WORKLOADS)
    assert list(rules["$defs"]["Systems"]["properties"]) == list(SYSTEMS)
    tests = rules["properties"]["tests"]["items"]["properties"]
    assert set(tests) == set(TESTS)
    assert {name for name, one in tests.items() if "anyOf" in one} == {name for name, kind in TESTS.items() if kind.is_short}


def test_a_default_is_written_as_in_a_file() -> None:
    search = json.loads(schema())["$defs"]["Search"]["properties"]
    assert search["window"]["description"].endswith("Default: 10 s.")
    assert search["precision"]["description"].endswith("Default: 5%.")
    assert not [name for name, one in search.items() if "default" in one]
