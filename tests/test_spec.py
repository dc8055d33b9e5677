"""Bad experiment files: the error names file, line, what is wrong and what to write; good ones load."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import SYSTEMS, WORKLOADS
from hydrotest.spec.arrivals import parse_arrivals, show_arrivals
from hydrotest.spec.check import check_memory, memory_needed
from hydrotest.spec.distribution import Distribution, parse_keys, parse_sizes
from hydrotest.spec.hosts import LocalHost
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.lines import SHOWN_CHARS_MAX
from hydrotest.spec.load import load_experiment
from hydrotest.spec.maker import Maker, parse_maker
from hydrotest.spec.models import Systems
from hydrotest.spec.parts import every_model, tags
from hydrotest.spec.plan import make_plan
from hydrotest.spec.reference import _sections
from hydrotest.spec.tests.fault import POSSIBLE, Fault

GOOD = """\
name: good
hosts:
  here: {connect: local}
systems:
  kafka: {hosts: [here]}
  cassandra: {hosts: [here]}
workloads:
  ingest: {kind: kafka-produce, partitions: 6, record_size: 100 B}
  drain: {kind: kafka-consume, reads: ingest}
  store: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 1M)"}
objectives:
  ingest: {p99: 50 ms}
tests:
  - isolated: [ingest, drain, store]
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "experiment.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_good_file_loads_and_plans(tmp_path: Path) -> None:
    experiment, _ = load_experiment(write(tmp_path, GOOD))
    plan = make_plan(experiment)
    assert [step.workload for step in plan.steps] == ["ingest", "drain", "store"]
    assert plan.seconds > 0
    assert plan.trials > 10
    assert experiment.objective("ingest").latencies_ms() == {"p99": 50}


@pytest.mark.parametrize("name", sorted(path.name for path in Path("experiments").glob("*.yaml")))
def test_every_experiment_of_the_project_loads(name: str) -> None:
    experiment, _ = load_experiment(Path("experiments") / name)
    assert make_plan(experiment).steps


