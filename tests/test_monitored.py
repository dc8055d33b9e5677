"""Machines whose counters somebody else collects: what is read of exporters and of Prometheus, and what follows from how often."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hydrotest.analysis.bottleneck.seen import seen_by
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.resources.rates import host_rates, trial_host_rates
from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.deadlines import Patience, cancelled, within
from hydrotest.hosts.monitored import source
from hydrotest.hosts.monitored.exporter import Exporter
from hydrotest.hosts.monitored.gauges import known, read_gauges
from hydrotest.hosts.monitored.node_exporter import NAMES, read_hardware, read_host
from hydrotest.hosts.monitored.prometheus import Prometheus
from hydrotest.hosts.monitored.series import Series, parse
from hydrotest.hosts.monitored.source import Reading
from hydrotest.hosts.monitored.web import Web
from hydrotest.spec.attach import attached, monitored, only_seen
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.monitored import ExporterHost, PrometheusHost, Selected
from hydrotest.store import layout
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.store.samples import read_samples
from hydrotest.verdicts.causes import NotSampled, Seen, Sparse

PAGE = (Path(__file__).parent / "data" / "node_exporter.txt").read_text()
"""As node_exporter 1.5.0 writes it, with figures that are easy to follow."""

ATTACH = """\
name: there
hosts:
  k1: {connect: exporter, metrics: "http://127.0.0.1:9100/metrics", services: ["http://127.0.0.1:9404/metrics"]}
  k2: {connect: prometheus, server: "http://127.0.0.1:9090", instance: "b2:9100"}
  here: {connect: local}
systems:
  kafka:
    attach: [b1:9092]
    hosts: [k1, k2]
    most: {rate: 20K, bytes: 20 MB/s, disk: 2 GB}
workloads:
  ingest: {kind: kafka-produce, record_size: 1 KB}
tests:
  - levels: {workload: ingest, rates: [5K]}
"""


def read(text: str) -> Experiment:
    return experiment_of(parse_document(text, Path("experiment.yaml")))


def test_nothing_runs_on_machines_that_are_monitored() -> None:
    experiment = read(ATTACH)
    assert monitored(experiment) == {"k1", "k2"}
    assert only_seen(experiment) == set()
    assert experiment.generator_hosts("ingest") == ["here"]
    assert set(attached(experiment)["kafka"].hosts) == {"k1", "k2"}


WRONG = {
    "no address": (('"http://127.0.0.1:9100/metrics"', '"127.0.0.1:9100"'), 3),
    "a login in an address": (('"http://127.0.0.1:9090"', '"http://u:p@127.0.0.1:9090"'), 4),
    "half a login": (('instance: "b2:9100"', 'instance: "b2:9100", user: u'), 4),
    "two logins": (('instance: "b2:9100"', 'instance: "b2:9100", user: u, password: {env: P}, token: {env: T}'), 4),
    "data there": (('instance: "b2:9100"', 'instance: "b2:9100", data: /mnt'), 4),
    "a series that is none": (('instance: "b2:9100"', 'instance: "b2:9100", map: {kafka_under_replicated_partitions: "a b"}'), 4),
    "a gauge that is none": (('instance: "b2:9100"', 'instance: "b2:9100", map: {kafka_underreplicated: behind}'), 4),
    "of no cluster": (("hosts: [k1, k2]", "hosts: [k1]"), 4),
    "a generator there": (("record_size: 1 KB", "record_size: 1 KB, on: [k1]"), 3),
    "nobody else": (("  here: {connect: local}\n", ""), 3),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_a_monitored_machine_cannot_have_is_refused_with_its_line(why: str) -> None:
    (old, new), line = WRONG[why]
    assert old in ATTACH
    with pytest.raises(BadInputError) as caught:
        read(ATTACH.replace(old, new))
    assert caught.value.line == line, caught.value.message


# ---- names


def test_a_page_of_node_exporter_has_the_counters_of_our_own_sampler() -> None:
    host = read_host(parse(PAGE, NAMES))
    assert not host.missing
    assert host.counters["cpu_count"] == 2
    # Sums of both cores, in microseconds.
    assert host.counters["cpu_user_us"] == round((12.5 + 10.25) * 1e6)
    assert host.counters["cpu_steal_us"] == round((1.5 + 0.5) * 1e6)
    assert host.counters["memory_total_bytes"] == 25_000_000_000
    assert host.counters["swap_used_bytes"] == 1_000_000
    # The disk, not its partition and not the volume on it.
    assert host.counters["disk_write_bytes"] == 4096_000
    assert host.counters["disk_wait_ms"] == 1_500 + 2_500
    # The link, not the bridge on it; loopback by itself.
    assert (host.counters["net_out_bytes"], host.counters["lo_out_bytes"]) == (700, 9_000)
    assert host.counters["pressure_cpu_some_us"] == 3_250_000


def test_what_a_page_lacks_is_named() -> None:
    page = "\n".join(line for line in PAGE.splitlines() if not line.startswith("node_disk"))
    host = read_host(parse(page, NAMES))
    assert host.counters == {}
    assert "node_disk_reads_completed_total" in host.missing
    assert "node_pressure_cpu_waiting_seconds_total" not in host.missing


def test_the_nominal_speed_is_that_of_links_that_are_up() -> None:
    hardware = read_hardware(parse(PAGE, NAMES))
    assert (hardware.cores, hardware.kernel) == (2, "6.1.0-test")
    assert hardware.link_bytes_per_s == 1.25e9


def test_gauges_of_others_are_ours() -> None:
    page = """\
