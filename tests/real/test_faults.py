"""Complete runs that go wrong: no orphan process, no lost earlier trial, an exact message, a valid
partial summary."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hydrotest.hosts.deadlines import until_here
from hydrotest.systems.fetch import EXPORTER, fetch, find_flaw
from tests.real.conftest import HYDROTEST, SOON, nodes_of, own_processes

pytestmark = pytest.mark.real

KAFKA_ONLY = """\
name: faults
hosts:
  here: {{connect: local, data: {data}}}
systems:
  kafka: {{hosts: [here], heap: 512 MiB}}
workloads:
  ingest: {{kind: kafka-produce}}
  drain:  {{kind: kafka-consume, reads: ingest}}
objectives:
  ingest: {{p99: 500 ms}}
tests:
  - isolated: [ingest, drain]
search: {{precision: 40 %, window: 3 s, warm_up: 1 s, saturated: 3 s, trials: 12}}
warm_up: {{least: 8 s, most: 8 s}}
"""
SCHEMA = json.loads(Path("contract/summary.schema.json").read_text())


@pytest.fixture
def text(tmp_path: Path) -> str:
    return KAFKA_ONLY.format(data=tmp_path / "data")


def wait_for(process: subprocess.Popen[str], words: str, seconds: float = 90) -> str:
    """Reads the run's progress until a line holds `words`. A run that has not come so far by then is killed."""
    assert process.stderr is not None
    read = ""
    give_up = threading.Timer(seconds, process.kill)
    give_up.start()
    try:
        for line in process.stderr:
            read += line
            if words in line:
                return read
    finally:
        give_up.cancel()
    raise AssertionError(f"the run ended, or was killed after {seconds:g} s, before {words!r}: {read}")


def check_left(tmp_path: Path, process: subprocess.Popen[str], code: int) -> tuple[dict[str, Any], str]:
    """The run has ended with `code`, has left nothing behind, and its summary is valid; the summary and stderr."""
    _, err = process.communicate(timeout=90)
    assert process.returncode == code, err
    assert own_processes(str(tmp_path)) == []
    assert not list((tmp_path / "data").glob("hydrotest-run-*"))
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    return summary, err


def broker_pid(tmp_path: Path) -> int:
    found = [line for line in own_processes(str(tmp_path)) if "java" in line]
    assert len(found) == 1, found
    return int(found[0].split()[0])


def test_a_broker_killed_in_mid_trial_ends_the_run_and_keeps_what_was_measured(
    text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_run(text)
    wait_for(process, "search ingest at")
    until_here(lambda: nodes_of(process.pid, "produce"), SOON, "a generator", "start")
    os.kill(broker_pid(tmp_path), signal.SIGKILL)
    summary, err = check_left(tmp_path, process, 3)
    assert summary["status"] == "partial"
    assert "kafka-0 on here ended by signal 9" in err
    assert "is void" in err
    trials = [json.loads(path.read_text()) for path in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))]
    assert trials[-1]["status"] == "failed"
    assert any(trial["status"] == "done" and trial["purpose"] == "saturated" for trial in trials)


