"""How systems are configured, started and asked, on hosts in memory; that they do start is tested in tests/real."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from hydrotest.errors import BadInputError, SystemFailedError
from hydrotest.hosts.cluster import Cluster, Identity, Login, Tls
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.files import Private
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.cassandra import Cassandra
from hydrotest.spec.hdfs import Hdfs
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.spark import Spark
from hydrotest.systems import base
from hydrotest.systems.base import Ready, System
from hydrotest.systems.cassandra.ring import Place
from hydrotest.systems.cassandra.system import CassandraSystem
from hydrotest.systems.hdfs.system import CLIENT, HdfsSystem
from hydrotest.systems.kafka.secured import render_tool
from hydrotest.systems.kafka.system import KafkaSystem, Ports, cluster_id
from hydrotest.systems.spark.system import SparkSystem
from tests.fake_host import FakeHost

JAVA, EXPORTER, LOGS = PurePath("/java/bin/java"), PurePath("/cache/exporter.jar"), PurePath("/run/logs")
PLACE = Place("datacenter1", "rack1")


def nothing(_text: str) -> None: ...


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found on the controller's machine."""
    monkeypatch.setattr("hydrotest.systems.base.exporter_jar", lambda say: EXPORTER)
    for system in ("kafka", "cassandra", "hdfs", "spark"):
        monkeypatch.delenv(f"{system.upper()}_HOME", raising=False)
    monkeypatch.setattr("hydrotest.systems.spark.client.find_spark", lambda *args: (PurePath("/opt/spark"), "4.2.0"))
    for name in ("HADOOP_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)


def hosts_with(*jars: str, count: int = 1, answer: Callable[[Any], Any] = lambda question: {}) -> list[FakeHost]:
    made = [FakeHost(f"h{index}", f"10.0.0.{index + 1}", answer) for index in range(count)]
    for host in made:
        for jar in jars:
            host.files[PurePath(jar)] = b""
            host.modes[PurePath(jar)] = 0o644
    return made


def below(host: FakeHost, folder: str) -> dict[str, bytes]:
    root = host.scratch("r") / folder
    return {str(path.relative_to(root)): data for path, data in host.files.items() if root in path.parents}


def private(host: FakeHost, folder: str) -> set[str]:
    root = host.scratch("r") / folder
    return {name for name in below(host, folder) if host.modes[root / name] == 0o600}


def properties(data: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in data.decode().splitlines())


def site(data: bytes) -> dict[str | None, str | None]:
    return {one.findtext("name"): one.findtext("value") for one in ElementTree.fromstring(data.decode()).iter("property")}


def visible(hosts: list[FakeHost]) -> str:
    """What other users of the hosts can read of the commands that were started."""
    return json.dumps([host.started for host in hosts])


async def ended(system: System) -> None:
    assert await system.stop() == []


KAFKA_JAR = "/opt/kafka/libs/kafka-clients-4.3.1.jar"


async def kafka(hosts: list[FakeHost], **spec: Any) -> KafkaSystem:
    whole = Kafka(hosts=[host.name for host in hosts], home="/opt/kafka", **spec)
    system = KafkaSystem(whole, hosts, "r", LOGS, nothing)
    await system.start(nothing)
    await ended(system)
    return system


def brokers(count: int) -> Callable[[Any], Any]:
    return lambda question: {"brokers": list(range(count)), "behind": 0}


async def test_a_broker_is_formatted_and_started_with_its_files() -> None:
    (host,) = hosts_with(KAFKA_JAR, answer=brokers(1))
    system = await kafka([host], heap="512 MiB")
    assert system.version == "4.3.1"
    assert set(below(host, "kafka-0")) == {"server.properties", "gauges.yaml", "log4j2.xml", "log4j.properties", "format.log"}
    formatting, serving = host.started
    folder = str(host.scratch("r") / "kafka-0")
    assert formatting["argv"][-2:] == ["-c", f"{folder}/server.properties"]
    assert formatting["log"] == f"{folder}/format.log"
    assert serving["argv"][:3] == [str(JAVA), "-Xms512m", "-Xmx512m"]
    assert serving["argv"][-4:] == ["-cp", "/opt/kafka/libs/*", "kafka.Kafka", f"{folder}/server.properties"]
    assert (serving["directory"], serving["log"]) == (folder, "/run/logs/kafka-0.log")
    exporter = next(part for part in serving["argv"] if part.startswith("-javaagent"))
    port = exporter.split(":")[2]
    assert exporter == f"-javaagent:{EXPORTER}=127.0.0.1:{port}:{folder}/gauges.yaml"


async def test_brokers_know_each_other() -> None:
    hosts = hosts_with(KAFKA_JAR, count=3, answer=brokers(3))
    system = await kafka(hosts)
    lines = [properties(below(host, f"kafka-{index}")["server.properties"]) for index, host in enumerate(hosts)]
    assert [one["node.id"] for one in lines] == ["1", "2", "3"]
    (voters,) = {one["controller.quorum.voters"] for one in lines}
    assert [voter.split(":")[0] for voter in voters.split(",")] == ["1@10.0.0.1", "2@10.0.0.2", "3@10.0.0.3"]
    assert [one["advertised.listeners"] for one in lines] == [f"PLAINTEXT://{endpoint}" for endpoint in system.endpoints]
    assert len({started["argv"][started["argv"].index("-t") + 1] for host in hosts for started in host.started[:1]}) == 1


async def test_the_experiments_config_has_the_last_word() -> None:
    config = {"num.io.threads": 2, "log.dirs": "/x", "auto.create.topics.enable": True}
    (host,) = hosts_with(KAFKA_JAR, answer=brokers(1))
    await kafka([host], config=config)
    lines = properties(below(host, "kafka-0")["server.properties"])
    assert (lines["num.io.threads"], lines["log.dirs"], lines["auto.create.topics.enable"]) == ("2", "/x", "true")
    assert lines["listeners"].startswith("PLAINTEXT://10.0.0.1:")
    (host,) = hosts_with(*CASSANDRA_JARS, answer=Ring())
    await cassandra([host], config={"concurrent_writes": 1})
    settings = yaml.safe_load(below(host, "cassandra-0")["cassandra.yaml"])
    assert (settings["concurrent_writes"], settings["rpc_address"]) == (1, "10.0.0.1")


@pytest.mark.parametrize("sasl", ["PLAIN", "SCRAM-SHA-512"])
async def test_secrets_of_a_broker_are_in_private_files_of_its_host_only(sasl: str) -> None:
    hosts = hosts_with(KAFKA_JAR, count=2, answer=brokers(2))
    system = await kafka(hosts, security={"tls": True, "client_certificates": True, "sasl": sasl})
    cluster = system.cluster
    assert cluster.login is not None
    assert cluster.tls is not None
    assert cluster.tls.identity is not None
    own = [{f"broker-{index}.pem", f"broker-{index}.key", f"broker-{index}-both.pem", "authority.pem"} for index in range(2)]
    assert set(below(hosts[0], "kafka-credentials")) == own[0]
    assert set(below(hosts[1], "kafka-credentials")) == own[1]
    for index, host in enumerate(hosts):
        assert private(host, "kafka-credentials") == set(below(host, "kafka-credentials"))
        assert private(host, f"kafka-{index}") == {"server.properties"}
        written = properties(below(host, f"kafka-{index}")["server.properties"])
        keystore = PurePath(written["listener.name.client.ssl.keystore.location"])
        assert b"PRIVATE KEY" in host.files[keystore]
        assert (
            host.files[PurePath(written["listener.name.client.ssl.truststore.location"])]
            == below(host, "kafka-credentials")["authority.pem"]
        )
        # A password is in the properties only where Kafka has it from nowhere else.
        assert (cluster.login.password in written.get(f"listener.name.client.{sasl.lower()}.sasl.jaas.config", "")) == (sasl == "PLAIN")
    key = cluster.tls.identity.key.splitlines()[1]
    assert cluster.login.password not in visible(hosts)
    assert key not in visible(hosts)
    asked = [one["kafka"]["query"] for one in hosts[0].asked]
    assert asked == (["brokers"] if sasl == "PLAIN" else ["brokers", "set_scram", "brokers"])


@pytest.mark.parametrize("with_certificate", [False, True])
def test_a_stock_tool_is_let_in_by_private_files(with_certificate: bool) -> None:
    folder = PurePath("/data/r/h0")
    assert render_tool(Cluster(["a:1"]), folder) == {}
    cluster = Cluster(["a:1"], Tls("AUTHORITY", Identity("CERTIFICATE", "KEY") if with_certificate else None), Login("PLAIN", "me", "pass"))
    rendered = render_tool(cluster, folder)
    assert all(isinstance(text, Private) for name, text in rendered.items() if name != "tool-authority.pem")
    lines = properties(rendered["tool.properties"].encode())
    assert (lines["security.protocol"], lines["ssl.truststore.location"]) == ("SASL_SSL", "/data/r/h0/tool-authority.pem")
    assert 'password="pass"' in lines["sasl.jaas.config"]
    assert lines.get("ssl.keystore.location") == ("/data/r/h0/tool-identity.pem" if with_certificate else None)
    assert rendered.get("tool-identity.pem") == ("KEYCERTIFICATE" if with_certificate else None)


CASSANDRA_JARS = ("/opt/cassandra/lib/apache-cassandra-5.0.8.jar", "/opt/cassandra/lib/jamm-0.4.0.jar")


class Ring:
    """A node knows as many as have joined by then."""

    def __init__(self) -> None:
        self.nodes = 1
        self.asked: list[Any] = []

    def __call__(self, question: Any) -> Any:
        self.asked.append(question["cassandra"])
        return {"nodes": self.nodes, "version": "5.0.8"}


async def cassandra(hosts: list[FakeHost], **spec: Any) -> CassandraSystem:
    whole = Cassandra(hosts=[host.name for host in hosts], home="/opt/cassandra", **spec)
    system = CassandraSystem(whole, hosts, [PLACE for _ in hosts], "r", LOGS, nothing)
    await system.start(nothing)
    await ended(system)
    return system


async def test_a_node_is_started_with_its_files_and_another_joins() -> None:
    ring = Ring()
    one, two = hosts_with(*CASSANDRA_JARS, count=2, answer=ring)
    system = await cassandra([one])
    assert system.version == "5.0.8"
    files = below(one, "cassandra-0")
    assert set(files) == {"cassandra.yaml", "cassandra-rackdc.properties", "gauges.yaml", "logback.xml"}
    assert files["cassandra-rackdc.properties"] == b"dc=datacenter1\nrack=rack1\n"
    folder = str(one.scratch("r") / "cassandra-0")
    (started,) = one.started
    assert f"-Dcassandra.config=file://{folder}/cassandra.yaml" in started["argv"]
    assert "-javaagent:/opt/cassandra/lib/jamm-0.4.0.jar" in started["argv"]
    assert started["argv"][-3:] == ["-cp", "/opt/cassandra/lib/*", "org.apache.cassandra.service.CassandraDaemon"]
    ring.nodes = 2
    await system.add_node(two, Place("datacenter1", "rack2"), nothing)
    await ended(system)
    assert below(two, "cassandra-1")["cassandra-rackdc.properties"] == b"dc=datacenter1\nrack=rack2\n"
    settings = yaml.safe_load(below(two, "cassandra-1")["cassandra.yaml"])
    assert settings["listen_address"] == "10.0.0.2"
    assert settings["seed_provider"][0]["parameters"] == [{"seeds": f"10.0.0.1:{system.storage_port}"}]
    assert settings["native_transport_port"] == int(system.endpoints[0].split(":")[1])


async def test_nodes_that_begin_a_ring_are_started_at_once_with_parts_of_their_own() -> None:
    ring = Ring()
    hosts = hosts_with(*CASSANDRA_JARS, count=4, answer=ring)
    ring.nodes = 3
    system = await cassandra(hosts[:3], config={"num_tokens": 4})
    ring.nodes = 4
    await system.add_node(hosts[3], PLACE, nothing)
    await ended(system)
    settings = [yaml.safe_load(below(host, f"cassandra-{index}")["cassandra.yaml"]) for index, host in enumerate(hosts)]
    seeds = ",".join(f"10.0.0.{number}:{system.storage_port}" for number in (1, 2, 3))
    assert [one["seed_provider"][0]["parameters"] for one in settings] == [[{"seeds": seeds}]] * 4
    assert [len(one["initial_token"].split(",")) for one in settings[:3]] == [4, 4, 4]
    # One that comes later takes its part from the others, and so is no seed.
    assert "initial_token" not in settings[3]
    assert settings[3]["allocate_tokens_for_local_replication_factor"] == 3


@pytest.mark.parametrize(("config", "first"), [({}, 2), ({"initial_token": "1"}, 1)])
async def test_nodes_without_parts_of_their_own_join_one_after_the_other(config: dict[str, Any], first: int) -> None:
    asked: list[int] = []

    def answer(_question: Any) -> Any:
        asked.append(sum(1 for host in hosts if host.started))
        return {"nodes": asked[-1], "version": "5.0.8"}

    hosts = hosts_with(*CASSANDRA_JARS, count=2, answer=answer)
    await cassandra(hosts, config=config)
    assert (asked[0], asked[-1]) == (first, 2)


async def test_secrets_of_a_node_are_in_private_files() -> None:
    ring = Ring()
    (host,) = hosts_with(*CASSANDRA_JARS, answer=ring)
    system = await cassandra([host], security={"tls": True, "client_certificates": True, "password": True})
    cluster = system.cluster
    assert cluster.login is not None
    assert cluster.login.password != "cassandra"
    assert cluster.tls is not None
    assert cluster.tls.identity is not None
    folder = host.scratch("r") / "cassandra-0"
    credentials = {name for name in below(host, "cassandra-0") if name.startswith("credentials/")}
    assert credentials == private(host, "cassandra-0")
    options = yaml.safe_load(host.files[folder / "cassandra.yaml"])["client_encryption_options"]
    assert options["require_client_auth"]
    assert b"PRIVATE KEY" in host.files[PurePath(options["keystore"])]
    assert host.files[PurePath(options["truststore"])] == cluster.tls.authority.encode()
    assert cluster.tls.identity.key.splitlines()[1] not in visible([host])
    # The new password is set with the well-known login, and used from then on.
    passwords = [one["cluster"]["login"]["password"] for one in ring.asked]
    assert passwords == ["cassandra"] * 3 + [cluster.login.password]


async def test_a_distribution_without_its_agent_is_refused() -> None:
    with pytest.raises(BadInputError, match="jamm"):
        await cassandra(hosts_with(CASSANDRA_JARS[0], answer=Ring()))


HDFS_JARS = ("/opt/hadoop/share/hadoop/hdfs/hadoop-hdfs-3.5.0.jar", "/opt/hadoop/share/hadoop/common/lib/guava.jar")
LIVE = {"lastContact": 1}


def name_node(question: Any) -> Any:
    if question["http"]["url"].endswith("FSNamesystem"):
        return {"body": json.dumps({"beans": [{"UnderReplicatedBlocks": 0}]})}
    return {"body": json.dumps({"beans": [{"Safemode": "", "LiveNodes": json.dumps({"a": LIVE, "b": LIVE})}]})}


async def hdfs(hosts: list[FakeHost]) -> HdfsSystem:
    first, *others = hosts
    spec = Hdfs(namenode=first.name, datanodes=[host.name for host in others], home="/opt/hadoop")
    system = HdfsSystem(spec, first, others, "r", LOGS, nothing)
    await system.start(nothing)
    await ended(system)
    return system


async def test_a_name_node_is_formatted_and_all_are_started_with_their_files() -> None:
    hosts = hosts_with(*HDFS_JARS, count=3, answer=name_node)
    system = await hdfs(hosts)
    assert system.version == "3.5.0"
    hadoop = "/opt/hadoop/share/hadoop"
    assert (await system.client.class_path(hosts[0], nothing)).split(":") == [f"{hadoop}/*", f"{hadoop}/common/lib/*", f"{hadoop}/hdfs/*"]
    pages = {f"conf/webapps/{page}/WEB-INF/web.xml" for page in ("hdfs", "datanode")}
    wanted = {f"conf/{name}" for name in ("core-site.xml", "hdfs-site.xml", "log4j.properties", "gauges.yaml")} | pages
    for host, name, data in zip(hosts, ("hdfs-namenode", "hdfs-datanode-0", "hdfs-datanode-1"), ("name", "data", "data"), strict=True):
        folder = host.scratch("r") / name
        assert set(below(host, name)) == wanted
        # Empty folders that they cannot start without.
        assert {folder / data, folder / "conf/webapps/static"} < host.modes.keys() - host.files.keys()
        assert site(below(host, name)["conf/core-site.xml"])["fs.defaultFS"] == system.client.url
    formatting, serving = hosts[0].started
    assert (formatting["argv"][-2:], formatting["log"]) == (["-format", "-nonInteractive"], "/run/logs/hdfs-format.log")
    assert serving["argv"][-1].endswith("NameNode")
    assert serving["argv"][-2].split(":")[0] == f"{hosts[0].scratch('r')}/hdfs-namenode/conf"
    assert [one["argv"][-1].rpartition(".")[2] for host in hosts[1:] for one in host.started] == ["DataNode", "DataNode"]


async def test_hdfs_asks_who_comes() -> None:
    hosts = hosts_with(*HDFS_JARS, count=3, answer=name_node)
    await hdfs(hosts)
    assert site(below(hosts[0], "hdfs-namenode")["conf/hdfs-site.xml"])["dfs.permissions.enabled"] == "true"
    # For clients: no other user reads written files.
    assert CLIENT["fs.permissions.umask-mode"] == "077"


SPARK_SECRET = "spark.authenticate.secret"


async def spark(hosts: list[FakeHost], **spec: Any) -> SparkSystem:
    whole = Spark(master=hosts[0].name, workers=[host.name for host in hosts], **spec)
    system = SparkSystem(whole, hosts[0], hosts, "r", LOGS, nothing)
    await system.start_head(nothing)
    await system.start(nothing)
    await ended(system)
    return system


def master(_question: Any) -> Any:
    return {"body": json.dumps({"status": "ALIVE", "aliveworkers": 2, "cores": 6})}


async def test_a_master_and_its_workers_are_started_with_their_files() -> None:
    hosts = hosts_with(count=2, answer=master)
    hosts[1].processors = 2
    system = await spark(hosts)
    of_master, *workers = [one for host in hosts for one in host.started]
    assert of_master["argv"][:2] == ["/opt/spark/bin/spark-class", "org.apache.spark.deploy.master.Master"]
    folder = str(hosts[1].scratch("r") / "spark-worker-1")
    at, env = workers[1]["argv"], workers[1]["env"]
    assert at[at.index("--cores") + 1] == "3"
    assert (at[at.index("--work-dir") + 1], at[-1]) == (f"{folder}/work", system.client.url)
    assert (env["SPARK_CONF_DIR"], env["SPARK_LOCAL_DIRS"], env["SPARK_LOCAL_IP"]) == (f"{folder}/conf", f"{folder}/local", "10.0.0.2")
    assert (env["JAVA_HOME"], env["JAVA_TOOL_OPTIONS"]) == ("/java", "-XX:ActiveProcessorCount=2")
    assert system.client.application(hosts[0], PurePath("/events"), {})["spark.cores.max"] == 6
    assert hosts[1].modes[PurePath(folder) / "conf"] == 0o700


async def test_what_authenticates_spark_is_in_private_files_only() -> None:
    """In those of services and applications alike, and the experiment's own properties do not take it away."""
    hosts = hosts_with(count=2, answer=master)
    system = await spark(hosts, config={"spark.ui.enabled": True, "spark.authenticate": False})
    application = system.client.render_application(hosts[0], PurePath("/events"), {"spark.cores.max": 1})["spark.conf"]
    services = ((hosts[0], "spark-master"), (hosts[0], "spark-worker-0"), (hosts[1], "spark-worker-1"))
    for host, name in services:
        assert private(host, name) == {"conf/spark-defaults.conf"}
    written = [below(host, name)["conf/spark-defaults.conf"] for host, name in services]
    assert isinstance(application, Private)
    all_properties = [properties(text) for text in (*written, application.encode())]
    assert {one["spark.authenticate"] for one in all_properties} == {"true"}
    (secret,) = {one[SPARK_SECRET] for one in all_properties}
    assert len(bytes.fromhex(secret)) == 32
    assert secret not in visible(hosts)
    assert properties(application.encode())["spark.ui.enabled"] == "true"
    assert SPARK_SECRET not in system.client.application(hosts[0], PurePath("/events"), {})


def kafka_of(count: int) -> KafkaSystem:
    hosts = hosts_with(count=count)
    system = KafkaSystem(Kafka(hosts=[host.name for host in hosts]), hosts, "r", LOGS, nothing)
    system._ports = [Ports(9092, 9093, 9094, 9095)] * count
    return system


def hdfs_of(count: int) -> HdfsSystem:
    hosts = hosts_with(count=count)
    return HdfsSystem(Hdfs(namenode="h0", datanodes=[host.name for host in hosts]), hosts[0], hosts, "r", LOGS, nothing)


def nodes(safemode: str, *contacts: int) -> Any:
    live = json.dumps({str(number): {"lastContact": contact} for number, contact in enumerate(contacts)})
    return {"body": json.dumps({"beans": [{"Safemode": safemode, "LiveNodes": live}]})}


def test_answers_that_say_that_a_system_serves() -> None:
    brokers = kafka_of(2)
    (ready,), (whole,) = brokers.ready(), brokers.whole()
    behind = {"brokers": [1, 2], "behind": 1}
    assert [ready.satisfied(behind), whole.satisfied(behind), whole.satisfied(behind | {"behind": 0})] == [True, False, True]
    assert not ready.satisfied({"brokers": [1], "behind": 0})
    two = hdfs_of(2)
    (ready,) = two.ready()
    assert ready.satisfied(nodes("", 1, 3))
    assert not ready.satisfied(nodes("", 1, 4))  # not heard of lately
    assert not ready.satisfied(nodes("on", 1, 1))
    assert not ready.satisfied({"body": json.dumps({"beans": []})})
    whole = two.whole()[-1]
    copies = [{"body": json.dumps({"beans": [{"UnderReplicatedBlocks": blocks}]})} for blocks in (1, 0)]
    assert [whole.satisfied(answer) for answer in copies] == [False, True]


async def test_a_service_that_never_answers_as_it_should_is_reported_with_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "READY", Patience.of(a_test=0.3))
    (host,) = hosts_with(KAFKA_JAR, answer=lambda question: {"brokers": [], "behind": 0})
    system = KafkaSystem(Kafka(hosts=["h0"], home="/opt/kafka"), [host], "r", LOGS, nothing)
    starting = asyncio.create_task(system.start(nothing))

    async def look() -> bool:
        return bool(system.services)

    await until(look, Patience.of(a_slow_machine=60.0), "the service", "start")
    await host.append(LOGS / "kafka-0.log", b"INFO here\nERROR no quorum\n")
    with pytest.raises(SystemFailedError) as caught:
        await starting
    assert "ERROR no quorum" in caught.value.message
    assert "INFO here" not in caught.value.message
    await ended(system)


async def test_a_page_that_is_no_status_yet_is_asked_for_again(tmp_path: Path, fake_node: Callable[[str], None]) -> None:
    """A web server can be up before what it serves."""
    fake_node(
        f"path = {str(tmp_path / 'asked')!r}\n"
        "with open(path, 'a') as handle: handle.write('x')\n"
        "pages = ['', '<html>', '{}', '{\"status\": \"ALIVE\"}']\n"
        "say('done', result={'body': pages[min(os.path.getsize(path), len(pages)) - 1]})\n"
    )
    host = LocalHost("here", tmp_path)
    system = SparkSystem(Spark(master="here", workers=["here"]), host, [host], "r", tmp_path, nothing)
    await system._await_ready(Ready({}, lambda answer: json.loads(answer["body"])["status"] == "ALIVE"))
    assert (tmp_path / "asked").read_text() == "xxxx"


@pytest.mark.parametrize("first", [0x00, 0x7F, 0xF8, 0xFB, 0xFF])
def test_a_cluster_s_id_cannot_be_taken_for_an_option(first: int) -> None:
    name = cluster_id(bytes([first, *range(15)]))
    assert len(name) == 22
    assert not name.startswith("-")
