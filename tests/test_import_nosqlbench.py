"""CQL workloads of NoSQLBench become experiments that `check` accepts. They are written anew, from the shape of its baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hydrotest.errors import BadInputError
from hydrotest.imports.nosqlbench import _filled, import_nosqlbench
from hydrotest.imports.nosqlbench_bindings import Made, made_of
from hydrotest.imports.nosqlbench_blocks import STATEMENT
from hydrotest.imports.note import Fate, Imported, Why
from hydrotest.imports.stress_rows import ROWS_MAX
from hydrotest.imports.yaml_lines import read_lined
from hydrotest.spec.lines import Path_
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


def leaves(value: Any, place: Path_ = ()) -> Iterator[Path_]:
    """What has nothing below it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not entries:
        yield place
    for key, one in entries:
        yield from leaves(one, (*place, key))


def test_each_line_has_a_note(tmp_path: Path) -> None:
    for text in (KEYVALUE, SERIES, BY_BLOCK):
        path = written(tmp_path, "w.yaml", text)
        told = {note.line for note in import_nosqlbench(path, HERE).notes}
        lined = read_lined(path, "workload", _filled)
        for place in leaves(lined.values):
            # Of an operation, what says how it is sent is in its own note.
            part = next((number for number, key in enumerate(place) if key in (*STATEMENT, "op_template")), len(place))
            assert {lined.line(*place[:end]) for end in range(max(part, 1), len(place) + 1)} & told, place


BY_BLOCK = """\
scenarios:
  default:
    - run driver=cql tags==block:schema
    - rampup: run driver=cql tags==block:rampup cycles=800
    - main: run driver=cql tags==block:main cycles=5000 cyclerate=100
bindings:
  key: Mod(7)
blocks:
  - name: schema
    ops:
      - create: {raw: "create table kv (key bigint, value text, PRIMARY KEY (key))"}
  - name: rampup
    description: fills it
    params: {cl: ONE}
    bindings:
      key: Identity()
      value: AlphaNumericString(20)
    ops:
      - put: {prepared: "insert into kv (key, value) values ({key}, {value})"}
  - name: main
    tags: {phase: main}
    ops:
      - get:
          prepared: "select value from kv where key={key}"
          params: {ratio: 9, cl: QUORUM, instrument: true}
          bindings:
            key: Hash(); Mod(500)
      - {name: put, prepared: "insert into kv (key, value) values ({key}, {value})", ratio: 1, verifier: "v"}
"""


def test_blocks_and_operations_have_bindings_and_settings_of_their_own(tmp_path: Path) -> None:
    made = import_nosqlbench(written(tmp_path, "w.yaml", BY_BLOCK), HERE)
    accepted(made)
    store = made.experiment["workloads"]["store"]
    assert made.experiment["tests"] == [{"levels": {"workload": "store", "rates": [100]}}]
    # Each statement by the bindings in its own scope.
    assert store["keys"] == "uniform(0, 800)"
    assert notes_of(made, "bindings: key: Hash") == {(Fate.CHANGED, Why.KEYS_FILLED)}
    assert notes_of(made, "bindings: key: Identity") == {(Fate.KEPT, None)}
    assert store["values"]["value"] == "20 B"
    assert {name: one["weight"] for name, one in store["statements"].items()} == {"rampup-put": 0, "main-get": 9.0, "main-put": 1.0}
    # The main phase's level counts.
    assert store["consistency"] == "QUORUM"
    assert notes_of(made, "params: cl: ONE") == {(Fate.CHANGED, Why.ONE_LEVEL)}
    assert notes_of(made, "params: cl: QUORUM") == {(Fate.KEPT, None)}
    assert notes_of(made, "params: instrument") == {(Fate.LEFT_OUT, Why.CLIENT_SETTING)}
    assert notes_of(made, "put: verifier") == {(Fate.LEFT_OUT, Why.NO_COUNTERPART)}
    lines = {note.said: note.line for note in made.notes}
    assert (lines["rampup.put"], lines["main.get (ratio 9)"]) == (19, 23)