CASES = {
    "another master": (
        "  kafka: {hosts: [here]}\n",
        "  spark: {master: here, workers: [here], config: {spark.master: 'spark://nowhere:7077'}}\n  kafka: {hosts: [here]}\n",
        5,
        "starts the master itself",
    ),
    "a warm-up that ends before it may": (
        "name: good\n",
        "name: good\nwarm_up: {least: 60 s, most: 20 s}\n",
        2,
        "more than the most",
    ),
    "a broker that listens everywhere": (
        "  kafka: {hosts: [here]}\n",
        "  kafka: {hosts: [here], config: {listeners: 'PLAINTEXT://0.0.0.0:9092'}}\n",
        5,
        "hydrotest sets listeners itself",
    ),
    "Spark without authentication": (
        "  kafka: {hosts: [here]}\n",
        "  spark: {master: here, workers: [here], config: {spark.authenticate: false}}\n  kafka: {hosts: [here]}\n",
        5,
        "by a secret that hydrotest makes for the run",
    ),
    "a secret of Spark that would be in the run folder": (
        "  kafka: {hosts: [here]}\n",
        "  spark: {master: here, workers: [here], config: {spark.authenticate.secret: mine}}\n  kafka: {hosts: [here]}\n",
        5,
        "by a secret that hydrotest makes for the run",
    ),
    "an executor too small for Spark": (
        "  kafka: {hosts: [here]}\n",
        "  spark: {master: here, workers: [here], memory: 256 MiB}\n  kafka: {hosts: [here]}\n",
        5,
        "Spark refuses heaps below 480 MiB",
    ),
    "a missing jar": (
        "  kafka: {hosts: [here]}\n",
        "  spark: {master: here, workers: [here], config: {spark.jars: /nowhere/own.jar}}\n  kafka: {hosts: [here]}\n",
        5,
        "there is no file /nowhere/own.jar",
    ),
    "nothing to squeeze": (
        "isolated: [ingest, drain, store]",
        "isolated: {workloads: [ingest], squeeze: 1 min}",
        14,
        "a share of something",
    ),
    "misspelt key": ("partitions: 6", "partitons: 6", 8, "Did you mean 'partitions'"),
    "unknown key at the top": ("name: good", "name: good\ncolour: red", 2, "unknown key 'colour'"),
    "records too large": ("record_size: 100 B", 'record_size: "uniform(1 KB, 2 MB)"', 8, "larger than brokers take"),
    "records too large for their topic": (
        "record_size: 100 B",
        "record_size: 5 MB, topic: {max.message.bytes: 5000000}",
        8,
        "larger than brokers take",
    ),
    "a size with a unit": ("record_size: 100 B", "record_size: 5 MB, topic: {max.message.bytes: 6 MB}", 8, "without a unit"),
    "a topic that takes too little": (
        "record_size: 100 B",
        "record_size: 5 MB, topic: {max.message.bytes: 2000000}",
        8,
        "or raise max.message.bytes",
    ),
    "records too large for any": (
        "record_size: 100 B",
        "record_size: 200 MB, topic: {max.message.bytes: 900000000}",
        8,
        "at most 100,000,000 B.",
    ),
    "idempotent without all": ("record_size: 100 B", "record_size: 100 B, acks: 1, idempotent: true", 8, "acknowledgement of all"),
    "keys of a stock client": ("record_size: 100 B", 'client: stock, key: "uniform(0, 9)"', 8, "has no key"),
    "no way to arrive": ("record_size: 100 B", "arrivals: weekly", 8, "is not an arrival process"),
    "a burst of nothing": ("record_size: 100 B", '"arrivals": bursts(0)', 8, "at least one operation"),
    "arrivals of a stock client": ("record_size: 100 B", "client: stock, arrivals: poisson", 8, "come evenly"),
    "certificates without encryption": (
        "kafka: {hosts: [here]}",
        "kafka: {hosts: [here], security: {client_certificates: true}}",
        5,
        "when encryption begins",
    ),
    "security that asks for nothing": ("kafka: {hosts: [here]}", "kafka: {hosts: [here], security: {}}", 5, "asks for nothing"),
    "a profile of a consumer": (
        "isolated: [ingest, drain, store]",
        "profile: {workload: drain, stretches: [{rate: 1K, duration: 5 s}]}",
        14,
        "no schedule",
    ),
    "a stretch too short": (
        "isolated: [ingest, drain, store]",
        "profile: {workload: ingest, stretches: [{rate: 1K, duration: 1 s}]}",
        14,
        "too short",
    ),
    "settings beside their test": (
        "- isolated: [ingest, drain, store]",
        "- profile:\n    workload: ingest",
        13,
        "here are `profile`, `workload` (settings need four more spaces",
    ),
    "transactions without acknowledgements": ("record_size: 100 B", "acks: 1, transactions: {}", 8, "is idempotent too"),
    "neither mix nor statements": ("mix: {write: 1, read: 3}, ", "", 10, "neither a mix nor a statement"),
    "both a mix and statements": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, statements: {a: {cql: SELECT}}, ",
        10,
        "weights, and no mix",
    ),
    "statements without a table": ("mix: {write: 1, read: 3}, ", "statements: {a: {cql: SELECT}}, ", 10, "no table for them"),
    "a table that drops": (
        "mix: {write: 1, read: 3}, ",
        "table: DROP TABLE x, statements: {a: {cql: SELECT}}, ",
        10,
        "does not begin with CREATE",
    ),
    "a view where none may be made": (
        "mix: {write: 1, read: 3}, ",
        "table: [CREATE TABLE t (k int PRIMARY KEY), create materialized  view v AS SELECT k FROM t], statements: {a: {cql: SELECT}}, ",
        10,
        "no materialised views",
    ),
    "a blank table": ("mix: {write: 1, read: 3}, ", "table: ' ', statements: {a: {cql: SELECT}}, ", 10, "does not begin with CREATE"),
    "pages of the default table": ("mix: {write: 1, read: 3}, ", "mix: {write: 1}, page_size: 10, ", 10, "there are none"),
    "an unknown data centre": ("mix: {write: 1, read: 3}, ", "mix: {write: 1}, replication: {dc9: 1}, ", 10, "unknown data centre 'dc9'"),
    "more replicas than nodes of a data centre": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, replication: {datacenter1: 2}, ",
        10,
        "needs as many nodes in datacenter1; there are 1",
    ),
    "replicas nowhere": ("mix: {write: 1, read: 3}, ", "mix: {write: 1}, replication: {}, ", 10, "no data centre has a replica"),
    "data centres by a strategy that knows none": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, strategy: SimpleStrategy, replication: {datacenter1: 1}, ",
        10,
        "knows no data centres",
    ),
    "replicas of a data centre by a stock client": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, client: stock, replication: {datacenter1: 1}, ",
        10,
        "a number of replicas",
    ),
    "fewer replicas than a level needs": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, consistency: TWO, replication: {datacenter1: 1}, ",
        10,
        "needs 2 replicas of each row; replication is 1",
    ),
    "more shared numbers than fit": (
        'mix: {write: 1, read: 3}, keys: "uniform(0, 1M)"',
        'table: CREATE, values: {a: {rows: "uniform(1, 3)"}}, statements: {a: {cql: SELECT}}, keys: "uniform(0, 1G)"',
        10,
        "too many to draw",
    ),
    "a batch of reads": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: SELECT, batch: {rows: 2}}}, ",
        10,
        "cannot be in a batch",
    ),
    "a batch of batches": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: BEGIN BATCH, batch: {rows: 2}}}, ",
        10,
        "cannot be in a batch",
    ),
    "a batch without rows": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: INSERT, batch: {rows: 0}}}, ",
        10,
        "must be above 0",
    ),
    "a serial level without conditions": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, serial_consistency: SERIAL, statements: {a: {cql: \"INSERT INTO t (k) VALUES ('IF') -- IF\"}}, ",
        10,
        "no statement has a condition",
    ),
    "a serial level of the default table": (
        "mix: {write: 1, read: 3}, ",
        "mix: {write: 1}, serial_consistency: SERIAL, ",
        10,
        "there are none",
    ),
    "a blank statement": ("mix: {write: 1, read: 3}, ", "table: CREATE, statements: {a: {cql: ' '}}, ", 10, "a is blank"),
    "values of nothing": ("mix: {write: 1, read: 3}, ", "mix: {write: 1}, values: {a: row}, ", 10, "`values` is about statements"),
    "a value that is none": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: SELECT}}, values: {a: many}, ",
        10,
        "makes no value",
    ),
    "own statements by a driver": (
        "mix: {write: 1, read: 3}, ",
        "client: driver, table: CREATE, statements: {a: {cql: SELECT}}, ",
        10,
        "the default table only",
    ),
    "populating by nothing": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: SELECT}}, populate: b, ",
        10,
        "unknown statement 'b'",
    ),
    "populating by a deletion": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: DELETE}}, populate: a, ",
        10,
        "a writes no rows",
    ),
    "populating by a read": (
        "mix: {write: 1, read: 3}, ",
        "table: CREATE, statements: {a: {cql: SELECT}}, populate: a, ",
        10,
        "a writes no rows",
    ),
    "a share for nobody": ("record_size: 100 B", "generators: 65", 8, "more than 64 threads"),
    "threads without a producer": ("record_size: 100 B", "threads: 3, producers: 2", 8, "2 producers are too few for 3 threads"),
    "too many producers": ("record_size: 100 B", "producers: 1_001", 8, "at most 1,000"),
    "too many partitions of producers": ("partitions: 6", "partitions: 2_000, producers: 600", 8, "more than 1,000,000 partitions"),
    "consumers without a partition": ("reads: ingest", "reads: ingest, generators: 7", 9, "7 consumers share 6 partitions"),
    "a generator's host that is not there": ("reads: ingest", "reads: ingest, on: [here, there]", 9, "unknown host 'there'"),
    "several stock clients": ("record_size: 100 B", "client: stock, generators: 2", 8, "a stock client is one process"),
    "twice too many": (
        '"uniform(0, 1M)"}\nobjectives:\n  ingest: {p99: 50 ms}\ntests:\n  - isolated: [ingest, drain, store]',
        '"uniform(0, 1M)", threads: 33}\nobjectives:\n  ingest: {p99: 50 ms}\ntests:\n  - doubling: {workload: store}',
        14,
        "2 generators of 33 threads are more than 64",
    ),
    "a calibration that is too short": (
        "- isolated: [ingest, drain, store]",
        "- calibrate: {workloads: [ingest], budget: 10 s}",
        14,
        "too short for 2 rounds",
    ),
    "a calibration of what has no rate": (
        """\
  store: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 1M)"}
objectives:
  ingest: {p99: 50 ms}
tests:
  - isolated: [ingest, drain, store]""",
        """\
  hog: {kind: command, argv: [sleep, "9"], on: here}
tests:
  - calibrate: {workloads: [hog]}""",
        12,
        "hog has no schedule of its own",
    ),
    "a calibration of a reader without what it reads": (
        "- isolated: [ingest, drain, store]",
        "- calibrate: {workloads: [drain]}",
        14,
        "drain follows what ingest writes, which is not in this test",
    ),
    "cores that are not there": (
        "- isolated: [ingest, drain, store]",
        "- calibrate: {workloads: [ingest], cores: [50 %]}",
        14,
        "here has no `cores` of its own",
    ),
    "too small a share": (
        "- isolated: [ingest, drain, store]",
        "- calibrate: {workloads: [ingest], cores: [0]}",
        14,
        "0 times what a host has cannot be given",
    ),
    "a window without readings": (
        "- isolated: [ingest, drain, store]",
        "- calibrate: {workloads: [ingest], window: 3 s}",
        14,
        "3 s is no length for a window",
    ),
    "wrong unit": ("record_size: 100 B", "record_size: 100 bananas", 8, "is not a size"),
    "missing unit": ("p99: 50 ms", "p99: 50", 12, "is not a duration"),
    "negative count": ("partitions: 6", "partitions: -6", 8, "is not a count"),
    "zero count": ("partitions: 6", "partitions: 0", 8, "above 0"),
    "replication above the brokers": ("partitions: 6", "replication: 3", 8, "needs as many brokers; there are 1"),
    "a workload that is not there": ("[ingest, drain, store]", "[ingest, drian]", 14, "Did you mean 'drain'"),
    "an objective for nothing": ("  ingest: {p99", "  ingset: {p99", 12, "Did you mean 'ingest'"),
    "a host that is not there": ("kafka: {hosts: [here]}", "kafka: {hosts: [there]}", 5, "unknown host 'there'"),
    "a host that stands twice": ("kafka: {hosts: [here]}", "kafka: {hosts: [here, here]}", 5, "stands twice"),
    "data in two places": (
        "here: {connect: local}",
        "{here: {connect: local, data: /a}, there: {connect: local, address: 127.0.0.2, data: /b}}",
        3,
        "/b is not /a",
    ),
    "duplicate key": ("  cassandra: {hosts: [here]}", "  kafka: {hosts: [here]}", 6, "second time (first in line 5)"),
    "an alias": ("name: good", "name: &a good\nother: *a", 2, "aliases"),
    "a tag": ("name: good", "name: !!python/object/apply:os.system ['true']", 1, "tag"),
    "a name with a slash": ("name: good", "name: ../good", 1, "is not a valid name"),
    "an unknown kind": ("kind: kafka-consume", "kind: kafka-consumer", 9, "not known"),
    "a test's kind misspelt": ("- isolated: [ingest", "- isolatd: [ingest", 14, "'isolatd' is not known"),
    "acks that there are not": ("partitions: 6", "partitions: 6, acks: 1.5", 8, "Write all, 1 or 0"),
    "a kind that there is not": ("kind: kafka-consume, reads: ingest", "kind: hdfs-append", 9, "is not known"),
    "a fault of no service": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, service: kafka-1}",
        14,
        "Did you mean 'kafka-0'",
    ),
    "a fault without a before": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, service: kafka-0, at: 1 s}",
        14,
        "do not show how it was before",
    ),
    "a fault without an after": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, service: kafka-0, at: 10 s, down: 10 s, duration: 30 s}",
        14,
        "leave no time to catch up",
    ),
    "a driver for Kafka": (
        "drain: {kind: kafka-consume, reads: ingest}",
        "drain: {kind: kafka-consume, reads: ingest, client: driver}",
        9,
        "only Cassandra workloads can be carried by a driver",
    ),
    "another client by a driver than the workload's": (
        "- isolated: [ingest, drain, store]",
        "- concurrency: {workload: store, counts: [8], client: driver}",
        14,
        "a test cannot change store's client from native to driver",
    ),
    "an unknown way to fail": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, service: kafka-0, action: drown}",
        14,
        "kill",
    ),
    "a service that is to be rolled": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, service: kafka-0, action: roll}",
        14,
        "`roll` is not for a service",
    ),
    "a system that is not there, rolled": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, system: kafak, action: roll}",
        14,
        "Did you mean 'kafka'",
    ),
    "a fault of two": (
        "- isolated: [ingest, drain, store]",
        "- fault: {workloads: [ingest], rates: {ingest: 1K}, system: kafka, service: kafka-0, action: roll}",
        14,
        "Name one of them",
    ),
    "a soak that nothing reads": (
        "- isolated: [ingest, drain, store]",
        "- soak: {workloads: [ingest], rates: {ingest: 1K}}",
        14,
        "nothing reads what ingest writes",
    ),
    "a short soak": (
        "- isolated: [ingest, drain, store]",
        "- soak: {workloads: [store], rates: {store: 1K}, duration: 5 s}",
        14,
        "too short for a soak",
    ),
    "together without limits": ("- isolated:", "- combined:", 14, "Put `- isolated: [ingest, store]` before it"),
    "a rate for one of two": (
        "- isolated: [ingest, drain, store]",
        "- combined: {workloads: [ingest, store], rates: {store: 1K}}",
        14,
        "Give its rate too",
    ),
    "a rate for a consumer together": (
        "- isolated: [ingest, drain, store]",
        "- combined: {workloads: [ingest, drain], rates: {drain: 1K}}",
        14,
        "no rate of its own",
    ),
    "a consumer without its producer": (
        "- isolated: [ingest, drain, store]",
        "- combined: {workloads: [drain, store], rates: {store: 1K}}",
        14,
        "follows what ingest writes",
    ),
    "a batch job without Spark": (
        "drain: {kind: kafka-consume, reads: ingest}",
        "drain: {kind: spark-perf, tests: [agg-by-key]}",
        9,
        "needs the system spark",
    ),
    "a command in a search": ("drain: {kind: kafka-consume, reads: ingest}", "drain: {kind: command, argv: [ls]}", 14, "no limit"),
    "an unknown batch test": ("{kind: kafka-consume, reads: ingest}", "{kind: spark-perf, tests: [sort-by-kye]}", 9, "sort-by-key"),
    "a worker that is not there": (
        "  cassandra: {hosts: [here]}",
        "  spark: {master: here, workers: [there]}",
        6,
        "unknown host 'there'",
    ),
    "an unknown consistency": ("mix: {write", "consistency: SOME, mix: {write", 10, "LOCAL_QUORUM"),
    "keys that are no distribution": ("uniform(0, 1M)", "unifrom(0, 1M)", 10, "is not a distribution"),
    "an empty key range": ("uniform(0, 1M)", "uniform(5, 5)", 10, "is empty"),
    "an empty mix": ("{write: 1, read: 3}", "{write: 0, read: 0}", 10, "the mix is empty"),
    "records too small to account for": ("100 B", "9 B", 8, "Take at least 10 B"),
    "an address of elsewhere": (
        "{connect: local}",
        "{connect: local, address: 10.0.0.1}",
        3,
        "is not an address of this machine's loopback network",
    ),
    "an address that is none": ("{connect: local}", "{connect: local, address: there}", 3, "Write e.g. 127.0.0.2"),
    "unknown connect": ("connect: local", "connect: docker", 3, "not known"),
    "reads nothing that writes": ("reads: ingest", "reads: store", 9, "writes no topic"),
    "broken YAML": ("hosts:", "hosts: [", 4, "is not YAML"),
    "a stock client in a search": ("partitions: 6", "client: stock", 14, "no schedule"),
    "more consistency than replicas": ("mix: {write", "consistency: TWO, mix: {write", 10, "needs 2 replicas"),
    "in flight for a stock producer": (
        "  - isolated: [ingest, drain, store]",
        "  - concurrency: {workload: ingest, counts: [16], client: stock}",
        14,
        "takes no number",
    ),
    "a rate for a consumer": (
        "  - isolated: [ingest, drain, store]",
        "  - levels: {workload: drain, rates: [1K]}",
        14,
        "no rate of its own",
    ),
    "in flight for a consumer": (
        "  - isolated: [ingest, drain, store]",
        "  - concurrency: {workload: drain, counts: [16]}",
        14,
        "no number in flight of its own",
    ),
}


