"""Simulated fleets against arithmetic: made-up systems whose laws are known."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from hydrotest.analysis.demand.laws.base import Load
from hydrotest.analysis.demand.laws.cassandra import MixLaw
from hydrotest.analysis.demand.laws.kafka import ProduceLaw
from hydrotest.catalogue.cost import Uncounted, Wanted
from hydrotest.catalogue.machine import Machine, Price
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, BadInputError
from hydrotest.predict.basis import Basis, basis_of
from hydrotest.predict.change import asked
from hydrotest.predict.gates import inseparable
from hydrotest.predict.known import Known
from hydrotest.predict.simulation.outcome import Simulated, What
from hydrotest.predict.simulation.prepared import prepared
from hydrotest.predict.simulation.scenario import read_scenario
from hydrotest.predict.simulation.simulate import simulated
from hydrotest.report.figures.course import course_page
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.hosts import PAYLOAD
from hydrotest.spec.kafka_produce import KafkaProduce
from tests.test_predict import FILE, HAS, TRUE, cores, known, spinning
from tests.test_predict_latency import both

THREE = FILE.replace("  B2: {", "  B3: {connect: netns, cores: 0.5, memory: 3 GB, network: 4 Gbit/s}\n  B2: {").replace(
    "[B1, B2]", "[B1, B2, B3]"
)
COPIED = THREE.replace("partitions: 6,", "partitions: 6, replication: 3, acks: all,").replace(
    "heap: 512 MiB", "heap: 512 MiB, config: {min.insync.replicas: 2}"
)
TAKEOVER = 9.0
GB = 1e9


def played(
    tmp_path: Path, run: Known, *, load: Any, hosts: Any = None, machines: dict[str, Machine] | None = None, **more: Any
) -> tuple[Simulated, pl.DataFrame]:
    count = len(run.experiment.systems.present()["kafka"].hosts)
    value = {
        "name": "made-up", "model": "made-up", "hosts": hosts or {"broker": {"count": count}},
        "systems": {name: {"on": "broker"} for name in run.seen}, "load": load, "duration": "600 s", **more,
    }  # fmt: skip
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(value))
    scenario, document = read_scenario(file)
    all_ = prepared(scenario, [run], machines or {}, document)
    return simulated(all_, duration_s=scenario.duration, seeds=scenario.seeds, wanted=Wanted())


def spec_of(run: Known, workload: str) -> KafkaProduce:
    spec = run.experiment.workload(workload, KafkaProduce)
    assert spec is not None
    return spec


def limit(run: Known, workload: str = "small") -> float:
    """The rate at which the made-up law needs all cores, while operations wait: batches are full then, if that costs less."""
    spec = spec_of(run, workload)
    hosts = len(run.experiment.systems.present()["kafka"].hosts)
    low, high = 0.0, 1e9
    for _ in range(60):
        middle = (low + high) / 2
        fits = min(cores(TRUE, ProduceLaw().work(spec, Load(middle, closed, hosts)).drivers) for closed in (False, True)) <= HAS.cores
        low, high = (middle, high) if fits else (low, middle)
    return low


def waits(series: pl.DataFrame, workload: str = "small") -> np.ndarray[Any, Any]:
    return series[f"{workload} wait_s"].to_numpy()


def test_below_its_limit_all_is_served_at_once(tmp_path: Path) -> None:
    run = known(TRUE)
    found, series = played(tmp_path, run, load={"small": {"rate": round(0.8 * limit(run))}})
    (went,) = found.workloads
    assert went.served == pytest.approx(went.offered)
    assert [went.waiting, went.given_up, went.wait_max_s] == pytest.approx([0, 0, 0], abs=1e-3)
    spec = spec_of(run, "small")
    used = cores(TRUE, ProduceLaw().work(spec, Load(round(0.8 * limit(run)), False, 2)).drivers) / HAS.cores
    assert series["broker cpu"].to_numpy() == pytest.approx(used, rel=0.01)


def test_beyond_its_limit_it_serves_the_limit_and_catches_up_by_arithmetic(tmp_path: Path) -> None:
    run = known(TRUE)
    full = limit(run)
    high, low = round(1.5 * full), round(0.5 * full)
    load = {
        "small": {
            "stretches": [{"rate": low, "duration": "100 s"}, {"rate": high, "duration": "100 s"}, {"rate": low, "duration": "400 s"}]
        }
    }
    found, series = played(tmp_path, run, load=load)
    (went,) = found.workloads
    assert went.backlog_max == pytest.approx((high - full) * 100, rel=0.01)
    drained = float(series.filter(pl.col("small backlog") > 1)["seconds"].max())  # type: ignore[arg-type]
    assert drained - 200 == pytest.approx(went.backlog_max / (full - low), rel=0.02)
    # The oldest waits as long as it takes to serve what came before it.
    assert went.wait_max_s == pytest.approx((high - full) * 100 / high, rel=0.02) or went.wait_max_s > (high - full) * 100 / high
    assert went.served == pytest.approx(went.offered, rel=1e-9)


def test_a_lone_broker_that_is_away_serves_nothing_and_catches_up(tmp_path: Path) -> None:
    alone = FILE.replace("[B1, B2]", "[B1]")
    run = known(TRUE, text=alone)
    full = limit(run)
    rate = round(0.6 * full)
    found, series = played(tmp_path, run, load={"small": {"rate": rate}}, events=[{"at": "60 s", "fail": "broker-0", "for": "18 s"}])
    (went,) = found.workloads
    assert went.backlog_max == pytest.approx(rate * 18, rel=0.01)
    assert went.wait_max_s == pytest.approx(18, rel=0.02)
    drained = float(series.filter(pl.col("small backlog") > 1)["seconds"].max())  # type: ignore[arg-type]
    assert drained - 78 == pytest.approx(rate * 18 / (full - rate), abs=1.0)  # a step


def test_of_three_copies_all_wait_until_a_failed_one_is_taken_out_and_two_go_on(tmp_path: Path) -> None:
    run = known(TRUE, text=COPIED)
    rate = round(0.3 * limit(run))
    found, series = played(tmp_path, run, load={"small": {"rate": rate}}, objectives={"small": {"wait": "1 s"}},
                           events=[{"at": "60 s", "fail": "broker-1", "for": "60 s"}])  # fmt: skip
    (went,) = found.workloads
    assert went.wait_max_s == pytest.approx(TAKEOVER, abs=0.5)
    assert found.first_bad is not None
    assert 60 < found.first_bad.at_s < 63
    assert [(one.what, one.host) for one in found.first_bad.because] == [("away", "broker-1")]
    assert [one.what for one in found.happenings if one.subject == "broker-1"] == [What.FAILED, What.BACK, What.CAUGHT_UP]
    late = series.filter(pl.col("seconds") > 60 + TAKEOVER + 5)
    assert late["small served"].to_numpy() == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(("away_s", "waits_s"), [(20, 20), (60, 30)])
def test_clients_wait_for_a_host_that_is_cut_off_though_others_have_taken_over(tmp_path: Path, away_s: int, waits_s: int) -> None:
    """For what it led, until it is back, or until their requests time out; the other two thirds go on."""
    run = known(TRUE, text=COPIED)
    rate = round(0.3 * limit(run))
    found, series = played(tmp_path, run, load={"small": {"rate": rate}}, events=[{"at": "60 s", "cut": "broker-1", "for": f"{away_s} s"}])
    taken_over = series.filter((pl.col("seconds") > 60 + TAKEOVER + 5) & (pl.col("seconds") < 60 + waits_s))
    assert taken_over["small served"].to_numpy() == pytest.approx(2 / 3 * rate, rel=1e-6)
    assert found.workloads[0].wait_max_s == pytest.approx(waits_s, abs=1.0)
    assert series["small backlog"][-1] == pytest.approx(0, abs=1e-3)


def test_with_two_of_three_copies_away_that_are_needed_nothing_is_served(tmp_path: Path) -> None:
    run = known(TRUE, text=COPIED)
    _, series = played(tmp_path, run, load={"small": {"rate": 1000}},
                       events=[{"at": "60 s", "fail": "broker-1", "for": "300 s"}, {"at": "100 s", "fail": "broker-2", "for": "100 s"}])  # fmt: skip
    between = series.filter((pl.col("seconds") > 101) & (pl.col("seconds") < 199))
    assert between["small served"].to_list() == pytest.approx([0.0] * between.height)
    assert series["small backlog"][-1] == pytest.approx(0, abs=1e-3)


def test_a_burst_lasts_as_long_as_there_is_something_left(tmp_path: Path) -> None:
    """A link that sustains a tenth of what is sent, and for 40 MB more carries all of it."""
    run = known(TRUE)
    spec = spec_of(run, "large")
    work = ProduceLaw().work(spec, Load(20_000, False, 2))
    sent = max(work.into, work.out)
    hosts = {
        "broker": {
            "count": 2,
            "network": f"{sent * 8 / 10 / PAYLOAD / 1e6:.6f} Mbit/s",
            "burst": {"network": f"{sent * 8 * 2 / 1e6:.6f} Mbit/s", "size": f"{round(40e6 / PAYLOAD)} B"},
        }
    }
    found, series = played(tmp_path, run, load={"large": {"rate": 20_000}}, hosts=hosts, objectives={"large": {"wait": "1 s"}})
    (spent,) = [one for one in found.happenings if one.what is What.SPENT]
    assert (spent.resource, spent.count) == ("network", 2)
    assert spent.at_s == pytest.approx(40e6 / (0.9 * sent), abs=1.0)
    after = series.filter(pl.col("seconds") > spent.at_s + 5)
    assert after["large served"].to_numpy() == pytest.approx(2_000, rel=1e-3)
    assert found.first_bad is not None
    assert [(one.what, one.is_spent, one.count) for one in found.first_bad.because] == [("network", True, 2)]


def test_processor_credits_are_spent_by_what_is_used_beyond_the_baseline(tmp_path: Path) -> None:
    run = known(TRUE)
    machine = Machine(
        "own",
        "small",
        vcpus=1,
        memory_bytes=8 * 10**9,
        net_base_bit_s=1e12,
        cpu_baseline=0.2,
        credits_per_h=12.0,
        credits_max=2.0,
        is_burstable=True,
    )
    # One vCPU: twice the cores that were measured.
    hosts = {"broker": {"count": 2, "type": "own/small"}}
    spec = spec_of(run, "small")
    rate = round(limit(run))
    used = cores(TRUE, ProduceLaw().work(spec, Load(rate, False, 2)).drivers)
    found, series = played(tmp_path, run, load={"small": {"rate": rate}}, hosts=hosts, machines={"own/small": machine})
    spent = next(one for one in found.happenings if one.what is What.SPENT)
    # Two credits are two minutes of a vCPU.
    assert spent.at_s == pytest.approx(120 / (used - 0.2), rel=0.03)
    assert series["broker cpu burst"][0] > 0.9
    assert float(series.filter(pl.col("seconds") > spent.at_s + 5)["small served"].max()) < 0.6 * rate  # type: ignore[arg-type]


def test_disks_grow_by_what_is_written_and_stop_where_records_go(tmp_path: Path) -> None:
    run = known(TRUE)
    spec = spec_of(run, "large")
    each = ProduceLaw().work(spec, Load(1000, False, 2)).written
    hosts = {"broker": {"count": 2, "disk": {"size": "100 GB"}}}
    found, series = played(tmp_path, run, load={"large": {"rate": 1000}}, hosts=hosts)
    assert series["broker fill"][-1] * 100 * GB == pytest.approx(each * 600, rel=1e-6)
    assert found.disks[0].days == pytest.approx((0.8 * 100 * GB - each * 600) / (each * 86_400), rel=1e-3)
    _, kept = played(tmp_path, run, load={"large": {"rate": 1000, "retain": "60 s"}}, hosts=hosts)
    # From the beginning there is what was kept before, and it stays as much.
    assert kept["broker fill"].to_numpy() * 100 * GB == pytest.approx(each * 60, rel=0.02)


def test_a_full_disk_ends_its_host(tmp_path: Path) -> None:
    run = known(TRUE)
    spec = spec_of(run, "large")
    each = ProduceLaw().work(spec, Load(1000, False, 2)).written
    found, series = played(
        tmp_path, run, load={"large": {"rate": 1000}}, hosts={"broker": {"count": 2, "disk": {"size": f"{round(each * 300)} B"}}}
    )
    (full,) = [one for one in found.happenings if one.what is What.DISK_FULL]
    assert full.at_s == pytest.approx(300, abs=1.5)
    assert series["large served"][-1] == 0
    assert next(one for one in found.missed if one.workload == "disks").minutes == pytest.approx(6, abs=0.1)


def test_a_restart_in_turn_takes_one_host_at_a_time_and_nothing_waits(tmp_path: Path) -> None:
    run = known(TRUE, text=COPIED)
    found, series = played(tmp_path, run, load={"small": {"rate": 1000}}, events=[{"at": "10 s", "roll": "kafka", "for": "20 s"}])
    assert series["broker up"].min() == 2
    assert [one.subject for one in found.happenings if one.what is What.RESTARTED] == ["broker-0", "broker-1", "broker-2"]
    assert found.workloads[0].wait_max_s == pytest.approx(0, abs=1e-6)


def test_a_zone_is_lost_without_a_record_where_copies_are_in_three(tmp_path: Path) -> None:
    run = known(TRUE, text=COPIED)
    hosts = {"broker": {"count": 6, "zones": 3}}
    found, series = played(tmp_path, run, load={"small": {"rate": 1000}}, hosts=hosts, events=[{"at": "60 s", "zone": 1, "for": "60 s"}])
    assert series["broker up"].min() == 4
    assert found.workloads[0].waiting == pytest.approx(0, abs=1e-3)
    assert found.workloads[0].wait_max_s == pytest.approx(TAKEOVER, abs=0.5)


def test_new_hosts_serve_when_they_have_their_share(tmp_path: Path) -> None:
    run = known(TRUE)
    rate = round(1.2 * limit(run))
    hosts = {"broker": {"count": 2, "disk": {"size": "100 GB"}}}
    found, series = played(
        tmp_path,
        run,
        load={"small": {"rate": rate}},
        hosts=hosts,
        events=[{"at": "60 s", "add": "broker", "count": 2, "rebalance": "40 MB/s"}],
    )
    done = next(one for one in found.happenings if one.what is What.CAUGHT_UP)
    assert done.at_s > 60
    before, after = (series.filter(pl.col("seconds") <= done.at_s), series.filter(pl.col("seconds") > done.at_s + 1))
    assert float(before["small backlog"].max()) > 0  # type: ignore[arg-type]
    assert float(after["small served"].max()) > 1.2 * limit(run)  # type: ignore[arg-type]
    assert found.workloads[0].waiting == pytest.approx(0, abs=1e-3)


def test_what_waits_too_long_is_given_up(tmp_path: Path) -> None:
    run = known(TRUE)
    full = limit(run)
    found, _ = played(tmp_path, run, load={"small": {"rate": round(2 * full), "gives_up": "30 s"}})
    (went,) = found.workloads
    assert went.wait_max_s == pytest.approx(30, abs=0.5)
    assert went.given_up + went.served + went.waiting == pytest.approx(went.offered)
    assert went.served == pytest.approx(full * 600, rel=0.01)


def test_systems_on_the_same_hosts_share_their_cores(tmp_path: Path) -> None:
    run = both(0.0)
    rate = round(0.6 * limit(run))
    alone, _ = played(tmp_path, replace(run, seen={"kafka": run.seen["kafka"]}), load={"small": {"rate": rate}})
    shared, _ = played(tmp_path, run, load={"small": {"rate": rate}, "store": {"follows": "small", "ratio": 0.01}})
    assert alone.workloads[0].waiting == pytest.approx(0, abs=1e-3)
    assert shared.workloads[0].waiting > 0


def test_what_others_get_of_use_that_is_no_need_differs_from_course_to_course(tmp_path: Path) -> None:
    """With all of it a broker carries its load, with none of it not: the minutes say so, whatever half of it would be."""
    rate = round(0.25 * limit(both(0.0)))
    asked: dict[str, Any] = {
        "load": {"small": {"rate": rate}, "store": {"rate": round(rate / 1000)}},
        "objectives": {"small": {"wait": "5 s"}},
    }
    hard, soft = (played(tmp_path, both(used), **asked)[0] for used in (0.0, 0.45))
    assert (hard.seeds, hard.assumed, [one.minutes for one in hard.missed]) == (1, [], [0])
    (missed,) = [one for one in soft.missed if one.workload == "small"]
    assert soft.seeds == 20
    assert soft.assumed == ["soft"]
    assert missed.low == 0
    assert missed.high > 8
    assert 2 < missed.minutes < 8


def rewritten(tmp_path: Path, load: Any, behind: Any = None, **more: Any) -> tuple[Simulated, pl.DataFrame, float]:
    """Rows that are overwritten, each byte rewritten four times, by hosts that can do so for 1,000 operations/s; and what each writes for those."""
    run = both(0.0)
    spec = run.experiment.workload("store", CassandraLoad)
    assert spec is not None
    # Half of what is written is the commit log.
    fresh = 0.5 * MixLaw().work(spec, Load(1000.0, False, 2)).written
    compaction = {"rewrites": 4, "speed": f"{4 * fresh / 1e6:.9f} MB/s", **({} if behind is None else {"behind": behind})}
    alone = replace(run, seen={"cassandra": run.seen["cassandra"]})
    hosts = {"broker": {"count": 2, "disk": {"size": "10 GB"}}}
    found, series = played(
        tmp_path, alone, load={"store": load}, hosts=hosts, systems={"cassandra": {"on": "broker", "compaction": compaction}}, **more
    )
    return found, series, fresh


def test_compaction_that_keeps_up_leaves_nothing_behind(tmp_path: Path) -> None:
    found, series, _ = rewritten(tmp_path, {"rate": 900})
    (behind,) = found.compaction
    assert [behind.most_s, behind.end_s] == pytest.approx([0, 0], abs=1e-6)
    assert series["broker fill"][-1] == pytest.approx(series["broker fill"][0])


def test_compaction_that_is_too_slow_falls_behind_and_old_rows_stay_on_the_disk(tmp_path: Path) -> None:
    found, series, fresh = rewritten(tmp_path, {"rate": 1500}, behind="200 s")
    (behind,) = found.compaction
    # It does two thirds of what comes: after 600 s it is behind by half of that.
    assert [behind.most_s, behind.end_s] == pytest.approx([300, 300], rel=0.01)
    assert next(one.minutes for one in found.missed if one.workload == "compaction") == pytest.approx(200 / 60, rel=0.02)
    assert found.first_bad is not None
    assert found.first_bad.at_s == pytest.approx(400, rel=0.02)
    grown = (series["broker fill"][-1] - series["broker fill"][0]) * 10 * GB
    assert grown == pytest.approx(1.5 * fresh * 600 / 3, rel=0.02)
    assert "behind" in course_page(found, series)


def test_compaction_catches_up_when_less_is_written(tmp_path: Path) -> None:
    stretches = [{"rate": 1500, "duration": "300 s"}, {"rate": 500, "duration": "600 s"}]
    found, _, _ = rewritten(tmp_path, {"stretches": stretches}, duration="900 s")
    (behind,) = found.compaction
    assert [behind.most_s, behind.end_s] == pytest.approx([150, 0], rel=0.02, abs=1.0)


def test_what_is_to_be_rewritten_goes_with_the_data_to_new_hosts(tmp_path: Path) -> None:
    stretches = [{"rate": 1500, "duration": "300 s"}, {"rate": 500, "duration": "600 s"}]
    found, series, _ = rewritten(
        tmp_path, {"stretches": stretches}, duration="900 s", events=[{"at": "290 s", "add": "broker", "count": 1, "rebalance": "900 MB/s"}]
    )
    (behind,) = found.compaction
    assert behind.end_s == pytest.approx(0, abs=1.0)
    # When all is done, three hosts have what two had.
    assert series["broker fill"][-1] == pytest.approx(2 / 3 * series["broker fill"][0], rel=0.05)


def test_what_rewrites_nothing_is_not_compacted(tmp_path: Path) -> None:
    run = known(TRUE)
    with pytest.raises(BadInputError, match="kafka rewrites nothing"):
        played(tmp_path, run, load={"small": {"rate": 1000}}, systems={"kafka": {"on": "broker", "compaction": {"rewrites": 4}}})


def test_nothing_is_lost_in_the_arithmetic_and_a_seed_is_a_course(tmp_path: Path) -> None:
    """Failures and noise of all kinds; some courses twice."""
    run = known(TRUE, text=COPIED)
    random = np.random.default_rng(4)
    for number in range(10):
        rate = round(limit(run) * random.uniform(0.2, 1.3))
        load = {"small": {"daily": {"low": rate // 3, "high": rate}, "noise": 0.2, "gives_up": "20 min", "retain": "2 h"}}
        events = [{"fail": "broker", "mtbf": "4 h", "for": "10 min"}, {"at": "3 h", "roll": "kafka"}, {"at": "5 h", "add": "broker", "count": 2},
                  {"at": "7 h", "zone": 0, "for": "5 min"}]  # fmt: skip
        hosts = {"broker": {"count": 3, "zones": 3, "disk": {"size": "300 GB"}}}
        first, series = played(tmp_path, run, load=load, hosts=hosts, events=events, duration="12 h", seeds=2)
        assert first.conserved <= 1e-9
        assert float(series["broker fill"].min()) >= 0  # type: ignore[arg-type]
        if number < 2:
            again, same = played(tmp_path, run, load=load, hosts=hosts, events=events, duration="12 h", seeds=2)
            assert first == again
            assert series.equals(same)


def test_hosts_far_from_those_measured_are_refused_unless_asked_for(tmp_path: Path) -> None:
    run = known(TRUE)
    with pytest.raises(BadInputError, match=r"5\.0 times the hosts"):
        played(tmp_path, run, load={"small": {"rate": 1000}}, hosts={"broker": {"count": 10}})
    found, _ = played(tmp_path, run, load={"small": {"rate": 1000}}, hosts={"broker": {"count": 10}}, far=True)
    assert found.assumed == ["far"]


@pytest.mark.parametrize("share", [0.02, 0.05, 1.3])
def test_a_system_that_uses_more_than_it_needs_is_simulated(share: float, tmp_path: Path) -> None:
    """Its law stands on windows without a rate limit, whose batches are not those of a schedule: what it cannot carry waits, and is served as
    it was there."""
    run = spinning(known(TRUE))
    rate = round(share * limit(run))
    found, _ = played(tmp_path, run, load={"small": {"stretches": [{"rate": rate, "duration": "60 s"}, {"rate": 10, "duration": "540 s"}]}})
    (went,) = found.workloads
    assert went.served == pytest.approx(went.offered)
    assert (went.wait_max_s > 1) is (share > 1)


def test_an_error_that_is_small_against_the_hosts_does_not_keep_a_small_load_from_being_played(tmp_path: Path) -> None:
    """What is fixed of a system that uses more than it needs is known badly, and that of a small load with it: it fits all the same."""
    run = spinning(known(TRUE, np.random.default_rng(0), rounds=2))
    (basis,) = [basis_of([run], asked(run.experiment, run.text, [], Path("madeup.yaml")), "small")]
    assert isinstance(basis, Basis)
    assert inseparable(basis.body, basis.work(0.05 * limit(run)).drivers) is not None
    found, _ = played(tmp_path, run, load={"small": {"rate": round(0.05 * limit(run))}})
    assert found.workloads[0].served == pytest.approx(found.workloads[0].offered)


def test_a_trace_is_followed(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("seconds,rate\n0,100\n300,1000\n600,100\n")
    _, series = played(tmp_path, known(TRUE), load={"small": {"trace": "trace.csv"}})
    assert float(series["small offered"].max()) == pytest.approx(1000, rel=0.01)  # type: ignore[arg-type]
    (tmp_path / "trace.csv").write_text("seconds,rate\n0,100\n0,50\n")
    with pytest.raises(BadInputError) as caught:
        played(tmp_path, known(TRUE), load={"small": {"trace": "trace.csv"}})
    assert caught.value.line == 3


def test_the_page_of_a_course_needs_no_network(tmp_path: Path) -> None:
    found, series = played(
        tmp_path, known(TRUE), load={"small": {"rate": 1000}}, events=[{"at": "60 s", "fail": "broker-0", "for": "60 s"}]
    )
    page = course_page(found, series)
    assert "http://" not in page.split("</script>")[-1]
    assert 'src="http' not in page


SCENARIO = """\
name: one
model: nowhere
hosts:
  broker: {count: 3}
