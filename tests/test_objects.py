"""Object stores: what a file may ask of them, how one is started, what is kept secret, and what proves to be ours."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path, PurePath
from typing import Any

import pytest

from hydrotest.analysis.by_test.files import file_rows
from hydrotest.cli.contact import contact_lines
from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.report.files import files_sentences
from hydrotest.report.masked import Mask
from hydrotest.run.attached import dealings as dealing
from hydrotest.run.attached.contact import Contact
from hydrotest.run.attached.dealings import dealings
from hydrotest.run.attached.own import OwnThings
from hydrotest.run.attached.owned import Owned, OwnThing, leftovers
from hydrotest.run.workloads.buckets import Prefixes, Refused
from hydrotest.run.workloads.passes import check_pass
from hydrotest.spec.check import memory_needed
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.choice import expected
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.spec.s3 import S3, S3Read, S3Write
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, Trial
from hydrotest.systems.pip import SEAWEED
from hydrotest.systems.s3.attached import AttachedS3
from hydrotest.systems.s3.system import SERVICE, S3System
from tests.fake_host import FakeHost

THERE = """\
name: there
hosts: {here: {connect: local}}
systems:
  s3:
    attach: [s3.prod.example:9000]
    bucket: tests-of-ours
    prefix: benchmarks/
    security: {access_key: {env: TEST_S3_ACCESS}, secret_key: {env: TEST_S3_SECRET}}
    most: {rate: 50, bytes: 20 MB/s, disk: 2 GB}
workloads:
  put: {kind: s3-write, objects: 4, object_size: 16 MiB}
  get: {kind: s3-read, reads: put}
tests:
  - isolated: [put, get]
"""
OWN = """\
name: own
hosts: {here: {connect: local}}
systems:
  s3: {hosts: [here]}
workloads:
  put: {kind: s3-write, objects: 4, object_size: 16 MiB}
  get: {kind: s3-read, reads: put, cold: true, order: random, operation: 64 KiB}
tests:
  - isolated: [put, get]
