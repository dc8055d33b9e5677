"""What binds, and whether anything was lost, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.report.bounds import NAMES
from hydrotest.report.glance.model import Chip, Look
from hydrotest.report.wording.figures import host_name
from hydrotest.summary.integrity import Integrity
from hydrotest.units import show_figure, show_share, show_short
from hydrotest.verdicts.binding import BoundBy, Kind, Nearest, Role
from hydrotest.verdicts.causes import Collapsed, Doubled, InFlight, NearCeiling, NoRoom, NotSeparated, NotTried  # fmt: skip
from hydrotest.verdicts.figures import EMULATING_MACHINE, Usage
from hydrotest.verdicts.trial import Lacking

UNDECIDED_MAX = 2
HOSTS_MAX = 2
"""More hosts than that are counted, not named."""


def bound_chip(bound: BoundBy) -> Chip:
    """What sets a limit, how sure that is, and the figure that it stands on."""
    if bound.confirmed:
        return Chip(Look.PROVEN, _resource(bound.resource, bound.binds), _taken(bound))
    if bound.kind is Kind.GENERATOR:
        return Chip(Look.SUSPECTED, "our own generator", _lack(bound))
    if bound.kind is Kind.RESOURCE:
        return Chip(Look.SUSPECTED, _resource(bound.resource, bound.binds or _named(bound)), _used(bound))
    if bound.kind is Kind.SYSTEM:
        full = inside(bound.evidence)
        if full:
            one = full[0]
            return Chip(
                Look.SUSPECTED, one.limit, f"{show_figure(one.value, one.unit)}, full {one.when} {show_figure(one.threshold, one.unit)}"
            )
        in_flight = next((cause for cause in bound.because if isinstance(cause, InFlight | Doubled)), None)
        if isinstance(in_flight, InFlight):
            return Chip(Look.PROVEN, "what is in flight", f"{in_flight.doubled.value:+.0f} % with twice as much")
        return Chip(Look.PROVEN if bound.basis == "squeeze" else Look.SUSPECTED, "no resource of a host", "inside the system")
    if bound.kind is Kind.UNDECIDED:
        return _undecided(bound)
    return Chip(Look.UNKNOWN, "not found", _nearest(bound.nearest) or _most_used(bound))


def _undecided(bound: BoundBy) -> Chip:
    """Several that may bind it."""
    usages = [usage for cause in bound.because if isinstance(cause, NearCeiling | NotTried) for usage in cause.usages]
    tried = [(one.hosts, one.resource) for cause in bound.because if isinstance(cause, NotSeparated | Collapsed) for one in cause.squeezed]
    pairs = [((usage.host,), usage.resource) for usage in usages] + tried
    if pairs and len({hosts for hosts, _ in pairs}) == 1:
        resources = " or ".join(dict.fromkeys(NAMES[resource] for _, resource in pairs))
        return Chip(Look.UNKNOWN, f"{resources} of {named_hosts(pairs[0][0])}", "undecided")
    names = list(dict.fromkeys(_resource(resource, hosts) for hosts, resource in pairs))
    if not names:
        return Chip(Look.UNKNOWN, "undecided", _nearest(bound.nearest) or _most_used(bound))
    more = f" or {len(names) - UNDECIDED_MAX} more" if len(names) > UNDECIDED_MAX else ""
    return Chip(Look.UNKNOWN, f"{' or '.join(names[:UNDECIDED_MAX])}{more}", "undecided")


def _resource(resource: str | None, hosts: Sequence[str]) -> str:
    name = NAMES.get(resource or "", "something")
    return f"{name} of {named_hosts(hosts)}" if hosts else name


def named_hosts(hosts: Sequence[str]) -> str:
    """Hosts, so that a name like `here` is read as one."""
    if len(hosts) > HOSTS_MAX:
        return f"{len(hosts)} hosts"
    if EMULATING_MACHINE in hosts:
        return " and ".join(map(host_name, hosts))
    return f"host{'s' if len(hosts) > 1 else ''} {' and '.join(hosts)}"


def _named(bound: BoundBy) -> list[str]:
    near = [usage.host for cause in bound.because if isinstance(cause, NearCeiling) for usage in cause.usages]
    return near or ([bound.host] if bound.host is not None else [])


def _taken(bound: BoundBy) -> str:
    """What a squeeze of it did to the rate."""
    row = max((one for one in bound.squeezed if one.role is Role.BINDS), key=lambda one: one.value, default=None)
    if row is None:
        return "proven by squeezing"
    return f"fell {(1 - row.left**row.value) * 100:.0f} % with {1 - row.left:.0%} of it taken away"


def _used(bound: BoundBy) -> str:
    """How much of it was used, and the limit from which it is suspected."""
    usages = [usage for cause in bound.because if isinstance(cause, NearCeiling) for usage in cause.usages]
    return _share(usages[0]) if usages else "near its ceiling"


def _share(usage: Usage) -> str:
    return f"{usage.share or 0.0:.0%} of it used"


def _lack(bound: BoundBy) -> str:
    """What the generator was short of."""
    lacks = [lack for cause in bound.because if isinstance(cause, NoRoom) for lack in cause.lacks]
    if not lacks:
        return "no headroom"
    one = lacks[0]
    shown = {
        Lacking.THREAD: f"busiest thread at {one.value:.0%}",
        Lacking.RUN_DELAY: f"threads waited {one.value:.0%} of the time",
        Lacking.WAIT: f"{one.value:.1f} ms late",
        Lacking.IN_FLIGHT_CAP: f"{one.value:,.0f} in flight, its most",
        Lacking.LINK: f"its link at {one.value:.0%}",
    }
    return shown[one.code]


def _nearest(found: Sequence[Nearest]) -> str:
    """What came nearest."""
    if not found:
        return ""
    one = found[0]
    if one.resource is None:
        return f"nearest: {one.limit or one.what}"
    return f"nearest: {_resource(one.resource, [one.host])} at {show_share(one.value, one.threshold)}"


def _most_used(bound: BoundBy) -> str:
    """Of what is ruled out: what was used most."""
    known = [one.usage for one in bound.ruled_out if one.usage is not None and one.usage.share is not None]
    most = max(known, key=lambda usage: usage.share or 0.0, default=None)
    return "" if most is None else f"most used: {_resource(most.resource, [most.host])}, {most.share or 0.0:.0%}"


def account_chip(rows: Sequence[Integrity]) -> Chip | None:
    """Whether all that was acknowledged was found, and as it was written; None without an account."""
    if not rows:
        return None
    known = [row for row in rows if row.lost is not None]
    if not known:
        return Chip(Look.UNKNOWN, "loss not known")
    lost = sum(row.lost or 0 for row in known)
    acked = sum(row.acked for row in known)
    flawed = sum((row.corrupted or 0) + (row.missing_reads or 0) + (row.corrupted_reads or 0) for row in rows)
    unit = known[0].unit
    if lost or flawed:
        what = f"{lost:,} lost" if lost else f"{flawed:,} wrong"
        return Chip(Look.BAD, what, f"of {show_short(acked)} {unit}")
    if len(known) < len(rows):
        return Chip(Look.ODD, "0 lost, a part is not known", f"of {show_short(acked)} {unit}")
    doubled, disordered = (sum(getattr(row, name) or 0 for row in rows) for name in ("duplicated", "out_of_order"))
    if doubled or disordered:
        odd = [f"{show_short(count)} {what}" for count, what in ((doubled, "doubled"), (disordered, "out of order")) if count]
        return Chip(Look.ODD, f"0 lost, {', '.join(odd)}", f"of {show_short(acked)} {unit}")
    reads = sum(row.checked_reads or 0 for row in known)
    of = f"of {show_short(acked)} {unit}" + (f", all {show_short(reads)} reads right" if reads else "")
    return Chip(Look.GOOD, "0 lost", of)
