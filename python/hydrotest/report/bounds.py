"""What binds a limit or a batch workload, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hydrotest.analysis.bottleneck.evidence import inside, throttled, used
from hydrotest.analysis.bottleneck.outcome import NEXT_MIN
from hydrotest.analysis.bottleneck.use import IN, OUT, THROTTLED_MIN
from hydrotest.report.wording.binding import inside_words
from hydrotest.report.wording.figures import MACHINE
from hydrotest.summary.limits import Job, Limit
from hydrotest.units import show_bytes, show_share
from hydrotest.verdicts.binding import BoundBy, Kind, Near, Nearest, Next, Role, SqueezeRow
from hydrotest.verdicts.evidence import InsideLine, UseLine


def bound_sentence(row: Limit | Job) -> str:
    """What sets the limit, and how certain that is."""
    bound = row.bound_by
    if bound.confirmed:
        return _proven_sentence(row)
    head = {
        Kind.RESOURCE: "Suspected, not proven:",
        Kind.SYSTEM: "Bound by the system itself:" if inside(bound.evidence) else "No resource binds it:",
        Kind.GENERATOR: "Bound by the generator:",
        Kind.UNDECIDED: "What binds it is undecided:",
        Kind.UNKNOWN: "What binds it is unknown:",
    }[bound.kind]
    return f"{head} {bound.detail}.{_nearest(bound.nearest)}"


def _nearest(found: Sequence[Nearest]) -> str:
    """What came nearest to being a suspect, how near it came, and what would prove it."""
    if not found:
        return ""
    named = []
    for one in found:
        if one.resource is None:
            named.append(f"{one.what} at {one.value:.3g} (full at {one.threshold:g})")
            continue
        is_held_back = one.by == Near.THROTTLED
        how, of = ("held back by its quota in ", " of its periods") if is_held_back else ("", " of its ceiling")
        shown = show_share(one.value, one.threshold)
        out = ", and ruled out" if one.ruled_out else ""
        named.append(f"the {NAMES[one.resource]} of {one.host}, {how}{shown}{of} (a suspect from {one.threshold:.0%}{out})")
    ways = list(dict.fromkeys(one.provable_by for one in found if one.provable_by))
    proof = f" {ways[0]} would show whether it binds." if ways else ""
    return f" Nearest: {'; '.join(named)}.{proof}"


def _proven_sentence(limit: Limit | Job) -> str:
    """A verdict that squeezes proved, what they ruled out, and what comes next."""
    bound = limit.bound_by
    parts = []
    for row in _squeezed(bound, Role.BINDS):
        cost = [(1 - row.left**elasticity) * 100 for elasticity in (row.low, row.value, row.high)]
        there = used(row.freely, row.resource, row.hosts)
        held_back = [throttled(row.freely, host) for host in row.hosts]
        parts.append(f"the {named(row.resource, there)} of {row.host} ({_shares(there, held_back)}with {1 - row.left:.0%} of it taken away the rate fell by "
                     f"{cost[1]:.0f} % [{cost[0]:.0f}, {cost[2]:.0f}], {row.n} times)")  # fmt: skip
    whose = "the generator, by " if bound.kind == Kind.GENERATOR else ""
    # The figures of a search's limit are for a lower rate than the squeezed one.
    when = "without a rate limit, it is " if "searches" in limit.model_fields_set else ""
    out = f"Proven by squeezing: {when}bound by {whose}{' and '.join(parts)}."
    out += _at_the_limit(bound) if when else ""
    full = full_inside(limit)
    out += f" Full inside it: {inside_words(full)}." if full else ""
    out += f" But {'; '.join(bound.caveats)}." if bound.caveats else ""
    out += _next_sentence(bound.next) if bound.next is not None else ""
    out += _others([*_squeezed(bound, Role.OUT), *_squeezed(bound, Role.OUT_ALONE)], " Not the")
    out += _others(_squeezed(bound, Role.SHARES), " It shares this with the")
    return out + _others(_squeezed(bound, Role.UNKNOWN), " Nothing is known of the")


def _at_the_limit(bound: BoundBy) -> str:
    """How much of what binds was used at the limit, which is below the squeezed rate; host by host."""
    stated = []
    for line in used(bound.evidence, bound.resource, bound.binds):
        held_back = throttled(bound.evidence, line.host) if bound.resource == "cpu" else 0.0
        stated.append(f"{line.value:.0%} on {line.host}{held_back_words(held_back)}")
    return f" Used of it at the limit: {'; '.join(stated)}." if stated else ""


def _next_sentence(more: Next) -> str:
    """The gain from more of it, and what comes next."""
    out = f" With {more.given:g} × as much of it the rate changes by {more.change_pct:+.0f} % [{more.low_pct:+.0f}, {more.high_pct:+.0f}]"
    out += "; it would still bind" if more.is_still else ""
    if more.resource is not None:
        whose = f"the {NAMES[more.resource]} of {more.host or MACHINE}"
        out += f"; next would be {whose} at about {more.at:.2g} × the rate ({more.share or 0.0:.0%} used then)"
    elif not more.is_still:
        out += f"; what would bind next is not known: nothing else was used to {NEXT_MIN:.0%} then"
    return f"{out}."


def _squeezed(bound: BoundBy, role: Role) -> list[SqueezeRow]:
    return [row for row in bound.squeezed if row.role == role]


def elasticity_words(row: SqueezeRow) -> str:
    """The elasticity of a squeezed resource with its interval; a single block has none."""
    interval = f"[{row.low:.2f}, {row.high:.2f}]" if math.isfinite(row.low) else "of one turn"
    return f"elasticity {row.value:.2f} {interval}"


def named(resource: str, there: Sequence[UseLine]) -> str:
    """A resource; for a link with the direction that is busier on all its hosts. `there`: its use on them."""
    units = {line.used_unit for line in there}
    direction = DIRECTIONS.get(next(iter(units)), "") if len(units) == 1 else ""
    return f"{direction}{NAMES[resource]}"


def _shares(there: Sequence[UseLine], held_back: Sequence[float]) -> str:
    """The used share of their ceilings, with the ceilings, and the share of periods in which quotas throttled
    them; empty without any."""
    if not there:
        return ""
    shares = list(dict.fromkeys(f"{share:.0%}" for share in sorted(line.value or 0.0 for line in there)))
    ceilings = list(dict.fromkeys(map(ceiling_words, there)))
    stated = " to ".join(dict.fromkeys((shares[0], shares[-1])))
    waited = held_back_words(max(held_back, default=0.0))
    return f"{stated} of {' and '.join(ceilings)}{' each' if len(there) > 1 and len(ceilings) == 1 else ''} used{waited}; "


def held_back_words(share: float, joint: str = " and ") -> str:
    """The share of its periods in which a quota throttled its host, to follow its use; empty if those were
    few."""
    return f"{joint}held back by its quota in {share:.0%} of its periods" if share >= THROTTLED_MIN else ""


def ceiling_words(line: UseLine) -> str:
    """The ceiling of a use, in its field's unit."""
    resource, ceiling = line.resource, line.ceiling
    if ceiling is None:
        return "its ceiling"
    if resource == "cpu":
        return f"{ceiling:.3g} cores"
    if resource == "network":
        mbit = ceiling * 8 / 1e6
        return f"{mbit:,.0f} Mbit/s" if mbit >= 1000 else f"{mbit:.4g} Mbit/s"
    return show_bytes(ceiling) if resource == "memory" else f"{show_bytes(ceiling)}/s"


