"""Objects on a real SeaweedFS: written and read on one of our own, and on one that others use, with what hydrotest leaves of it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.hosts.deadlines import until
from hydrotest.hosts.files import Private
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.choice import expected
from hydrotest.systems.s3.system import S3System
from tests.real.attaching import User
from tests.real.conftest import HYDROTEST, SOON, files_with, own_processes
from tests.real.disks import disk_bytes

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

OWN = """\
name: objects
hosts:
  here: {{connect: local, data: {data}}}
systems:
  s3: {{hosts: [here]}}
workloads:
  put:    {{kind: s3-write, objects: 4, object_size: 20 MiB, at_once: 2}}
  many:   {{kind: s3-write, objects: 200, object_size: 10 kB, at_once: 4}}
  get:    {{kind: s3-read, reads: put, at_once: 1, operation: 3 MiB}}
  cold:   {{kind: s3-read, reads: put, at_once: 1, cold: true}}
  random: {{kind: s3-read, reads: put, at_once: 2, operation: 100 kB, order: random}}
  paced:  {{kind: s3-read, reads: many, at_once: 4, rate: 100/s}}
  slow:   {{kind: s3-write, objects: 100, object_size: 10 kB, at_once: 4, rate: 50/s}}
tests:
  - isolated: [put, many, get, random, cold, paced, slow]
search: {{repeats: 3}}
"""
BYTES = 4 * (20 << 20)


async def test_objects_are_written_whole_and_in_parts_and_read_in_ranges(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(OWN.format(data=tmp_path / "data"))
    argv = [str(HYDROTEST), "run", str(tmp_path / "objects.yaml"), "--out", str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    rows: list[dict[str, Any]] = summary["objects"]
    assert summary["hdfs"] == []
    assert {row["workload"] for row in rows} == {"put", "many", "get", "cold", "random", "paced", "slow"}
    for row in rows:
        assert 0 < row["latency_ms"]["p50"] <= row["latency_ms"]["p99"] <= row["latency_ms"]["max"], row
        assert row["errors"] == {}
    # Parts of 8, 8 and 4 MiB; ranges of 3 MiB; one request for each small object.
    operations = {row["workload"]: row["operations"] / row["passes"] for row in rows}
    assert {name: operations[name] for name in ("put", "many", "get", "cold")} == {"put": 12, "many": 200, "get": 28, "cold": 12}
    # 200 operations at 100 a second take at least so long, however many are at once.
    paced = [row for row in rows if row["workload"] == "paced"]
    assert all(row["offered"] == 100 and row["bytes_per_s"] <= 105 * 10_000 for row in paced)
    slow = [row for row in rows if row["workload"] == "slow"]
    assert all(row["offered"] == 50 and row["bytes_per_s"] <= 53 * 10_000 for row in slow)
    read = {name: disk_bytes(tmp_path / "run", name) for name in ("get", "cold")}
    assert read["cold"] > 0.9 * BYTES
    assert read["get"] < 0.1 * BYTES
    assert own_processes("hydrotest.jobs") == []


LAB = """\
name: objects
hosts:
  store:   {connect: netns, network: 200 Mbit/s}
  clients: {connect: netns}
systems:
  s3: {hosts: [store], security: {tls: true}}
workloads:
  put: {kind: s3-write, objects: 4, object_size: 8 MiB, at_once: 2, on: clients}
  get: {kind: s3-read, reads: put, at_once: 2, on: clients}
tests:
  - isolated: [put, get]
