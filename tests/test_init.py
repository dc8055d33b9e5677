"""`hydrotest init`: what it writes is an experiment, it asks for what it needs, and it overwrites nothing."""

from __future__ import annotations

import errno
import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from hydrotest.cli import main
from hydrotest.cli.catalogue import templates
from hydrotest.cli.draft import HOSTS_MAX, PLACES, RATED, SYSTEMS, Place, Wanted
from hydrotest.spec.header import EDITOR, header_of, parse_header, read_header
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.spec.schema import schema

HYDROTEST = Path(sys.executable).parent / "hydrotest"
SUBSETS = [chosen for count in range(1, len(SYSTEMS) + 1) for chosen in combinations(SYSTEMS, count)]
WHERE: list[tuple[Place, int]] = [("here", 1), *(("lab", hosts) for hosts in (1, 2, 3, HOSTS_MAX))]


@pytest.fixture(scope="module")
def editor() -> Draft7Validator:
    return Draft7Validator(json.loads(schema()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that we are in, outside of the source tree."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """What `init` says that it has written."""
    assert main(["init", *argv, "--json"]) == 0
    out: dict[str, Any] = json.loads(capsys.readouterr().out)
    return out


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["init", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return " ".join(captured.err.split())


def options(systems: tuple[str, ...], on: str, hosts: int) -> list[str]:
    given = ["--systems", ",".join(systems), "--on", on]
    given += ["--hosts", str(hosts)] if on == "lab" else []
    return given + (["--p99", "80ms"] if any(name in RATED for name in systems) else [])


def loaded(file: Path) -> Experiment:
    return load_experiment(file)[0]


@pytest.mark.parametrize(("on", "hosts"), WHERE)
@pytest.mark.parametrize("systems", SUBSETS, ids="+".join)
def test_each_combination_is_an_experiment(
    systems: tuple[str, ...], on: Place, hosts: int, folder: Path, editor: Draft7Validator, capsys: pytest.CaptureFixture[str]
) -> None:
    told = made(capsys, *options(systems, on, hosts), "--out", "mine.yaml")
    experiment, document = load_experiment(folder / told["file"])
    assert [error.message for error in editor.iter_errors(document.value)] == []
    assert experiment.name == "mine"
    assert set(experiment.systems.present()) == set(systems)
    emulated = [name for name, host in experiment.hosts.items() if host.is_emulated]
    assert len(emulated) == (0 if on == "here" else hosts + 1)
    assert {name: bound for name, one in experiment.objectives.items() for bound in one.latencies_ms().values()} == {
        RATED[name]: 80.0 for name in systems if name in RATED
    }
    header = read_header(folder / "mine.yaml")
    assert header is not None
    assert header.lines() == header_of(make_plan(experiment), header.question).lines()
    assert told["root"] is (on == "lab")


def test_every_workload_is_measured_alone_and_those_with_a_rate_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(capsys, *options(SYSTEMS, "lab", 3), "--out", "all.yaml")
    experiment = loaded(folder / "all.yaml")
    isolated, combined = experiment.tests
    assert set(isolated.names) == set(experiment.workloads)
    assert set(combined.names) == {name for name, one in experiment.workloads.items() if one.refusal(name, "combined") is None}
    assert isolated.needs_squeeze


def test_what_a_cluster_keeps_is_kept_three_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for hosts in (2, 5):
        made(capsys, *options(("kafka", "cassandra"), "lab", hosts), "--out", f"of-{hosts}.yaml")
    two, five = loaded(folder / "of-2.yaml"), loaded(folder / "of-5.yaml")
    assert [one.model_dump()["replication"] for one in two.workloads.values() if "replication" in one.model_dump()] == [2, 2]
    assert [one.model_dump()["replication"] for one in five.workloads.values() if "replication" in one.model_dump()] == [3, 3]


@pytest.mark.parametrize("machine", [0.5, 2.0, 16.0, 64.0])
@pytest.mark.parametrize("hosts", [1, 3, HOSTS_MAX])
def test_a_lab_leaves_cores_to_the_generators(machine: float, hosts: int, folder: Path) -> None:
    text = Wanted(("kafka",), "lab", hosts, "1 s", machine).body("x")
    (folder / "x.yaml").write_text(text)
    given = [host.shares["cores"] or 0.0 for name, host in loaded(folder / "x.yaml").hosts.items() if name != "clients"]
    assert len(given) == hosts
    assert min(given) >= 0.1
    assert sum(given) < machine or min(given) == 0.1


def test_each_template_is_listed_with_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {one["template"] for one in listed} == {file.stem for file in Path("experiments").glob("*.yaml")}
    for one in listed:
        header = read_header(Path("experiments", f"{one['template']}.yaml"))
        assert header is not None
        assert one == {"template": one["template"], **header.data()}
    assert main(["init", "--list"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(part in shown for one in listed for part in (one["template"], one["question"]))


@pytest.mark.parametrize("columns", [80, 200])
def test_the_list_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["init", "--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


@pytest.mark.parametrize("name", sorted(templates()))
def test_a_template_is_written_as_it_is(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = made(capsys, name)
    theirs, ours = templates()[name].text.splitlines(), (folder / told["file"]).read_text().splitlines()
    assert told["file"] == f"{name}.yaml"
    assert ours[0] == f"{EDITOR}experiment.schema.json"
    assert ours[1:] == theirs[1:]
    assert loaded(folder / told["file"]).name == name


def test_the_next_command_is_one_that_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = made(capsys, *options(("kafka",), "here", 1), "--out", "my own.yaml")
    check, run = (shlex.split(command) for command in told["next"])
    assert (check[:2], run[:2]) == (["hydrotest", "check"], ["hydrotest", "run"])
    assert main(check[1:]) == 0
    capsys.readouterr()
    assert made(capsys, "lab-faults")["next"][1].startswith("sudo ")
    assert loaded(folder / "my own.yaml").name == "kafka"


def test_nothing_is_overwritten_without_force(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "soak.yaml").write_text("mine")
    assert "--force" in refused(capsys, "soak")
    assert (folder / "soak.yaml").read_text() == "mine"
    assert not (folder / "experiment.schema.json").exists()
    made(capsys, "soak", "--force")
    assert loaded(folder / "soak.yaml").name == "soak"


def test_a_full_disk_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "kafka.yaml"
    file.write_text("as it was")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    for force in ([], ["--force"]):
        out = ["--out", str(file if force else folder / "other.yaml")]
        assert main(["init", "--systems", "kafka", "--on", "here", "--p99", "5ms", *out, *force]) == 3
        assert "No space left" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["kafka.yaml"]
    assert file.read_text() == "as it was"


def test_the_schema_is_that_of_the_source_tree_or_one_next_to_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, other = folder / "tree", folder / "other"
    for made_folder in (tree / "contract", tree / "mine", other):
        made_folder.mkdir(parents=True)
    (tree / "contract/experiment.schema.json").write_text(schema())
    made(capsys, "soak", "--out", str(tree / "mine/a.yaml"))
    assert (tree / "mine/a.yaml").read_text().splitlines()[0] == f"{EDITOR}../contract/experiment.schema.json"
    assert not (tree / "mine/experiment.schema.json").exists()
    told = made(capsys, "soak", "--out", str(other / "a.yaml"))
    assert (other / "a.yaml").read_text().splitlines()[0] == f"{EDITOR}experiment.schema.json"
    assert Path(told["schema"]).read_text(encoding="utf-8") == schema()


def test_a_schema_that_is_there_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "experiment.schema.json").write_text("{}")
    made(capsys, "soak")
    assert (folder / "experiment.schema.json").read_text() == "{}"


def test_no_schema_writes_neither_line_nor_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = made(capsys, "soak", "--no-schema")
    made(capsys, *options(("kafka",), "here", 1), "--no-schema")
    assert told["schema"] is None
    assert {path.name for path in folder.iterdir()} == {"soak.yaml", "kafka.yaml"}
    assert not [path for path in folder.iterdir() if EDITOR in path.read_text()]
    assert all(parse_header(path.read_text(), path) is not None for path in folder.iterdir())


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--schema"]) == 0
    assert capsys.readouterr().out == schema()


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        ([], ["--systems", "--on", "--p99"]),
        (["--systems", "kafka"], ["--on", "--p99"]),
        (["--systems", "spark"], ["--on"]),
        (["--systems", "kafak", "--on", "here", "--p99", "5ms"], ["kafak", "kafka"]),
        (["--systems", "", "--on", "here", "--p99", "5ms"], ["--systems"]),
        (["--systems", "mysql", "--on", "here", "--p99", "5ms"], ["mysql", *SYSTEMS]),
        (["--systems", "kafka", "--on", "ssh", "--p99", "5ms"], ["ssh", *PLACES]),
        (["--systems", "kafka", "--on", "here", "--hosts", "3", "--p99", "5ms"], ["--hosts", "--on lab"]),
        (["--systems", "kafka", "--on", "lab", "--hosts", "0", "--p99", "5ms"], ["--hosts", str(HOSTS_MAX)]),
        (["--systems", "kafka", "--on", "lab", "--hosts", "1000", "--p99", "5ms"], ["--hosts", str(HOSTS_MAX)]),
        (["--systems", "kafka", "--on", "lab", "--hosts", "three", "--p99", "5ms"], ["three"]),
        (["--systems", "kafka", "--on", "here", "--p99", "5"], ["--p99", "50 ms"]),
        (["--systems", "kafka", "--on", "here", "--p99", "0ms"], ["--p99"]),
        (["--systems", "kafka", "--on", "here", "--p99", "60d"], ["p99", "30 d"]),
        (["--systems", "spark", "--on", "here", "--p99", "5ms"], ["--p99"]),
        (["soack"], ["soack", "soak", "--list"]),
        (["soak", "--systems", "kafka"], ["--systems"]),
        (["soak", "--out", "nowhere/soak.yaml"], ["nowhere", "--out"]),
        (["soak", "--out", "."], ["--out"]),
        (["soak", "--out", "/dev/null"], ["plain file", "--out"]),
        (["soak", "--list"], ["soak", "--list"]),
        (["--schema", "--out", "s.json"], ["--out", "--schema"]),
        (["--schema", "--list"], ["--list", "--schema"]),
    ],
)
def test_bad_input_is_refused_with_what_to_write_instead(
    argv: list[str], named: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, *argv)
    assert [name for name in named if name not in message] == []
    assert list(folder.iterdir()) == []


@pytest.fixture
def typed(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `init` on a terminal on which these lines are typed, and then Ctrl-D."""

    def call(*lines: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        ours, theirs = pty.openpty()
        try:
            os.write(ours, "".join(f"{line}\n" for line in lines).encode() + b"\x04")
            return subprocess.run(
                [HYDROTEST, "init", *options], stdin=theirs, capture_output=True, text=True, check=False, cwd=folder, timeout=60
            )
        finally:
            os.close(ours)
            os.close(theirs)

    return call


Typed = Callable[..., subprocess.CompletedProcess[str]]


def test_on_a_terminal_it_asks(typed: Typed, folder: Path) -> None:
    done = typed("Kafka, cassandra", "lab", "2", "250ms")
    assert done.returncode == 0, done.stderr
    experiment = loaded(folder / "kafka-cassandra.yaml")
    assert list(experiment.hosts) == ["host1", "host2", "clients"]
    assert experiment.objective("ingest").latencies_ms() == {"p99": 250.0}
    assert "hydrotest check kafka-cassandra.yaml" in done.stdout


def test_it_asks_only_for_what_is_not_given_and_an_empty_answer_is_the_default(typed: Typed, folder: Path) -> None:
    done = typed("", options=("--systems", "spark,hdfs"))
    assert done.returncode == 0, done.stderr
    assert list(loaded(folder / "spark-hdfs.yaml").hosts) == ["here"]
    assert done.stderr.count("]: ") == 1  # one question with a default


def test_it_asks_again_for_what_is_not_usable(typed: Typed, folder: Path) -> None:
    done = typed("mysql", "hdfs", "the moon", "here")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("error: ") == 2
    assert list(loaded(folder / "hdfs.yaml").systems.present()) == ["hdfs"]


def test_an_end_of_the_answers_writes_nothing(typed: Typed, folder: Path) -> None:
    done = typed("kafka")
    assert done.returncode == 2
    assert list(folder.iterdir()) == []


def test_a_file_that_is_there_is_refused_before_anything_is_asked(typed: Typed, folder: Path) -> None:
    (folder / "x.yaml").write_text("mine")
    done = typed("kafka", "here", "50 ms", options=("--out", "x.yaml"))
    assert done.returncode == 2
    assert "What do you have?" not in done.stderr


def test_an_installed_package_has_the_templates(folder: Path) -> None:
    """As a wheel has it: links are followed, and nothing of the source tree is around."""
    package = Path(__file__).parents[1] / "python" / "hydrotest"
    shutil.copytree(package, folder / "site" / "hydrotest", symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import hydrotest, sys; from hydrotest.cli import main; print(hydrotest.__file__, file=sys.stderr); sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "init", "soak", "--json"],
        env={**os.environ, "PYTHONPATH": str(folder / "site")}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == str(folder / "site/hydrotest/__init__.py")
    assert loaded(folder / json.loads(done.stdout)["file"]).name == "soak"


def test_the_wheel_is_told_to_include_each_template() -> None:
    """maturin does not follow a link to a folder, but a pattern that leads through it."""
    root = Path(__file__).parents[1]
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["maturin"]
    patterns = [one["path"] for one in settings["include"] if "wheel" in one["format"] and "experiments" in one["path"]]
    included = {path.name for pattern in patterns for path in root.glob(pattern)}
    assert included == {path.name for path in (root / "experiments").glob("*.yaml")}
    assert all(pattern.startswith(f"{settings['python-source']}/hydrotest/experiments/") for pattern in patterns)