def test_two_jobs_cannot_have_all_workers_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("{hosts: [here]}\nworkloads:", "{hosts: [here]}\n  spark: {master: here, workers: [here]}\nworkloads:").replace(
        "  drain: {kind: kafka-consume, reads: ingest}\n",
        "  one: {kind: spark-perf, tests: [count]}\n  two: {kind: spark-perf, tests: [count]}\n",
    )
    together = text.replace("isolated: [ingest, drain, store]", "combined: {workloads: [ingest, one, two], rates: {ingest: 1K}}")
    with pytest.raises(BadInputError, match="one and two cannot run at once"):
        load_experiment(write(tmp_path, together))
    assert load_experiment(write(tmp_path, text.replace("[ingest, drain, store]", "[one, two]")))


@pytest.mark.parametrize("case", CASES)
def test_bad_input_names_line_and_remedy(case: str, tmp_path: Path) -> None:
    old, new, line, words = CASES[case]
    assert old in GOOD
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, GOOD.replace(old, new, 1)))
    assert words in str(caught.value), str(caught.value)
    assert caught.value.line == line, str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'experiment.yaml'}:{line}: ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02", r"U\+0000"),
        (b"\xff\xfe\xff", "is not text"),
        (b"- just\n- a list\n", "must be a mapping"),
        (b"[" * 200, "nested deeper"),
        (b"a: b\n" * 400_000, "at most 1,048,576"),
    ],
)
def test_files_that_are_no_experiment(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=words):
        load_experiment(write(tmp_path, content))


