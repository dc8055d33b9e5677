"""What to buy: plans from made-up systems whose laws are known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.demand.laws.base import Load
from hydrotest.analysis.demand.laws.kafka import ProduceLaw
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.catalogue.cost import Wanted
from hydrotest.catalogue.machine import Machine, Price
from hydrotest.catalogue.machines import selected, shipped
from hydrotest.cli.entry import main
from hydrotest.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_REFUSED, BadInputError
from hydrotest.predict.answer import Why
from hydrotest.predict.basis import Basis, basis_of
from hydrotest.predict.bought import bought
from hydrotest.predict.carry import _room
from hydrotest.predict.change import asked, read_change
from hydrotest.predict.gates import inseparable
from hydrotest.predict.known import Known
from hydrotest.predict.needs import LAW, Ask
from hydrotest.predict.plan import Plan, Reason
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.size import size
from hydrotest.report.figures.alone import plans_page
from hydrotest.report.size import bought_sheet
from hydrotest.report.wording.prediction import resource_words
from hydrotest.spec.kafka_produce import KafkaProduce
from tests.test_predict import EXACT, FILE, TRUE, cores, experiment, known, spinning
from tests.test_predict_latency import both

GB = 1e9


def machine(name: str, vcpus: int, usd_h: float, gbit_s: float | None = 1000.0, memory: float = 8 * GB, **more: float) -> Machine:
    return Machine("own", name, vcpus=vcpus, memory_bytes=round(memory), net_base_bit_s=None if gbit_s is None else gbit_s * 1e9, is_burstable=False,
                   prices=(Price("", "on-demand", usd_h, date(2026, 11, 1), "own"),), **more)  # type: ignore[arg-type]  # fmt: skip


CARRIERS = [machine("one", 1, 0.05), machine("two", 2, 0.09)]
KINDS = [*CARRIERS, machine("thin", 2, 0.02, gbit_s=0.01), machine("small", 2, 0.01, memory=1 * GB), machine("huge", 64, 0.02)]


def plans(run: Known, needs: dict[str, float], machines: Sequence[Machine] = CARRIERS, **more: object) -> list[Plan]:
    return size([run], Ask(needs, machines, may_be_far=True, **more)).plans  # type: ignore[arg-type]


COPIES = FILE.replace("small: {kind: kafka-produce, partitions: 6,", "small: {kind: kafka-produce, partitions: 6, replication: 2,")
"""With a second copy of each small record, which costs nothing but the links: large ones have one, so that requests are separated."""
SPEC = experiment(COPIES).workload("small", KafkaProduce)


def needed(rate: float, hosts: int) -> float:
    spec = SPEC
    assert spec is not None
    return cores(TRUE, ProduceLaw().work(spec, Load(rate, False, hosts, on_busiest=True)).drivers)


def test_twice_the_limit_has_a_price_where_the_law_bears_it() -> None:
    """The cheapest of what `size` finds for it, with a host lost where copies allow that."""
    run = replace(known(TRUE), limits={"small": 400_000.0})
    (found,) = bought(run, CARRIERS)
    (plan, *_) = plans(run, {"small": 800_000.0}, lost="none")
    assert (found.plan, found.lost) == (plan, "none")
    assert bought_sheet([found]).rows[0][:2] == ["small", "800,000"]
    # Nothing is said of what the runs do not bear.
    far = replace(run, limits={"small": 4e8})
    assert bought(far, CARRIERS) == []
    with pytest.raises(BadInputError, match="no price"):
        bought(run, [replace(one, prices=()) for one in CARRIERS])
    copied = replace(known(TRUE, text=FILE.replace("partitions: 6,", "partitions: 6, replication: 2,")), limits={"small": 1_500_000.0})
    assert bought(copied, CARRIERS) == []


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact law is taken on any number of hosts, whether or not its windows separate what it takes there."""
    monkeypatch.setattr("hydrotest.predict.needs.inseparable", lambda *_: None)


