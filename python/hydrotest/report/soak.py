"""Figures and tables of a soak: whether each workload was held; rate and latency over its time, changes
marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import PALETTE, QUIET, Figure, data, spec_of
from hydrotest.report.table import NONE, Table, decimal, rate, yes_no
from hydrotest.report.times import metric_name, times_of
from hydrotest.summary.base import Latency
from hydrotest.summary.model import Summary
from hydrotest.summary.soak import Soak, SoakWorkload
from hydrotest.units import show_bytes, show_duration, show_rate

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def soak_figures(summary: Summary) -> list[Figure]:
    """One for each soak and workload."""
    return [_figure(number, load) for number, soak in enumerate(summary.soak, 1) for load in soak.workloads if load.buckets]


def _figure(number: int, load: SoakWorkload) -> Figure:
    values = [{"minute": b.at_s / 60, "p50": b.p50_ms, "p99": b.p99_ms, "rate": b.achieved} for b in load.buckets]
    x = alt.X("minute:Q", title="minutes of the soak")
    base = alt.Chart(data(values)).encode(x=x)
    layers: list[alt.Chart] = [
        base.mark_line(color=PALETTE[1]).encode(
            y=alt.Y("p99:Q", title="response, ms (p99 above, median below)", scale=alt.Scale(type="log"))
        ),
        base.mark_line(color=PALETTE[0]).encode(y="p50:Q"),
    ]
    marks = [{"minute": c.at_s / 60, "what": f"{c.metric.replace('_ms', ' ms')}: {c.before:,.3g} → {c.after:,.3g}"} for c in load.changes]
    if marks:
        layers.append(alt.Chart(data(marks)).mark_rule(strokeDash=[4, 4], color=QUIET).encode(x="minute:Q", tooltip="what:N"))
    rows = [
        [f"{v['minute']:.1f}", NONE if v["rate"] is None else f"{v['rate']:,.0f}", decimal(v["p50"], 2), decimal(v["p99"], 2)]
        for v in values
    ]
    caption = "Each point is a stretch of the soak. Dashed lines mark where a level changed for good."
    return Figure(f"soak-{number}-{load.workload}", f"{load.workload} over the soak", caption, spec_of(alt.layer(*layers)),
                  ["minute", "achieved/s", "p50 ms", "p99 ms"], rows)  # fmt: skip


def held_sheet(summary: Summary) -> Table:
    """The objective of each workload over a long level, and whether it was held."""
    rows = []
    for soak in summary.soak:
        for load in soak.workloads:
            latency = load.latency_ms or Latency()
            sure = NONE if load.verdict is None else f"{load.verdict.verdict} ({load.verdict.probability:.1%})"
            over = f"{len(load.missed_at_s)} of {len(load.buckets)}" if any(b.met is not None for b in load.buckets) else NONE
            asked = NONE if load.offered is None else rate(load.offered)
            rows.append([load.workload, asked, rate(load.achieved), *(decimal(ms, 2) for ms in (latency.p50, latency.p99, latency.max)),
                         f"{load.errors:,}", over, sure, yes_no(load.accepted), "; ".join(load.reasons) or NONE])  # fmt: skip
    heads = [
        "workload",
        "offered",
        "achieved",
        "median ms",
        "p99 ms",
        "max ms",
        "errors",
        "stretches over its latency",
        "most stretches, 95 %",
        "held",
        "because",
    ]
    return Table("Soak: was it held", heads, rows, lead=("workload", "offered", "p99 ms", "errors", "stretches over its latency", "held"))


def soak_sheet(summary: Summary) -> Table:
    """Drift of each workload over a long level; growth of each service."""
    rows = []
    for soak in summary.soak:
        times = times_of(soak)
        for load in soak.workloads:
            for metric, drift in load.drift_pct.items():
                changes = ", ".join(f"{c.at_s / 60:.1f} min" for c in load.changes if c.metric == metric)
                stated = NONE if drift is None else f"{drift.per_hour * times.hours:+,.1f} %"
                between = NONE if drift is None else f"{drift.low * times.hours:+,.1f} … {drift.high * times.hours:+,.1f} %"
                rows.append([load.workload, metric.replace("_ms", " ms"), stated, between, times.words, changes or NONE])
        for service in soak.services:
            growth = service.growth_bytes_per_hour
            stated = NONE if growth is None else f"{growth.per_hour * times.hours / 1e6:+,.1f} MB"
            between = NONE if growth is None else f"{growth.low * times.hours / 1e6:+,.1f} … {growth.high * times.hours / 1e6:+,.1f} MB"
            rows.append([service.service, "memory", stated, between, times.words, NONE])
        rows += [
            [name.replace("_", " "), "in all", f"{value:,.0f}", NONE, f"in {show_duration(soak.seconds)}", NONE]
            for name, value in soak.counters.items()
        ]
    return Table("Soak: drift", ["what", "metric", "change", "95 % interval", "time", "changed after"], rows)


def soak_sentences(rows: Sequence[Soak]) -> list[str]:
    """Whether a long level was held, and what changed over it."""
    out = []
    for row in rows:
        held = [_held(load) for load in row.workloads if load.accepted is not None]
        found = []
        times = times_of(row)
        for load in row.workloads:
            for metric, drift in load.drift_pct.items():
                if drift is not None and drift.sure and abs(drift.per_hour) >= 1:
                    change, low, high = (_pct(pct * times.hours) for pct in (drift.per_hour, drift.low, drift.high))
                    found.append(f"{load.workload} {metric_name(metric)} drifts by {change} % {times.words} [{low}, {high}]")
            found += [f"{load.workload} {metric_name(c.metric)} changed after {c.at_s / 60:.1f} min from {show_rate(c.before)} to {show_rate(c.after)}"
                      for c in load.changes]  # fmt: skip
        growth = [(s.service, s.growth_bytes_per_hour) for s in row.services if s.growth_bytes_per_hour and s.growth_bytes_per_hour.sure]
        found += [f"{service} grows by {show_bytes(rise.per_hour * times.hours)} {times.words}" for service, rise in growth]
        changed = found[:8] or ["no drift, no change and no growth stood out from noise"]
        out.append(f"Soak of {show_duration(row.seconds)}: {'; '.join(held + changed)}.")
    return out


def _pct(pct: float) -> str:
    return f"{pct:+.0f}" if abs(pct) >= 10 else f"{pct:+.2g}"


def _held(load: SoakWorkload) -> str:
    """Whether a workload's level was held over a soak. Stretches that missed its latency are reported in any
    case, since the average can hide them."""
    missed, of = load.missed_at_s, len(load.buckets)
    stretches = f"{len(missed)} of {of} stretches missed its latency, first after {missed[0] / 60:.1f} min" if missed else ""
    at = f"{load.workload} at {rate(load.offered)}/s"
    stalls = load.stalls or []
    longest = max(stalls, key=lambda stall: stall.seconds, default=None)
    stalled = f"it completed nothing for {longest.seconds:.1f} s after {longest.at_s / 60:.1f} min" if longest else ""
    beside = [one for one in (stretches, stalled) if one]
    if load.accepted:
        return f"{at} was held" + (f", but {' and '.join(beside)}" if beside else "")
    return f"{at} was not held: " + "; ".join([*load.reasons, *beside])
