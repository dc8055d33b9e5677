"""CQL workloads of NoSQLBench become experiments that `check` accepts. They are written anew, from the shape of its baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hydrotest.imports.nosqlbench import import_nosqlbench
from hydrotest.imports.nosqlbench_bindings import Made, made_of
from hydrotest.imports.note import Fate, Why
from hydrotest.imports.stress_rows import ROWS_MAX
from tests.imported import HERE, accepted, notes_of, written

KEYVALUE = """\
description: key-value
scenarios:
  default:
    main: run driver=cql tags==block:main-.* cycles=TEMPLATE(main-cycles,10000000) threads=auto
bindings:
  seq_key: Mod(TEMPLATE(keycount,1000000000)); ToString() -> String
blocks:
  schema:
    ops:
      create-keyspace: {raw: "create keyspace if not exists TEMPLATE(keyspace,baselines) WITH replication = {'class': 'SimpleStrategy'};"}
      create-table: {raw: "create table if not exists TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key text, value text, PRIMARY KEY (key));"}
  rampup:
    ops:
      insert: {prepared: "insert into TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key, value) values ({seq_key},{seq_value});"}
  main-read:
    params: {ratio: 5}
    ops:
      select: {prepared: "select * from TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) where key={rw_key};"}
  main-write:
    params: {ratio: 5}
    ops:
      insert: {prepared: "insert into TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key, value) values ({rw_key}, {rw_value});"}
"""


def test_a_baseline_of_nosqlbench(tmp_path: Path) -> None:
    made = import_nosqlbench(written(tmp_path, "cql-keyvalue.yaml", KEYVALUE), HERE)
    accepted(made)
    store = made.experiment["workloads"]["store"]
    assert store["table"] == ["CREATE TABLE keyvalue (key text, value text, PRIMARY KEY (key))"]
    assert store["statements"]["main-read-select"] == {"cql": "select * from keyvalue where key=?", "weight": 5.0}
    assert store["populate"] == "rampup-insert"
    assert notes_of(made, "bindings: seq_key") == {(Fate.KEPT, None)}


def test_templates_and_parameters_of_nosqlbench(tmp_path: Path) -> None:
    text = KEYVALUE.replace(
        "ratio: 5}\n    ops:\n      select", "ratio: TEMPLATE(reads,3), cl: LOCAL_QUORUM, idempotent: true}\n    ops:\n      select"
    )
    text += '  schema-astra:\n    ops:\n      create-table: {raw: "create table keyvalue (key text, value text, PRIMARY KEY (key))"}\n'
    made = import_nosqlbench(written(tmp_path, "k.yaml", text), HERE)
    store = made.experiment["workloads"]["store"]
    assert (store["consistency"], store["statements"]["main-read-select"]["weight"], len(store["table"])) == ("LOCAL_QUORUM", 3.0, 1)
    assert "params: idempotent: True" in {note.said for note in made.notes}
    accepted(made)


SERIES = """\
scenarios:
  default:
    schema: run driver=cql tags==block:schema threads==1 cycles==UNDEF
    rampup: run driver=cql tags==block:rampup cycles===TEMPLATE(rampup-cycles,100000) threads=auto
    main: run driver=cql tags==block:"main.*" cycles===TEMPLATE(main-cycles,10000000) threads=TEMPLATE(main-threads,50)
  astra: {main: run driver=cql cycles=10}
bindings:
  machine: Mod(TEMPLATE(sources,1000)); ToHashedUUID() -> java.util.UUID
  time: Mul(<<speed:100>>L); Div(<<sources:1000>>L); ToJavaInstant()
  written: Mul(100L); Mul(1000L)
  value: Normal(0.0,5.0); Add(100.0) -> double
  station: Div(1000);Mod(100); ToHashedUUID() -> java.util.UUID
  name: HashedLineToString('data/variable_words.txt')
  data: HashedFileExtractToString('data/lorem_ipsum_full.txt',800TEMPLATE(addzeroes,),1200TEMPLATE(addzeroes,))
  limit: Uniform(1,10) -> int
  flag: Mod(7); ToBoolean() -> boolean
  other: Template('{}-{}', Identity(), Hash())
  unused: Identity()
blocks:
  schema:
    ops:
      create: |
        create table if not exists TEMPLATE(keyspace,baselines).TEMPLATE(table,iot) (
          machine UUID, // source
          time timestamp, value double, station uuid, name text, data text, flag boolean, other text, PRIMARY KEY ((machine), time)
        ) WITH CLUSTERING ORDER BY (time DESC)
  schema-astra:
    ops:
      create: create table if not exists baselines.iot (machine UUID, time timestamp, PRIMARY KEY (machine, time));
  rampup:
    params: {instrument: "TEMPLATE(instrument-writes,TEMPLATE(instrument,false))"}
    ops:
      insert: |
        insert into baselines.iot (machine, time, value, station, name, data, flag, other)
        values ({machine}, {time}, {value}, {station}, {name}, {data}, {flag}, {other}) using timestamp {written};
  verify:
    ops:
      look: select * from baselines.iot where machine={machine} and time={time};
  main-read:
    ops:
      look: {prepared: "select * from baselines.iot where machine={machine} limit {limit}"}
  main-batch:
    ops:
      several: {batch: testing, repeat: 5, op_template: {prepared: "insert into baselines.iot (machine) values ({machine})"}}