systems:
  kafka: {on: broker}
load:
  ingest: {rate: 1K}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("{on: broker}", "{on: brokers}", 6, "no group of hosts brokers"),
        ("{rate: 1K}", "{rate: 1K, daily: {low: 1, high: 2}}", 8, "exactly one of rate"),
        ("{rate: 1K}", "{follows: other}", 8, "other is no load"),
        ("{count: 3}", "{count: 3, zone: 2}", 4, "unknown key 'zone'"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3d 25:00, fail: broker-1}]\n", 9, "no time of day"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3d, fail: broker-3}]\n", 9, "no host broker-3"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{fail: broker-1}]\n", 9, "either `at` or `mtbf`"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3d, zone: 1}]\n", 9, "no zone 1"),
        ("{rate: 1K}\n", "{rate: 1K}\nobjectives: {ingest: {p99: 50 ms}}\n", 9, "percentiles of latencies are not simulated"),
        ("model: nowhere", "model: []", 2, "model"),
        ("model: nowhere", "model: [here, here]", 2, "here is named twice"),
        ("{rate: 1K}", "{daily: {low: 5K, high: 2K}}", 8, "`low` is more than `high`"),
        ("{count: 3}", "{count: 3, zones: 7}", 4, "not in 7 zones"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3h, roll: kafka, count: 5}]\n", 9, "`count` is of hosts that are added"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3h, roll: kafka, rebalance: 1 MB/s}]\n", 9, "`rebalance` is of hosts that are added"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 3h, add: broker, for: 1 h}]\n", 9, "hosts that are added stay"),
        ("{rate: 1K}", "{rate: 1K, ratio: 2}", 8, "`ratio` is of a load that follows"),
        ("{rate: 1K}\n", "{rate: 1K}\nevents: [{at: 99d, fail: broker-1}]\n", 9, "after the end"),
        ("{rate: 1K}\n", "{rate: 1K}\nfill: 0\n", 9, "fill"),
        ("{rate: 1K}", "{rate: 1 parsec}", 8, "'100K'"),
        ("{rate: 1K}\n", "{rate: 1K}\nspedd: 2\n", 9, "Did you mean 'speed'"),
    ],
)
def test_a_mistake_in_a_scenario_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, line: int, says: str
) -> None:
    file = tmp_path / "scenario.yaml"
    assert old in SCENARIO
    file.write_text(SCENARIO.replace(old, new))
    assert main(["simulate", str(file)]) == EXIT_BAD_INPUT
    said = capsys.readouterr().err
    assert f"scenario.yaml:{line}" in said
    assert says in said


