"""What tests do to a cluster that is not hydrotest's own stays within what its owner allows."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.spec.attach import Attachable, Most, attached
from hydrotest.spec.checker import Checker
from hydrotest.spec.models import Experiment
from hydrotest.spec.step import OVERHEAD_S
from hydrotest.spec.tests.base import Test
from hydrotest.spec.tests.levels import Pressed
from hydrotest.spec.workload import LimitBy
from hydrotest.units import show_bytes, show_duration


def check_attached(experiment: Experiment, checker: Checker) -> None:
    """Raises `BadInputError` for the first workload or test that a cluster that is there already cannot have, or may not."""
    there = attached(experiment)
    if not there:
        return
    if len(there) > 1:
        raise checker.fail(("systems", list(there)[1]), f"{' and '.join(there)} are both there already, and one guard watches one of them",
                           "Make an experiment of its own for each.")  # fmt: skip
    others = [name for name in experiment.systems.present() if name not in there]
    if others:
        raise checker.fail(("systems", others[0]), f"{others[0]} would be started beside {', '.join(there)}, which is there already",
                           "Make an experiment of its own for each.")  # fmt: skip
    for index, test in enumerate(experiment.tests):
        for name in test.names:
            _check_workload(index, test, name, experiment, checker)
    for name, system in there.items():
        if system.most is not None:
            _check_sums(name, system.most, experiment, checker)


def check_kinds(experiment: Experiment, checker: Checker) -> None:
    """Raises `BadInputError` for the first kind of test that is not for a cluster that is there already."""
    there = attached(experiment)
    for index, test in enumerate(experiment.tests if there else ()):
        _check_kind(index, test, there, experiment, checker)


def most_of(experiment: Experiment, workload: str) -> Most | None:
    """What may be done to the cluster that a workload uses; None if that is hydrotest's own."""
    system = attached(experiment).get(experiment.workloads[workload].presses_on or "")
    return None if system is None else system.most


def highest_rate(experiment: Experiment, workload: str) -> float | None:
    """The highest rate that a workload may ever have, 1/s; None without a bound."""
    most = most_of(experiment, workload)
    return None if most is None else most.rate_for(experiment.workloads[workload].operation_bytes)


def _check_kind(index: int, test: Test, there: Mapping[str, Attachable], experiment: Experiment, checker: Checker) -> None:
    if test.needs_squeeze:
        raise checker.fail(
            test.place(index, "squeeze"), "nothing is taken away from a cluster that is there already", "Leave `squeeze` out."
        )
    if not test.may_be_attached(experiment):
        raise checker.fail(("tests", index), f"the test `{test.test}` is not carried out on a cluster that is there already",
                           "Use `isolated`, `levels` or `soak`; or `fault`, of a member of a consumer group.")  # fmt: skip
    shared = [name for name, system in there.items() if system.tenancy == "shared"]
    if shared and not test.has_rates:
        raise checker.fail(("tests", index), f"`{test.test}` has no rate limit, and {shared[0]} has other users",
                           "Use `levels`, or write `tenancy: exclusive` where nobody else uses the cluster.")  # fmt: skip


def _check_workload(index: int, test: Test, name: str, experiment: Experiment, checker: Checker) -> None:
    workload, most, top = experiment.workloads[name], most_of(experiment, name), highest_rate(experiment, name)
    if most is not None:
        workload.check_most(name, most, experiment, checker)
    if most is None or top is None:
        return
    client = experiment.client(test) if isinstance(test, Pressed) else workload.own_client
    if client not in (None, "native"):
        place = test.place(index, "client") if workload.own_client != client else ("workloads", name)
        raise checker.fail(place, f"{name}: only hydrotest's own generators keep to `most`", "Leave `client` out.")
    if workload.limit_by is LimitBy.CATCH_UP and test.finds_limits:
        raise checker.fail(("tests", index), f"{name} alone reads as fast as the brokers deliver", "Use it in `soak`, with its producer.")
    rates = test.rates_of(name)
    for rate in rates:
        if rate > top:
            by = "rate" if top == most.rate_for(0) else "bytes"
            raise checker.fail(test.place(index, "rates"), f"{name} at {rate:,.10g}/s is more than `most` allows: {top:,.10g}/s, by its `{by}`",
                               f"Lower the rate, or raise `most.{by}`.")  # fmt: skip


def needs(experiment: Experiment, most: Most) -> tuple[int, float]:
    """What all tests take together of the one system: bytes of its disks, with all copies, and seconds that no search ends. Topics that are
    deleted between tests count too: their segments stay for a while."""
    disk, fixed_s = 0, 0.0
    for test in experiment.tests:
        trials, seconds = test.trials_of_s(experiment)
        # A search ends when the time does; passes over files, and tests of Spark, do not.
        after_s = max((experiment.workloads[one].after_s(experiment, seconds) for one in test.names), default=0.0)
        fixed_s += 0.0 if test.finds_limits else trials * (seconds + after_s + OVERHEAD_S)
        fixed_s += sum(experiment.workloads[one].fixed_s(one, experiment, most) for one in test.names) if test.finds_limits else 0.0
        for one in test.names:
            rate = max(test.rates_of(one), default=highest_rate(experiment, one) or 0.0)
            disk += experiment.workloads[one].disk_bytes(experiment, rate, seconds, trials)
    return disk, fixed_s


def _check_sums(name: str, most: Most, experiment: Experiment, checker: Checker) -> None:
    disk, fixed_s = needs(experiment, most)
    disk_max, place = most.disk_bytes, ("systems", name, "most")
    if disk_max is not None and disk > disk_max:
        raise checker.fail(place, f"the tests take up to {show_bytes(disk)} of the disks of {name}, with all copies; `most` allows {show_bytes(disk_max)}",
                           f"{most.less_disk}, or raise `most.disk`.")  # fmt: skip
    if fixed_s > most.time:
        raise checker.fail(place, f"the tests that no search ends take {show_duration(fixed_s)}; `most` allows {show_duration(most.time)}",
                           "Shorten them, or raise `most.time`.")  # fmt: skip
