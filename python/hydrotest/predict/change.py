"""What is asked: settings of a run's experiment that are to be others."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from hydrotest import units
from hydrotest.analysis.demand.windows import law_of
from hydrotest.errors import BadInputError
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment

HOSTS, WORKERS = "hosts", "workers"
EVERY = ""
"""Stands for all of a kind: systems, or workloads."""
RESOURCES, MEMORY = ("cores", "network", "disk"), "memory"
"""What a host has: what is used a second, in this order, and the rest."""
EXAMPLE = "Write e.g. --set kafka.hosts=6, --set hosts.cores=2x, --set ingest.record_size=1KB."
TAKES = "Write a multiple, e.g. hosts.cores=2x, or an amount, e.g. hosts.cores=0.5, hosts.network=1 Gbit/s."
HOSTS_MAX = 10_000
DRIVER_OF = "driver of "
_FORM = re.compile(r"^([A-Za-z0-9_-]+)\.([a-z_]+)=(.+)$")
_WHOLE = re.compile(r"^(?:([0-9]+) )?whole$")
_FACTOR = re.compile(r"^([0-9]+(?:\.[0-9]+)?)x$")


@dataclass(frozen=True)
class Change:
    """One setting."""

    subject: str
    """`hosts`, a host, a system, or a workload."""
    key: str
    value: str

    @property
    def axis(self) -> str:
        """Its name for people, and for scores."""
        return f"{self.subject}.{self.key}"


@dataclass(frozen=True)
class OnType:
    """Another type of machine for the hosts of a system."""

    name: str
    wanted: Mapping[str, float]
    """What it has of `RESOURCES` and memory, as far as that is known: cores, bytes a second, bytes."""
    had: Mapping[str, float]
    """What each host was measured to have."""


@dataclass(frozen=True)
class Asked:
    """The experiment as it would be."""

    experiment: Experiment
    text: str
    """Its file, with the tests of the run."""
    times: Mapping[str, Mapping[str, float]]
    """By system, and by `driver_of` pipelines: how many times the `cores`, `network`, `disk` and `memory` its hosts have, of which one has
    least; what is not in it, once."""
    changes: Sequence[Change]
    groups: Mapping[str, float] = field(default_factory=dict)
    """By workload: consumer groups that read each of its records; none: nobody reads them meanwhile."""


def driver_of(workload: str) -> str:
    """The key of `Asked.times` for the host of a pipeline's driver."""
    return f"{DRIVER_OF}{workload}"


def read_change(text: str) -> Change:
    """`SUBJECT.KEY=VALUE`. Raises `BadInputError`."""
    found = _FORM.match(text)
    if found is None:
        raise BadInputError(f"--set {text} is no change", EXAMPLE)
    return Change(found[1], found[2], found[3].strip())


def asked(
    experiment: Experiment,
    text: str,
    changes: Sequence[Change],
    file: Path,
    types: Mapping[str, OnType] = MappingProxyType({}),
    groups: Mapping[str, float] = MappingProxyType({}),
) -> Asked:
    """The experiment with some settings changed, with hosts of some systems on other `types` of machines, and with records that `groups`
    read. Raises `BadInputError`, also for what the changed file would be refused for."""
    groups = checked_groups(experiment, groups)
    if len({change.axis for change in changes}) < len(changes):
        raise BadInputError("a setting is changed twice", "Give each `--set` once.")
    value = copy.deepcopy(parse_document(text, file).value)
    times: dict[str, dict[str, float]] = {}  # by host
    systems, workloads = experiment.systems.present(), experiment.workloads
    # Numbers of hosts first: what is changed of hosts is then of all that there are.
    for change in sorted(changes, key=lambda one: one.key not in (HOSTS, WORKERS)):
        if change.subject in systems:
            _change_system(value, systems[change.subject].hosts, change)
        elif change.subject in workloads:
            value["workloads"][change.subject][change.key] = _plain(change)
        elif change.subject == HOSTS or change.subject in value["hosts"]:
            _change_hosts(value, _all_working(value, experiment), change, times)
        else:
            known = [HOSTS, *systems, *workloads, *value["hosts"]]
            raise BadInputError(f"--set {change.axis}: there is no {change.subject} in the run", f"It has {', '.join(known)}.")
    _change_types(value, {name: _working(value["systems"][name], systems[name].hosts) for name in types}, types, times)
    written = as_file(value)
    try:
        changed = experiment_of(parse_document(written, file), opens_files=False)
    except BadInputError as error:
        raise BadInputError(f"with {', '.join(f'--set {one.axis}={one.value}' for one in changes)} the experiment cannot be: {error.what}",
                            error.hint) from error  # fmt: skip
    # All hosts of a system do as much: the one that has least binds.
    working = _all_working(value, experiment)
    least = {
        name: {key: min((times.get(host, {}).get(key, 1.0) for host in hosts), default=1.0) for key in (*RESOURCES, MEMORY)}
        for name, hosts in working.items()
    }
    return Asked(changed, written, least, tuple(changes), groups)


