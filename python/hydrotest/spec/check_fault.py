"""What a fault may strike, and how."""

from __future__ import annotations

from hydrotest.spec.checker import Checker
from hydrotest.spec.hosts import NetnsHost, Share
from hydrotest.spec.lines import Path_
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests import Fault
from hydrotest.spec.workloads import Dataflow, KafkaProduce, driver_service, query_service

POSSIBLE = {
    "service": ("kill", "stop", "pause"),
    "query": ("kill",),
    "host": ("pause", "cut", "mute", "deafen", "slow", "fill"),
    "system": ("roll",),
}
NEEDS: dict[str, tuple[Share, str]] = {
    "slow": ("network", "speed that could be a tenth"),
    "fill": ("disk", "disk of its own that could be full"),
}
"""What a host must have of its own for an action, as a field and in words."""

FAULT_BEFORE_S_MIN = 5.0
"""The level before the fault is what catching up is measured against."""
FAULT_AFTER_S_MIN = 20.0
"""A JVM service takes most of this to come up."""


def service_names(experiment: Experiment) -> list[str]:
    """What the services of the experiment's systems are called, and the drivers of its dataflows."""
    services = [service for name, system in experiment.systems.present().items() for service, _ in system.placed(name)]
    return services + [driver_service(name) for name, _ in _flows(experiment)]


def query_names(experiment: Experiment) -> list[str]:
    """What the queries of its dataflows are called."""
    return [part for name, flow in _flows(experiment) for part in _parts(experiment, name, flow)[1:]]


def _parts(experiment: Experiment, name: str, flow: Dataflow) -> list[str]:
    """Its driver and its queries."""
    source = experiment.workloads.get(flow.reads)
    levels = source.levels if isinstance(source, KafkaProduce) else []
    return [driver_service(name), *(query_service(name, query) for query in flow.queries(levels))]


def _flows(experiment: Experiment) -> list[tuple[str, Dataflow]]:
    """Those whose driver is hydrotest's own."""
    return [(name, flow) for name, flow in experiment.workloads.items()
            if isinstance(flow, Dataflow) and flow.engine == "spark" and flow.submit is None]  # fmt: skip


def check_fault(experiment: Experiment, test: Fault, index: int, checker: Checker) -> None:
    """Raises `BadInputError` for a fault that cannot be, or that leaves no time to see what it does."""
    named = [kind for kind in ("service", "host", "system") if getattr(test, kind) is not None]
    if len(named) != 1:
        raise checker.fail(
            ("tests", index),
            "a fault strikes a service, a host or a system",
            "Name one of them: `service: kafka-0`, `host: NAME`, or `system: kafka` with `action: roll`.",
        )
    (kind,) = named
    if test.service is not None:
        queries = query_names(experiment)
        checker.known(test.service, service_names(experiment) + queries, "the service", ("tests", index, test.test, "service"))
        kind = "query" if test.service in queries else kind
        for name, flow in _flows(experiment):
            if test.service in _parts(experiment, name, flow) and name not in test.workloads:
                raise checker.fail(
                    ("tests", index), f"{test.service} is a part of {name}, which is not in this test", f"Add {name!r} to `workloads`."
                )
    if test.host is not None:
        place: Path_ = ("tests", index, test.test, "host")
        checker.known(test.host, experiment.hosts, "the host", place)
        if experiment.hosts[test.host].connect != "netns":
            raise checker.fail(place, f"{test.host} is no emulated host", "Strike one of its services, or use `connect: netns`.")
    if test.system is not None:
        checker.known(test.system, experiment.systems.present(), "the system", ("tests", index, test.test, "system"))
    if test.action not in POSSIBLE[kind]:
        raise checker.fail(("tests", index), f"`{test.action}` is not for a {kind}", f"Take one of {', '.join(POSSIBLE[kind])}.")
    if test.host is not None and test.action in NEEDS:
        _check_has(experiment, test.host, *NEEDS[test.action], index, checker)
    if test.at < FAULT_BEFORE_S_MIN:
        raise checker.fail(("tests", index, test.test, "at"), f"{test.at:g} s do not show how it was before",
                           f"Take at least {FAULT_BEFORE_S_MIN:g} s.")  # fmt: skip
    if test.at + test.down + FAULT_AFTER_S_MIN > test.duration:
        raise checker.fail(("tests", index), f"{test.at:g} s before and {test.down:g} s without the service leave no time to catch up in "
                           f"{test.duration:g} s", f"Let `duration` be {test.at + test.down + FAULT_AFTER_S_MIN:g} s at least.")  # fmt: skip


def _check_has(experiment: Experiment, name: str, share: Share, what: str, index: int, checker: Checker) -> None:
    if isinstance(experiment.hosts[name], NetnsHost) and not experiment.has_share(name, share):
        raise checker.fail(("tests", index), f"{name} has no {what}", f"Give {name} a `{share}`.")
