"""Reports that are given away say nothing of where machines are."""

from __future__ import annotations

from pathlib import Path

from hydrotest.analysis.summary import summarise_run
from hydrotest.report.masked import Mask
from hydrotest.report.wording.summary import worded
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.store import layout
from tests.synthetic import SyntheticRun

TEXT = """\
# our ring at 192.0.2.9
name: there
hosts:
  here: {connect: local}
  k1: {connect: ssh, to: alice@k1.prod.example, address: 10.0.1.1, data: /mnt/data}
  k2: {connect: exporter, metrics: "https://k2.prod.example:9100/metrics", user: bob, password: {env: PASSWORD}}
systems:
  kafka:
    attach: [b1.prod.example:9093]
    hosts: [k1, k2]
    security: {sasl: PLAIN, user: hydro, password: {env: PASSWORD}}
    most: {rate: 20K, bytes: 20 MB/s, disk: 2 GB}
workloads:
  ingest: {kind: kafka-produce, record_size: 1 KB}
tests:
  - levels: {workload: ingest, rates: [5K]}
"""
ENVIRONMENT = {"attached": {"identity": "Zm9vYmFyYmF6", "nodes": [{"address": "b2.prod.example:9093"}, {"address": "10.0.1.7:9093"}]}}


def mask() -> Mask:
    return Mask(experiment_of(parse_document(TEXT, Path("experiment.yaml"))), ENVIRONMENT)


def test_the_experiment_keeps_its_form_and_its_own_names() -> None:
    text = mask().of_text(TEXT)
    for secret in ("prod.example", "10.0.1.1", "192.0.2.9", "alice", "bob", "hydro,", "9093"):
        assert secret not in text, secret
    assert len(text.splitlines()) == len(TEXT.splitlines())
    for kept in ("k1: {connect: ssh", "data: /mnt/data", "{env: PASSWORD}", "record_size: 1 KB", "rate: 20K"):
        assert kept in text, kept


def test_a_file_system_keeps_its_names_to_itself() -> None:
    hdfs = """\
  hdfs:
    attach: [nn1.prod.example:8020]
    status: web.prod.example:9870
    user: carol
    most: {bytes: 20 MB/s, disk: 2 GB}
workloads:
  put: {kind: hdfs-write, files: 1, file_size: 1 MiB, replication: 1}
tests:
  - isolated: [put]
"""
    text = TEXT[: TEXT.index("  k1:")] + "systems:\n" + hdfs
    there = {"attached": {"nodes": [{"name": "d1.prod.example:9866", "address": "10.0.1.9:9866"}, {"name": "101", "address": "b1:1"}]}}
    masked = Mask(experiment_of(parse_document(text, Path("experiment.yaml"))), there).of_text(f"{text}# d1.prod.example, 101")
    for secret in ("prod.example", "carol", "9870"):
        assert secret not in masked, secret
    assert masked.endswith(" 101")


def test_the_same_machine_has_the_same_word_everywhere() -> None:
    page = mask().of_page(
        "b1.prod.example:9093 refused; b1.prod.example; b2.prod.example:9093; broker 10.0.1.7:9093; of k1; exec; version 1.10.0.1.12"
    )
    first, second, third, fourth, *rest = page.replace(" refused", "").split("; ")
    assert first.startswith("masked-")
    assert second != first
    assert len({first, second, third, fourth.removeprefix("broker ")}) == 4
    assert rest == ["of k1", "exec", "version 1.10.0.1.12"]


def test_a_page_without_anything_to_hide_stays() -> None:
    text = "name: x\nhosts: {here: {connect: local}}\nsystems: {kafka: {hosts: [here]}}\nworkloads: {w: {kind: kafka-produce}}\ntests: [isolated: [w]]\n"
    plain = experiment_of(parse_document(text, Path("experiment.yaml")))
    assert Mask(plain, {}).of_page("nothing here; .exec(x); M0.5.5.5.5") == "nothing here; .exec(x); M0.5.5.5.5"
    assert Mask(plain, {}).of_text("listens on 127.0.0.1, reached 203.0.113.7 and fe80::1:2, at 10:20:30") == (
        "listens on 127.0.0.1, reached masked and masked, at 10:20:30"
    )


def test_a_report_that_is_masked_has_no_address_in_it(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.search()
    summary = worded(summarise_run(run.folder, run.experiment, "complete", "2026-01-01T00:00:00+00:00"))
    said = "connection to 203.0.113.7 closed; k9.prod.example:9093 refuses the login of hydro"
    summary = summary.model_copy(update={"problems": [said], "error": said})
    (run.folder.path / layout.EXPERIMENT).write_text(TEXT)
    experiment = experiment_of(parse_document(TEXT, Path("experiment.yaml")))
    masked = Mask(experiment, ENVIRONMENT).of_summary(summary)
    assert "203.0.113.7" not in masked.model_dump_json()
    assert "hydro " not in masked.problems[0] + " "
    assert masked.limits == summary.limits