def checked_groups(experiment: Experiment, groups: Mapping[str, float]) -> dict[str, float]:
    """Consumer groups by workload, where `EVERY` may stand for all that write records. Raises `BadInputError` for workloads whose records
    no group can read, and for numbers that cannot be."""
    readable = [name for name, spec in experiment.workloads.items() if (law := law_of(spec.kind)) is not None and law.has_groups]
    wanted = dict.fromkeys(readable, groups[EVERY]) if readable and EVERY in groups else dict(groups)
    for name, count in wanted.items():
        if name not in readable:
            what = "nothing is known of groups that read it" if name in experiment.workloads else "there is no such workload"
            raise BadInputError(
                f"{f'groups of {name}' if name else 'groups'}: {what}",
                f"Name a workload that writes to Kafka: {', '.join(readable) or 'the run has none'}.",
            )
        if count < 0 or count != round(count):
            raise BadInputError(f"groups of {name}: {count:g} is no number of groups", "Write a whole number, e.g. 2.")
    return wanted


class _Dumper(yaml.SafeDumper):
    """Writes out what is there twice: experiment files have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_file(value: Any) -> str:
    """An experiment file's text."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _working(system: Mapping[str, Any], hosts: Sequence[str]) -> Sequence[str]:
    """The hosts that do its work: of Spark its workers, not its master."""
    found: Sequence[str] = system.get(HOSTS) or system.get(WORKERS) or hosts
    return found


def _all_working(value: Mapping[str, Any], experiment: Experiment) -> dict[str, Sequence[str]]:
    """The hosts that do each system's work, and those of the drivers of pipelines, which do some of a pipeline's."""
    found = {name: _working(value["systems"][name], own.hosts) for name, own in experiment.systems.present().items()}
    drivers = {name for name, spec in experiment.workloads_of(Dataflow) if spec.engine == "spark" and spec.submit is None}
    return found | {driver_of(name): experiment.generator_hosts(name)[:1] for name in sorted(drivers)}


def _plain(change: Change) -> Any:
    """The value as a file has it."""
    return parse_document(f"value: {change.value}", Path("--set")).value["value"]


def _change_hosts(value: dict[str, Any], systems: Mapping[str, Sequence[str]], change: Change, times: dict[str, dict[str, float]]) -> None:
    """`systems`: the hosts of each; `times` gets how many times as much each host has."""
    if change.key not in RESOURCES:
        raise BadInputError(f"--set {change.axis}: {change.key} is nothing that a prediction can change of a host",
                            f"It changes {', '.join(RESOURCES)}.")  # fmt: skip
    every = dict.fromkeys(host for hosts in systems.values() for host in hosts)
    if change.subject != HOSTS and change.subject not in every:
        raise BadInputError(f"--set {change.axis}: {change.subject} runs no system: what its generators would need is not known",
                            f"Change a host of a system: {', '.join(every)}.")  # fmt: skip
    chosen = every if change.subject == HOSTS else {change.subject: None}
    of_systems = {host for name, hosts in systems.items() if not name.startswith(DRIVER_OF) for host in hosts}
    for host in chosen:
        is_open = value["hosts"][host].get(change.key) is None and not _FACTOR.match(change.value)
        if change.subject == HOSTS and host not in of_systems and is_open:
            # A driver's: it has no bound of its own to be changed, and runs no system.
            continue
        own = times.setdefault(host, {})
        own[change.key] = own.get(change.key, 1.0) * _factor(value["hosts"][host], change)
        _rewrite(value["hosts"][host], change)