"""
KEY = "    security: {access_key: {env: TEST_S3_ACCESS}, secret_key: {env: TEST_S3_SECRET}}\n"
WRONG = {
    "no bounds": (THERE, ("    most: {rate: 50, bytes: 20 MB/s, disk: 2 GB}\n", ""), 4),
    "no bound on requests": (THERE, ("rate: 50, ", ""), 9),
    "no bucket": (THERE, ("    bucket: tests-of-ours\n", ""), 4),
    "a bucket that is none": (THERE, ("tests-of-ours", "tests/ours"), 6),
    "a prefix that is a key": (THERE, ("benchmarks/", "benchmarks"), 7),
    "no key": (THERE, (KEY, ""), 4),
    "half a key": (THERE, (", secret_key: {env: TEST_S3_SECRET}", ""), 4),
    "a key in the file": (THERE, ("{env: TEST_S3_ACCESS}", "AKIA123"), 8),
    "an authority without encryption": (THERE, ("{access_key", "{authority: ca.pem, access_key"), 8),
    "configured": (THERE, ("    bucket:", "    memory: 1 GiB\n    bucket:"), 6),
    "two stores": (THERE, ("[s3.prod.example:9000]", "[a:9000, b:9000]"), 5),
    "too many at once": (THERE, ("object_size: 16 MiB}", "object_size: 16 MiB, at_once: 16}"), 11),
    "too many requests": (THERE, ("object_size: 16 MiB}", "object_size: 16 MiB, rate: 60}"), 11),
    "more bytes than are allowed": (THERE, ("reads: put}", "reads: put, rate: 10}"), 12),
    "more requests of parts": (THERE, ("object_size: 16 MiB}", "object_size: 10 MiB, operation: 5 MiB, rate: 30}"), 11),
    "a prefix with a star": (THERE, ("benchmarks/", "bench*/"), 7),
    "too much disk": (THERE, ("disk: 2 GB", "disk: 50 MB"), 9),
    "too long": (THERE, ("objects: 4, object_size: 16 MiB", "objects: 10000, object_size: 16 KiB"), 9),
    "cold, beside others": (THERE, ("reads: put}", "reads: put, cold: true}"), 12),
    "another test": (THERE, ("isolated: [put, get]", "combined: [put]"), 14),
    "a bucket of its own": (OWN, ("{hosts: [here]}", "{hosts: [here], bucket: mine}"), 4),
    "a key of its own": (OWN, ("{hosts: [here]}", "{hosts: [here], security: {tls: true, access_key: {env: A}}}"), 4),
    "security that asks for nothing": (OWN, ("{hosts: [here]}", "{hosts: [here], security: {}}"), 4),
    "little memory": (OWN, ("{hosts: [here]}", "{hosts: [here], memory: 64 MiB}"), 4),
    "several hosts": (OWN.replace("hosts: {here:", "hosts: {b: {connect: local}, here:"), ("{hosts: [here]}", "{hosts: [here, b]}"), 4),
    "small parts": (OWN, ("object_size: 16 MiB}", "object_size: 16 MiB, operation: 4 MiB}"), 6),
    "too many parts": (OWN, ("object_size: 16 MiB}", "object_size: 1 TiB, operation: 5 MiB}"), 6),
    "nothing to read": (OWN, ("reads: put", "reads: get"), 7),
    "larger than an object": (OWN, ("operation: 64 KiB", "operation: 32 MiB"), 7),
    "no store": (OWN, ("  s3: {hosts: [here]}", "  hdfs: {namenode: here, datanodes: [here]}"), 6),
}  # fmt: skip
ACCESS, SECRET = "AKIATESTOFOURS", "the-secret-of-tests"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_S3_ACCESS", ACCESS)
    monkeypatch.setenv("TEST_S3_SECRET", SECRET)


def read(text: str) -> Experiment:
    return experiment_of(parse_document(text, Path("experiment.yaml")))


@pytest.mark.parametrize("why", WRONG)
def test_what_cannot_be_had_is_refused_with_its_line(why: str) -> None:
    text, (old, new), line = WRONG[why]
    assert old in text
    with pytest.raises(BadInputError) as caught:
        read(text.replace(old, new))
    assert caught.value.line == line, caught.value.message


def test_nothing_of_a_store_that_is_there_is_started() -> None:
    experiment = read(THERE)
    (system,) = experiment.systems.present().values()
    assert (system.is_attached, system.hosts, system.placed("s3"), system.heaps()) == (True, [], [], [])
    assert all(highest_rate(experiment, name) is None for name in experiment.workloads)


def test_a_pass_takes_as_long_as_requests_and_bytes_that_are_allowed() -> None:
    experiment = read(
        THERE.replace("objects: 4, object_size: 16 MiB", "objects: 100, object_size: 4 KiB").replace("disk: 2 GB", "disk: 2 GB, time: 1 h")
    )
    (most,) = [one.most for one in [experiment.systems.of(S3)] if one is not None and one.most is not None]
    put = expected(experiment.workloads["put"], S3Write)
    passes = put.limit_step("put", experiment).trials
    # 100 requests at 50 a second take less than what is assumed of any pass.
    assert put.fixed_s("put", experiment, most) == passes * 8.0
    many = put.model_copy(update={"objects": 5_000})
    experiment = experiment.model_copy(update={"workloads": {"put": many}})
    assert many.fixed_s("put", experiment, most) == passes * 100.0
    # A multipart upload is begun and completed, too.
    parts = put.model_copy(update={"objects": 250, "object_size": 11 << 20, "operation": 6 << 20})
    assert parts.requests_of(parts) == 1_000
    large = put.model_copy(update={"objects": 20, "object_size": 20_000_000})
    experiment = experiment.model_copy(update={"workloads": {"put": large}})
    assert large.fixed_s("put", experiment, most) == passes * 20.0


def test_one_of_our_own_is_planned_with_its_memory_and_disk() -> None:
    experiment = read(OWN)
    plan = make_plan(experiment)
    assert plan.systems == {"s3": ["here"]}
    assert plan.memory_bytes["here"] >= 512 << 20
    get = expected(experiment.workloads["get"], S3Read)
    assert (get.source, get.cold, get.operation, get.written("get", experiment).count) == ("put", True, 64 << 10, 4)


def trial(number: int, at_once: int, files: Sequence[dict[str, Any]], errors: dict[str, int], micros: dict[str, int]) -> Trial:
    done = {
        "at_once": at_once,
        "began_wall_s": 0.0,
        "seconds": 2.0,
        "files": files,
        "operation_bytes": 100,
        "operations_us": micros,
        "errors": errors,
    }
    load = Load.model_validate({"workload": "put", "kind": "s3-write", "client": "aws-sdk", "files": done})
    return Trial(number=number, slug="files-put", purpose=Purpose.FILES, tenancy="isolated", warm_up_s=0, window_s=0, prepared_wall_s=0,
                 ended_wall_s=1, status="done", loads=[load])  # fmt: skip


def test_what_failed_is_counted_and_adds_no_throughput() -> None:
    whole, none = {"bytes": 100, "seconds": 1.0, "correct": True}, {"bytes": 0, "seconds": 1.0, "correct": True, "failed": True}
    trials = [
        trial(1, 1, [whole, whole], {}, {"1000": 2}),
        trial(2, 2, [none, whole], {"SlowDown": 1}, {"1000": 1}),
        trial(3, 2, [none, none], {"SlowDown": 1, "Timeout": 1}, {"1000": 3}),
    ]
    assert file_rows(trials, "hdfs") == []
    one, two = file_rows(trials, "s3")
    assert (one.bytes_per_s, one.errors, one.operations, one.is_limit) == (100.0, {}, 2, True)
    assert (two.bytes_per_s, two.errors, two.operations, two.is_limit) == (25.0, {"SlowDown": 2, "Timeout": 1}, 4, False)
    assert (two.file_bytes, two.per_file_bytes_per_s_mean) == (100, 100.0)
    assert len(files_sentences([one, two], "object")) == 2
    assert len(files_sentences([one], "object")) == 1


@pytest.mark.parametrize(("requests", "allowed", "expected_"), [(100, 50.0, True), (96, 50.0, True), (90, 50.0, False), (100, None, False)])
def test_as_many_requests_as_are_allowed_are_no_limit_of_the_store(requests: int, allowed: float | None, expected_: bool) -> None:
    one = trial(1, 1, [{"bytes": 100, "seconds": 1.0, "correct": True}], {}, {"1000": 1})
    (load,) = one.loads
    assert load.files is not None
    bounds = {"requests": requests, "allowed_requests_per_s": allowed, "allowed_bytes_per_s": 1e6}
    done = one.model_copy(update={"loads": [load.model_copy(update={"files": load.files.model_copy(update=bounds)})]})
    (row,) = file_rows([done], "s3")
    assert row.is_allowed is expected_


def test_a_reader_that_had_nothing_to_read_has_no_rate() -> None:
    files = [{"bytes": 100, "seconds": 1.0, "correct": True}, {"bytes": 0, "seconds": 0.0, "correct": True}]
    (row,) = file_rows([trial(1, 2, files, {}, {"1000": 1})], "s3")
    assert row.per_file_bytes_per_s_mean == 100.0


@pytest.mark.parametrize(("files", "micros", "holds"), [
    ([{"correct": True}, {"correct": True, "failed": True}], {"1000": 1}, True),
    ([{"correct": False}], {"1000": 1}, False),
    ([{"correct": False, "failed": True}], {"1000": 1}, False),
    ([{"correct": True, "failed": True}], {}, False),
])  # fmt: skip
def test_wrong_content_is_told_whatever_else_failed(files: list[dict[str, Any]], micros: dict[str, int], holds: bool) -> None:
    (load,) = trial(1, 1, [{"bytes": 1, "seconds": 1.0, **one} for one in files], {}, micros).loads
    assert load.files is not None
    with nullcontext() if holds else pytest.raises(TrialFailedError):
        check_pass("get", "objects", load.files)


# ---- A store that hydrotest starts


async def started(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[S3System, FakeHost]:
    monkeypatch.setattr(type(SEAWEED), "fetched", lambda self, say: Path("/cache/seaweedfs"))
    host = FakeHost("here", "127.0.0.1", lambda question: {"body": ""})
    system = S3System(S3.model_validate({"hosts": ["here"], **settings}), [host], "r", PurePath("/run/logs"), lambda how: None)
    await system.start(lambda text: None)
    await system.stop()
    return system, host


async def test_a_store_is_started_for_one_user_and_reports_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    system, host = await started(monkeypatch)
    (service,) = host.started
    argv = service["argv"]
    assert argv[:3] == ["/cache/seaweedfs/bin/weed", "-logtostderr=true", "server"]
    options = dict(one.removeprefix("-").split("=", 1) for one in argv[3:])
    assert options["master.telemetry"] == "false"
    assert options["ip.bind"] == "127.0.0.1"
    assert [options["s3.port.iceberg"], options["s3.port.lance"]] == ["0", "0"]
    ports = [value for name, value in options.items() if ".port" in name and value != "0"]
    assert len(set(ports)) == len(ports) == 8
    assert system.endpoints == [f"127.0.0.1:{options['s3.port']}"]
    folder = host.scratch("r") / SERVICE
    assert PurePath(options["dir"]) == folder / "data"
    assert host.modes[folder / "s3.json"] == 0o600
    users = json.loads(host.files[folder / "s3.json"])["identities"]
    secret = users[0]["credentials"][0]["secretKey"]
    assert len(users) == 1
    assert secret not in json.dumps(host.started)
    assert system.client.environment["AWS_SECRET_ACCESS_KEY"] == secret
    assert secret not in json.dumps(system.client.settings)
    assert {"filer.toml", "security.toml"} <= {path.name for path in host.files}
    assert [question["http"]["url"] for question in host.asked] == [f"http://{system.endpoints[0]}/healthz"]


async def test_an_encrypted_one_has_a_certificate_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    system, host = await started(monkeypatch, security={"tls": True}, memory="1 GiB")
    options = dict(one.removeprefix("-").split("=", 1) for one in host.started[0]["argv"][3:])
    assert system.endpoints == [f"127.0.0.1:{options['s3.port.https']}"]
    assert host.files[PurePath(options["s3.cert.file"])].startswith(b"-----BEGIN CERTIFICATE-----")
    assert host.modes[PurePath(options["s3.key.file"])] == 0o600
    assert system.client.settings["endpoint"].startswith("https://")
    assert system.client.settings["authority"].startswith("-----BEGIN CERTIFICATE-----")
    assert host.started[0]["env"]["GOMEMLIMIT"] == "1024MiB"


# ---- One that is there


def attached(text: str = THERE) -> AttachedS3:
    spec = read(text).systems.of(S3)
    assert spec is not None
    return AttachedS3(spec, [FakeHost()])


def test_the_key_is_read_where_it_is_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system = attached()
    assert system.client.credentials == {"access": ACCESS, "secret": SECRET, "token": None}
    assert ACCESS not in json.dumps(system.client.settings)
    assert SECRET not in repr(system.client._key)
    (tmp_path / "token").write_text("token-of-hours\n")
    with_token = attached(THERE.replace("{access_key", f"{{session_token: {{file: {tmp_path / 'token'}}}, access_key"))
    assert with_token.client.environment["AWS_SESSION_TOKEN"] == "token-of-hours"
    monkeypatch.delenv("TEST_S3_SECRET")
    with pytest.raises(BadInputError, match="TEST_S3_SECRET"):
        attached()


async def test_it_is_known_by_its_bucket_and_shows_nothing_of_itself() -> None:
    system = attached()
    facts = await system.contact(system.askers[0])
    assert (facts.identity, facts.free_share, facts.behind) == ("tests-of-ours at s3.prod.example:9000", None, 0)
    assert not system.shows_itself
    text = "\n".join(contact_lines(read(THERE), Contact((facts,), "h", {})))
    assert "copies" not in text
    assert "put" in text


def test_a_bucket_keeps_its_name_to_itself() -> None:
    there = {
        "attached": {"identity": "tests-of-ours at s3.prod.example:9000", "nodes": [{"name": "s3", "address": "s3.prod.example:9000"}]}
    }
    masked = Mask(read(THERE), there).of_text(THERE)
    for hidden in ("prod.example", "tests-of-ours", "benchmarks/"):
        assert hidden not in masked, hidden


@pytest.mark.parametrize("step", dealing.RIGHTS)
@pytest.mark.parametrize("code", [*dealing.HINTS, "AccessDenied", "HTTP 502"])
async def test_what_a_store_refuses_has_a_remedy(monkeypatch: pytest.MonkeyPatch, step: str, code: str) -> None:
    async def reach(_self: Any) -> Refused:
        return Refused(step, code, "its own words")

    monkeypatch.setattr(Prefixes, "reach", reach)
    with pytest.raises(BadInputError) as caught:
        await dealings(attached()).check_rights(read(THERE))
    assert "its own words" in caught.value.message
    assert (caught.value.hint or "") in dealing.HINTS.values() or dealing.RIGHTS[step] in (caught.value.hint or "")


async def test_an_upload_that_stays_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reach(_self: Any) -> Refused:
        return Refused("abort", "AccessDenied", "its own words", "benchmarks/hydrotest-reach-1", "upload-17")

    monkeypatch.setattr(Prefixes, "reach", reach)
    with pytest.raises(BadInputError) as caught:
        await dealings(attached()).check_rights(read(THERE))
    assert "benchmarks/hydrotest-reach-1" in caught.value.message
    assert "upload-17" in caught.value.message


def test_memory_of_what_is_read_at_once_is_planned() -> None:
    def needed(at_once: int, kind: str) -> int:
        old = {"put": "object_size: 16 MiB}", "get": "operation: 64 KiB}"}[kind]
        return memory_needed(read(OWN.replace(old, f"{old[:-1]}, at_once: {at_once}}}")))["here"]

    assert needed(1000, "get") - needed(8, "get") == round(992 * (64 << 10) * 1.25)
    assert needed(1000, "put") == needed(8, "put")
    experiment = read(OWN.replace("operation: 64 KiB", "operation: 16 MiB, at_once: 10000"))
    assert memory_needed(experiment)["here"] > 150 << 30


@dataclasses.dataclass
class Bucket:
    """`Prefixes` in memory: who began what. Its answer may be lost."""

    begun: dict[str, str] = dataclasses.field(default_factory=dict)
    loses: int = 0
    foreign: list[str] = dataclasses.field(default_factory=list)

    async def make(self, prefix: str, identity: str) -> None:
        if self.begun.setdefault(prefix, identity) != identity:
            raise TrialFailedError("there already")
        if self.loses:
            self.loses -= 1
            raise TrialFailedError("no answer")

    async def remove(self, prefix: str, identity: str) -> list[str]:
        if self.begun.get(prefix) == identity:
            del self.begun[prefix]
        return self.foreign


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("cache")
async def test_a_prefix_is_known_before_it_is_made() -> None:
    bucket, owned = Bucket(loses=1), Owned.of_run("r", "s3", "tests at s3:9000")
    own = OwnThings(owned)
    with pytest.raises(TrialFailedError):
        await own.make_prefix(bucket, "hydrotest-r-put")
    identity = own.identity_of("hydrotest-r-put")
    assert identity is not None
    assert len(identity) == 32
    # A second attempt is the same one.
    await own.make_prefix(bucket, "hydrotest-r-put")
    await own.make_prefix(bucket, "hydrotest-r-put")
    assert bucket.begun == {"hydrotest-r-put": identity}
    assert await own.clear() == []
    assert bucket.begun == {}
    owned.close()
    assert list(leftovers("s3")) == []


@pytest.mark.usefixtures("cache")
async def test_what_a_killed_run_began_is_proven_though_no_answer_came() -> None:
    bucket, owned = Bucket(loses=1), Owned.of_run("r", "s3", "tests at s3:9000")
    own = OwnThings(owned)
    with pytest.raises(TrialFailedError):
        await own.make_prefix(bucket, "hydrotest-r-put")
    owned.close()  # as the kernel does it for a process that is killed: something is left
    (left,) = leftovers("s3")
    assert left.things == (OwnThing("hydrotest-r-put", bucket.begun["hydrotest-r-put"]),)


@pytest.mark.usefixtures("cache")
async def test_one_of_the_same_name_is_left_alone() -> None:
    bucket, owned = Bucket(begun={"hydrotest-r-put": "another's"}), Owned.of_run("r", "s3", "tests at s3:9000")
    own = OwnThings(owned)
    with pytest.raises(TrialFailedError):
        await own.make_prefix(bucket, "hydrotest-r-put")
    assert await own.clear() == []
    assert bucket.begun == {"hydrotest-r-put": "another's"}
    owned.close()


@pytest.mark.usefixtures("cache")
async def test_what_others_put_into_ours_is_named() -> None:
    bucket, owned = Bucket(foreign=["hydrotest-r-put/notes"]), Owned.of_run("r", "s3", "tests at s3:9000")
    own = OwnThings(owned)
    await own.make_prefix(bucket, "hydrotest-r-put")
    (problem,) = await own.clear()
    assert "hydrotest-r-put/notes" in problem
    assert bucket.begun == {}
    owned.close()