def test_a_yaml_bomb_is_refused_before_it_grows(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20))
    with pytest.raises(BadInputError, match="aliases"):
        load_experiment(write(tmp_path, bomb))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be read: No such file"):
        load_experiment(tmp_path / "nothing.yaml")


def test_more_memory_than_there_is_names_the_sum(tmp_path: Path) -> None:
    experiment, document = load_experiment(
        write(tmp_path, GOOD.replace("cassandra: {hosts: [here]}", "cassandra: {hosts: [here], heap: 900 GiB}"))
    )
    assert memory_needed(experiment)["here"] > 900 * 2**30
    with pytest.raises(BadInputError, match=r"this machine has 16 GB|this machine has 17.2 GB") as caught:
        check_memory(experiment, document, {"here": 16 * 2**30})
    assert caught.value.line == 6


def test_two_services_on_one_machine_cannot_share_a_port(tmp_path: Path) -> None:
    text = GOOD.replace("  here: {connect: local}", "  here: {connect: local}\n  too: {connect: local}")
    text = text.replace("kafka: {hosts: [here]}", "kafka: {hosts: [here, too], port: 9092}")
    with pytest.raises(BadInputError, match="cannot share a port") as caught:
        load_experiment(write(tmp_path, text))
    assert caught.value.line == 6


