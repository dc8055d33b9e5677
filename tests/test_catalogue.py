"""The catalogue of machines, and what they cost."""

from __future__ import annotations

import json
import socket
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from hydrotest.catalogue.clouds import read_machines, read_prices
from hydrotest.catalogue.cost import AtRate, Wanted, cost_of, disk_lines, machine_line, traffic_line
from hydrotest.catalogue.machine import Machine, Price
from hydrotest.catalogue.machines import found, machines, old_prices, read_own, selected, shipped
from hydrotest.catalogue.published_costs import published_costs
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_MISSED, BadInputError
from hydrotest.predict.costs import Moving, between_zones
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of

CLOUDS = Path(__file__).parent / "data" / "clouds"
TODAY = date(2026, 11, 27)


def test_the_catalogue_has_what_a_size_is_chosen_by() -> None:
    aws = [one for one in shipped().values() if one.provider == "aws"]
    assert sum(one.net_base_bit_s is not None and one.net_peak_bit_s is not None for one in aws) >= 1390
    assert sum(one.disk_base_b_s is not None for one in aws) >= 1370
    assert sum(one.price(None, "on-demand") is not None for one in aws) >= 1270
    assert len(shipped()) - len(aws) >= 60
    assert all(one.source and one.as_of for one in shipped().values())
    assert all(price.source and price.as_of for one in shipped().values() for price in one.prices)
    assert all(one.sustained_vcpus is not None for one in aws if one.is_burstable)
    folder = resources.files("hydrotest.catalogue")
    assert len(folder.joinpath("machines.parquet").read_bytes()) <= 200_000
    assert "Apache License" in folder.joinpath("NOTICE").read_text()


@pytest.mark.parametrize(
    ("name", "region", "usd_h"),
    [
        ("m7i.xlarge", "us-east-1", 0.2016),
        ("m6i.xlarge", "us-east-1", 0.192),
        ("i3.xlarge", "us-east-1", 0.312),
        ("i4i.2xlarge", "us-east-1", 0.686),
        ("m5.xlarge", "us-east-1", 0.192),
        ("c5.xlarge", "us-east-1", 0.17),
        ("m5.large", "us-west-2", 0.096),
        ("m7g.xlarge", "us-west-2", 0.1632),
        ("m5.xlarge", "eu-west-1", 0.214),
        ("r5.xlarge", "eu-west-1", 0.282),
        ("m5.xlarge", "eu-central-1", 0.23),
        ("i3.2xlarge", "eu-central-1", 0.744),
        ("m5.large", "ap-northeast-1", 0.124),
    ],
)
def test_prices_of_dedicated_machines_are_not_taken_for_those_of_shared_ones(name: str, region: str, usd_h: float) -> None:
    """AWS's list. The package has a tenth more for some, and nothing for others."""
    price = found(name, shipped()).price(region, "on-demand")
    assert price is not None
    assert price.usd_h == pytest.approx(usd_h, rel=0.005)


def test_prices_are_by_region_and_term() -> None:
    for provider, at_least, first in (("aws", 30, "us-east-1"), ("gcp", 20, "us-central1"), ("azure", 30, "eastus")):
        prices = [price for one in shipped().values() if one.provider == provider for price in one.prices]
        assert len({price.region for price in prices}) >= at_least
        # Where no region is asked for, that of all others is meant.
        priced = (one.price(None, "on-demand") for one in shipped().values() if one.provider == provider)
        assert {one.region for one in priced if one is not None} >= {first}
        assert sum(price.term == "on-demand" and price.region == first for price in prices) >= 0.9 * sum(
            one.provider == provider and bool(one.prices) for one in shipped().values())  # fmt: skip
    assert all(price.usd_h > 0 for one in shipped().values() for price in one.prices)
    one = found("gcp/c2-standard-8", shipped())
    by_term = [one.price("europe-west1", term) for term in ("on-demand", "1y", "3y", "spot")]
    usd_h = [price.usd_h for price in by_term if price is not None]
    assert len(usd_h) == 4
    assert usd_h == sorted(usd_h, reverse=True)


