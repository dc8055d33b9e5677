"""What an audit found, in words: what does not add up, with its figures, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.audit.finding import Code, Finding
from hydrotest.percentiles import PERCENTILES
from hydrotest.units import show_bytes, show_duration, show_rate

_NAMES = {one.name: one.label for one in PERCENTILES} | {"mean": "the mean", "max": "the maximum"}


@dataclass(frozen=True)
class Said:
    """A finding's sentence, and what to do about it."""

    what: str
    do: str


def _name(key: str) -> str:
    return _NAMES.get(key.removesuffix("_ms"), key)


def show_ms(value: float) -> str:
    """Milliseconds for people."""
    return f"{value:,.4g} ms" if value < 1000 else f"{value:,.0f} ms"


def _gbit(value: float) -> str:
    return f"{value / 1e9:.3g} Gbit/s" if value >= 1e9 else f"{value / 1e6:.3g} Mbit/s"


def finding_words(finding: Finding) -> Said:
    """Of one finding of a claim."""
    of, names = finding.figures, finding.names
    match finding.code:
        case Code.NOT_A_FIGURE:
            return Said(
                f"{_name(names['figure'])} is {of['value']:g}",
                "Discard this result: the tool measured nothing there, or computed from a wrong time.",
            )
        case Code.NOTHING_MEASURED:
            errors = f": {of['errors']:,.0f} operations failed" if of.get("errors") else ""
            return Said(f"nothing was measured{errors}", "Look for the errors in the tool's output, and run it again.")
        case Code.OUT_OF_ORDER:
            return Said(
                f"{_name(names['lower'])} ({show_ms(of['lower'])}) is above {_name(names['higher'])} ({show_ms(of['higher'])})",
                "A percentile is never below a lower one: the columns are exchanged, of different runs, or one is a mean. Use neither.")  # fmt: skip
        case Code.MEAN_IMPOSSIBLE:
            bound = f"at least {show_ms(of['low'])}" if "low" in of else f"at most {show_ms(of['high'])}"
            return Said(
                f"the mean is {show_ms(of['mean'])}; by its percentiles it is {bound}",
                "They are not of the same operations. Use neither.",
            )
        case Code.RATE_IS_NOT_COUNT_BY_TIME:
            return Said(
                f"{of['count']:,.0f} in {of['seconds']:,.6g} s is {show_rate(of['implied'])}/s, not {show_rate(of['rate'])}/s; at that rate it takes "
                f"{of['implied_seconds']:,.4g} s",
                "One of the three is of another time: with or without start, warm-up, or the slowest client. Take count ÷ time by your own clock.")  # fmt: skip
        case Code.BYTES_DO_NOT_FIT:
            by = f"over its {of['seconds']:,.6g} s" if "seconds" in of else f"at {of['record_bytes']:,.0f} B each"
            return Said(
                f"{show_bytes(of['bytes_per_s'])}/s is printed; {by} it is {show_bytes(of['implied'])}/s",
                "Rate and bytes are not of the same time, or not of the same records.",
            )
        case Code.TWO_FIGURES:
            return Said(
                f"two figures for {names['figure']}: {of['first']:,.10g} and {of['second']:,.10g}",
                "Find out which one was measured; until then use neither.",
            )
        case Code.SAID_CHANGE_DOES_NOT_FIT:
            which = "its slowest part" if names["figure"] == "peak" else "the whole"
            return Said(
                f"said to be {of['said']:.0f} % slower together ({which}); by its own figures it is {of['found']:.0f} %",
                "Compare the measured times, not the summary.",
            )
        case Code.MORE_IN_FLIGHT_THAN_THREADS:
            return Said(
                f"rate × mean latency is {of['in_flight']:,.4g} operations in flight; the client has {of['threads']:,.0f} threads",
                "A thread has one operation in flight: rate or mean is wrong, or there were more clients than are named.")  # fmt: skip
        case Code.TASKS_LONGER_THAN_JOB:
            return Said(
                f"by its bytes and its rate a task took {of['task_s']:,.4g} s on average, and the whole job {of['seconds']:,.4g} s",
                "One of the three is wrong, or of another run.")  # fmt: skip
        case Code.CLIENT_SET_RATE:
            return Said(
                f"rate × mean latency is {of['in_flight']:,.4g} operations in flight, and the client has {of['threads']:,.0f} threads: the client set this rate",
                "It is no limit of the system. Raise the threads until the rate stops rising, or ask for rates (an open loop) and watch the latency.")  # fmt: skip
        case Code.CLIENT_MAY_HAVE_SET_RATE:
            return Said(
                f"rate × mean latency is {of['in_flight']:,.4g} operations in flight: a client with {of['threads']:,.0f} threads would have set this rate",
                "Look up how many threads it had. If as many, this is no limit of the system.")  # fmt: skip
        case Code.TARGET_MISSED:
            return Said(
                f"{show_rate(of['target'])}/s were asked for and {show_rate(of['rate'])}/s came ({of['rate'] / of['target']:.1%})",
                "This is what client and system do at most together: its latencies are of a full queue. Ask for less, and see at which rate latency rises. "
                "Watch the client's own CPU, too.")  # fmt: skip
        case Code.QUEUE_IN_CLIENT:
            return Said(
                f"rate × mean latency is {of['records']:,.0f} records, {show_bytes(of['bytes'])}, under way; the producer's buffer holds {show_bytes(of['buffer'])}",
                "Most of this latency is waiting in the client. Ask for a rate that the system sustains.")  # fmt: skip
        case Code.CLIENT_LATE:
            beside = f", where p99 is {show_ms(of['p99'])}" if "p99" in of else ""
            return Said(
                f"the client sent up to {show_ms(of['late'])} late (p99){beside}", "Latencies leave that out. Add clients, or ask for less."
            )
        case Code.TAIL_CUT_OFF:
            one = f"; if one of its {of['threads']:,.0f} threads waited, a {of['threads']:,.0f}th of it" if of.get("threads") else ""
            return Said(
                f"closed loop: in the longest pause ({show_ms(of['max'])}) {of['due']:,.0f} operations were due ({of['share']:.1%} of all), and hardly any was sent. "
                f"Had all threads waited, {_name(names['figure'])} would be {show_ms(of['lifted'])}, not {show_ms(of['printed'])}{one}",
                "Do not compare this tail with an objective. Measure it in an open loop, from the time at which each operation was due.")  # fmt: skip
        case Code.WARM_UP_IN_FIGURES:
            high = f", with a latency of up to {show_ms(of['max'])} (later: {show_ms(of['later'])})" if "max" in of else ""
            return Said(
                f"the first {show_duration(of['seconds'])} ran at {show_rate(of['rate'])}/s{high}, the rest at {show_rate(of['usual'])}/s: the start is in the figures",
                "Warm up first, and leave it out.")  # fmt: skip
        case Code.DRIFT:
            way = "rose" if of["change"] > 0 else "fell"
            return Said(
                f"the rate {way} by {abs(of['change']):.0%} from first to last, over {show_duration(of['seconds'])} after the start",
                "There is no one rate to report. Run longer, until it is steady, or find out what grows: compaction, a filling disk, a cold cache.")  # fmt: skip
        case Code.TOO_FEW_FOR_PERCENTILE:
            return Said(
                f"{_name(names['figure'])} of {of['count']:,.0f} operations stands on the slowest {max(of['beyond'], 0):,.2g}",
                "Measure longer, or use a lower percentile.")  # fmt: skip
        case Code.FAILED:
            share = f" ({of['errors'] / (of['errors'] + of['count']):.2g} of all)" if of.get("count") else ""
            named = f": {', '.join(f'{count} × {name}' for name, count in names.items())}" if names else ""
            return Said(
                f"{of['errors']:,.0f} operations failed{share}{named}",
                "Say whether rate and latencies hold them. A rate with errors is a limit only if they are acceptable.",
            )
        case Code.BACKLOG_GROWS:
            return Said(
                f"what waits for the consumers grows by {show_rate(of['per_s'])}/s, to {of['last']:,.0f} records",
                "They do not follow: end-to-end latencies are the backlog's age, and would have grown for as long as the test had gone on.")  # fmt: skip
        case Code.LINK_FULL:
            return Said(
                f"{_gbit(of['bits_per_s'])} is {of['bits_per_s'] / of['nominal']:.0%} of a link of {_gbit(of['nominal'])}",
                "If the link is that fast, this is the link's rate, not the system's.",
            )
        case Code.COLLECTIONS_NOT_MEASURED:
            return Said(
                "0 garbage collections, with a mean of NaN: they were not counted",
                "Read nothing from it. The tool needs the nodes' JMX for them.",
            )
        case Code.FASTER_TOGETHER:
            return Said(
                f"{show_rate(of['together'])}/s together with other loads, {show_rate(of['alone'])}/s alone",
                "Neither run was at the system's limit: something else, such as the client, set both rates.")  # fmt: skip
        case Code.NOT_FINISHED:
            return Said("it did not come to its end", "Its figures are of a part. Do not compare them with those of a whole.")
        case Code.RATE_OF_ONE_WORKER:
            return Said(
                f"{show_bytes(of['worker'])}/s is the rate of one task while it runs; {of['parallel']:,.0f} of them would do {show_bytes(of['product'])}/s, and "
                f"bytes ÷ time of the whole job is {show_bytes(of['in_all'])}/s",
                "Name which one you mean. The cluster's rate lies between: the job's time holds its start, and tasks do not all run at once.")  # fmt: skip