def of_lines(tmp_path: Path, *lines: str) -> Imported:
    """A workload with a table, and these lines."""
    head = ["blocks:", "  schema:", "    ops:", '      create: {raw: "create table ks.t (k bigint, v text, PRIMARY KEY (k))"}']
    made = import_nosqlbench(written(tmp_path, "w.yaml", "\n".join([*head, *lines, ""])), HERE)
    accepted(made)
    return made


def test_statements_without_names_are_all_there(tmp_path: Path) -> None:
    made = of_lines(
        tmp_path, "  main:", "    ops:", '      - "select v from ks.t where k={k}"', '      - "select k from t where k={k}"',
        '      - a b: "insert into t (k, v) values ({k}, {v})"', '      - a-b: "insert into t (k, v) values ({k}, {v})"',
    )  # fmt: skip
    statements = made.experiment["workloads"]["store"]["statements"]
    assert list(statements) == ["main-op-1", "main-op-2", "main-a-b", "main-a-b-2"]
    assert "ks." not in json.dumps(made.experiment)


def test_what_stands_beside_an_operation_in_a_list_is_its_own(tmp_path: Path) -> None:
    made = of_lines(
        tmp_path, "  main:", "    ratio: 5", "    statements:", "      - get: select v from t where k={k}", "        tags: {kind: read}",
        "        params: {ratio: 4}", "      - put: insert into t (k, v) values ({k}, {v})", "        ratio: 0",
    )  # fmt: skip
    statements = made.experiment["workloads"]["store"]["statements"]
    assert {name: one["weight"] for name, one in statements.items()} == {"main-get": 4.0, "main-put": 0.0}
    assert notes_of(made, "get: tags") == {(Fate.LEFT_OUT, Why.NAME_ONLY)}
    lines = {note.said: note.line for note in made.notes}
    assert (lines["main.get (ratio 4)"], lines["get: tags: {'kind': 'read'}"], lines["params: ratio: 4"], lines["put: ratio: 0"]) == (
        8,
        9,
        10,
        12,
    )


def test_numbers_of_a_scenario_may_have_suffixes(tmp_path: Path) -> None:
    scenario = [
        "scenarios:",
        "  default:",
        "    rampup: run tags=block:rampup cycles===10M",
        "    main: run tags=block:main threads=50 cyclerate=1K,1.1",
    ]
    main = ["  main:", "    ops:", '      get: "select v from t where k={k}"']
    made = of_lines(tmp_path, *main, *scenario)
    assert made.experiment["workloads"]["store"]["keys"] == f"uniform(0, {ROWS_MAX})"
    assert made.experiment["tests"] == [{"levels": {"workload": "store", "rates": [1000]}}]
    half = of_lines(tmp_path, *main, *(line.replace("1K,1.1", "100.5") for line in scenario))
    assert half.experiment["tests"] == [{"levels": {"workload": "store", "rates": [100.5]}}]
    # The first main step counts.
    more = of_lines(tmp_path, *main, *scenario, "    main-more: run tags=block:main threads=9")
    assert more.experiment["tests"] == [{"levels": {"workload": "store", "rates": [1000]}}]
    assert notes_of(more, "scenarios: main-more: threads") == {(Fate.LEFT_OUT, Why.ONE_PHASE)}
    odd = of_lines(tmp_path, *main, *(line.replace("1K,1.1", "fast") for line in scenario))
    assert odd.experiment["tests"] == [{"concurrency": {"workload": "store", "counts": [50]}}]
    assert notes_of(odd, "scenarios: main: cyclerate") == {(Fate.LEFT_OUT, Why.NO_COUNTERPART)}


