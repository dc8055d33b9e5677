"""The findings in words: the first sentences of show and report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hydrotest.analysis.bottleneck.evidence import by_service
from hydrotest.analysis.together.starvation import frees
from hydrotest.report.advice import advice
from hydrotest.report.bounds import bound_sentence, held_back_words
from hydrotest.report.dataflow import promise_sentences, step_sentences
from hydrotest.report.doubling import doubling_sentences
from hydrotest.report.fault import fault_sentences
from hydrotest.report.files import files_sentences
from hydrotest.report.groups import group_sentences
from hydrotest.report.nearest import nearest_sentences
from hydrotest.report.profile import profile_sentences
from hydrotest.report.sections import Section
from hydrotest.report.soak import soak_sentences
from hydrotest.report.spark import job_sentences
from hydrotest.report.table import rate
from hydrotest.report.times import metric_name
from hydrotest.report.unchecked import reads_sentences
from hydrotest.report.views import view_sentences
from hydrotest.report.wording.binding import COUNTED
from hydrotest.report.wording.figures import MACHINE
from hydrotest.spec.workload import catches_up, is_follower
from hydrotest.summary.integrity import Integrity
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.summary.spark import JobTest
from hydrotest.summary.together import Interference, SafeWorkingPoint, Starved
from hydrotest.units import show_names, show_rate
from hydrotest.verdicts.binding import BoundBy, Kind
from hydrotest.verdicts.causes import NearCeiling

STOPPED = {
    "latency": "above it the response time misses its objective",
    "achieved": "above it the system does not keep up with the offered rate",
    "backlog": "above it a backlog builds up",
    "errors": "above it operations fail",
    "loss": "above it records are lost",
    "unsteady": "above it the rate does not hold steady",
    "generator": "above it our own generator had no headroom, so the system may take more",
    "closed-loop": "measured by catching up, without a schedule",
    "search-end": "the search ended before anything stopped it",
}


@dataclass(frozen=True)
class Finding:
    """One of the questions, and its answers: each for a workload, or for something else on its own. `section`: where the page shows
    them."""

    section: Section
    question: str
    answers: list[str]


def headline(summary: Summary) -> list[Finding]:
    """The answers to the five questions, in their order."""
    return [
        Finding(Section.LIMITS, "How much?", _how_much(summary)),
        Finding(Section.LIMITS, "At what latency?", _latencies(summary)),
        Finding(Section.BOTTLENECKS, "Bound by what?", _bound_sentences(summary)),
        Finding(Section.TOGETHER, "What happens together?", _what_happens(summary)),
        Finding(Section.INTEGRITY, "Was anything lost?", _whether_lost(summary)),
    ]


def _latencies(summary: Summary) -> list[str]:
    """Response times, and what the reads of the nearest vectors found in them."""
    times = filter(None, (_latency_sentence(summary), end_to_end_sentence(summary)))
    return [*times, *nearest_sentences(summary.nearest, summary.nearest_untold)]


def _whether_lost(summary: Summary) -> list[str]:
    rows = summary.integrity
    readers = {row.workload for row in summary.generator if is_follower(row.kind)}
    return [integrity_sentence(rows, readers), *reads_sentences(rows), *view_sentences(rows), *promise_sentences(summary.dataflow)]


def _what_happens(summary: Summary) -> list[str]:
    found = together_sentences(summary) + fault_sentences(summary.faults) + group_sentences(summary.groups)
    return found or ["No workloads ran together in this run."]


def _isolated(summary: Summary) -> list[Limit]:
    return [row for row in summary.limits if row.tenancy == "isolated"]


def _how_much(summary: Summary) -> list[str]:
    out = [limit_sentence(row) for row in _isolated(summary)]
    batch = batch_sentence(summary.spark)
    out += [batch] if batch else []
    levels = [row for row in summary.levels if row.tenancy == "isolated" and row.op in (None, "mix")]
    if levels:
        held = [row for row in levels if row.accepted]
        missed = [row for row in levels if row.accepted is False]
        top = max(levels, key=lambda row: row.achieved)
        measured = f"{len(levels)} levels were measured, the highest rate" if len(levels) > 1 else "One level was measured,"
        out.append(f"{measured} {show_rate(top.achieved)}/s by {top.workload} ({top.client} client)"
                   + (f"; {len(held)} sustained, {len(missed)} not" if held or missed else "") + ".")  # fmt: skip
    out += soak_sentences(summary.soak)
    out += profile_sentences(summary.profiles)
    out += files_sentences(summary.hdfs)
    out += files_sentences(summary.objects, "object")
    struck = len(summary.faults)
    if not out and struck:
        return [f"No limit was searched: all ran at given rates, while {struck} fault{'s were' if struck > 1 else ' was'} injected."]
    calibrated = list(dict.fromkeys(name for row in summary.demand for law in row.drivers for name in law.workloads))
    if not out and calibrated:
        return [f"No limit was searched: what operations cost was measured, of {show_names(calibrated)}."]
    return out or ["Nothing was measured."]


def limit_sentence(row: Limit) -> str:
    """One limit: how much, how sure, how safe."""
    name, unit = row.workload, row.unit
    if row.limit is None:
        return f"{name}: no limit was found ({'; '.join(row.invalid_because) or 'nothing was sustained'})."
    amount = f"{show_rate(row.limit)} {unit}"
    if row.at_least:
        amount = f"at least {amount}"
    if catches_up(row.kind):
        spread = f" ({rate(row.low)} to {rate(row.high)} over {row.repeats} repeats)" if row.low is not None else ""
        return f"{name} reads {amount}{spread}."
    return f"{name} sustains {amount}{_interval(row)}.{_safe_sentence(row)}"


def _interval(row: Limit) -> str:
    if row.low is None or row.high is None:
        return ""
    if row.interval != "90 % credible":
        return f"; {show_rate(row.high)} was too much"
    return f" (90 % sure: {show_rate(row.low)} to {show_rate(row.high)})"


def _safe_sentence(row: Limit) -> str:
    """At which rate most windows hold; where windows fail at any rate, what they failed by."""
    if row.lapse is None or row.confidence is None:
        return ""
    if row.safe is not None:
        return f" Half of the windows hold there, {row.confidence:.0%} at {show_rate(row.safe)}."
    causes = ", ".join(f"{cause} {count}×" for cause, count in sorted(row.lapse.causes.items(), key=lambda one: -one[1]))
    return f" Half of the windows hold there; at any rate {row.lapse.share:.0%} fail{f' ({causes})' if causes else ''}."


def _latency_sentence(summary: Summary) -> str:
    parts = []
    for row in _isolated(summary):
        bound = row.objective.get("p99_ms")
        if row.latency_ms:
            asked = f" (objective {bound:g} ms)" if bound is not None else ""
            parts.append(f"{row.workload} p99 {row.latency_ms.p99:.1f} ms{asked}, median {row.latency_ms.p50:.1f} ms")
    if not parts:
        elsewhere = any((summary.levels, summary.interference, summary.soak, summary.faults, summary.profiles))
        return "No response times at a limit: see the tables." if elsewhere else "No response time was measured."
    return "At its limit, from the intended start: " + "; ".join(parts) + "."


def end_to_end_sentence(summary: Summary) -> str | None:
    """A consumer's response times, and their accuracy; None if no consumer followed the writes."""
    followed = [row for row in summary.generator if is_follower(row.kind) and (row.tenancy == "combined" or row.kind == "dataflow")]
    if not followed:
        return None
    stated = f"Those of {', '.join(dict.fromkeys(row.workload for row in followed))} are end to end, from a record's intended start to its arrival, "
    bounds = sorted((abs(host.clock.offset_s) + host.clock.error_s for host in summary.hosts if host.clock), reverse=True)
    if len(summary.hosts) == 1:
        return stated + "both read off one host's clock."
    compared = [row.clock_error_ms for row in followed]
    if None not in compared:
        worst = max(error for error in compared if error is not None)
        if worst == 0:
            return stated + "both read off one machine's clock."
        return stated + f"exact to {worst:.2f} ms: the hosts' clocks are compared before and after each trial."
    if len(bounds) < len(summary.hosts):
        return stated + "between hosts whose clocks were not compared."
    return stated + f"between hosts whose clocks differ by at most {sum(bounds[:2]) * 1e3:.2f} ms, as far as they were compared."