def test_a_run_in_which_nothing_was_full_plays_nothing(tmp_path: Path) -> None:
    run = known(TRUE)
    idle = [
        replace(one, used=replace(one.used, cores=one.used.cores / 2, throttled=0.0, written=0.0))
        for one in run.seen["kafka"]
        if one.is_whole
    ]
    with pytest.raises(BadInputError, match="nothing of its hosts was full"):
        played(tmp_path, replace(run, seen={"kafka": idle}), load={"small": {"rate": 1000}})


def test_disks_cost_what_they_are_played_with(tmp_path: Path) -> None:
    """A type's own way to its disks is paid for beyond what is included; disks of its own are not."""
    price = Price("us-east-1", "on-demand", 0.1, date(2026, 11, 1), "own")
    machine = Machine("aws", "m", vcpus=1, memory_bytes=8 * 10**9, net_base_bit_s=8e9, disk_base_b_s=4e8, prices=(price,))
    hosts = {"broker": {"count": 2, "type": "aws/m", "disk": {"size": "1 TB"}}}

    def units(one: Machine) -> list[str]:
        found, _ = played(tmp_path, known(TRUE), load={"small": {"rate": 1000}}, hosts=hosts, machines={"aws/m": one})
        assert found.cost is not None
        return [f"{line.count / 2:.0f} {line.unit}" for line in found.cost.lines]

    assert units(machine) == ["1 machine", "931 GiB month", "275 MB/s month"]
    assert units(replace(machine, local_disks=1, local_disk_bytes=9e11)) == ["1 machine"]


