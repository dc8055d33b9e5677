"""What tests do to a cluster that is not hydrotest's own stays within what its owner allows."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.spec.attach import Attachable, Most, attached
from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import narrowed
from hydrotest.spec.kafka import KafkaProduce
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.base import AtLevel, Test
from hydrotest.spec.tests.isolated import Isolated
from hydrotest.spec.tests.levels import Concurrency, Levels, Pressed, Saturated
from hydrotest.spec.tests.soak import Soak
from hydrotest.spec.workload import LimitBy
from hydrotest.units import show_bytes, show_rate

WITH_RATES: tuple[type[Test], ...] = (Isolated, Levels, Soak)
WITHOUT_RATES: tuple[type[Test], ...] = (Saturated, Concurrency)


def check_attached(experiment: Experiment, checker: Checker) -> None:
    """Raises `BadInputError` for the first workload or test that a cluster that is there already cannot have, or may not."""
    there = attached(experiment)
    if not there:
        return
    others = [name for name in experiment.systems.present() if name not in there]
    if others:
        raise checker.fail(("systems", others[0]), f"{others[0]} would be started beside {', '.join(there)}, which is there already",
                           "Make an experiment of its own for each.")  # fmt: skip
    for index, test in enumerate(experiment.tests):
        _check_kind(index, test, there, checker)
        for name in test.names:
            _check_workload(index, test, name, experiment, checker)


def most_of(experiment: Experiment, workload: str) -> Most | None:
    """What may be done to the cluster that a workload uses; None if that is hydrotest's own."""
    system = attached(experiment).get(experiment.workloads[workload].presses_on or "")
    return None if system is None else system.most


def highest_rate(experiment: Experiment, workload: str) -> float | None:
    """The highest rate that a workload may ever have, 1/s; None without a bound."""
    most = most_of(experiment, workload)
    return None if most is None else most.rate_for(experiment.workloads[workload].written_bytes)


def _check_kind(index: int, test: Test, there: Mapping[str, Attachable], checker: Checker) -> None:
    if test.needs_squeeze:
        raise checker.fail(
            test.place(index, "squeeze"), "nothing is taken away from a cluster that is there already", "Leave `squeeze` out."
        )
    if isinstance(test, WITH_RATES):
        return
    if not isinstance(test, WITHOUT_RATES):
        raise checker.fail(("tests", index), f"the test `{test.test}` is not carried out on a cluster that is there already",
                           "Use `isolated`, `levels` or `soak`.")  # fmt: skip
    shared = [name for name, system in there.items() if system.tenancy == "shared"]
    if shared:
        raise checker.fail(("tests", index), f"`{test.test}` has no rate limit, and {shared[0]} has other users",
                           "Use `levels`, or write `tenancy: exclusive` where nobody else uses the cluster.")  # fmt: skip


def _check_workload(index: int, test: Test, name: str, experiment: Experiment, checker: Checker) -> None:
    workload, most, top = experiment.workloads[name], most_of(experiment, name), highest_rate(experiment, name)
    if most is None or top is None:
        return
    if workload.own_client not in (None, "native"):
        raise checker.fail(("workloads", name), f"{name}: only hydrotest's own generators keep to `most`", "Leave `client` out.")
    if workload.limit_by is LimitBy.CATCH_UP and narrowed(test, Isolated) is not None:
        raise checker.fail(("tests", index), f"{name} alone reads as fast as the brokers deliver", "Use it in `soak`, with its producer.")
    rates = _rates(test, name)
    for rate in rates:
        if rate > top:
            by = "rate" if top == most.rate else "bytes"
            raise checker.fail(test.place(index, "rates"), f"{name} at {show_rate(rate)}/s is more than `most` allows: {show_rate(top)}/s, by its `{by}`",
                               f"Lower the rate, or raise `most.{by}`.")  # fmt: skip
    produce = narrowed(workload, KafkaProduce)
    if produce is not None and produce.partitions > most.partitions:
        raise checker.fail(("workloads", name, "partitions"), f"{produce.partitions} partitions are more than `most` allows: {most.partitions}",
                           "Take fewer, or raise `most.partitions`.")  # fmt: skip
    seconds, trials = _length(test, experiment)
    needed = workload.disk_bytes(max(rates, default=top), seconds, trials)
    if needed > most.disk:
        raise checker.fail(("tests", index), f"{name} takes up to {show_bytes(needed)} of the cluster's disks, with all copies; `most` allows {show_bytes(most.disk)}",
                           "Lower `most.rate` or `most.bytes`, shorten the windows, or raise `most.disk`.")  # fmt: skip


def _rates(test: Test, workload: str) -> list[float]:
    """The rates that a test gives to a workload."""
    if (levels := narrowed(test, Levels)) is not None:
        return list(levels.rates)
    level = narrowed(test, AtLevel)
    return [] if level is None or workload not in level.rates else [level.rates[workload]]


def _length(test: Test, experiment: Experiment) -> tuple[float, int]:
    """Seconds of a trial of a test, and the number of its trials at most."""
    search = experiment.search
    if (soak := narrowed(test, Soak)) is not None:
        return soak.duration + search.warm_up, 1
    if (pressed := narrowed(test, Pressed)) is not None:
        return pressed.duration + search.warm_up, len(pressed.levels) * pressed.most_windows
    return search.window + search.warm_up, search.trials