def test_nodes_of_a_ring_need_an_address_each(tmp_path: Path) -> None:
    text = GOOD.replace("  here: {connect: local}", "  here: {connect: local}\n  too: {connect: local}")
    text = text.replace("cassandra: {hosts: [here]}", "cassandra: {hosts: [here, too], port: 9042}")
    with pytest.raises(BadInputError, match=r"(?s)here and too both have the address 127\.0\.0\.1.*127\.0\.0\.2") as caught:
        load_experiment(write(tmp_path, text))
    assert caught.value.line == 7
    apart = text.replace("  too: {connect: local}", "  too: {connect: local, address: 127.0.0.2, rack: other}")
    experiment, _ = load_experiment(write(tmp_path, apart))
    assert experiment.hosts["too"].rack == "other"


def test_key_distributions() -> None:
    gaussian = parse_keys("gaussian(0, 600)")
    assert getattr(gaussian, "mean", None) == 300
    assert getattr(gaussian, "sd", None) == 100
    assert parse_keys("sequential(1, 100K)").wire() == {"shape": "sequential", "min": 1, "max": 99_999}  # type: ignore[attr-defined]


def test_arrivals() -> None:
    assert parse_arrivals("even").wire(7) == "even"  # type: ignore[attr-defined]
    assert parse_arrivals("poisson").wire(7) == {"poisson": {"seed": 7}}  # type: ignore[attr-defined]
    bursts = parse_arrivals("bursts(1K)")
    assert bursts.wire(7) == {"bursts": {"size": 1000}}  # type: ignore[attr-defined]
    assert show_arrivals(bursts) == "bursts(1000)"  # type: ignore[arg-type]


def test_size_distributions() -> None:
    assert parse_sizes("100 B").wire() == {"shape": "uniform", "min": 100, "max": 100}  # type: ignore[attr-defined]
    assert parse_sizes("uniform(10 B, 1 KiB)").wire() == {"shape": "uniform", "min": 10, "max": 1024}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="is not a distribution; write 100 B, uniform"):
        parse_sizes("zipf(10 B, 1 KiB)")
    with pytest.raises(ValueError, match="is not a size"):
        parse_sizes("uniform(10, 1 KiB)")