def _bound_sentences(summary: Summary) -> list[str]:
    out = []
    for row in _isolated(summary):
        if row.limit is not None:
            stopped = STOPPED[row.stopped_by]
            what_to_do = advice(row)
            out.append(f"{row.workload}: {stopped}. {bound_sentence(row)}" + (f" {what_to_do}" if what_to_do else ""))
    for job in summary.jobs:
        tests = " and ".join(job.tests) + (" in turn" if len(job.tests) > 1 else "")
        out.append(f"{job.workload}, {tests}: {bound_sentence(job)} {advice(job) or ''}".rstrip())
    out += doubling_sentences(summary.doublings)
    out += step_sentences(summary.queries)
    out += job_sentences(summary.spark)
    return out or ["No limit was searched, so nothing can be said to bind one."]


def together_sentences(summary: Summary) -> list[str]:
    """The effect of all load at once: the safe working point, the interference, and who is starved of
    what."""
    point = summary.safe_working_point
    combined = [row for row in summary.limits if row.tenancy == "combined"]
    if point is None and not summary.interference:
        return ["Together: no fraction of the isolated limits was sustained by all at once."] if combined else []
    out = []
    if point is not None:
        out += point_sentences(point)
        out += unthrottled_sentences(summary)
        out += contested_sentences(combined)
    telling = [row for row in summary.interference if row.significant or row.starved_pairs]
    if telling:
        shown = "; ".join(f"{row.workload} {metric_name(row.metric)} {_change(row)}" for row in telling[:6])
        out.append(f"Next to the others, at the same rates: {shown}.")
    elif summary.interference:
        pairs = max(row.n for row in summary.interference)
        out.append(f"Next to the others, at the same rates, in {pairs} pairs no change stood out from the machine's noise.")
    out += starved_sentences(summary.together.starved)
    return out