def test_disks_without_a_price_are_named(tmp_path: Path) -> None:
    price = Price("", "on-demand", 0.1, date(2026, 11, 1), "own")
    machine = Machine("own", "m", vcpus=1, memory_bytes=8 * 10**9, net_base_bit_s=8e9, prices=(price,))
    hosts = {"broker": {"count": 2, "type": "own/m", "disk": {"size": "1 TB"}}}
    found, _ = played(tmp_path, known(TRUE), load={"small": {"rate": 1000}}, hosts=hosts, machines={"own/m": machine})
    assert found.not_in_cost == [Uncounted.DISKS]


def test_a_trace_with_a_rate_beyond_all_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("seconds,rate\n0,1e300\n")
    with pytest.raises(BadInputError) as raised:
        played(tmp_path, known(TRUE, text=THREE), load={"small": {"trace": "t.csv"}})
    assert (raised.value.file, raised.value.line) == (tmp_path / "t.csv", 2)


def test_a_scenario_without_its_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    assert main(["simulate", str(tmp_path / "scenario.yaml")]) == EXIT_BAD_INPUT
    assert "nowhere" in capsys.readouterr().err


def test_disks_with_records_that_are_kept_for_a_while_do_not_grow(tmp_path: Path) -> None:
    run = known(TRUE, text=THREE)
    load = {"small": {"daily": {"low": 1000, "high": 2000}, "weekend": 0.7, "retain": "48 h"}}
    found, _ = played(tmp_path, run, load=load, hosts={"broker": {"count": 3, "disk": {"size": "1 TB"}}}, duration="14 d")
    assert [(one.per_day, one.days) for one in found.disks] == [(0.0, None)]
    assert found.disks[0].fill > 0