@pytest.mark.long
def test_a_sampler_killed_in_mid_trial_ends_the_run_and_keeps_what_was_measured(
    text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_run(text)
    wait_for(process, "search ingest at")
    until_here(lambda: nodes_of(process.pid, "produce"), SOON, "a generator", "start")
    (sampler,) = nodes_of(process.pid, "sample")
    os.kill(sampler, signal.SIGKILL)
    summary, err = check_left(tmp_path, process, 3)
    assert summary["status"] == "partial"
    assert "sample on here" in summary["error"]
    assert "signal 9" in summary["error"]
    assert summary["error"] in err.replace("\n", " ")
    trials = [json.loads(path.read_text()) for path in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))]
    # The trial in which it was lost is void; those before count.
    assert [trial["status"] for trial in trials if trial["purpose"] == "search"] == ["failed"]
    assert any(trial["status"] == "done" and trial["purpose"] == "saturated" for trial in trials)
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    "phase",
    [
        "search ingest at",
        *(
            pytest.param(phase, marks=pytest.mark.long)
            for phase in ("measuring what this machine gives", "starting kafka", "accounting for")
        ),
    ],
)
def test_ctrl_c_tears_down_in_every_phase(phase: str, text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    process = start_run(text)
    wait_for(process, phase)
    process.send_signal(signal.SIGINT)
    summary, err = check_left(tmp_path, process, 3)
    assert summary["status"] in ("partial", "failed")
    assert "interrupted" in err


def test_nothing_outlives_a_killed_controller_and_resume_goes_on(
    text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_run(text)
    wait_for(process, "search ingest at")
    process.kill()
    process.wait()
    until_here(lambda: not own_processes(str(tmp_path)), SOON, "what the run had started", "end")
    before = sorted(path.parent.name for path in (tmp_path / "run" / "trials").glob("*/trial.json"))
    shown = subprocess.run([str(HYDROTEST), "show", str(tmp_path / "run"), "--json"], capture_output=True, text=True, check=True)
    jsonschema.validate(json.loads(shown.stdout), SCHEMA)
    resumed = start_run(text, "--resume")
    out, err = resumed.communicate(timeout=900)
    assert resumed.returncode == 0, err
    assert "removed what a killed run left" in err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    assert summary["status"] == "complete"
    assert [row["workload"] for row in summary["limits"]] == ["ingest", "drain"]
    assert all(row["limit"] for row in summary["limits"])
    assert all(row["lost"] == 0 for row in summary["integrity"])
    assert "saturated-ingest" not in {
        path.name[4:] for path in (tmp_path / "run" / "trials").iterdir() if path.name > before[-1] and "sat" in path.name
    }
    assert str(tmp_path / "run" / "report.html") in out
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_run_with_its_name(tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    small = tmp_path / "data"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "hydrotest-test", str(small)], check=True)
    try:
        process = start_run(KAFKA_ONLY.format(data=small))
        summary, err = check_left(tmp_path, process, 3)
        assert "No space left on device" in err
        assert "kafka-0" in err
        assert summary["status"] in ("partial", "failed")
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_under_the_run_folder_is_named_and_keeps_what_is_there(
    text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "hydrotest-test", str(small)], check=True)
    try:
        process = start_run(text, out="small/run")
        wait_for(process, "search ingest at")
        filler = small / "filler"
        with filler.open("wb", buffering=0) as handle, contextlib.suppress(OSError):
            while True:
                handle.write(bytes(4096))
        _, err = process.communicate(timeout=120)
        assert process.returncode == 3, err
        assert "No space left on device" in err
        assert own_processes(str(tmp_path)) == []
        filler.unlink()
        shown = subprocess.run([str(HYDROTEST), "show", str(small / "run"), "--json"], capture_output=True, text=True, check=True)
        summary = json.loads(shown.stdout)
        jsonschema.validate(summary, SCHEMA)
        assert summary["status"] == "partial"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_missing_java_is_named_and_nothing_is_started(text: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    bare = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {"PATH": "/nonexistent"}
    process = start_run(text, env=bare)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "Java is missing" in err
    assert "apt-get install openjdk-17" in err
    assert not (tmp_path / "run").exists()


def test_a_damaged_or_interrupted_fetch_mends_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said: list[str] = []
    folder = fetch(EXPORTER, said.append)
    assert find_flaw(folder, EXPORTER.pins()) is None
    said.clear()
    assert fetch(EXPORTER, said.append) == folder
    assert said == []  # a second call fetches nothing
    jar = next(folder.glob("*.jar"))
    jar.write_bytes(jar.read_bytes()[:-100])
    fetch(EXPORTER, said.append)
    assert "has changed" in said[0]
    assert find_flaw(folder, EXPORTER.pins()) is None
    (folder / "added.jar").touch()
    fetch(EXPORTER, said.append)
    assert find_flaw(folder, EXPORTER.pins()) is None


def test_up_status_down(text: str, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(text)
    up = subprocess.Popen([str(HYDROTEST), "up", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert up.stdout is not None
        assert up.stderr is not None
        first = up.stdout.readline()
        assert first.startswith("kafka: 127.0.0.1:"), up.stderr.read()
        status = subprocess.run([str(HYDROTEST), "status", str(file)], capture_output=True, text=True, check=True)
        assert f"faults (pid {up.pid})" in status.stdout
        down = subprocess.run([str(HYDROTEST), "down", str(file)], capture_output=True, text=True, check=True)
        assert "ended 1" in down.stdout
        assert up.wait(timeout=30) == 0
        assert own_processes(str(tmp_path)) == []
    finally:
        if up.poll() is None:
            up.kill()