def unthrottled_sentences(summary: Summary) -> list[str]:
    """What all reach at once where latency does not matter."""
    alone = {row.workload: row.saturated for row in _isolated(summary) if row.saturated}
    shares = [
        f"{row.workload} {show_rate(row.saturated)}/s, {row.saturated / alone[row.workload]:.0%} of what it reaches alone"
        for row in summary.limits
        if row.tenancy == "combined" and row.saturated and row.workload in alone and not catches_up(row.kind)
    ]
    return [f"Without a rate limit, at any latency, they reach together: {'; '.join(shares)}."] if shares else []


def point_sentences(point: SafeWorkingPoint) -> list[str]:
    """Up to which fraction all hold together, who fails first, what would hold where an objective is missed at any fraction."""
    rates = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in point.rates.items())
    least = "at least " if point.at_least else ""
    sure = f", 90 % sure: {point.low:.0%} to {point.high:.0%}" if point.confidence is not None else ""
    out = [f"Together all hold their objectives up to {least}{point.fraction:.0%} of their isolated limits ({rates}{sure})."]
    if point.confidence is not None:
        sure = (
            f"{point.confidence:.0%} do at {point.safe:.0%} of them" if point.safe is not None else f"at no share {point.confidence:.0%} do"
        )
        out.append(f"Half of the windows hold there; {sure}.")
    if point.first is not None:
        others = ", ".join(
            f"{one.workload} {'100' if one.fraction is None or one.at_least else f'{one.fraction * 100:.0f}'} %"
            for one in point.workloads if one.workload != point.first and (one.fraction is not None or one.at_least)
        )  # fmt: skip
        out.append(f"{point.first} gives way first" + (f"; the others hold up to {others}." if others else "."))
    for one in point.workloads:
        if one.safe is None and one.lapse.causes:
            out.append(f"{one.workload} misses its objective in {one.lapse.share:.0%} of the windows at any fraction.")
    for easier in point.relaxed:
        held = f"all hold up to {easier.fraction:.0%}" if easier.fraction is not None else "it would hold"
        out.append(f"With {easier.workload} {easier.percentile} ≤ {easier.bound_ms:g} ms instead of {easier.asked_ms:g} ms {held}.")
    return out


Named = tuple[tuple[str, str | None], ...]


def _named(bound: BoundBy) -> Named:
    """The resources that a verdict by use names, by host."""
    near = [usage for cause in bound.because if isinstance(cause, NearCeiling) for usage in cause.usages]
    return tuple((usage.host, usage.resource) for usage in near) or ((bound.host or MACHINE, bound.resource),)


def contested_sentences(rows: Sequence[Limit]) -> list[str]:
    """What binds combined limits, each user's share of it, and what would be free without each; equal results
    share a sentence."""
    found: dict[Named, list[tuple[str, BoundBy]]] = defaultdict(list)
    for row in rows:
        bound = row.bound_by
        if bound.kind in (Kind.RESOURCE, Kind.UNDECIDED):
            found[_named(bound)].append((row.workload, bound))
    out = []
    for those in found.values():
        who, bound = [name for name, _ in those], those[0][1]
        there = by_service(bound.evidence)
        had = "; ".join(f"{line.service} {line.value:.0%}" for line in there)
        what = f"{bound.there} (of the {COUNTED[there[0].of]}: {had})" if had else bound.there
        if len(who) == 1 and len(frees((line.service, line.value) for line in there)) < 2:
            out.append(f"What {who[0]} is bound by there: {what}.")
            continue
        freed = _freed(frees((line.service, line.frees or 0.0) for line in there))
        out.append(f"What {' and '.join(who)} {'competes' if len(who) == 1 else 'compete'} for there: {what}.{freed}")
    return out


