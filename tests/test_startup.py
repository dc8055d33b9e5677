"""Commands import only what they need, and do without the extras that they do not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hydrotest.cli import main
from hydrotest.errors import MissingToolError
from hydrotest.hosts.extras import EXTRAS, LAB, SPARK, Extra
from hydrotest.hosts.lab import netlink
from hydrotest.systems.spark.home import find_spark
from tests.synthetic import SyntheticRun

HEAVY = {
    "polars",
    "numpy",
    "scipy",
    "ruptures",
    "altair",
    "vl_convert",
    "hdrh",
    "jinja2",
    "pyroute2",
    "pyspark",
    "cryptography",
    "jsonschema",
    "zstandard",
    "cramjam",
}
"""Packages whose import costs tens of milliseconds of CPU or more, or that only runs, reports or event logs need."""
PROBE = """
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden!r} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Hiding, sys.meta_path)
from hydrotest.cli import main
code = main({argv!r})
print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
sys.exit(code)
"""
SPARK_AND_LAB = """\
name: both
hosts: {one: {connect: netns, cores: 1, memory: 6 GiB}}
systems: {spark: {master: one, workers: [one]}}
workloads: {batch: {kind: spark-perf, tests: [count], scale_factor: 0.05, data_scale: 0.02}}
tests: [isolated: [batch]]
"""


def call(*argv: str, without: tuple[str, ...] = ()) -> tuple[int, str, list[str], set[str]]:
    """A command in a process of its own, in which the packages `without` are not found: exit code, stdout, lines of stderr, and what it has imported."""
    done = subprocess.run([sys.executable, "-c", PROBE.format(hidden=without, argv=argv)], capture_output=True, text=True, check=False)
    *messages, modules = done.stderr.splitlines()
    return done.returncode, done.stdout, messages, set(modules.split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = [SyntheticRun(tmp_path_factory.mktemp(name)) for name in ("one", "other")]
    for run in made:
        run.search()
    return [str(run.folder.path) for run in made]


@pytest.fixture
def nothing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extra, "folder", None)
    monkeypatch.delenv("SPARK_HOME", raising=False)


def test_help_imports_nothing_heavy() -> None:
    code, out, _, modules = call("--help")
    assert code == 0
    assert "compare" in out
    assert {"cyclopts", "hydrotest"} <= modules
    assert not modules & (HEAVY | {"pydantic", "yaml", "asyncio"})


def test_check_imports_nothing_heavy() -> None:
    code, out, _, modules = call("check", "experiments/quickstart.yaml")
    assert code == 0
    assert out.startswith("quickstart: ")
    assert {"pydantic", "yaml"} <= modules
    assert not modules & (HEAVY | {"rich"})


def test_listing_templates_imports_nothing_heavy() -> None:
    code, out, _, modules = call("init", "--list", "--json")
    assert code == 0
    assert "quickstart" in {one["template"] for one in json.loads(out)}
    assert not modules & HEAVY


def test_show_imports_nothing_of_reports_and_hosts(runs: list[str]) -> None:
    code, _, _, modules = call("show", runs[0])
    assert code == 0
    assert "polars" in modules
    assert not modules & {"altair", "vl_convert", "jinja2", "ruptures", "pyroute2", "pyspark", "cryptography"}


def test_an_event_log_needs_nothing_of_a_run() -> None:
    code, _, _, modules = call("show", "--spark-log", "tests/data/spark-event-log.jsonl")
    assert code == 0
    assert "numpy" in modules
    assert not modules & (HEAVY - {"numpy", "zstandard", "cramjam"})


@pytest.mark.parametrize("command", ["check", "show", "report", "compare"])
def test_what_reads_does_without_the_extras(command: str, runs: list[str]) -> None:
    argv = {"check": ["experiments/packet-five-nodes.yaml"], "show": runs[:1], "report": runs[:1], "compare": runs}[command]
    code, out, messages, _ = call(command, *argv, "--json", without=tuple(extra.package for extra in EXTRAS))
    assert code == 0, messages
    assert json.loads(out)


def test_a_missing_extra_ends_a_run_before_it_begins(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, _, messages, _ = call("run", "experiments/quickstart.yaml", "--out", str(out), without=("pyspark",))
    assert code == MissingToolError.exit_code
    assert "pip install 'hydrotest[spark]'" in " ".join(messages)
    assert not out.exists()


@pytest.mark.usefixtures("nothing_extra")
def test_check_names_the_extras_that_an_experiment_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(SPARK_AND_LAB)
    assert main(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_extras"] == ["spark", "lab"]
    assert main(["check", str(file)]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if "hydrotest[spark]" in line or "hydrotest[lab]" in line]


@pytest.mark.usefixtures("nothing_extra")
@pytest.mark.parametrize("spark", ["home: /opt/spark", "release: 3.5"])
def test_a_spark_of_ones_own_or_an_older_one_needs_no_extra(spark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        SPARK_AND_LAB.replace("connect: netns, cores: 1, memory: 6 GiB", "connect: local").replace(
            "workers: [one]", f"workers: [one], {spark}"
        )
    )
    assert main(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_extras"] == []


@pytest.mark.usefixtures("nothing_extra")
def test_what_needs_an_extra_names_the_remedy() -> None:
    with pytest.raises(MissingToolError) as of_spark:
        find_spark(None)
    with pytest.raises(MissingToolError) as of_lab:
        _ = netlink.IPRoute
    assert (of_spark.value.hint, of_lab.value.hint) == (SPARK.remedy, LAB.remedy)


@pytest.mark.usefixtures("nothing_extra")
def test_doctor_names_missing_extras(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    found = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert [found[f"extra {extra.name}"]["state"] for extra in EXTRAS] == ["warning", "warning"]
