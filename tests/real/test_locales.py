"""The output of a real Java in each of its locales, by the stock tools' format strings; and a stock tool
in a German JVM."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.command import run_here
from hydrotest.hosts.java import find_java
from hydrotest.hosts.locales import PLAIN_LOCALE
from hydrotest.load.stock_output import parse_consumer, parse_producer, parse_stress
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.stock import run_stock_level
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.run.workloads.kafka import Consume
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import StockResult
from tests.real.conftest import SMALL

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
GERMAN = "-Duser.language=de -Duser.country=DE -Duser.language.format=de -Duser.country.format=DE"


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """LC_ALL alone has no effect on a JVM where the machine lacks that locale, so the JVM's own options
    are set, too."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ['JAVA_TOOL_OPTIONS']} {GERMAN}")


def or_refused(parse: Callable[[str, float], StockResult], text: str) -> StockResult | None:
    try:
        return parse(text, 1.0)
    except TrialFailedError:
        return None


async def test_each_locale_of_this_java_is_read_to_the_same_figures_or_refused() -> None:
    argv = [str(find_java()), "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", str(Path(__file__).with_name("Printed.java"))]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, **PLAIN_LOCALE}, encoding="utf-8").stdout
    texts = dict(part.split("\n", 1) for part in printed.split("LOCALE ")[1:])
    assert {"de-DE", "fr-FR", "ru-RU", "de-CH", "ar-EG"} <= texts.keys()
    read = set()
    for locale, text in texts.items():
        stress, producer, consumer = (or_refused(parse, text) for parse in (parse_stress, parse_producer, parse_consumer))
        if stress is not None:
            assert (stress.rate_per_s, stress.count, stress.errors) == (12_345, 1_250_000, 1_012), locale
            assert stress.latency_ms == {"mean": 5.1, "p50": 3.6, "p95": 13.2, "p99": 25.9, "p999": 57.8, "max": 4399.8}, locale
            assert stress.by_op["read"]["rate_per_s"] == 9_258, locale
        if producer is not None:
            assert (producer.count, producer.rate_per_s) == (1_234_567, 100_731.309306), locale
        if consumer is not None:
            assert (consumer.count, consumer.seconds) == (1_000_005, 9.026), locale
        if stress and producer and consumer:
            read.add(locale)
    # Refused are only those that write other digits, or other signs, than any of ours.
    ours = {locale for locale, text in texts.items() if re.search(r"^Op rate +: +12[.,'\u2019\u00a0\u202f]?345 op/s", text, re.MULTILINE)
            and re.search(r"57[.,]8 ms", text)}  # fmt: skip
    assert read == ours
    assert len(read) > len(texts) * 0.8


@pytest.mark.usefixtures("german")
async def test_a_supervised_command_runs_in_our_locale(tmp_path: Path) -> None:
    code, output = run_here(["env"], tmp_path / "env.log")
    assert code == 0
    assert {f"{name}={value}" for name, value in PLAIN_LOCALE.items()} <= set(output.splitlines())


@pytest.mark.long
@pytest.mark.usefixtures("german")
async def test_a_german_jvm_prints_as_ours_all_the_same(tmp_path: Path) -> None:
    # Systems of its own: what a host starts has the environment in which its hub was opened.
    async with open_testbed(SMALL, tmp_path, Silent()) as bench:
        load_workloads = {name: one for name, one in make_workloads(bench).items() if isinstance(one, Rated)}
        drain = load_workloads["drain"]
        assert isinstance(drain, Consume)
        await drain.prepare()
        try:
            drained = await run_stock_level(bench, drain, TrialPlan("de-drain", Purpose.LEVEL, 1.0, 3.0), None, None)
        finally:
            await drain.finish()
        stressed = await run_stock_level(bench, load_workloads["store"], TrialPlan("de-stress", Purpose.LEVEL, 1.0, 5.0), None, 8)
        folder = bench.runner.folder
    logs = {}
    for trial, workload in ((drained, "drain"), (stressed, "store")):
        assert trial.status == "done", trial.reason
        found = list(folder.folder_of(trial).rglob(f"*{workload}*.out"))
        logs[workload] = found[0].read_text()
        assert GERMAN in logs[workload]  # the JVM got the option
    assert re.search(r"^2\S+ \S+, \S+ \S+, [0-9]+\.[0-9]{4}, ", logs["drain"], re.MULTILINE)
    assert re.search(r"^Latency mean +: +[0-9]+\.[0-9] ms", logs["store"], re.MULTILINE)