def _change(row: Interference) -> str:
    """× for large changes, percent for small ones; with the interval, except for starved workloads."""
    starved = row.starved_pairs
    if starved:
        return f"nothing at all in {starved} of {row.n} pairs"
    least = "at least " if row.at_least_pairs else ""
    if row.change_pct >= 100:
        low, middle, high = (1 + pct / 100 for pct in (row.low_pct, row.change_pct, row.high_pct))
        return f"{least}× {middle:.1f} [{low:.1f}, {high:.1f}]"
    return f"{least}{row.change_pct:+.0f} % [{row.low_pct:+.0f}, {row.high_pct:+.0f}]"


def _freed(shares: Mapping[str, float]) -> str:
    """The gain from moving each system (or workload) to other hosts."""
    stated = " or ".join(f"{system} away would free {share:.0%}" for system, share in shares.items())
    return f" Moving {stated} of what is used there." if stated else ""


def starved_sentences(rows: Sequence[Starved]) -> list[str]:
    """Who is starved, of what: one sentence for all that are short of the same."""
    short_of: dict[tuple[str | None, str | None], list[Starved]] = defaultdict(list)
    for row in rows:
        short_of[row.resource, row.host].append(row)
    out = []
    for (resource, host), own in short_of.items():
        who, are = " and ".join(row.workload for row in own), "are" if len(own) > 1 else "is"
        if resource is None:
            out.append(
                f"{who} {'get' if len(own) > 1 else 'gets'} worse together, though no resource was used up: what {who} {are} short of is not known."
            )
            continue
        users = f" (cores used there: {', '.join(own[0].users)})" if own[0].users else ""
        held_back = (own[0].throttled or 0.0) if resource == "cpu" else 0.0
        waited = held_back_words(held_back, " and was ")
        out.append(
            f"{who} {are} short of {resource}: {host} used {own[0].share:.0%} of it on average{waited} while all ran{users}.{_freed(own[0].frees)}"
        )
    return out


def batch_sentence(rows: Sequence[JobTest]) -> str | None:
    """How long the batch tests took."""
    if not rows:
        return None
    shown = "; ".join(f"{row.test} {row.total_s:.1f} s {'alone' if row.tenancy == 'isolated' else 'next to the others'}" for row in rows)
    return f"Spark: {shown} (medians)."


def integrity_sentence(rows: Sequence[Integrity], readers: Collection[str] = ()) -> str:
    """Was anything lost? `readers`: workloads that read what others write, whose records are those of the others."""
    if not rows:
        return "No records were accounted for."
    lost = [row for row in rows if row.lost]
    flawed = [row for row in rows if row.corrupted or row.duplicated or row.out_of_order]
    unknown = [row.workload for row in rows if row.lost is None]
    own = [row for row in rows if row.workload not in readers] or rows
    acked = sum(row.acked for row in own if row.lost is not None)
    parts = []
    if lost:
        parts.append("LOST: " + ", ".join(f"{row.lost:,} of {row.acked:,} {row.unit} of {row.workload}" for row in lost))
    elif len(unknown) < len(rows):
        parts.append(f"Nothing was lost of {acked:,} acknowledged records and rows")
    if flawed:
        parts.append("flaws: " + ", ".join(
            f"{row.workload} {_flaws(row)}" for row in flawed))  # fmt: skip
    if unknown:
        parts.append(f"{'not' if parts else 'Not'} known for {', '.join(unknown)}")
    return "; ".join(parts) + "."


def _flaws(row: Integrity) -> str:
    counts = {"corrupted": row.corrupted, "doubled": row.duplicated, "out of order": row.out_of_order}
    return " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def findings(summary: Summary) -> list[str]:
    """All findings, as plain sentences."""
    sentences = [f"{finding.question} {' '.join(finding.answers)}" for finding in headline(summary)]
    if summary.status != "complete":
        sentences.append(f"The run is {summary.status}" + (f": {summary.error}" if summary.error else "") + ".")
    return sentences