def _change_types(
    value: dict[str, Any], hosts: Mapping[str, Sequence[str]], types: Mapping[str, OnType], times: dict[str, dict[str, float]]
) -> None:
    """Each host has what its type has; one of several systems once."""
    done: dict[str, str] = {}
    for system, machine in types.items():
        for host in hosts[system]:
            if host in times and host not in done:
                raise BadInputError(f"--type {machine.name}: what {host} has is changed by --set, too", "Leave one of them out.")
            if done.setdefault(host, machine.name) != machine.name:
                raise BadInputError(
                    f"--type: {host} cannot be both {done[host]} and {machine.name}", "Name one type for systems that share hosts."
                )
            own, file = times.setdefault(host, {}), value["hosts"][host]
            for key, wanted in machine.wanted.items():
                if had := _whole(file.get(key)) if key == "cores" and _whole(file.get(key)) else machine.had.get(key):
                    own[key] = wanted / had
                    if key == "cores" and _whole(file.get(key)) and wanted != round(wanted):
                        # What a type with credits sustains is no whole number of cores.
                        file[key] = round(wanted, 4)
                    else:
                        _scale(file, key, wanted / had, f"--type {machine.name}")


def _factor(host: Mapping[str, Any], change: Change) -> float:
    """How many times as much a host would have."""
    relative = _FACTOR.match(change.value)
    if relative is not None:
        if float(relative[1]) <= 0:
            raise BadInputError(f"--set {change.axis}={change.value}: a host without {change.key} does nothing", TAKES)
        return float(relative[1])
    given = host.get(change.key)
    if given is None:
        raise BadInputError(f"--set {change.axis}={change.value}: what the host has is measured, and not in the file",
                            f"Write how many times as much it would have, e.g. {change.axis}=2x.")  # fmt: skip
    read = units.number if change.key == "cores" else units.link_bits_per_s
    try:
        wanted, has = read(change.value), _whole(given) or read(given)
    except ValueError as error:
        raise BadInputError(f"--set {change.axis}={change.value} is neither a multiple nor an amount", TAKES) from error
    if wanted <= 0:
        raise BadInputError(f"--set {change.axis}={change.value}: a host without {change.key} does nothing", TAKES)
    return wanted / has


def _whole(given: Any) -> int:
    """Cores that a host has to itself, from the file; 0 if it has none."""
    found = _WHOLE.match(str(given))
    return 0 if found is None else int(found[1] or 1)


def _rewrite(host: dict[str, Any], change: Change) -> None:
    _scale(host, change.key, _factor(host, change), f"--set {change.axis}={change.value}")


def _scale(host: dict[str, Any], key: str, factor: float, why: str) -> None:
    """So many times as much in the file, where it has it."""
    given = host.get(key)
    if whole := _whole(given):
        if whole * factor != round(whole * factor) or factor <= 0:
            raise BadInputError(f"{why}: the host has whole cores", "Write a whole number of them.")
        host[key] = f"{round(whole * factor)} whole"
    elif given is not None and key == "cores":
        host[key] = round(units.number(given) * factor, 4)
    elif given is not None and key == MEMORY:
        host[key] = f"{units.size_bytes(given) * factor / 1e6:.6g} MB"
    elif given is not None:
        host[key] = f"{units.link_bits_per_s(given) * factor / 8e6:.6g} MB/s"


def _change_system(value: dict[str, Any], own: Sequence[str], change: Change) -> None:
    """More or fewer hosts like those that it has; or another of its settings."""
    system = value["systems"][change.subject]
    if change.key == WORKERS and isinstance(system.get(WORKERS), list) and change.value.isdecimal():
        own = system[WORKERS]
    elif change.key != HOSTS:
        system[change.key] = _plain(change)
        return
    if not change.value.isdecimal() or not 1 <= int(change.value) <= HOSTS_MAX or not own:
        raise BadInputError(f"--set {change.axis}={change.value}: that is no number of hosts",
                            f"Write a whole number up to {HOSTS_MAX:,}, e.g. --set {change.axis}=6.")  # fmt: skip
    wanted, named = int(change.value), list(own[: int(change.value)])
    for number in range(len(own), wanted):
        name = f"{own[0]}-{number + 1}"
        value["hosts"][name] = copy.deepcopy(value["hosts"][own[number % len(own)]])
        named.append(name)
    system[change.key] = named