def test_hosts_that_are_added_cost_something_and_count_as_far(tmp_path: Path) -> None:
    run = known(TRUE, text=THREE)
    events = [{"at": "60 s", "add": "broker", "count": 3}]
    hosts = {"broker": {"count": 3, "type": "own/m"}}
    machine = Machine("own", "m", vcpus=1, net_base_bit_s=4e9, net_peak_bit_s=4e9, prices=(Price("", "on-demand", 1.0, None, "own"),))
    found, _ = played(tmp_path, run, load={"small": {"rate": 1000}}, hosts=hosts, machines={"own/m": machine}, events=events)
    assert found.cost is not None
    assert found.cost_in_the_end is not None
    assert found.cost_in_the_end.usd_h == 2 * found.cost.usd_h
    with pytest.raises(BadInputError, match=r"times the hosts"):
        played(
            tmp_path, run, load={"small": {"rate": 1000}}, hosts=hosts, machines={"own/m": machine}, events=[{**events[0], "count": 100}]
        )


def test_a_restart_in_turn_comes_to_a_host_that_was_away_when_it_is_back(tmp_path: Path) -> None:
    run = known(TRUE, text=COPIED)
    events = [{"at": "10 s", "cut": "broker-0", "for": "200 s"}, {"at": "20 s", "roll": "kafka", "for": "20 s"}]
    found, _ = played(tmp_path, run, load={"small": {"rate": 1000}}, events=events)
    assert [one.subject for one in found.happenings if one.what is What.CUT] == ["broker-0"]
    assert [one.subject for one in found.happenings if one.what is What.RESTARTED] == ["broker-1", "broker-2", "broker-0"]


