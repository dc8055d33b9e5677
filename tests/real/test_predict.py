"""A broker is calibrated, other cores and links are predicted from it, and they are as predicted."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median

import pytest

from hydrotest.analysis.demand.windows import system_windows
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_REFUSED
from hydrotest.predict.answer import Answer
from hydrotest.predict.known import read_known
from hydrotest.spec.load import load_experiment
from hydrotest.store.folder import RunFolder

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")]

TEXT = """\
name: calibrated
hosts:
  broker:  {connect: netns, cores: 0.5, memory: 2 GB, network: 2 Gbit/s}
  clients: {connect: netns}
systems:
  kafka: {hosts: [broker], heap: 384 MiB}
workloads:
  ingest: {kind: kafka-produce, partitions: 6, replication: 1, acks: all, record_size: 1 KB, linger: 20 ms, on: clients}
  reader: {kind: kafka-consume, reads: ingest, on: clients}
tests:
  - calibrate: {workloads: [ingest, reader], budget: 210 s, window: 5 s, cores: [50 %], network: [4 %]}
warm_up: {least: 10 s, most: 20 s}
"""
OFF_MAX = 1.35
"""These machines drift by 10 to 40 % within seconds."""


def test_a_narrow_link_is_predicted_and_the_unmeasured_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, run = tmp_path / "calibrated.yaml", tmp_path / "run"
    file.write_text(TEXT)
    assert main(["run", str(file), "--out", str(run)]) == EXIT_DONE
    capsys.readouterr()

    saved = tmp_path / "p.json"
    assert main(["predict", str(run), "--workload", "ingest", "--save", str(saved), "--json"]) == EXIT_DONE
    (now,) = Answer.model_validate_json(capsys.readouterr().out).predictions
    assert (now.binds.resource, now.by, now.moved) == ("cpu", "saturated", [])
    assert now.measured is not None
    assert 1 / OFF_MAX < now.limit / now.measured < OFF_MAX
    # A prediction is not held against what it stands on.
    assert main(["score", str(saved), str(run)]) == EXIT_BAD_INPUT

    # What the narrow link of its own windows let through.
    known, experiment = read_known(run), load_experiment(run / "experiment.yaml")[0]
    folder = RunFolder.open(run)
    narrow = [one for one in system_windows(folder, experiment, folder.trials())["kafka"] if one.has.link != known.has["kafka"].link]
    narrow = [one for one in narrow if not one.groups]
    assert main(["predict", str(run), "--set", "hosts.network=0.04x", "--workload", "ingest", "--json"]) == EXIT_DONE
    (found,) = Answer.model_validate_json(capsys.readouterr().out).predictions
    assert (found.binds.resource, found.next and found.next.resource) == ("network", "cpu")
    # On a slow machine the broker's cores are full before such a link is: what it would let through, if it were full.
    at_full = [one.rates["ingest"] * one.has.link / one.used.into for one in narrow if one.has.link]
    assert found.limit == pytest.approx(median(at_full), rel=0.1)
    assert median(one.rates["ingest"] for one in narrow) < 1.1 * found.limit

    # A group that kept up read each record once, and costs the broker something; what the link out carries, it carries for the group.
    windows = known.seen["kafka"]
    read = [one for one in windows if one.groups]
    assert len(read) > len(windows) / 3
    assert median(one.groups["ingest"] for one in read) == pytest.approx(1.0, abs=0.1)
    assert main(["predict", str(run), "--groups", "1", "--workload", "ingest", "--json"]) == EXIT_DONE
    (shared,) = Answer.model_validate_json(capsys.readouterr().out).predictions
    closed = [one.rates["ingest"] for one in read if one.is_closed and one.is_whole]
    assert shared.limit < now.limit
    assert 1 / OFF_MAX < shared.limit / median(closed) < OFF_MAX

    would_tell = tmp_path / "tell.yaml"
    assert main(["predict", str(run), "--set", "ingest.compression=gzip", "--experiment", str(would_tell)]) == EXIT_REFUSED
    assert main(["check", str(would_tell)]) == EXIT_DONE