def test_a_catalogue_is_listed_by_region(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "list", "m7g.*", "--region", "eu-central-1", "--json"]) == EXIT_DONE
    listed = json.loads(capsys.readouterr().out)["machines"]
    assert {price["region"] for one in listed for price in one["prices"]} == {"eu-central-1"}
    assert main(["catalogue", "show", "m7g.xlarge", "--region", "eu-central-1", "--json"]) == EXIT_DONE
    assert [one for one in listed if one["name"] == "m7g.xlarge"] == [json.loads(capsys.readouterr().out)]
    assert main(["catalogue", "show", "m7g.xlarge", "--region", "eu-centrall-1"]) == EXIT_BAD_INPUT
    assert "eu-central-1" in capsys.readouterr().err


def test_credits_are_of_burstable_machines() -> None:
    one = found("aws/t3.medium", shipped())
    assert (one.vcpus, one.credits_per_h, one.credits_max) == (2, 24, 576)
    assert one.sustained_vcpus == pytest.approx(0.4)


PUBLISHED = {
    "the five nodes": (3.70, None), "its three Kafka nodes": (1.20, 0.000258), "three of Type 2 for Spark": (3.75, None),
    "the cluster that spark-perf is said to need": (4.00, None), "one of Type 3 for Cassandra": (1.75, None),
    "the node that Cassandra vendors recommended": (3.00, None), "six nodes": (27.54, 0.0488),
    "3 workers, brokers of t2.medium": (None, 0.0129), "3 workers, brokers of m4.large": (None, 0.0146), "4 workers, brokers of m4.large": (None, 0.0138),
    "5 workers, brokers of m4.large": (None, 0.0116),
}  # fmt: skip


def test_published_prices_come_out_to_the_cent() -> None:
    costs = {one.name: one for one in published_costs(None)}
    assert costs.keys() == PUBLISHED.keys()
    for name, (usd_h, million) in PUBLISHED.items():
        if usd_h is not None:
            assert round(costs[name].usd_h, 2) == usd_h
        if million is not None:
            (only,) = costs[name].millions
            assert float(f"{only.usd:.3g}") == million
        assert all(line.source and line.as_of for line in costs[name].lines)
    assert round(costs["six nodes"].usd_month, 2) == 19_828.80


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("aws.json", {"aws/m7i.xlarge": (4, 17_179_869_184, 1.562e9, 156.25e6), "aws/i4i.large": (2, 17_179_869_184, 0.781e9, 78.125e6)}),
        ("gcp.json", {"gcp/n2-standard-8": (8, 34_359_738_368, None, None), "gcp/e2-micro": (2, 1_073_741_824, None, None)}),
        ("azure.json", {"azure/Standard_D4s_v5": (4, 17_179_869_184, None, None)}),
        ("oci.json", {"oci/VM.DenseIO2.8": (16, 128_849_018_880, 8.2e9, None), "oci/VM.Standard.A1.Flex": (1, 6_442_450_944, 1e9, None)}),
    ],
)
def test_what_clouds_print_is_read_and_written(file: str, expected: dict[str, tuple[Any, ...]], tmp_path: Path) -> None:
    out = tmp_path / "machines.yaml"
    assert main(["catalogue", "import", str(CLOUDS / file), "--out", str(out)]) == EXIT_DONE
    mine = read_own(out)
    assert {name: (one.vcpus, one.memory_bytes, one.net_base_bit_s, one.disk_base_b_s) for name, one in mine.items()} == expected
    for one in read_machines(CLOUDS / file, mine[next(iter(mine))].as_of or TODAY):
        kept = mine[one.full_name]
        assert {key: getattr(kept, key) for key, value in vars(one).items() if value not in (None, ())} == {
            key: value for key, value in vars(one).items() if value not in (None, ())}  # fmt: skip
        # What is read anew takes no price away.
        assert kept.prices == (shipped()[one.full_name].prices if one.full_name in shipped() else ())