# HELP kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent x
kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent 0.9
kafka_server_kafkarequesthandlerpool_brokerrequesthandleravgidle_percent 0.2
kafka_server_replicamanager_underreplicatedpartitions 3
jvm_gc_collection_seconds_sum{gc="G1 Young Generation"} 1.5
mcac_thread_pools_pending_tasks{pool_name="mutation_stage",dc="a"} 7
mcac_thread_pools_pending_tasks{pool_name="other",dc="a"} 99
custom_reads{pool="r",x="1"} 2
custom_reads{pool="r",x="2"} 4
"""
    theirs = known({'cassandra_pending_tasks{pool="ReadStage"}': Selected("custom_reads", {"pool": "r"})})
    names = {line.partition("{")[0].partition(" ")[0] for line in page.splitlines()}
    assert read_gauges(parse(page, names), theirs) == {
        # The broker's own pool, where there are both.
        "kafka_request_handlers_idle_share": 0.2,
        "kafka_under_replicated_partitions": 3.0,
        'jvm_gc_collection_seconds_sum{gc="G1 Young Generation"}': 1.5,
        'cassandra_pending_tasks{pool="MutationStage"}': 7.0,
        'cassandra_pending_tasks{pool="ReadStage"}': 6.0,
    }


def test_a_page_that_is_none_is_an_error() -> None:
    with pytest.raises(TrialFailedError):
        parse("node_cpu_seconds_total{cpu= 5", NAMES)
    assert parse("<html>", NAMES) == []


# ---- servers


Answer = Callable[[str, dict[str, str]], tuple[int, str]]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = answer(self.path, dict(self.headers))
            self.send_response(code)
            if code == 302:
                self.send_header("Location", body)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


async def test_a_login_goes_to_its_server_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "sesame")
    elsewhere: list[dict[str, str]] = []

    def other(_: str, headers: dict[str, str]) -> tuple[int, str]:
        elsewhere.append(headers)
        return 200, "x"

    with (
        serving(other) as there,
        serving(lambda path, headers: (302, there) if path == "/away" else (200, headers["Authorization"])) as url,
    ):
        spec = ExporterHost.model_validate({"connect": "exporter", "metrics": f"{url}/metrics", "token": {"env": "TOKEN"}})
        web = Web.of("k1", spec)
        assert await web.get(f"{url}/metrics") == "Bearer sesame"
        assert "sesame" not in repr(web)
        with pytest.raises(TrialFailedError):
            await web.get(f"{url}/away")
    assert elsewhere == []


async def test_an_exporter_is_read_until_it_is_cancelled_and_its_silence_is_said_once() -> None:
    pages = [PAGE, PAGE.replace('node_cpu_seconds_total{cpu="0",mode="user"} 12.5', 'node_cpu_seconds_total{cpu="0",mode="user"} 13.5')]
    asked = 0

    def answer(path: str, _: dict[str, str]) -> tuple[int, str]:
        nonlocal asked
        if path == "/jvm":
            return 200, "kafka_server_replicamanager_underreplicatedpartitions 2\n"
        asked += 1
        return (503, "later") if asked in (3, 4) else (200, pages[asked % 2])

    readings: list[Reading] = []
    warnings: list[str] = []
    with serving(answer) as url:
        spec = ExporterHost.model_validate({"connect": "exporter", "metrics": f"{url}/metrics", "services": [f"{url}/jvm"]})
        exporter = Exporter("k1", spec)
        known_of = await exporter.known()
        assert known_of.gauges == ("kafka_under_replicated_partitions",)
        await _until_four(exporter, readings, warnings)
    assert len(warnings) == 1
    assert next(one for one in readings if one["host"])["host"]["cpu_count"] == 2
    assert any(reading["gauges"] for reading in readings)
    assert await exporter.kept(0.0, 1.0) == ()


async def _until_four(exporter: Exporter, readings: list[Reading], warnings: list[str]) -> None:
    enough = asyncio.Event()

    def add(reading: Reading) -> None:
        readings.append(reading)
        if sum(bool(one["host"]) for one in readings) == 4:
            enough.set()

    following = asyncio.create_task(exporter.follow(add, warnings.append))
    await within(enough.wait(), Patience.of(a_slow_machine=60.0), "the exporter", "be read")
    assert await cancelled(following) is None


async def test_what_is_no_exporter_is_bad_input() -> None:
    with serving(lambda path, _: (200, "hello") if path == "/other" else (404, "")) as url:
        for page in ("/other", "/nothing"):
            spec = ExporterHost.model_validate({"connect": "exporter", "metrics": f"{url}{page}"})
            with pytest.raises(BadInputError) as caught:
                await Exporter("k1", spec).known()
            assert caught.value.hint


def prometheus(every_s: float, ahead_s: float) -> Answer:
    """A Prometheus whose clock is ahead, and that has had a scrape each `every_s`; one core is busy throughout."""

    def answer(path: str, _: dict[str, str]) -> tuple[int, str]:
        asked = parse_qs(urlsplit(path).query)
        query = asked["query"][0]
        now = time.time() + ahead_s
        if query == "vector(time())":
            return 200, json.dumps({"data": {"result": [{"metric": {}, "value": [now, str(now)]}]}})
        assert 'instance="b2:9100"' in query
        now = float(asked["time"][0])
        back_s = float(query.rpartition("[")[2].removesuffix("ms]")) / 1e3
        # As scrapes are: at fixed times, whoever asks.
        first = int((now - back_s) / every_s) + 1
        times = [number * every_s for number in range(first, int(now / every_s) + 1)]
        result = []
        for one in parse(PAGE, NAMES):
            is_busy = one.name == "node_cpu_seconds_total" and one.labels == {"cpu": "0", "mode": "user"}
            values = [[at, str(one.value + (at if is_busy else 0.0))] for at in times]
            metric: dict[str, str] = {"__name__": one.name, "instance": "b2:9100", "job": "node"}
            metric.update(one.labels)
            result.append({"metric": metric, "values": values})
        return 200, json.dumps({"data": {"result": result}})

    return answer


def host(url: str) -> Prometheus:
    return Prometheus("k2", PrometheusHost.model_validate({"connect": "prometheus", "server": url, "instance": "b2:9100"}))


async def test_what_prometheus_has_kept_is_by_the_controllers_clock() -> None:
    begin = time.time() - 60
    with serving(prometheus(every_s=5.0, ahead_s=1_000.0)) as url:
        own = host(url)
        known_of = await own.known()
        readings = await own.kept(begin, begin + 40)
    assert known_of.every_s == pytest.approx(5.0)
    assert known_of.hardware.cores == 2
    buffer = SampleBuffer()
    for reading in readings:
        buffer.add("k2", reading)
    times = [reading["wall_s"] for reading in readings]
    # Forty seconds of them, and the two before, by which the first interval begins.
    assert 9 <= len(times) <= 11
    assert begin - 11 <= times[0]
    assert times[-1] <= begin + 40


async def test_an_instance_that_is_not_scraped_is_bad_input() -> None:
    def nothing(path: str, _: dict[str, str]) -> tuple[int, str]:
        is_time = "time" in parse_qs(urlsplit(path).query)["query"][0] and "instance" not in path
        return 200, json.dumps({"data": {"result": [{"metric": {}, "value": [0, str(time.time())]}] if is_time else []}})

    with serving(nothing) as url, pytest.raises(BadInputError) as caught:
        await host(url).known()
    assert "b2:9100" in caught.value.message
    with serving(lambda path, _: (200, "<html>")) as url, pytest.raises(BadInputError):
        await host(url).known()


# ---- what follows from how often


def test_a_reading_counts_if_all_that_it_covers_is_in_the_window(tmp_path: Path) -> None:
    """One each 15 s covers 14 s before a window that begins just before it."""
    buffer = SampleBuffer()
    for at in range(0, 100, 15):
        buffer.add("k1", source.reading(float(at), read_host(parse(PAGE, NAMES)).counters, {}))
    (tmp_path / layout.HOST_SAMPLES).parent.mkdir()
    buffer.flush(tmp_path)
    run: Any = SimpleNamespace(folder_of=lambda trial: tmp_path)
    rates = trial_host_rates(run, None, "k1", 20.0, 80.0)  # type: ignore[arg-type]
    assert rates["wall_s"].to_list() == [45.0, 60.0, 75.0]
    assert len(host_rates(read_samples(tmp_path, layout.HOST_SAMPLES), "k1")) == 6


HOSTS: list[dict[str, Any]] = [
    {"name": "k1", "connect": "exporter", "every_s": 1.0},
    {"name": "k2", "connect": "prometheus", "every_s": 15.0},
    {"name": "here", "connect": "local"},
]


@pytest.mark.parametrize(("window_s", "seen"), [(10.0, Sparse(("k2",), 15.0, 10.0, 60.0)), (60.0, NotSampled(("k2",)))])
def test_what_is_not_seen_says_why(window_s: float, seen: Sparse | NotSampled) -> None:
    uses = [
        Use("cpu", "k1", 1.0, 2.0, "cores"),
        Use("disk", "k1", 1.0, None, "bytes/s written"),
        Use("network", "k1", 1.0, 10.0, "bytes/s out"),
    ]
    there = attached(read(ATTACH))
    window: Any = (None, 0.0, window_s)
    assert list(seen_by(there, HOSTS, uses, [window])) == [Seen(("k1",), "exporter", 1.0, ("disk",)), seen]


def test_series_are_written_as_exporters_do() -> None:
    assert Series("a", 1.0).text == "a"
    assert Series("a", 1.0, {"x": "1", "y": "2"}).text == 'a{x="1",y="2"}'
