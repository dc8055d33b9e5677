"""`hydrotest check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hydrotest.cli.experiment import load_for_here
from hydrotest.cli.output import print_json
from hydrotest.errors import EXIT_DONE, shaped
from hydrotest.hosts.local import cores
from hydrotest.report.topology import topology_lines
from hydrotest.spec.attach import attached
from hydrotest.spec.header import Difference, differences, read_header
from hydrotest.spec.models import Experiment
from hydrotest.spec.plan import make_plan
from hydrotest.systems.extras import missing_extras
from hydrotest.units import show_bytes, show_count, show_duration


def check(experiment: Path, hosts: Path | None, as_json: bool) -> int:
    """Prints the plan, or raises `BadInputError`."""
    spec, _ = load_for_here(experiment, hosts)
    if as_json:
        print_json(plan_data(spec, experiment))
    else:
        print_plan(spec, experiment)
    return EXIT_DONE


def plan_data(spec: Experiment, file: Path) -> dict[str, Any]:
    """The plan of an experiment, for programs."""
    plan, header = make_plan(spec), read_header(file)
    return {
        **plan.model_dump(mode="json"),
        "header": None if header is None else header.data(),
        "differences": [vars(one) for one in (differences(header, plan) if header is not None else [])],
        "missing_extras": [extra.name for extra in missing_extras(spec)],
    }


def print_plan(spec: Experiment, file: Path) -> None:
    """The plan of an experiment, for people."""
    plan, header = make_plan(spec), read_header(file)
    found = differences(header, plan) if header is not None else []
    print(f"{plan.experiment}: about {show_count(plan.trials, 'trial')}, {show_duration(plan.seconds)}")
    if header is not None:
        print(f"question: {header.question}")
        print(f"the file says: about {header.time} on two cores; needs {header.needs}")
    for one in found:
        print(f"differs: {_words(one)}")
    print("hosts:")
    for line in topology_lines(spec):
        print(f"- {line}")
    if spec.lab is not None:
        scale = ", ".join(f"{what} × {factor:.3g}" for what, factor in spec.lab.scale)
        print(f"scale: {scale}; memory never below what the services need")
    given = sum(host.shares.get("cores") or 0.0 for host in spec.hosts.values())
    if given:
        there = cores()
        short = "; that is more than there are: busy all at once, hosts get less than they are given" if given > there else ""
        print(f"cores: hosts are given {given:.3g} of this machine's {there}{short}")
    for step in plan.steps:
        print(f"- {step.test} {step.workload}: {step.detail}; about {show_count(step.trials, 'trial')}, {show_duration(step.seconds)}")
    print(f"memory needed: {', '.join(f'{host} {show_bytes(size)}' for host, size in plan.memory_bytes.items())}")
    clusters = attached(spec)
    for name, system in clusters.items():
        if system.most is not None and system.most.disk_bytes is not None:
            print(f"disk of {name}: at most {show_bytes(system.most.disk_bytes)} of all nodes together")
    if not clusters:
        print(
            f"disk needed: at least {show_bytes(plan.disk_bytes)}; each second without a rate limit takes rate × record size × copies of it"
        )
    for extra in missing_extras(spec):
        print(shaped("warning", extra.lack, extra.remedy), file=sys.stderr)


def _words(difference: Difference) -> str:
    """Where the file's header says something else than the plan."""
    match difference.what:
        case "time":
            return f"the header says {show_duration(difference.header)}, the plan {show_duration(difference.plan)}"
        case "memory":
            return f"the header says {show_bytes(difference.header)} of memory, the plan {show_bytes(difference.plan)}"
        case "root":
            return (
                "the file needs root; its header does not say so" if difference.plan else "the header says root; the file does not need it"
            )
        case "systems":
            return f"the header says {', '.join(difference.header) or 'no system'}; the file has {', '.join(difference.plan)}"