def full_inside(row: Limit | Job) -> list[InsideLine]:
    """What was full inside the services on the hosts whose CPU is proven to bind, and uses CPU."""
    return full_on(row.bound_by, row.workers if isinstance(row, Job) else [])


def full_on(bound: BoundBy, workers: Sequence[str]) -> list[InsideLine]:
    """What was full inside the services on the hosts whose CPU is proven to bind, and uses CPU. What is known
    of all executors holds for the workers. Threads and slots only wait for what binds."""
    if bound.resource != "cpu":
        return []
    is_worker = not set(bound.binds).isdisjoint(workers)
    full = [line for line in inside(bound.evidence) if line.spends]
    return [line for line in full if (line.host in bound.binds if line.host else is_worker)]


def _others(rows: Sequence[SqueezeRow], head: str) -> str:
    """The other squeezed resources, with their elasticities; empty without any."""
    stated = "; ".join(
        f"{NAMES[row.resource]} of {row.host}{' alone' if row.role == Role.OUT_ALONE else ''} ({elasticity_words(row)})" for row in rows
    )
    return f"{head} {stated}." if stated else ""


NAMES = {"cpu": "CPU", "disk": "disk", "network": "link", "memory": "memory"}
DIRECTIONS = {OUT: "outbound ", IN: "inbound "}
