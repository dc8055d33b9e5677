"""One machine against another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrotest.cli.commands import rate
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, BadInputError, HydrotestError, MissingToolError, TrialFailedError
from hydrotest.predict.rating import KindRate, Rating, compared, read_rating


def rating(chain: float, copy: float, *, processors: int = 4, parallel: float = 4.0) -> Rating:
    rates = {name: KindRate(per_s=value, low=value, high=value, slices=3) for name, value in (("chain", chain), ("copy", copy))}
    return Rating(version="0", cpu_model="made up", processors=processors, parallel_cores=parallel, rates=rates)


def test_the_speed_is_the_geometric_mean_with_the_range_over_kinds_of_work() -> None:
    found = compared(rating(200.0, 800.0), rating(100.0, 100.0))
    assert found.ratios == {"chain": 2.0, "copy": 8.0}
    assert [found.speed, found.low, found.high] == pytest.approx([4.0, 2.0, 8.0])


def test_processors_that_share_cores_count_as_what_they_do_at_once() -> None:
    """Four hyper-threads that do as much as two and a half."""
    found = compared(rating(100.0, 100.0, parallel=2.5), rating(100.0, 100.0))
    assert [found.speed, found.share] == pytest.approx([0.625, 0.625])


def test_other_kinds_of_work_are_not_compared(tmp_path: Path) -> None:
    other = rating(1.0, 1.0).model_copy(update={"rates": {"chain": KindRate(per_s=1.0, low=1.0, high=1.0, slices=3)}})
    with pytest.raises(BadInputError, match="other kinds of work"):
        compared(other, rating(1.0, 1.0))
    with_java = rating(2.0, 2.0)
    with_java = with_java.model_copy(update={"rates": {**with_java.rates, "jvm": KindRate(per_s=9.0, low=9.0, high=9.0, slices=3)}})
    assert compared(with_java, rating(1.0, 1.0)).ratios == {"chain": 2.0, "copy": 2.0}
    assert compared(with_java, with_java).ratios["jvm"] == 1.0
    (tmp_path / "other.json").write_text('{"version": "0"}')
    with pytest.raises(BadInputError, match=r"none of `hydrotest rate`"):
        read_rating(tmp_path / "other.json")


def test_this_machine_is_rated_by_all_kinds_of_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "here.json"
    assert main(["rate", "--seconds", "6", "--out", str(file)]) == EXIT_DONE
    found = read_rating(file)
    assert len(found.rates) == 11  # with that of a JVM
    assert all(one.low <= one.per_s <= one.high for one in found.rates.values())
    assert json.loads(file.read_text())["processors"] >= found.parallel_cores * 0.5
    assert "compress" in capsys.readouterr().out
    assert main(["rate", "--seconds", "1"]) == EXIT_BAD_INPUT


@pytest.mark.parametrize(
    "error", [MissingToolError("Java is missing: no java is on the PATH"), TrialFailedError("the JVM's kind of work failed: no compiler")]
)
def test_a_machine_without_a_jdk_is_rated_without_a_jvm(
    error: HydrotestError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def measured(_seconds: float) -> Rating:
        return rating(1.0, 2.0)

    def lacking(*_: object) -> None:
        raise error

    monkeypatch.setattr(rate, "_measured", measured)
    monkeypatch.setattr(rate, "find_java", lambda: Path("java"))
    monkeypatch.setattr(rate, "find_java" if isinstance(error, MissingToolError) else "jvm_slices", lacking)
    assert main(["rate", "--seconds", "6", "--out", str(tmp_path / "here.json")]) == EXIT_DONE
    assert read_rating(tmp_path / "here.json").rates.keys() == {"chain", "copy"}
    assert error.message in " ".join(capsys.readouterr().err.split())
