"""What to buy: for each system the machines, and how many of them, that carry what is needed, by price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from hydrotest import __version__
from hydrotest.catalogue.cost import HOURS, Line, check_prices, check_region
from hydrotest.errors import BadInputError
from hydrotest.predict.answer import Refused, Why
from hydrotest.predict.basis import Basis, basis_of, calibration
from hydrotest.predict.carry import lacking_of, parts_of, rejected_of, with_room
from hydrotest.predict.change import Asked, asked
from hydrotest.predict.costs import Moving, zone_lines
from hydrotest.predict.gates import Gate, inseparable, is_cpu_bound_known, no_fit, too_far
from hydrotest.predict.known import Known
from hydrotest.predict.needs import Ask, Sized, on_same_hosts, sized_of
from hydrotest.predict.plan import Part, Plan, Rejected, Size, Turn
from hydrotest.store import layout

TOP_MAX = 100
TURNS = (1.0, 1.3, 1.6, 2.0, 3.0, 5.0)
"""Multiples of the need at which the cheapest plan is looked for."""
EACH = 6
"""Of each system, the cheapest machines that enter plans of several."""


class TooFewCopiesError(BadInputError):
    """Fewer copies are kept than may be lost."""


def size(runs: Sequence[Known], ask: Ask) -> Size:
    """Plans by price, what was rejected though it would cost less, and where the ranking turns. Raises `BadInputError`."""
    now = _now(runs, ask)
    read = {name: count for name, count in now.groups.items() if count and name in ask.needs}
    bases, refused = _bases(runs, now, ask)
    if refused:
        return Size(version=__version__, runs=[str(run.path) for run in runs], needs=dict(ask.needs), groups=read, headroom=ask.headroom, lost=ask.lost,
                    zones=ask.zones, refused=refused, looked_at=len(ask.machines), speed=ask.speed)  # fmt: skip
    _check(bases, ask)
    plans, rejected = _plans(bases, ask)
    # Of those systems that nothing carries.
    lacking = (
        []
        if plans
        else [one for sized in _by_system(bases, ask) if next(parts_of(sized, ask), None) is None for one in lacking_of(sized, ask)]
    )
    turns: list[Turn] = []
    for times in TURNS if plans else ():
        more, _ = _plans(bases, replace(ask, needs={name: rate * times for name, rate in ask.needs.items()}, top=1), with_rejected=False)
        names = [part.machine for part in more[0].parts] if more else []
        if not turns or turns[-1].machines != names:
            turns.append(Turn(times=times, machines=names, usd_h=more[0].usd_h if more else None))
    return Size(version=__version__, runs=[str(run.path) for run in runs], needs=dict(ask.needs), groups=read, headroom=ask.headroom, lost=ask.lost,
                zones=ask.zones, plans=plans, rejected=rejected, lacking=lacking, turns=turns, looked_at=len(ask.machines), speed=ask.speed)  # fmt: skip


def cheapest(runs: Sequence[Known], ask: Ask) -> Plan | None:
    """The cheapest plan alone; None where a law does not bear the need, or no machine carries it. Raises `BadInputError`."""
    bases, refused = _bases(runs, _now(runs, ask), ask)
    if refused:
        return None
    _check(bases, ask)
    plans, _ = _plans(bases, ask, with_rejected=False)
    return plans[0] if plans else None


def _now(runs: Sequence[Known], ask: Ask) -> Asked:
    return asked(runs[0].experiment, runs[0].text, [], runs[0].path / layout.EXPERIMENT, groups=ask.groups)


def _bases(runs: Sequence[Known], now: Asked, ask: Ask) -> tuple[list[Basis], list[Refused]]:
    bases: list[Basis] = []
    refused: list[Refused] = []
    for name in ask.needs:
        if name not in now.experiment.workloads:
            raise BadInputError(f"--need {name}: there is no such workload", f"The run has {', '.join(now.experiment.workloads)}.")
        found = basis_of(runs, now, name)
        gate = None if isinstance(found, Refused) else _gate(found, ask)
        if isinstance(found, Refused):
            refused.append(found)
        elif gate is not None:
            refused.append(
                Refused(
                    workload=name,
                    system=found.system,
                    why=gate.why,
                    about=list(gate.about),
                    reach=gate.reach,
                    experiment=calibration(now, name),
                )
            )
        else:
            bases.append(found)
    return bases, refused


def _gate(basis: Basis, ask: Ask) -> Gate | None:
    """As for a prediction of the need, on as many hosts as were measured."""
    if (gate := no_fit(basis.body, basis.system)) is not None:
        return gate
    if not is_cpu_bound_known(basis.body):
        return Gate(Why.NOT_BOUND, [basis.system])
    if not ask.may_be_far and (gate := too_far(one for one in basis.numbers if one.axis.startswith(f"{basis.name}."))) is not None:
        return gate
    return inseparable(basis.body, basis.work(ask.needs[basis.name]).drivers, basis.has.cores)


def _check(bases: Sequence[Basis], ask: Ask) -> None:
    """Raises `BadInputError` for what no number of machines could give."""
    for one in bases:
        lost = {"none": 0, "host": 1, "zone": math.ceil(one.spec.copies / ask.zones)}[ask.lost]
        needed = one.copies_needed
        if lost and one.spec.copies - lost < needed:
            kept = f"{one.spec.copies} {'copy' if one.spec.copies == 1 else 'copies'}"
            raise TooFewCopiesError(f"{one.name} has {kept} and needs {needed}: it does not survive a {ask.lost}",
                                    "Write `--survive none`, or measure it with more copies.")  # fmt: skip
    check_prices(ask.machines, ask.wanted)
    check_region(ask.machines, ask.wanted.region)


def _by_system(bases: Sequence[Basis], ask: Ask, *, is_shared: bool = False) -> list[Sized]:
    """Each system on hosts of its own, or on those of others."""
    systems = dict.fromkeys(one.system for one in bases)
    return [sized_of([one for one in bases if one.system == name], ask, is_shared=is_shared) for name in systems]


def _plans(bases: Sequence[Basis], ask: Ask, *, with_rejected: bool = True) -> tuple[list[Plan], list[Rejected]]:
    alone = _by_system(bases, ask)
    parts = [sorted(parts_of(one, ask), key=lambda part: part.usd_h)[: max(EACH, ask.top)] for one in alone]
    plans = [_plan(chosen, ask, is_shared=False) for chosen in itertools.product(*parts)] if len(parts) == 1 or all(parts) else []
    if ask.may_share and len(alone) > 1:
        plans += [_plan([part], ask, is_shared=True) for part in parts_of(on_same_hosts(_by_system(bases, ask, is_shared=True)), ask)]
    plans.sort(key=lambda plan: plan.usd_h)
    # Machines of one system against machines of the same system, without disks.
    best = [min((part.lines[0].usd_h for part in own), default=math.inf) for own in parts]
    rejected = [one for sized, usd_h in zip(alone, best, strict=True) for one in rejected_of(sized, ask, usd_h)] if with_rejected else []
    rejected.sort(key=lambda one: one.would_cost_usd_h)
    return [_completed(plan, bases, ask) for plan in plans[: ask.top]], _one_of_each(rejected)[: ask.top]


def _plan(parts: Sequence[Part], ask: Ask, *, is_shared: bool) -> Plan:
    usd_h = sum(part.usd_h for part in parts)
    millions = {name: usd_h / (rate * 3600 / 1e6) for name, rate in ask.needs.items()}
    return Plan(
        parts=list(parts),
        is_shared=is_shared,
        usd_h=usd_h,
        usd_month=usd_h * HOURS,
        usd_per_million=millions,
        headroom=min(part.headroom for part in parts),
    )


def _completed(plan: Plan, bases: Sequence[Basis], ask: Ask) -> Plan:
    """With how far loads may grow on it, and with the traffic between zones."""
    lines: list[Line] = []
    is_known = True
    parts = [with_room(part, bases, ask) for part in plan.parts]
    plan = plan.model_copy(update={"parts": parts, "headroom": min(part.headroom for part in parts)})
    for part in plan.parts:
        there = {one.name: Moving(one.spec, ask.needs[one.name], one.groups) for one in bases if one.system in part.systems}
        found = zone_lines(part.machine.partition("/")[0], there, part.count, ask.zones, ask.wanted)
        is_known = is_known and found is not None
        lines += found or []
    return plan.model_copy(update={"traffic": lines, "traffic_usd_h": sum(line.usd_h for line in lines)}) if is_known else plan


def _one_of_each(rejected: Sequence[Rejected]) -> list[Rejected]:
    """The cheapest of each family and reason."""
    seen: set[tuple[str, str]] = set()
    out = []
    for one in rejected:
        key = (one.machine.partition(".")[0], one.why)
        if key not in seen:
            seen.add(key)
            out.append(one)
    return out