def test_a_test_that_asks_for_the_stock_client_is_refused_what_it_cannot_do(tmp_path: Path) -> None:
    levels = "levels: {workload: ingest, client: stock, rates: [1K]}"
    text = GOOD.replace("isolated: [ingest, drain, store]", levels)
    load_experiment(write(tmp_path, text))
    for setting, words in (("record_size: 100 B", "sizes of record"), ("partitions: 6", "key"), ("partitions: 6", "arrivals")):
        put = {"sizes of record": 'record_size: "uniform(10 B, 1 KB)"', "key": 'key: "uniform(0, 9)"', "arrivals": "arrivals: poisson"}[
            words
        ]
        with pytest.raises(BadInputError, match=words) as caught:
            load_experiment(write(tmp_path, text.replace(setting, put)))
        assert caught.value.line == 14
    secured = text.replace("cassandra: {hosts: [here]}", "cassandra: {hosts: [here], security: {tls: true}}")
    with pytest.raises(BadInputError, match="command line only") as caught:
        load_experiment(write(tmp_path, secured.replace("workload: ingest", "workload: store")))
    assert caught.value.line == 14


@pytest.mark.parametrize("value", ["{shape: bursts}", "7", "[even]"])
def test_arrivals_are_text(value: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is not an arrival process"):
        load_experiment(write(tmp_path, GOOD.replace("partitions: 6", f"arrivals: {value}")))


@pytest.mark.parametrize(("text", "size"), [("10 kB", 10_000), ("10 KB", 10_000), ("2 TiB", 2 << 40), ("16 B", 16), ("1 MiB", 1 << 20)])
def test_a_value_takes_every_size_that_others_take(text: str, size: int) -> None:
    maker = parse_maker(text)
    assert isinstance(maker, Maker)
    assert (maker.make, maker.drawn and maker.drawn.low) == ("bytes", size)
    assert isinstance(parse_maker(f"uniform(1 B, {text})"), Maker)


def test_a_middle_need_not_be_whole_where_ends_must() -> None:
    keys = parse_keys("gaussian(0, 10, 4.5, 0.5)")
    assert isinstance(keys, Distribution)
    assert (keys.mean, keys.sd) == (4.5, 0.5)
    with pytest.raises(ValueError, match="whole"):
        parse_keys("gaussian(0.5, 10)")


def test_keys_are_text_and_numbers(tmp_path: Path) -> None:
    for value in ("{shape: uniform, low: 5, high: 5}", '"zipf(0, 9, nan)"'):
        with pytest.raises(BadInputError, match=r"is not a distribution|is not a number"):
            load_experiment(write(tmp_path, GOOD.replace("partitions: 6", f"key: {value}")))


def test_a_release_needs_no_quotes(tmp_path: Path) -> None:
    experiment, _ = load_experiment(write(tmp_path, GOOD.replace("kafka: {hosts: [here]}", "kafka: {hosts: [here], release: 3.9}")))
    kafka = experiment.systems.of(Kafka)
    assert kafka is not None
    assert kafka.release == "3.9"


STRIKE = "- fault: {workloads: [logs, flow], rates: {logs: 1K}, WHAT}"
DATAFLOW = """\
name: x
hosts: {a: {connect: local}}
systems:
  kafka: {hosts: [a]}
  spark: {master: a, workers: [a]}
workloads:
  logs: {kind: kafka-produce, record_size: 100 B, levels: {info: 8, error: 2}}
  flow: {kind: dataflow, reads: logs, sinks: [kafka]}
tests:
  - isolated: [flow]
"""


def test_a_dataflow_needs_the_hosts_of_all_that_it_goes_through(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    text = DATAFLOW.replace("hosts: {a: {connect: local}}", "hosts: {" + ", ".join(f"{name}: {{connect: netns}}" for name in "abcde") + "}")
    text = text.replace("workers: [a]}", "workers: [b]}\n  cassandra: {hosts: [c]}\n  hdfs: {namenode: d, datanodes: [d]}")
    file.write_text(text.replace("sinks: [kafka]", "sinks: [kafka, cassandra], on: e"))
    experiment, _ = load_experiment(file)
    assert set(experiment.needs("flow")) == set("abce")
    assert set(experiment.needs("logs")) == set("a")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("reads: logs", "reads: lags", 8, "Did you mean 'logs'"),
        (", levels: {info: 8, error: 2}", "", 8, "writes no log records"),
        ("sinks: [kafka]", "sinks: [directory]", 8, "always `kafka`"),
        ("sinks: [kafka]", "sinks: [kafka, kafka]", 8, "one of each sink"),
        ("sinks: [kafka]", "sinks: [kafka, hdfs]", 8, "needs the system hdfs"),
        ("sinks: [kafka]", "sinks: [kafka, cassandra]", 8, "needs the system cassandra"),
        ("sinks: [kafka]", "sinks: [kafka, directory], engine: kafka", 8, "only hydrotest's own queries"),
        ("sinks: [kafka]", "submit: nowhere.py", 8, "there is no file nowhere.py"),
        ("reads: logs,", "reads: logs, replication: 2,", 8, "needs as many brokers"),
        ("error: 2", "emergencies: 2", 7, "at most 8 letters"),
        ("info: 8, error: 2", "info: 0", 7, "no level has a weight"),
        ("record_size: 100 B", "record_size: 31 B", 7, "too small for their level"),
        ("  spark: {master: a, workers: [a]}\n", "", 7, "needs the system spark"),
        ("  - isolated: [flow]", "  - combined: {workloads: [logs, flow], rates: {logs: 1K}}", 10, "has no part in this test"),
        ("sinks: [kafka]", "sinks: [kafka, directory], mode: real-time", 8, "no sinks but kafka"),
        ("sinks: [kafka]", "sinks: [kafka], mode: real-time, trigger: 1 s", 8, "every 5 s at most"),
        ("sinks: [kafka]", "sinks: [kafka], mode: real-time", 8, "each of its 22 tasks holds a slot"),
        ("sinks: [kafka]", "sinks: [kafka, directory], directory: /mnt/lake", 8, "address of the sink `directory`"),
        ("sinks: [kafka]", "sinks: [kafka], directory: 's3a://lake'", 8, "address of the sink `directory`"),
        ("sinks: [kafka]", "sinks: [kafka], executors: 2", 8, "each of 2 executors needs a worker"),
        ("sinks: [kafka]", "sinks: [kafka], executors: 1", 8, "the cores of an executor are not known"),
        ("sinks: [kafka]", "sinks: [kafka], engine: kafka, mode: real-time", 8, "a mode of hydrotest's own queries"),
        (
            "- isolated: [flow]",
            STRIKE.replace("WHAT", "service: spark-query-flow-splitters"),
            10,
            "Did you mean 'spark-query-flow-splitter'",
        ),
        (
            "- isolated: [flow]",
            STRIKE.replace("WHAT", "service: spark-query-flow-splitter, action: pause"),
            10,
            "`pause` is not for a query",
        ),
    ],
)
def test_a_dataflow_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(DATAFLOW)
    load_experiment(file)
    assert old in DATAFLOW
    file.write_text(DATAFLOW.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        load_experiment(file)
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("what", ["service: spark-driver-flow, action: pause", "service: spark-query-flow-persist-error-kafka"])
def test_a_dataflows_driver_and_its_queries_can_be_struck(tmp_path: Path, what: str) -> None:
    experiment, _ = load_experiment(write(tmp_path, DATAFLOW.replace("- isolated: [flow]", STRIKE.replace("WHAT", what))))
    ((_, fault),) = experiment.tests_of(Fault)
    assert what.startswith(f"service: {fault.struck}")


FULL = """\
name: x
hosts: {a: {connect: netns}}
systems: {kafka: {hosts: [a]}}
workloads: {logs: {kind: kafka-produce, record_size: 100 B}}
tests:
  - fault: {workloads: [logs], rates: {logs: 1K}, host: a, action: fill}
"""


def test_only_a_host_with_a_disk_of_its_own_can_be_full(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="a has no disk of its own that could be full"):
        load_experiment(write(tmp_path, FULL))
    load_experiment(write(tmp_path, FULL.replace("connect: netns", "connect: netns, disk: 100 MB/s")))


@pytest.mark.parametrize(("given", "words"), [
    ("config: {spark.jars: lib/own.jar}", "lib/own.jar is not an absolute path"),
    ("config: {spark.jars: /nowhere/own.jar}", "there is no file /nowhere/own.jar"),
    ("cores: 2, config: {spark.executor.cores: 4}", "an executor of 4 cores finds no worker"),
])  # fmt: skip
def test_what_spark_would_wait_for_in_vain_is_refused(tmp_path: Path, given: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        load_experiment(write(tmp_path, DATAFLOW.replace("workers: [a]}", "workers: [a], " + given + "}")))


@pytest.mark.parametrize("jars", ["local:/opt/own.jar", "file:/opt/own.jar", "hdfs://a:1/own.jar", "/opt/jars/*.jar"])
def test_what_spark_looks_for_itself_is_left_to_it(tmp_path: Path, jars: str) -> None:
    load_experiment(write(tmp_path, DATAFLOW.replace("workers: [a]}", f"workers: [a], config: {{spark.jars: '{jars}'}}}}")))


@pytest.mark.parametrize("connect", ["local", "netns"])
def test_a_generator_is_apart_only_on_a_machine_of_its_own(connect: str, tmp_path: Path) -> None:
    text = GOOD.replace("  here: {connect: local}", f"  clients: {{connect: {connect}}}\n  here: {{connect: {connect}}}")
    experiment, _ = load_experiment(write(tmp_path, text))
    assert experiment.generators_apart("ingest") == (["clients"] if connect == "netns" else [])
    assert experiment.peers("ingest") == ["here"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("partitions: 6", "partitions: 100000000000000000000000000", 8, "at most 100,000"),
        ("partitions: 6", "generators: 10G", 8, "at most 1,000"),
        ("partitions: 6", "linger: 1000000000000000 h", 8, "at most 30 d"),
        ("partitions: 6", "batch_size: 10000000 TB", 8, "at most 10,000 TB"),
        ("partitions: 6", 'key: "uniform(0, 100000000000G)"', 8, "beyond 1,000,000,000,000,000,000"),
        ("- isolated: [ingest, drain, store]", "- levels: {workload: ingest, rates: [100G]}", 14, "at most 1 G/s"),
        ("- isolated: [ingest, drain, store]", "- concurrency: {workload: ingest, counts: [10M]}", 14, "at most 1,000,000"),
    ],
)
def test_what_no_run_can_have_is_refused(old: str, new: str, line: int, words: str, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, GOOD.replace(old, new)))
    assert caught.value.line == line
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("partitions: 6", "partitions: {}"),
        ("partitions: 6", "{}: 6"),
        ("partitions: 6", "compression: {}"),
        ("partitions: 6", 'arrivals: "bursts({})"'),
        ("partitions: 6", 'key: "uniform({}, 3)"'),
        ("partitions: 6", "headers: {}"),
        ("kind: kafka-consume", "kind: {}"),
        ("name: good", "name: {}"),
        ("[ingest, drain, store]", "{}"),
    ],
)
def test_a_message_repeats_no_more_of_a_value_than_helps_to_find_it(old: str, new: str, tmp_path: Path) -> None:
    long = "x" * 300
    assert old in GOOD
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, GOOD.replace(old, new.format(long))))
    assert "xxx" in caught.value.message
    assert "x" * (SHOWN_CHARS_MAX + 1) not in str(caught.value)