def test_a_second_insert_of_the_rampup_fills_nothing(tmp_path: Path) -> None:
    put = "insert into t (k, v) values ({k}, {v})"
    made = of_lines(
        tmp_path, "  rampup:", "    ops:", f'      i: "{put}"', f'      j: "{put}"', "  main:", "    ops:", '      get: "select v from t where k={k}"',
        "params: {ratio: 7, prepared: false}",
    )  # fmt: skip
    store = made.experiment["workloads"]["store"]
    assert (store["populate"], store["statements"]["main-get"]["weight"]) == ("rampup-i", 7.0)
    assert notes_of(made, "rampup.j") == {(Fate.CHANGED, Why.ONE_FILLS)}
    assert notes_of(made, "params: ratio") == {(Fate.KEPT, None)}
    rampup = of_lines(
        tmp_path,
        "  rampup:",
        "    params: {ratio: 3}",
        "    ops:",
        f'      i: "{put}"',
        "  main:",
        "    ops:",
        '      get: "select v from t where k={k}"',
    )
    assert notes_of(rampup, "params: ratio") == {(Fate.LEFT_OUT, Why.EACH_ROW_ONCE)}
    assert notes_of(made, "params: prepared") == {(Fate.LEFT_OUT, Why.CLIENT_SETTING)}


def test_types_indexes_and_views_are_made(tmp_path: Path) -> None:
    made = of_lines(
        tmp_path, "  more:", "    ops:", '      type: "create type if not exists ks.pair (a int, b int)"', '      index: "create index on ks.t (v)"',
        '      view: "create materialized view ks.m as select * from ks.t where v is not null and k is not null primary key (v, k)"',
        "  main:", "    ops:", '      get: "select v from t where k={k}"',
    )  # fmt: skip
    tables = made.experiment["workloads"]["store"]["table"]
    assert [one.split()[1].lower() for one in tables] == ["type", "table", "index", "materialized"]
    assert made.experiment["systems"]["cassandra"]["config"] == {"materialized_views_enabled": True}
    assert "ks." not in json.dumps(tables)


def test_templates_may_hold_arrows(tmp_path: Path) -> None:
    made = of_lines(
        tmp_path,
        "  main:",
        "    bindings:",
        "      k: <<keydist:Uniform(0,1000000)->int>>",
        "    ops:",
        '      get: "select v from t where k={k}"',
    )
    assert notes_of(made, "bindings: k: Uniform") == {(Fate.KEPT, None)}


@pytest.mark.parametrize("block", ["[]", "5", "text", "null", "{}", "{ops: }"])
def test_a_block_that_holds_nothing_is_named(block: str, tmp_path: Path) -> None:
    made = of_lines(tmp_path, f"  odd: {block}", "  main:", "    ops:", '      get: "select v from t where k={k}"')
    assert notes_of(made, "blocks: odd") == {(Fate.LEFT_OUT, Why.NOTHING)}


@pytest.mark.parametrize(
    ("line", "number"),
    [("    params: [1]", 6), ("    bindings: text", 6), ("    ratio: abc", 6), ("scenarios: run main", 6), ("scenarios: [run]", 6), ("    tags: phase", None)],
)  # fmt: skip
def test_odd_shapes_are_refused_with_their_line(line: str, number: int | None, tmp_path: Path) -> None:
    main = [
        "  main:",
        *([line] if line.startswith(" ") else []),
        "    ops:",
        '      4: "select v from t where k={k}"',
        "    bindings:" if "bindings" not in line else "#",
    ]
    lines = [*main, *([] if line.startswith(" ") else [line])]
    if number is None:
        of_lines(tmp_path, *lines)
        return
    with pytest.raises(BadInputError) as caught:
        of_lines(tmp_path, *lines)
    assert caught.value.line == (number if line.startswith(" ") else len(lines) + 4)


def test_a_scenario_may_be_one_command(tmp_path: Path) -> None:
    text = (
        BY_BLOCK[: BY_BLOCK.index("    - run")].rstrip()
        + " run driver=cql tags==block:main cyclerate=70\n"
        + BY_BLOCK[BY_BLOCK.index("bindings") :]
    )
    made = import_nosqlbench(written(tmp_path, "w.yaml", text), HERE)
    accepted(made)
    assert made.experiment["tests"] == [{"levels": {"workload": "store", "rates": [70]}}]


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