search: {repeats: 3}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")
async def test_a_store_on_an_emulated_host_gives_what_its_link_gives(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(LAB)
    argv = [str(HYDROTEST), "run", str(tmp_path / "objects.yaml"), "--out", str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["objects"]
    best = {row["op"]: row["bytes_per_s"] for row in rows if row["is_limit"]}
    assert set(best) == {"write", "read"}
    # A queue of its link lets a burst through.
    assert all(5e6 < rate < 25e6 * 1.1 for rate in best.values()), best


# ---- One that others use

STORE = """\
name: store
hosts: {here: {connect: local}}
systems: {s3: {hosts: [here], security: {tls: true}}}
workloads: {put: {kind: s3-write, objects: 1, object_size: 1 MiB}}
tests: [isolated: [put]]
"""
BUCKET = "shared"
FOREIGN = {"orders/1": b"theirs", "bench/hydrotest-old-put/marker": b"not ours", "bench/hydrotest-0/x/file-0": b"neither"}
"""Objects of others; some have names as ours."""
READER = {
    "name": "reader",
    "credentials": [{"accessKey": "reader", "secretKey": "may-only-read"}],
    "actions": [f"Read:{BUCKET}", f"List:{BUCKET}"],
}
ACCESS, SECRET = "TEST_S3_ACCESS", "TEST_S3_SECRET"


class There:
    """The store, as its owner sees it: by the API of its filer, not by S3."""

    def __init__(self, bench: Bench) -> None:
        self.s3 = expected(bench.systems["s3"], S3System)
        self.filer = f"http://127.0.0.1:{self.s3._ports['filer']}/buckets/{BUCKET}/"
        self.plain = f"127.0.0.1:{self.s3._ports['plain']}"

    def put(self, key: str, content: bytes) -> None:
        request = urllib.request.Request(self.filer + key, data=content, method="PUT", headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=10).close()

    def content(self, key: str) -> bytes:
        with urllib.request.urlopen(self.filer + key, timeout=10) as answer:
            found: bytes = answer.read()
        return found

    def keys(self, below: str = "") -> set[str]:
        """Of all objects, and of parts of uploads that are not completed."""
        request = urllib.request.Request(f"{self.filer}{below}?limit=10000", headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            entries = json.load(answer)["Entries"] or []
        found: set[str] = set()
        for entry in entries:
            name = below + str(entry["FullPath"]).rpartition("/")[2]
            is_folder = bool(entry["Mode"] & (1 << 31))
            found |= self.keys(f"{name}/") if is_folder else {name}
        return found

    def experiment(self, **system: Any) -> dict[str, Any]:
        put = {"kind": "s3-write", "objects": 4, "object_size": "6 MiB", "operation": "5 MiB", "at_once": 2}
        keys = {"access_key": {"env": ACCESS}, "secret_key": {"env": SECRET}}
        return {
            "name": "attached",
            "hosts": {"here": {"connect": "local"}},
            "systems": {"s3": {
                "attach": self.s3.endpoints, "bucket": BUCKET, "prefix": "bench/", "security": {"tls": True, "authority": "ca.pem", **keys},
                "most": {"rate": 200, "bytes": "10 MB/s", "disk": "400 MB", "at_once": 2}, "guard": {"baseline": "5 s", "p99": "5 s"}, **system,
            }},
            "workloads": {"put": put, "get": {"kind": "s3-read", "reads": "put", "at_once": 2}},
            "tests": [{"isolated": ["put", "get"]}],
        }  # fmt: skip

    def user(self, folder: Path) -> User:
        (folder / "ca.pem").write_text(str(self.s3._authority and self.s3._authority.certificate))
        key = self.s3.client.credentials
        return User(folder, {ACCESS: str(key["access"]), SECRET: str(key["secret"])})

    def written(self, user: User, experiment: Mapping[str, Any]) -> Path:
        text = json.dumps(experiment).replace('"ca.pem"', json.dumps(str(user.folder / "ca.pem")))
        return user.written(json.loads(text))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[There]:
    with pytest.MonkeyPatch.context() as patched:
        rendered = S3System.render

        def render(self: S3System) -> dict[str, str]:
            files = rendered(self)
            users = json.loads(files["s3.json"])
            users["identities"].append(READER)
            return {**files, "s3.json": Private(json.dumps(users))}

        patched.setattr(S3System, "render", render)
        async with open_testbed(STORE, tmp_path_factory.mktemp("store"), Silent()) as bench:
            found = There(bench)
            for key, content in FOREIGN.items():
                found.put(key, content)
            assert found.keys() == set(FOREIGN)
            yield found


def refused(there: There, user: User, experiment: Mapping[str, Any]) -> str:
    """What `check --contact` says where it refuses."""
    done = user.hydrotest("check", there.written(user, experiment), "--contact")
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr


async def test_what_hinders_it_is_said_before_anything_is_written(there: There, tmp_path: Path) -> None:
    before, user = there.keys(), there.user(tmp_path)
    plain = there.experiment()
    plain["systems"]["s3"]["security"] |= {"tls": False}
    del plain["systems"]["s3"]["security"]["authority"]
    foreign_authority = there.experiment()
    foreign_authority["systems"]["s3"]["security"].pop("authority")
    said = {
        "NoSuchBucket": refused(there, user, there.experiment(bucket="not-there")),
        "TLS": refused(there, user, foreign_authority),
        "SignatureDoesNotMatch": refused(there, User(tmp_path, {**user.secrets, SECRET: "wrong"}), there.experiment()),
        "InvalidAccessKeyId": refused(there, User(tmp_path, {**user.secrets, ACCESS: "nobody"}), there.experiment()),
        "AccessDenied": refused(there, User(tmp_path, {ACCESS: "reader", SECRET: "may-only-read"}), there.experiment()),
        "Refused": refused(there, user, there.experiment(attach=["127.0.0.1:9"])),
    }
    for code, text in said.items():
        assert code == "Refused" or f": {code}: " in text, text
    assert ": NotConnected: " in said["Refused"]
    assert "security" in refused(there, user, plain)
    assert there.keys() == before


async def test_objects_are_written_within_what_is_allowed_and_nothing_stays(there: There, tmp_path: Path) -> None:
    before, user = there.keys(), there.user(tmp_path)
    file = there.written(user, there.experiment())
    assert user.hydrotest("run", file, "--out", tmp_path / "no").returncode == 2
    done = user.run(file, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    passes = [json.loads(one.read_text())["loads"][0]["files"] for one in sorted((tmp_path / "out/trials").glob("*/trial.json"))]
    assert {one["correct"] for done in passes for one in done["files"]} == {True}
    rates = [sum(one["bytes"] for one in done["files"]) / done["seconds"] for done in passes]
    assert max(rates) <= 10e6 * 1.01
    assert max(rates) >= 10e6 * 0.5
    # An object has two parts, a begin and an end; or one range of 6 MiB, as it is smaller than an operation.
    assert {one["requests"] for one in passes} == {16, 4}
    assert user.noted == []
    assert there.keys() == before
    assert {key: there.content(key) for key in FOREIGN} == FOREIGN
    for secret in user.secrets.values():
        if secret != "hydrotest":  # the name of its user is no secret, and a word of many files
            assert files_with(secret, tmp_path / "out") == []


async def test_what_a_killed_run_left_is_removed_where_it_proves_to_be_ours(there: There, tmp_path: Path) -> None:
    before, user = there.keys(), there.user(tmp_path)
    slow = there.experiment(most={"rate": 50, "bytes": "2 MB/s", "disk": "400 MB", "at_once": 2})
    slow["workloads"]["put"] |= {"objects": 10}
    file = there.written(user, slow)
    process = user.begun(file, tmp_path / "out")

    def begun() -> list[dict[str, Any]]:
        folder = tmp_path / "cache/hydrotest/attached"
        lines = [line for path in folder.iterdir() for line in path.read_text().splitlines()] if folder.is_dir() else []
        return [entry for entry in map(json.loads, lines) if entry.get("event") == "made"]

    async def pressed() -> bool:
        return any("/file-" in key for key in there.keys() - before)

    await until(pressed, SOON, "the run", "write objects")
    assert own_processes(user.secrets[SECRET]) == []
    second = user.hydrotest("check", file, "--contact")
    assert second.returncode == 2
    assert "canary" in second.stderr
    process.kill()
    process.wait()
    (ours,) = [one for one in begun() if one["name"].endswith("-put")]
    # Somebody else's objects get below our prefix: one beside our keys, one with such a key.
    foreign = {f"{ours['name']}/notes", f"{ours['name']}/{ours['identity']}/file-99"}
    for key in foreign:
        there.put(key, b"theirs")
    done = user.hydrotest("down", file, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["kept"]) == foreign
    # What may be ours stays provable.
    marker = f"{ours['name']}/marker"
    assert ours["name"] not in told["removed"]
    assert there.keys() == before | foreign | {marker}
    assert user.noted != []
    for key in foreign:
        assert there.content(key) == b"theirs"
        request = urllib.request.Request(there.filer + key, method="DELETE")
        urllib.request.urlopen(request, timeout=10).close()
    done = user.hydrotest("down", file, "--json")
    assert ours["name"] in json.loads(done.stdout)["removed"], done.stderr
    assert there.keys() == before
    assert user.noted == []


EVERY = 5
"""One of so many puts of objects is refused."""
SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>"
SKEWED = b"<?xml version='1.0'?><Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>"


class Between(BaseHTTPRequestHandler):
    """Hands requests on as they are, but for those that it refuses itself."""

    protocol_version = "HTTP/1.1"
    store = ""
    skewed = False
    puts = 0
    refused_puts = 0
    refuses: frozenset[tuple[str, str]] = frozenset()
    """Requests that are refused for good: a method, and what is in the path."""
    deletes = 0
    drops_metadata = False
    lock = threading.Lock()

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, answer = self._refusal() or self._handed_on(body)
        self.send_response(status)
        for name, value in headers:
            if type(self).drops_metadata and name.lower().startswith("x-amz-meta-"):
                continue
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        given = {name.lower(): value for name, value in headers}.get("content-length", "0")
        self.send_header("Content-Length", given if self.command == "HEAD" else str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    def _refusal(self) -> tuple[int, list[tuple[str, str]], bytes] | None:
        kind = type(self)
        if kind.skewed:
            return 403, [("Content-Type", "application/xml")], SKEWED
        if any(self.command == method and part in self.path for method, part in kind.refuses):
            return 403, [("Content-Type", "application/xml")], DENIED
        if self.command == "DELETE" and "/file-" in self.path:
            with kind.lock:
                kind.deletes += 1
                if kind.deletes % EVERY == 0:  # for a moment only
                    return 503, [("Content-Type", "application/xml")], SLOW_DOWN
        if self.command == "PUT" and "/file-" in self.path:
            with kind.lock:
                kind.puts += 1
                if kind.puts % EVERY == 0:
                    kind.refused_puts += 1
                    return 503, [("Content-Type", "application/xml")], SLOW_DOWN
        return None

    def _handed_on(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(type(self).store, timeout=30)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _any

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def between(there: There) -> Iterator[tuple[type[Between], str]]:
    """One that refuses now and then, between us and the store."""
    kind = type("Refusing", (Between,), {"store": there.plain, "lock": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield kind, f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def test_what_the_store_refuses_is_counted_and_leaves_nothing(
    there: There, between: tuple[type[Between], str], tmp_path: Path
) -> None:
    (kind, endpoint), before, user = between, there.keys(), there.user(tmp_path)
    experiment = there.experiment(attach=[endpoint])
    experiment["systems"]["s3"]["security"] = {"access_key": {"env": ACCESS}, "secret_key": {"env": SECRET}}
    experiment["workloads"] = {"put": {**experiment["workloads"]["put"], "objects": 8}}
    experiment["tests"] = [{"isolated": ["put"]}]
    file = there.written(user, experiment)
    kind.skewed = True
    assert ": RequestTimeTooSkewed: " in refused(there, user, experiment)
    kind.skewed = False
    done = user.run(file, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "out/summary.json").read_text())["objects"]
    assert kind.refused_puts > 0
    assert sum(row["errors"].get("SlowDown", 0) for row in rows) == kind.refused_puts
    assert all(set(row["errors"]) <= {"SlowDown"} for row in rows)
    assert sum(row["operations"] for row in rows) == kind.puts - kind.refused_puts
    assert there.keys() == before


def behind(there: There, endpoint: str) -> dict[str, Any]:
    experiment = there.experiment(attach=[endpoint])
    experiment["systems"]["s3"]["security"] = {"access_key": {"env": ACCESS}, "secret_key": {"env": SECRET}}
    experiment["workloads"] = {"put": experiment["workloads"]["put"]}
    experiment["tests"] = [{"isolated": ["put"]}]
    return experiment


@pytest.mark.parametrize(("refuses", "right"), [
    (("GET", "uploads"), "s3:ListBucketMultipartUploads"),
    (("GET", "/bench/hydrotest-reach-"), "s3:GetObject"),
])  # fmt: skip
async def test_a_right_that_only_the_removal_needs_is_found_before_any_load(
    there: There, between: tuple[type[Between], str], tmp_path: Path, refuses: tuple[str, str], right: str
) -> None:
    (kind, endpoint), user = between, there.user(tmp_path)
    kind.refuses = frozenset({refuses})
    assert right in refused(there, user, behind(there, endpoint))


async def test_a_store_that_drops_metadata_is_refused_before_any_load(
    there: There, between: tuple[type[Between], str], tmp_path: Path
) -> None:
    (kind, endpoint), before, user = between, there.keys(), there.user(tmp_path)
    kind.drops_metadata = True
    done = user.run(there.written(user, behind(there, endpoint)), tmp_path / "out")
    assert done.returncode != 0
    assert kind.puts == 0
    assert there.keys() == before
