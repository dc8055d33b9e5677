"""From file to experiment: parse, validate, cross-check; every error with its line and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hydrotest.errors import BadInputError
from hydrotest.spec.check import check_references, memory_needed
from hydrotest.spec.hosts import LocalHost, NetnsHost
from hydrotest.spec.lines import Document, Path_, read_document
from hydrotest.spec.models import (
    Cassandra,
    CassandraSecurity,
    Experiment,
    Hdfs,
    Kafka,
    KafkaSecurity,
    Objective,
    Search,
    Spark,
    Systems,
    WarmUp,
)
from hydrotest.spec.scale import Lab, MachineType, Scale, scaled
from hydrotest.spec.tests import Combined, Concurrency, Fault, Isolated, Levels, Profile, Saturated, Soak, Stretch
from hydrotest.spec.workloads import (
    CassandraLoad,
    Command,
    Dataflow,
    HdfsRead,
    HdfsWrite,
    Headers,
    KafkaConsume,
    KafkaProduce,
    Mix,
    SparkPerf,
)

_MODELS = (
    Experiment, Systems, Kafka, Cassandra, Hdfs, KafkaProduce, KafkaConsume, Dataflow, CassandraLoad, HdfsWrite, HdfsRead, Mix, Objective, LocalHost,
    NetnsHost, Lab, MachineType, Scale,
    Spark, SparkPerf, Command, Isolated, Combined, Soak, Fault, Levels, Concurrency, Saturated, Profile, Stretch, Search, WarmUp, Headers,
    KafkaSecurity, CassandraSecurity,
)  # fmt: skip


def load_experiment(file: Path) -> tuple[Experiment, Document]:
    """Reads and validates an experiment file. Raises `BadInputError`; nothing is started."""
    document = read_document(file)
    if not isinstance(document.value, dict):
        raise BadInputError("is no experiment: it must be a mapping with name, hosts, systems, …", file=file, line=1)
    try:
        experiment = Experiment.model_validate(document.value)
    except ValidationError as error:
        raise _translate(error, document) from error
    check_references(experiment, document)
    if experiment.lab is not None:
        hosts = scaled(experiment.hosts, experiment.lab, memory_needed(experiment))
        experiment = experiment.model_copy(update={"hosts": hosts})
    return experiment, document


def _translate(error: ValidationError, document: Document) -> BadInputError:
    """The first error in the order of the file, in our words."""
    details = sorted(error.errors(), key=lambda detail: document.line(_place(detail["loc"], document)))
    first = details[0]
    place = _place(first["loc"], document)
    message, hint = _words(first, place)
    return BadInputError(message, hint, file=document.file, line=document.line(place))


def _place(loc: Iterable[str | int], document: Document) -> Path_:
    """The document's path for a pydantic location, which has names of union members in between."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in document.lines:
            path = (*path, part)
    return path


def _words(detail: ErrorDetails, place: Path_) -> tuple[str, str | None]:
    name = ".".join(str(part) for part in place) or "the file"
    kind = detail["type"]
    if kind == "extra_forbidden":
        key = str(detail["loc"][-1])
        return f"unknown key {key!r} in {_parent(place)}", _similar(key)
    if kind == "missing":
        return f"{name} lacks the key {detail['loc'][-1]!r}", None
    if kind == "union_tag_not_found":
        return f"{name} lacks the key {_tag(detail)!r}", f"It is one of {_tags(detail)}."
    if kind == "union_tag_invalid":
        given = detail.get("ctx", {}).get("tag", "")
        return f"{name}: {_tag(detail)} {given!r} is not known", f"It is one of {_tags(detail)}."
    if kind == "value_error":
        return f"{name}: {detail['msg'].removeprefix('Value error, ')}", None
    if kind == "literal_error":
        return f"{name}: {detail['input']!r} is not known", f"It is {detail.get('ctx', {}).get('expected')}."
    return f"{name}: {detail['msg'][0].lower()}{detail['msg'][1:]} (given: {detail['input']!r})", None


def _tag(detail: ErrorDetails) -> str:
    return str(detail.get("ctx", {}).get("discriminator", "kind")).strip("'")


def _tags(detail: ErrorDetails) -> str:
    expected = detail.get("ctx", {}).get("expected_tags")
    return str(expected) if expected else "kafka-produce, kafka-consume, cassandra, spark-perf, command"


def _parent(place: Path_) -> str:
    return ".".join(str(part) for part in place[:-1]) or "the experiment"


def _similar(key: str) -> str | None:
    known = sorted({field for model in _MODELS for field in model.model_fields} - {"test"})
    close = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known keys are {', '.join(known)}."
