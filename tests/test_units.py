"""Quantities as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100 B", 100), ("16 KiB", 16384), ("1 GB", 10**9), ("1.5kB", 1500), ("2GiB", 2 * 2**30), ("1e3 B", 1000), ("0.7 GiB", 751_619_277)],
)
def test_sizes(text: str, expected: int) -> None:
    assert units.size_bytes(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("50 ms", 0.05), ("5 min", 300), ("250us", 0.00025), ("1h", 3600)])
def test_durations(text: str, expected: float) -> None:
    assert units.duration_s(text) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "expected"), [(1000, 1000), ("1M", 10**6), ("100K", 10**5), ("1_000", 1000), ("0.5M", 500_000)])
def test_counts(text: object, expected: int) -> None:
    assert units.count(text) == expected


@pytest.mark.parametrize("text", ["100", 100, "100 b", "-1 B", "B", "", None, True, "1e3", "1.2.3 B", "1e400 B", "0" * 40 + "16 B", [1]])
def test_a_size_without_a_right_unit_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match="16 KiB"):
        units.size_bytes(text)


@pytest.mark.parametrize("text", [1.5, "1.5", "0.1K5", "0.0001K", 1e31, float("inf"), float("nan")])
def test_a_count_that_is_not_whole_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a count"):
        units.count(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("1.001K", 1001), ("0.29K", 290), ("4.35K", 4350), (1e5, 100_000), (1e17, 10**17), ("2e3", 2000)]
)
def test_a_count_is_what_is_written(text: object, expected: int) -> None:
    assert units.count(text) == expected


@pytest.mark.parametrize("text", ["1.5 B", "0.5 B", "0.0001 KiB"])
def test_a_part_of_a_byte_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="whole"):
        units.size_bytes(text)


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_what_yaml_reads_as_a_float_is_a_rate(value: float) -> None:
    """Python writes small and large ones with an exponent: 0.00005 is '5e-05'."""
    assert units.rate_per_s(value) == value
    assert units.share(5e-05) == 5e-05


@pytest.mark.parametrize("text", ["0", "100 %", 1, 0, "-5 %"])
def test_fractions_lie_between_0_and_1(text: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - either message names the bound
        units.fraction(text)


def test_rates_are_above_0() -> None:
    assert units.rate_per_s("100K/s") == 100_000
    with pytest.raises(ValueError, match="above 0"):
        units.rate_per_s(0)


@given(st.floats(min_value=1000, max_value=1e9))
def test_a_shown_rate_is_within_half_a_percent(value: float) -> None:
    shown = float(units.show_rate(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(("seconds", "shown"), [(12, "12 s"), (60, "1 min"), (185, "3 min 5 s"), (3720, "1 h 2 min")])
def test_durations_for_people(seconds: float, shown: str) -> None:
    assert units.show_duration(seconds) == shown


@pytest.mark.parametrize(("value", "expected"), [(999.4, "999"), (999.5, "1,000"), (999.96, "1,000"), (1000, "1,000")])
def test_rates_that_round_up_to_a_thousand(value: float, expected: str) -> None:
    assert units.show_rate(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(999_400, "999 kB"), (999_960, "1 MB"), (999_960_000, "1 GB"), (1_000_000, "1 MB")])
def test_bytes_that_round_up_to_the_next_unit(value: float, expected: str) -> None:
    assert units.show_bytes(value) == expected


@pytest.mark.parametrize(("count", "shown"), [(0, "0 files"), (1, "1 file"), (2_000, "2,000 files")])
def test_a_number_of_things(count: int, shown: str) -> None:
    assert units.show_count(count, "file") == shown