def test_prices_join_machines_and_go_first(tmp_path: Path) -> None:
    prices, out = tmp_path / "mine.csv", tmp_path / "machines.yaml"
    prices.write_text(
        "type,region,term,usd_h,as_of\nm7i.xlarge,us-east-1,on-demand,0.15,2026-11-01\naws/m7i.xlarge,us-east-1,spot,0.05,2026-11-01\n"
    )
    assert main(["catalogue", "import", str(prices), "--out", str(out)]) == EXIT_DONE
    one = machines(out)["aws/m7i.xlarge"]
    assert one.price("us-east-1", "on-demand") == Price("us-east-1", "on-demand", 0.15, date(2026, 11, 1), "mine.csv")
    assert one.price(None, "spot") is not None
    # What was known of it, and its other prices, are kept.
    assert (one.vcpus, one.price(None, "3y")) == (4, found("aws/m7i.xlarge", shipped()).price(None, "3y"))
    assert next(iter(machines(out))) == "aws/m7i.xlarge"
    assert len(machines(out)) == len(shipped())


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("name,usd_h\n", "no column type", 1),
        ("type,term,usd_h\nm7i.xlarge,on-demand,free\n", "is no price", 2),
        ("type,term,usd_h\nm7i.xlarge,monthly,2\n", "is no price", 2),
    ],
)
def test_a_damaged_price_list_is_named_with_its_line(text: str, says: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(BadInputError, match=says) as error:
        read_prices(tmp_path / "p.csv")
    assert error.value.line == line


@pytest.mark.parametrize(
    ("rows", "says"),
    [({"a": 1}, "no list of machines"), ([{"name": "x"}], "no provider and name"), ([{"provider": "own", "name": "x", "vcpu": 2}], "no key vcpu"),
     ([{"provider": "own", "name": "x", "vcpus": -2}], "no amount"), ([{"provider": "own", "name": "x", "prices": [{"term": "hourly", "usd_h": 1}]}], "is no price"),
     ([{"provider": "own", "name": "x", "as_of": "soon"}], "is no date")],
)  # fmt: skip
def test_a_flawed_file_of_machines_is_named(rows: object, says: str, tmp_path: Path) -> None:
    (tmp_path / "machines.yaml").write_text(yaml.dump(rows))
    with pytest.raises(BadInputError, match=says):
        read_own(tmp_path / "machines.yaml")
    assert main(["catalogue", "check", str(tmp_path / "machines.yaml")]) == EXIT_BAD_INPUT


def test_what_a_file_of_machines_lacks_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(
        yaml.dump([{"provider": "own", "name": "x", "vcpus": 8, "prices": [{"term": "on-demand", "usd_h": 1.0, "as_of": "2020-01-01"}]}])
    )
    assert main(["catalogue", "check", str(file), "--json"]) == EXIT_MISSED
    assert json.loads(capsys.readouterr().out) == {
        "machines": 1,
        "lacking": {"own/x": ["memory_bytes", "net_base_bit_s"]},
        "oldest_price": "2020-01-01",
    }


def test_machines_are_chosen_by_patterns_and_by_name() -> None:
    assert {one.name.partition(".")[0] for one in selected(["aws/m7i.*"], shipped())} == {"m7i"}
    with pytest.raises(BadInputError, match="no machine is like"):
        selected(["aws/zz*"], shipped())
    with pytest.raises(BadInputError, match=r"no machine m7i\.xlrge") as error:
        found("m7i.xlrge", shipped())
    assert "m7i.xlarge" in (error.value.hint or "")


def test_old_prices_are_named() -> None:
    prices = [
        Price("", "on-demand", 1.0, date(2026, 11, 1), "x"),
        Price("", "on-demand", 1.0, date(2026, 1, 1), "x"),
        Price("", "3y", 1.0, None, "x"),
    ]
    assert old_prices(prices, TODAY) == date(2026, 1, 1)
    assert old_prices(prices[:1], TODAY) is None


def test_lines_add_up() -> None:
    machine = found("aws/m7i.xlarge", shipped())
    lines = [machine_line(machine, 3, Wanted("us-east-1")), *disk_lines("aws", 500 * (1 << 30), 3)]
    traffic = traffic_line("aws", (1 << 30) / 3600)
    assert traffic is not None
    assert traffic.usd_h == pytest.approx(0.02)
    found_ = cost_of("x", [*lines, traffic], [AtRate("ingest", 1e6 / 3600, "limit")])
    assert found_.usd_h == pytest.approx(sum(line.usd_h for line in found_.lines))
    assert found_.usd_month == pytest.approx(730 * found_.usd_h)
    assert found_.millions[0].usd == pytest.approx(found_.usd_h)
    # 1,500 GiB of gp3 at 0.08 USD a month.
    assert lines[1].usd_h * 730 == pytest.approx(120.0)
    with pytest.raises(BadInputError, match="price spot"):
        machine_line(machine, 1, Wanted(None, "spot"))


@pytest.mark.parametrize(
    ("replication", "groups", "zones", "bytes_each"),
    [
        (1, 0, 3, 2 / 3),
        (3, 0, 3, 2 / 3 + 2),
        (3, 0, 2, 1 / 2 + 2 * 2 / 3),
        (2, 0, 3, 2 / 3 + 1),
        (1, 2, 3, 3 * 2 / 3),
        (3, 1, 3, 2 * 2 / 3 + 2),
    ],
)
def test_bytes_between_zones_are_those_of_clients_and_of_copies(replication: int, groups: int, zones: int, bytes_each: float) -> None:
    text = json.dumps({
        "name": "x", "hosts": {name: {"connect": "netns"} for name in ("A", "B", "C", "X")}, "tests": [{"calibrate": {"workloads": ["w"]}}],
        "systems": {"kafka": {"hosts": ["A", "B", "C"], "heap": "1 GiB"}},
        "workloads": {"w": {"kind": "kafka-produce", "partitions": 6, "replication": replication, "record_size": "100 KB", "on": "X"}},
    })  # fmt: skip
    spec = experiment_of(parse_document(text, Path("x"))).workload("w", KafkaProduce)
    assert spec is not None
    assert between_zones(Moving(spec, 100.0, groups), 3, zones) == pytest.approx(100.0 * 100_000 * bytes_each, rel=0.01)
    # A workload that reads them counts for what it gets.
    read = between_zones(Moving(spec, 100.0, 1.0, reads_only=True), 3, zones)
    assert read == pytest.approx(100.0 * 100_000 * (zones - 1) / zones, rel=0.01)


def test_what_is_derived_stays_marked(tmp_path: Path) -> None:
    prices, out = tmp_path / "mine.csv", tmp_path / "machines.yaml"
    prices.write_text("type,region,term,usd_h,as_of\nm6i.xlarge,us-east-1,3y,0.07,2026-11-01\n")
    assert main(["catalogue", "import", str(prices), "--out", str(out)]) == EXIT_DONE
    price = machines(out)["aws/m6i.xlarge"].price("us-east-1", "on-demand")
    assert price is not None
    assert price.is_derived


def test_a_short_row_and_prices_that_are_no_list_are_named(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("type,region,term,usd_h\nm7i.xlarge,us-east-1,on-demand\n")
    with pytest.raises(BadInputError, match="is no price"):
        read_prices(tmp_path / "p.csv")
    (tmp_path / "m.yaml").write_text("- {provider: own, name: x, prices: 5}\n")
    with pytest.raises(BadInputError, match="no list"):
        read_own(tmp_path / "m.yaml")


@pytest.mark.parametrize(("text", "says"), [
    ("type,term,usd_h\nm7i.xlarge,on-demand,1e400\n", "is no price"), ("type,term,usd_h\nm7i.xlarge,3y,1\nm7i.xlarge,3y,2\n", "stands twice"),
    ("type,term,usd_h\n", "has no price"),
])  # fmt: skip
def test_prices_that_cannot_be_are_named(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(BadInputError, match=says):
        read_prices(tmp_path / "p.csv")


def test_machines_that_cannot_be_are_named(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("- {provider: own, name: x}\n- {provider: own, name: x}\n")
    with pytest.raises(BadInputError, match="own/x stands twice"):
        read_own(tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInputError, match="no text"):
        read_own(tmp_path / "m.yaml")
    (tmp_path / "t.json").write_text('{"InstanceTypes": [{"InstanceType": "x", "NetworkInfo": "fast"}]}')
    with pytest.raises(BadInputError, match="machine 1"):
        read_machines(tmp_path / "t.json", TODAY)


def test_disks_write_more_for_more() -> None:
    assert [one.is_derived for region in (None, "us-east-1", "eu-central-1") for one in disk_lines("aws", 1 << 40, 2, region=region)] == [
        False, False, True]  # fmt: skip
    few, many = disk_lines("aws", 1 << 40, 2, 100e6), disk_lines("aws", 1 << 40, 2, 225e6)
    assert len(few) == 1
    # 100 MB/s beyond what is included, of two disks, at 0.04 USD a month.
    assert many[1].usd_h * 730 == pytest.approx(2 * 100 * 0.04)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    shipped.cache_clear()
    assert main(["catalogue", "list", "aws/m7i.*", "--json"]) == EXIT_DONE
    assert main(["cost", "--published", "all", "--json"]) == EXIT_DONE


@pytest.mark.parametrize("arguments", [[], ["x", "--published", "all"], ["--published", "nobody"], ["--published", "all", "--type", "kafka=m7i.xlarge"],
                                       ["x", "--term", "weekly"],
                                       ["x", "--zones", "0"], ["x", "--hours", "inf"], ["x", "--hours", "1e30"], ["x", "--zones", "99"],
                                       ["x", "--type", "kafka"], ["x", "--disk", "kafka=large"]])  # fmt: skip
def test_costs_that_cannot_be_are_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", *arguments]) == EXIT_BAD_INPUT
    assert "Traceback" not in capsys.readouterr().err


def test_machines_of_their_own_have_only_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        yaml.dump([{"provider": "own", "name": "x", "vcpus": 8, "memory_bytes": 10**9, "prices": [{"term": "on-demand", "usd_h": 1.0}]}])
    )
    assert read_own(tmp_path / "m.yaml")["own/x"] == Machine(
        "own", "x", vcpus=8, memory_bytes=10**9, prices=(Price("", "on-demand", 1.0, None, "own"),)
    )


def test_a_price_of_the_future_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("- {provider: own, name: a, vcpus: 2, prices: [{term: on-demand, usd_h: 1, as_of: 2999-01-01}]}\n")
    with pytest.raises(BadInputError, match="still to come"):
        machines(tmp_path / "own.yaml")


@pytest.mark.parametrize(("rows", "line"), [
    ("- {provider: own, name: a}\n- provider: own\n  name: b\n  vcpu: 2\n", 4), ("- provider: own\n  name: b\n  vcpus: many\n", 3),
    ("- {provider: own, name: a}\n- {provider: own, name: a}\n", 2), ("- {provider: own, name: a}\n- {name: b}\n", 2),
    ("- provider: own\n  name: a\n  prices:\n    - {term: on-demand, usd_h: 1}\n    - {term: weekly, usd_h: 1}\n", 5),
    ("- provider: own\n  name: a\n  family: 7\n", 3), ("- provider: own\n  name: a\n  is_burstable: no\n", 3), ("# none yet\n", 1),
    ("- provider: own\n  name: a\n  name: b\n", 3), ("", 1), ("machines: []\n", 1),
])  # fmt: skip
def test_what_is_wrong_in_a_file_of_machines_is_named_with_its_line(rows: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(rows)
    with pytest.raises(BadInputError) as caught:
        read_own(tmp_path / "m.yaml")
    assert (caught.value.file, caught.value.line) == (tmp_path / "m.yaml", line)
