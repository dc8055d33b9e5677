"""Which failures a run may have: real tests that pass by themselves, and no more than two of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unstable import AGAIN_MAX, UNSTABLE_MAX, decide

REAL = {"a", "b", "c", "d", "e", "f"}


def outcome(failures: str, passing: str = "") -> tuple[list[str], list[str], bool]:
    found = decide(dict.fromkeys(failures, "first"), REAL.__contains__, passing.__contains__)
    return list(found.unstable), found.failed, found.fails


def test_two_that_pass_by_themselves_are_unstable_and_the_run_goes_on() -> None:
    assert outcome("ab", "ab") == (["a", "b"], [], False)


def test_a_third_one_fails_the_run() -> None:
    assert UNSTABLE_MAX == 2
    assert outcome("abc", "abc") == (["a", "b", "c"], [], True)


def test_one_that_fails_again_fails_the_run() -> None:
    assert outcome("ab", "a") == (["a"], ["b"], True)


def test_a_fast_test_is_never_run_again() -> None:
    assert outcome("ax", "ax") == ([], [], True)


def test_many_failures_are_not_tried_again() -> None:
    assert AGAIN_MAX == 5
    assert outcome("abcdef", "abcdef") == ([], [], True)


@pytest.mark.parametrize(("healed", "code", "said"), [(True, 0, "unstable: "), (False, 1, "failed twice: ")])
def test_a_whole_run(tmp_path: Path, healed: bool, code: int, said: str) -> None:
    """A test of its own that fails the first time, in a suite with these hooks."""
    marker = tmp_path / "been"
    (tmp_path / "conftest.py").write_text("from tests.unstable import pytest_sessionfinish, pytest_terminal_summary\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    real: x\n")
    (tmp_path / "test_it.py").write_text(
        "import pathlib, pytest\n@pytest.mark.real\ndef test_moody():\n"
        f"    been = pathlib.Path({str(marker)!r})\n    first = not been.exists()\n    been.touch()\n"
        f"    assert not first and {healed}, 'the machine stood still'\n"
        "@pytest.mark.skip(reason='needs root')\ndef test_skipped():\n    pass\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path, env=env, capture_output=True,
                         text=True, check=False)  # fmt: skip
    assert run.returncode == code, run.stdout + run.stderr
    assert said in run.stdout
    assert "the machine stood still" in run.stdout
    assert "skipped, 1 tests: needs root" in run.stdout