def test_a_number_of_hosts_of_which_the_runs_show_nothing_is_not_chosen() -> None:
    """Of two copies on two brokers each request is fetched once: on more, or on one, what fetches cost is another question."""
    both_copied = FILE.replace("partitions: 6,", "partitions: 6, replication: 2,")
    found = size([known(TRUE, text=both_copied)], Ask({"small": 1_500_000.0}, CARRIERS))
    assert found.plans == []
    assert {one.why for one in found.rejected} == {Reason.LAW}
    assert found.is_not_shown


@pytest.mark.usefixtures("shown")
def test_each_plan_carries_the_need_with_headroom_and_with_one_lost_and_one_fewer_would_not() -> None:
    """50 needs, against the law that the system was made from."""
    random, run = np.random.default_rng(9), known(TRUE, text=COPIES)
    for _ in range(50):
        need, headroom = 10 ** random.uniform(5, 7), random.uniform(0, 0.6)
        lost = str(random.choice(["none", "host"]))
        for plan in plans(run, {"small": need}, headroom=headroom, lost=lost):
            (part,) = plan.parts
            vcpus = {"own/one": 1, "own/two": 2}[part.machine]

            def carries(count: int, vcpus: int = vcpus, need: float = need, headroom: float = headroom, lost: str = lost) -> bool:
                whole = count >= 1 and needed(need * (1 + headroom), count) <= vcpus * (1 + 1e-6)
                return whole and (lost == "none" or (count > 1 and needed(need, count - 1) <= vcpus * (1 + 1e-6)))

            assert carries(part.count)
            assert part.count == 2 or not carries(part.count - 1)
            assert part.headroom >= headroom - 1e-6 or part.binds != "cpu"


@pytest.mark.usefixtures("shown")
def test_no_cheaper_plan_is_left_out() -> None:
    """By trying every number of each machine."""
    random, run = np.random.default_rng(10), known(TRUE, text=COPIES)
    for _ in range(10):
        need = 10 ** random.uniform(5.5, 7)
        found = plans(run, {"small": need}, top=99)
        best = min(count * one.prices[0].usd_h for one, count in itertools.product(CARRIERS, range(2, 101))
                   if needed(need * 1.3, count) <= (one.vcpus or 0) and needed(need, count - 1) <= (one.vcpus or 0))  # fmt: skip
        assert found[0].usd_h == pytest.approx(best)
        assert [plan.usd_h for plan in found] == sorted(plan.usd_h for plan in found)


def test_a_plan_fed_back_into_predict_sustains_the_need() -> None:
    run = known(TRUE, text=COPIES)
    spec = experiment().workload("small", KafkaProduce)
    assert spec is not None
    (plan, *_) = plans(run, {"small": 1_500_000.0}, [machine("one", 1, 0.05)])
    (part,) = plan.parts
    answer = answered(
        [run], Question([read_change(f"kafka.hosts={part.count}"), read_change("hosts.cores=1")], {"small": 1_500_000.0 * 1.3}), EXACT
    )
    (use,) = [use for use in answer.uses if use.resource == "cpu"]
    assert use.share <= 1.0 + 1e-6


def test_how_far_loads_may_grow_is_found_by_the_law_and_not_by_the_use() -> None:
    (plan, *_) = plans(known(TRUE, text=COPIES), {"small": 100_000.0}, [machine("one", 1, 0.05)])
    (part,) = plan.parts
    assert part.binds == "cpu"
    assert needed(100_000.0 * (1 + part.headroom), part.count) == pytest.approx(1.0, rel=0.01)
    # What is fixed does not grow, and fuller batches cost less.
    assert part.headroom > 1.2 * (1 / part.use["cpu"] - 1)


def in_cloud(one: Machine) -> Machine:
    return replace(one, provider="aws", prices=(Price("us-east-1", "on-demand", 0.1, date(2026, 11, 1), "list"),))