"""


def test_a_series_and_its_bindings(tmp_path: Path) -> None:
    made = import_nosqlbench(written(tmp_path, "series.yaml", SERIES), HERE)
    accepted(made)
    store = made.experiment["workloads"]["store"]
    assert store["values"] == {
        "machine": "row % 1000", "time": "row", "[timestamp]": "row", "value": "gaussian(80, 121, 100, 5)", "station": {"rows": 1000},
        "name": "uniform(0, 1000)", "data": "uniform(800 B, 1200 B)", "[limit]": "uniform(1, 11)",
    }  # fmt: skip
    assert store["keys"] == "uniform(0, 100000)"
    assert len(store["table"]) == 1
    assert made.experiment["tests"] == [{"concurrency": {"workload": "store", "counts": [50]}}]
    fates = {
        "bindings: machine": (Fate.KEPT, None), "bindings: time": (Fate.CHANGED, Why.NEAREST), "bindings: data": (Fate.KEPT, None),
        "bindings: flag": (Fate.CHANGED, Why.BINDING), "bindings: other": (Fate.CHANGED, Why.BINDING), "bindings: unused": (Fate.CHANGED, Why.FILLED_SO),
        "verify.look": (Fate.LEFT_OUT, Why.VERIFIED), "main-batch.several": (Fate.LEFT_OUT, Why.NO_COUNTERPART),
        "schema-astra.create": (Fate.LEFT_OUT, Why.ONE_TABLE), "scenarios: astra": (Fate.LEFT_OUT, Why.ONE_SCENARIO),
        "scenarios: rampup: cycles": (Fate.KEPT, None), "params: instrument: false": (Fate.LEFT_OUT, Why.CLIENT_SETTING),
    }  # fmt: skip
    assert {said: notes_of(made, said) for said in fates} == {said: {fate} for said, fate in fates.items()}


@pytest.mark.parametrize(
    ("recipe", "made"),
    [
        ("ToString() -> String", Made("row")), ("Mod(1000000000); ToString()", Made("row")), ("Mod(10)", Made("row % 10")), ("Div(50L)", Made({"rows": 50})),
        ("Hash(); Mod(9)", Made("uniform(0, 9)")), ("Hash(); Add(1); Uniform(0,99)->int; ToString() -> String", Made("uniform(0, 100)")),
        ("HashRange(5,9)", Made("uniform(5, 10)")), ("HashRange(9)", Made("uniform(0, 9)")), ("Zipf(1000,1.1) -> long", Made("zipf(0, 1000, 1.1)")),
        ("AlphaNumericString(12)", Made("12 B", is_size=True)), ("Mul(100); Div(10)", Made("row", is_exact=False)),
        ("Normal(0.0,1.0)", Made("gaussian(0, 5, 0, 1)", is_exact=False)),
        ("Normal(-50.0,1.0)", None), ("WeightedStrings('a:5;b:3')", None), ("ElapsedNanoTime(); ToHashedUUID()", None), ("Uniform(9,1)", None), ("((", None),
    ],
)  # fmt: skip
def test_recipes(recipe: str, made: Any) -> None:
    assert made_of(recipe, 1_000_000) == made


def test_keys_of_reads_are_of_rows_that_are_there(tmp_path: Path) -> None:
    """As many as the ramp-up writes, and by the main phase's distribution."""

    def keys(recipe: str) -> tuple[str, set[tuple[Fate, Why | None]]]:
        text = KEYVALUE.replace("  seq_key:", f"  rw_key: {recipe}\n  seq_key:").replace(
            "main: run", "rampup: run cycles=2000\n    main: run"
        )
        made = import_nosqlbench(written(tmp_path, "k.yaml", text), HERE)
        accepted(made)
        return made.experiment["workloads"]["store"]["keys"], notes_of(made, "bindings: rw_key")

    assert keys("Uniform(0,1999)->int; ToString()") == ("uniform(0, 2000)", {(Fate.KEPT, None)})
    assert keys("Uniform(0,1000000000)->int") == ("uniform(0, 2000)", {(Fate.CHANGED, Why.KEYS_FILLED)})
    assert keys("Zipf(5000,1.2) -> long") == ("zipf(0, 2000, 1.2)", {(Fate.CHANGED, Why.KEYS_FILLED)})


def test_rate_and_rows_of_a_scenario(tmp_path: Path) -> None:
    text = SERIES.replace("100000)", "10000000)").replace("threads=TEMPLATE(main-threads,50)", "threads=50 cyclerate=5000,1.1")
    made = import_nosqlbench(written(tmp_path, "s.yaml", text), HERE)
    accepted(made)
    assert made.experiment["tests"] == [{"levels": {"workload": "store", "rates": [5000]}}]
    assert made.experiment["workloads"]["store"]["keys"] == f"uniform(0, {ROWS_MAX})"
    assert notes_of(made, "scenarios: rampup: cycles") == {(Fate.CHANGED, Why.ALL_ROWS)}
    assert notes_of(made, "scenarios: main: threads") == {(Fate.LEFT_OUT, Why.OPEN_LOOP)}


@pytest.mark.parametrize("recipe", ["Mod(abc)", "Hash(); Mod(0)", "Mod(-5)", "Zipf(10,abc)", "Div(1e400)"])
def test_odd_arguments_have_no_counterpart(recipe: str) -> None:
    assert made_of(recipe, 1_000) is None


def test_fractions_are_not_kept() -> None:
    found = made_of("Uniform(0.0,1.0)", 1_000)
    assert found is not None
    assert not found.is_exact