@pytest.mark.parametrize("old", ["partitions: 6", "name: good", "here: {connect: local}"])
def test_a_value_that_is_left_empty_is_nothing(old: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, GOOD.replace(old, f"{old.partition(':')[0]}:")))
    assert "nothing" in caught.value.message
    assert "None" not in str(caught.value)


@pytest.mark.parametrize(("old", "new", "meant"), [
    ("kind: kafka-consume", "kind: kafka-comsume", "kafka-consume"), ("connect: local", "connect: locl", "local"),
    ("- isolated: [ingest", "- isolatd: [ingest", "isolated"),
])  # fmt: skip
def test_a_misspelt_kind_has_the_one_that_is_meant(old: str, new: str, meant: str, tmp_path: Path) -> None:
    assert hint_of(tmp_path, old, new) == f"Did you mean '{meant}'?"


def hint_of(tmp_path: Path, old: str, new: str) -> str:
    """What is to be written instead."""
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, GOOD.replace(old, new, 1)))
    assert caught.value.line is not None
    return caught.value.hint or ""


@pytest.mark.parametrize(
    ("old", "new", "choices"),
    [
        ("{connect: local}", "{}", {"local", "netns", "ssh", "command", "exporter", "prometheus"}),
        (
            "kind: kafka-consume, ",
            "",
            set(WORKLOADS),
        ),
    ],
)
def test_who_leaves_a_choice_out_is_told_the_choices(tmp_path: Path, old: str, new: str, choices: set[str]) -> None:
    assert set(re.findall(r"'([^']+)'", hint_of(tmp_path, old, new))) == choices


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        ("{connect: local}", "{connect: local, adress: 127.0.0.1}", "'address'"),
        # A workload that has the name of a kind.
        ("  ingest: {kind: kafka-produce", "  cassandra: {kind: kafka-produce, partitons: 3", "'partitions'"),
        ("[ingest, drain, store]", "{workloads: [ingest], squeze: 1 min}", "'squeeze'"),
        ("mix: {write: 1, read: 3}", "mix: {wite: 1}", "'write'"),
        ("p99: 50 ms", "loos: 0", "'loss'"),
    ],
)
def test_a_key_that_is_meant_is_one_of_its_part(tmp_path: Path, old: str, new: str, meant: str) -> None:
    assert meant in hint_of(tmp_path, old, new)