@pytest.mark.parametrize(("changed", "line"), [
    ({"hosts": {"broker": {"count": 2, "cores": 1000}}}, 3), ({"hosts": {"broker": {"count": 2, "type": "own/none"}}}, 3),
    ({"hosts": {"broker": {"count": 2, "type": "own/m", "burst": {"network": "1 Gbit/s", "size": "1 GB"}}}}, 3),
    ({"systems": {"kafk": {"on": "broker"}}}, 4), ({"systems": {"kafka": {"on": "broker", "compaction": {"rewrites": 4}}}}, 4),
    ({"load": {"smal": {"rate": 1000}}}, 5),
    ({"hosts": {"broker": {"count": 2, "type": "own/credits"}}}, 3), ({"hosts": {"broker": {"count": 2, "type": "own/no-link"}}}, 3),
    ({"hosts": {"broker": {"count": 2, "type": "own/little"}}}, 3), ({"load": {"small": {"rate": 1000, "groups": 5}}}, 5),
])  # fmt: skip
def test_what_the_runs_do_not_bear_is_named_with_its_line(changed: dict[str, Any], line: int, tmp_path: Path) -> None:
    value = {"name": "made-up", "model": "made-up", "hosts": {"broker": {"count": 2}}, "systems": {"kafka": {"on": "broker"}},
             "load": {"small": {"rate": 1000}}, **changed}  # fmt: skip
    file = tmp_path / "scenario.yaml"
    # A line for each key: what is within stands on that of its key.
    file.write_text("".join(f"{key}: {json.dumps(one)}\n" for key, one in value.items()))
    scenario, document = read_scenario(file)
    machine = Machine("own", "m", vcpus=1, net_base_bit_s=4e9, net_peak_bit_s=4e9)
    there = {"own/m": machine, "own/credits": replace(machine, name="credits", is_burstable=True), "own/no-link":
             Machine("own", "no-link", vcpus=1), "own/little": replace(machine, name="little", memory_bytes=10**9)}  # fmt: skip
    with pytest.raises(BadInputError) as caught:
        prepared(scenario, [known(TRUE)], there, document)
    assert (caught.value.file, caught.value.line) == (file, line)
