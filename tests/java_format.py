"""What the stock tools print, by their own format strings, as Java's Formatter would in a locale."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Locale:
    """How a locale of Java writes numbers."""

    name: str
    decimal: str
    group: str
    zero: str = "0"
    """Its first digit."""

    @property
    def may_be_refused(self) -> bool:
        """Only a text in digits other than ours may be."""
        return self.zero != "0"

    def number(self, value: float, places: int = 0, *, grouped: bool = False) -> str:
        """`%.{places}f`, or with `grouped` `%,.{places}f`."""
        whole, _, part = f"{value:,.{places}f}".partition(".")
        text = whole.replace(",", self.group if grouped else "") + (self.decimal + part if part else "")
        return "".join(chr(ord(self.zero) + int(one)) if one.isascii() and one.isdigit() else one for one in text)


LOCALES = [
    Locale("en_US", ".", ","),
    Locale("de_DE", ",", "."),
    Locale("fr_FR", ",", "\u202f"),
    Locale("ru_RU", ",", "\u00a0"),
    Locale("de_CH", ".", "\u2019"),
    Locale("de_CH, as before Java 9", ".", "'"),
    Locale("ar_EG", "\u066b", "\u066c", "\u0660"),
    Locale("hi_IN with native digits", ".", ",", "\u0966"),
]


def stressed(locale: Locale, rates: dict[str, int], errors: int, ms: list[float]) -> str:
    """`StressMetrics.summarise` of Cassandra 4: ten seconds of it; all errors are the first operation's."""

    def row(label: str, total: str, own: list[str], unit: str = "") -> str:
        ops = ", ".join(f"{op}: {value}{unit}" for op, value in zip(rates, own, strict=True))
        return f"{label:<26}: {total}{unit} [{ops}]\n"

    def grouped(value: float, places: int = 0) -> str:
        return locale.number(value, places, grouped=True)

    all_ops, labels = sum(rates.values()), ("mean", "median", "95th percentile", "99th percentile", "99.9th percentile", "max")
    text = "\nResults:\n"
    for what, unit in (("Op", " op/s"), ("Partition", " pk/s"), ("Row", " row/s")):
        text += row(f"{what} rate", f"{grouped(all_ops):>8}", [grouped(rate) for rate in rates.values()], unit)
    for label, value in zip(labels, ms, strict=True):
        text += row(f"Latency {label}", f"{locale.number(value, 1):>6}", [grouped(value, 1) for _ in rates], " ms")
    text += row("Total partitions", f"{grouped(all_ops * 10):>10}", [grouped(rate * 10) for rate in rates.values()])
    text += row("Total errors", f"{grouped(errors):>10}", [grouped(errors if op == next(iter(rates)) else 0) for op in rates])
    return (
        text
        + f"Total GC memory           : {locale.number(0, 3)} KiB\nAvg GC time               :    NaN ms\nTotal operation time      : 00:00:10\n\nEND\n"
    )


def produced(locale: Locale, count: int, rate: float, ms: list[float]) -> str:
    """`ProducerPerformance.Stats.printTotal` of Kafka 4: mean, max, and four percentiles."""
    mean, most, *percentiles = ms
    named = ", ".join(
        f"{locale.number(int(value))} ms {name}" for name, value in zip(("50th", "95th", "99th", "99.9th"), percentiles, strict=True)
    )
    return (f"{locale.number(count)} records sent, {locale.number(rate, 6)} records/sec ({locale.number(rate / 1e4, 2)} MB/sec), "
            f"{locale.number(mean, 2)} ms avg latency, {locale.number(most, 2)} ms max latency, {named}.\n")  # fmt: skip


def consumed(locale: Locale, count: int, fetch_ms: int, rebalance_ms: int) -> str:
    """`ConsumerPerformance.main` of Kafka 4."""
    elapsed_s, fetch_s, mib = (fetch_ms + rebalance_ms) / 1e3, fetch_ms / 1e3, count * 100 / (1 << 20)
    cells = [locale.number(mib, 4), locale.number(mib / elapsed_s, 4), locale.number(count), locale.number(count / elapsed_s, 4),
             locale.number(rebalance_ms), locale.number(fetch_ms), locale.number(mib / fetch_s, 4), locale.number(count / fetch_s, 4)]  # fmt: skip
    return (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
        f"fetch.nMsg.sec\n2026-11-21 04:07:56:856, 2026-11-21 04:08:00:090, {', '.join(cells)}\n"
    )