def test_known_keys_are_those_of_the_part(tmp_path: Path) -> None:
    hint = hint_of(tmp_path, "{connect: local}", "{connect: local, zzz: 1}")
    assert set(re.findall(r"[a-z_]+", hint.partition(" are ")[2])) == set(LocalHost.model_fields)


@pytest.mark.parametrize(
    ("old", "new"), [("name: good\n", ""), ("{hosts: [here]}", "{}"), ("{connect: local}", "3"), ("[ingest, drain, store]", "{}")]
)
def test_what_is_missing_is_explained(tmp_path: Path, old: str, new: str) -> None:
    assert hint_of(tmp_path, old, new)


def test_lists_that_are_kept_by_hand_are_whole() -> None:
    kinds = set(tags("kind"))
    assert {"kafka-produce", "dataflow", "hdfs-write", "command"} < kinds
    assert kinds == set(WORKLOADS)
    assert {kind.system for kind in WORKLOADS.values()} - {None} == set(SYSTEMS)
    documented = {model for _, _, models in _sections() for model in models}
    assert documented == {model for model in every_model() if not issubclass(model, Systems)}
    assert {action for actions in POSSIBLE.values() for action in actions} == set(get_args(Fault.model_fields["action"].annotation))


@pytest.mark.parametrize(
    "text", [b"name: good\n# \x07\n", b"name: good\nhosts: \xe4\n", b"name: good\n? [a]\n", b"name: good\nhosts: " + b"[" * 21 + b"]" * 21]
)
def test_what_is_no_yaml_has_its_line_and_a_remedy(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(BadInputError) as caught:
        load_experiment(write(tmp_path, text))
    assert caught.value.line == 2
    assert caught.value.hint


def test_what_has_no_limit_of_its_own_is_not_planned_alone(tmp_path: Path) -> None:
    text = GOOD.replace("  drain: {kind: kafka-consume", "  beside: {kind: command, argv: [ls]}\n  drain: {kind: kafka-consume")
    text = text.replace("isolated: [ingest, drain, store]", "combined: {workloads: [ingest, beside], rates: {ingest: 1K}, pairs: 5}")
    (step,) = make_plan(load_experiment(write(tmp_path, text))[0]).steps
    assert step.trials == 5 * 2