@pytest.mark.usefixtures("shown")
def test_traffic_between_zones_is_shown_where_its_price_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And is a part of what a saved plan costs."""
    run, need = known(TRUE, text=COPIES), {"small": 2_000_000.0}
    (cloud, *_), (own, *_), (near, *_) = (
        plans(run, need, [one], zones=zones) for one, zones in ((in_cloud(CARRIERS[1]), 3), (CARRIERS[1], 3), (in_cloud(CARRIERS[1]), 1))
    )
    # Two of three clients are in another zone than the leader, and each second copy is.
    assert SPEC is not None
    gib_h = 2_000_000.0 * SPEC.operation_bytes * (2 / 3 + 1) * 3600 / (1 << 30)
    # And what a batch adds to each record.
    assert cloud.traffic_usd_h == pytest.approx(gib_h * 0.02, rel=0.1)
    assert (own.traffic_usd_h, own.traffic, near.traffic_usd_h, near.traffic) == (None, [], 0.0, [])
    assert cloud.usd_h == near.usd_h

    saved = tmp_path / "plans.json"
    found = size([run], Ask(need, [in_cloud(one) for one in CARRIERS], may_be_far=True))
    saved.write_text(json.dumps(found.written()))
    for number, plan in enumerate(found.plans, 1):
        assert main(["cost", str(saved), "--plan", str(number), "--json"]) == EXIT_DONE
        (cost,) = json.loads(capsys.readouterr().out)["costs"]
        assert cost["usd_h"] == pytest.approx(plan.usd_h + (plan.traffic_usd_h or 0.0))
        assert [(one["workload"], one["rate"], one["at"]) for one in cost["millions"]] == [("small", 2_000_000.0, "load")]
    assert main(["cost", str(saved), "--hours", "365", "--json"]) == EXIT_DONE
    (short,) = json.loads(capsys.readouterr().out)["costs"]
    disks = sum(line.usd_h for part in found.plans[0].parts for line in part.lines if line.unit.endswith(" month"))
    assert disks > 0
    # In half the hours, what is paid by the month costs twice as much an hour.
    assert short["usd_h"] == pytest.approx(found.plans[0].usd_h + (found.plans[0].traffic_usd_h or 0.0) + disks)
    for words in (["--plan", "9"], ["--plan", "0"], ["--type", "kafka=aws/m7i.xlarge"], ["--zones", "2"]):
        assert main(["cost", str(saved), *words]) == EXIT_BAD_INPUT, words
    for text in ('{"plans": 3}', json.dumps(found.model_copy(update={"plans": []}).written()), "[", ""):
        saved.write_text(text)
        capsys.readouterr()
        assert main(["cost", str(saved)]) == EXIT_BAD_INPUT
        assert f"--> {saved}" in capsys.readouterr().err
    assert main(["cost", str(tmp_path / "nothing"), "--plan", "2"]) == EXIT_BAD_INPUT


@pytest.mark.usefixtures("shown")
def test_what_is_cheaper_is_named_with_its_reason() -> None:
    found = size([known(TRUE, text=COPIES)], Ask({"small": 2_000_000.0}, KINDS))
    assert {one.machine: one.why for one in found.rejected} == {
        "own/thin": Reason.NETWORK,
        "own/small": Reason.MEMORY,
        "own/huge": Reason.FAR,
    }
    thin = next(one for one in found.rejected if one.why is Reason.NETWORK)
    assert thin.has == pytest.approx(0.01e9 / 8 * 1448 / 1514)
    assert (thin.needed or 0) > (thin.has or 0)
    far = size([known(TRUE, text=COPIES)], Ask({"small": 2_000_000.0}, KINDS, may_be_far=True)).plans[0]
    assert (far.parts[0].machine, far.parts[0].is_far) == ("own/huge", True)


def test_where_the_ranking_turns_is_shown() -> None:
    """Of the small machine a few, of the large one many: what is fixed on each host is paid less often."""
    kinds = [machine("one", 1, 0.05), machine("two", 2, 0.095)]
    found = size([known(TRUE, text=COPIES)], Ask({"small": 1_500_000.0}, kinds))
    assert found.turns[0].machines == ["own/one"]
    assert [turn.times for turn in found.turns] == sorted(turn.times for turn in found.turns)
    assert any(turn.machines == ["own/two"] for turn in found.turns)


def test_records_that_are_kept_need_disks() -> None:
    local = machine("local", 2, 0.2, local_disks=1, local_disk_bytes=1e12)
    (plan,) = plans(known(TRUE, text=COPIES), {"small": 100_000.0}, [local], retain_s=3 * 86_400.0)
    # 100 B, 110 in a batch, twice, for three days at 100,000 a second are 5.7 TB, and with headroom 7.4; a disk holds 0.8.
    assert plan.parts[0].count == math.ceil(2 * 100_000 * 1.3 * 110 * 3 * 86_400 / 0.8e12)
    assert plan.parts[0].stored_bytes <= 0.8e12
    # A machine without disks of its own gets some, where their price is known; where it is not, that is said.
    (own, *_) = plans(known(TRUE, text=COPIES), {"small": 100_000.0}, CARRIERS, retain_s=86_400.0)
    assert (own.parts[0].lacks_disk_price, len(own.parts[0].lines)) == (True, 1)
    bought = plans(known(TRUE, text=COPIES), {"small": 100_000.0}, [replace(KINDS[0], provider="aws")], retain_s=86_400.0)
    assert [line.unit for line in bought[0].parts[0].lines] == ["machine", "GiB month"]


def test_two_systems_are_apart_or_on_the_same_hosts() -> None:
    needs = {"small": 300_000.0, "store": 3_000.0}
    found = plans(both(0.0), needs, [machine("one", 1, 0.05, memory=4 * GB), machine("two", 2, 0.09, memory=8 * GB)], top=99, lost="none")
    apart, shared = ([plan for plan in found if plan.is_shared is value] for value in (False, True))
    assert {tuple(part.systems) for plan in apart for part in plan.parts} == {("kafka",), ("cassandra",)}
    # They were measured on the same hosts, so that a host has the memory for both.
    assert {part.machine for plan in shared for part in plan.parts} == {"own/one", "own/two"}
    assert all(plan.parts[0].systems == ["kafka", "cassandra"] for plan in shared)
    assert all(not plan.is_shared for plan in plans(both(0.0), needs, CARRIERS, may_share=False, lost="none"))


def test_on_shared_hosts_what_a_system_uses_and_does_not_need_counts() -> None:
    """The store was seen to use 0.4 core at any rate: alone it gives way, beside a broker it does not."""
    run, machines = both(0.0), [machine("one", 1, 0.05, memory=4 * GB)]
    busy = spinning(run, "cassandra", "store", 0.4)
    needs = {"small": 300_000.0, "store": 300.0}

    def cpu(known_: Known, *, is_shared: bool) -> float:
        found = plans(known_, needs, machines, lost="none", headroom=0.0, top=99)
        return max(part.use["cpu"] for plan in found if plan.is_shared is is_shared for part in plan.parts)

    assert cpu(busy, is_shared=False) == pytest.approx(cpu(run, is_shared=False), rel=0.05)
    assert cpu(busy, is_shared=True) > cpu(run, is_shared=True) + 0.1


def test_machines_for_a_system_that_uses_more_than_it_needs_carry_what_it_needs_at_its_limit() -> None:
    """Its law stands on windows without a rate limit: what batches by schedule cost it does not show, and need not."""
    run = spinning(known(TRUE, text=COPIES))
    need = 300_000.0
    found = size([run], Ask({"small": need}, CARRIERS, may_be_far=True, lost="none", headroom=0.0))
    assert not found.refused
    part = found.plans[0].parts[0]
    assert SPEC is not None
    truly = cores(TRUE, ProduceLaw().work(SPEC, Load(need, True, part.count, on_busiest=True)).drivers)
    vcpus = next(one.vcpus for one in CARRIERS if part.machine == one.full_name)
    assert vcpus is not None
    assert part.use["cpu"] * vcpus == pytest.approx(truly, rel=0.05)


def test_headroom_ends_where_the_runs_do_not_show_what_loads_take() -> None:
    """On a third host more is remote than was measured: of a small load that is little, of a larger one nobody knows it."""
    run = spinning(both(0.0), "cassandra", "store")
    basis = basis_of([run], asked(run.experiment, run.text, [], Path("madeup.yaml")), "store")
    assert isinstance(basis, Basis)
    ask = Ask({"store": 1.0}, CARRIERS)
    known_until = next(
        times for times in np.geomspace(1, 1e6, 500) if inseparable(basis.body, basis.work(times, 3).drivers, basis.has.cores)
    )
    times, binds = _room([basis], {"cpu": 1e3, "network": 1e12, "disk": 1e12}, ask, 3)
    assert times == pytest.approx(known_until, rel=0.05)
    assert resource_words(binds) == resource_words(LAW)


def test_where_an_objective_was_measured_no_more_of_the_cores_counts() -> None:
    """At its limit by an objective the broker had used 60 % of its core: on what is bought no more counts."""
    limit = next(float(rate) for rate in np.geomspace(1e4, 1e8, 1000) if needed(rate, 2) >= 0.6 * 0.5)
    run = known(TRUE, text=COPIES)
    need = {"small": limit}
    without, with_it = (plans(one, need, CARRIERS[:1])[0].parts[0] for one in (run, replace(run, limits={"small": limit})))
    assert with_it.use["cpu"] * with_it.count > 1.4 * without.use["cpu"] * without.count


def test_more_groups_than_four_times_those_that_read_are_refused() -> None:
    run = known(TRUE)
    assert [one.why for one in size([run], Ask({"small": 1e5}, CARRIERS, lost="none", groups={"small": 5})).refused] == [Why.TOO_FAR]


def test_more_than_four_times_the_hosts_are_taken_only_if_asked_for() -> None:
    need, run = {"large": 3_000_000.0}, known(TRUE, text=FILE.replace("partitions: 6", "partitions: 48"))
    found = size([run], Ask(need, CARRIERS[:1], lost="none"))
    assert (found.plans, Reason.HOSTS in [one.why for one in found.rejected]) == ([], True)
    far = plans(run, need, CARRIERS[:1], lost="none")
    assert far[0].parts[0].count > 8
    assert far[0].parts[0].is_far


@pytest.mark.parametrize(("lost", "zones", "says"), [("host", 3, "does not survive a host"), ("zone", 3, "does not survive a zone")])
def test_one_copy_survives_nothing(lost: str, zones: int, says: str) -> None:
    with pytest.raises(BadInputError, match=says):
        size([known(TRUE)], Ask({"small": 1e5}, KINDS, lost=lost, zones=zones))


def test_a_law_that_fits_nothing_chooses_no_machine() -> None:
    run = known(TRUE, text=COPIES)
    wild = [replace(one, used=replace(one.used, cores=one.used.cores * (1.0 if one.is_closed else 1 + 0.9 * (-1) ** at)))
            for at, one in enumerate(run.seen["kafka"])]  # fmt: skip
    found = size([replace(run, seen={"kafka": wild})], Ask({"small": 1e5}, KINDS))
    assert (found.plans, len(found.refused)) == ([], 1)
    assert found.refused[0].experiment is not None


def test_a_region_without_any_price_is_named() -> None:
    with pytest.raises(BadInputError, match="no price in the moon is known"):
        size(
            [known(TRUE, text=COPIES)],
            Ask({"small": 1e5}, [replace(one, prices=(replace(one.prices[0], region="earth"),)) for one in KINDS[:3]], Wanted("the moon")),
        )


def test_a_link_of_which_only_the_best_is_known_counts_with_that_and_is_named() -> None:
    peak = replace(machine("peak", 2, 0.04, gbit_s=None), net_peak_bit_s=10e9)
    none = machine("none", 2, 0.01, gbit_s=None)
    (plan,) = plans(known(TRUE, text=COPIES), {"small": 1e5}, [peak, none])
    assert (plan.parts[0].machine, plan.parts[0].not_known) == ("own/peak", ["network", "disk"])


def test_what_was_not_measured_is_refused() -> None:
    run = replace(known(TRUE, text=COPIES), seen={"kafka": []})
    found = size([run], Ask({"small": 1e6}, KINDS))
    assert (found.plans, [one.workload for one in found.refused]) == ([], ["small"])
    with pytest.raises(BadInputError, match="no such workload"):
        size([known(TRUE, text=COPIES)], Ask({"nobody": 1e6}, KINDS))


def test_the_whole_catalogue_is_looked_at() -> None:
    run = replace(known(TRUE, text=COPIES), has={"kafka": Ceilings(0.5, 5e8, 1e9, 3e9)})
    found = size([run], Ask({"small": 3_000_000.0}, selected([], shipped()), may_be_far=True))
    assert found.looked_at == len(shipped())
    assert len(found.plans) == 10
    assert all(line.source for plan in found.plans for part in plan.parts for line in part.lines)


def test_the_command_prints_and_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("hydrotest.predict.known.read_known", lambda *_, **__: known(TRUE, text=COPIES))
    assert main(["size", "run", "--need", "small=1M", "--types", "aws/c7i.*", "--save", str(tmp_path / "plan.json")]) == EXIT_DONE
    text = capsys.readouterr().out
    assert "aws/c7i.large" in text
    assert json.loads((tmp_path / "plan.json").read_text())["needs"] == {"small": 1e6}
    assert main(["size", "run", "--need", "large=50K,small=1M", "--survive", "none", "--types", "aws/c7i.*", "--json"]) == EXIT_DONE
    monkeypatch.setattr("hydrotest.predict.known.read_known", lambda *_, **__: replace(known(TRUE, text=COPIES), seen={"kafka": []}))
    assert main(["size", "run", "--need", "small=1M"]) == EXIT_REFUSED


NEED = ["run", "--need", "small=1"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["run", "--need", "small"], ["run", "--need", "small=0"], [*NEED, "--survive", "all"], ["--need", "small=1"], [*NEED, "--headroom", "much"],
     [*NEED, "--types", "x/*"], [*NEED, "--top", "0"], [*NEED, "--retain", "long"], [*NEED, "--survive", "zone", "--zones", "1"],
     [*NEED, "--zones", "1000000"]],
)  # fmt: skip
def test_sizes_that_cannot_be_are_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", *arguments]) == EXIT_BAD_INPUT
    assert "Traceback" not in capsys.readouterr().err


def test_a_latency_in_a_need_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["size", str(tmp_path), "--need", "ingest=1M:p99=50ms"]) == EXIT_BAD_INPUT
    assert "of a latency" in capsys.readouterr().err


def test_the_page_of_plans_has_each_of_them_and_needs_no_network() -> None:
    found = size([known(TRUE, text=COPIES)], Ask({"small": 100_000.0}, CARRIERS, may_be_far=True))
    page = plans_page(found)
    assert 'src="http' not in page
    assert all(f"{part.count} × {part.machine}" in page for plan in found.plans for part in plan.parts)


def test_where_nothing_carries_it_what_machines_lack_is_counted() -> None:
    run = known(TRUE)
    small, dear = machine("small", 1, 0.1, memory=0.1 * GB), replace(machine("dear", 1, 0.1), prices=())
    slow = machine("slow", 1, 0.1, gbit_s=0.0001)
    found = size([run], Ask({"large": 1e7}, [small, dear, slow, machine("one", 1, 0.1), machine("two", 2, 0.2)], lost="none"))
    assert found.plans == []
    assert {(one.why, one.types) for one in found.lacking} == {
        (Reason.MEMORY, 1),
        (Reason.NO_PRICE, 1),
        (Reason.NETWORK, 1),
        (Reason.CPU, 2),
    }
    assert not size([run], Ask({"large": 1e4}, CARRIERS, lost="none")).lacking
