"""How fast a machine is, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hydrotest.predict.rating import Compared, Rating
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.table import Table
from hydrotest.units import show_short

WORDS = {
    "chain": "operations that each need the one before",
    "wide": "operations that do not need each other",
    "branches": "branches that cannot be foreseen",
    "walk near": "pointers through 256 KiB",
    "walk middle": "pointers through 8 MiB",
    "walk far": "pointers through 256 MiB",
    "copy": "bytes copied in memory",
    "checksum": "bytes under a CRC-32C",
    "compress": "bytes compressed with LZ4",
    "wake": "another thread woken, and back",
    "jvm": "records made, kept in maps, and written, by a JVM",
}


def print_rating(found: Rating, console: Console) -> None:
    """A row for each kind of work."""
    rows = [
        [name, WORDS.get(name, ""), show_short(own.per_s), f"{own.low / own.per_s - 1:+.0%} to {own.high / own.per_s - 1:+.0%}"]
        for name, own in found.rates.items()
    ]
    print_sheet(Table("What one processor does in a second", ["kind", "of", "a second", "half of the slices"], rows), console)
    print_text(f"{found.cpu_model}; {found.processors} processors, which at once do as much as {found.parallel_cores:.3g} alone", console)


def print_compared(found: Compared, console: Console) -> None:
    """How much faster, or slower."""
    rows = [
        [name, show_short(found.here.rates[name].per_s), show_short(found.there.rates[name].per_s), f"{ratio:.3g}"]
        for name, ratio in found.ratios.items()
    ]
    print_sheet(Table(f"{found.here.cpu_model} against {found.there.cpu_model}", ["kind", "this one", "the other", "times"], rows), console)
    span = f"from {found.low:.2f} to {found.high:.2f} by kind of work"
    console.print(
        Text.assemble((f"--speed {found.speed:.2f}", "bold"), f"  a processor against the other's, all at work; {span}"), highlight=False
    )
    if set(found.here.rates) != set(found.there.rates):
        print_text("without the JVM's kind of work, which only one of them was measured by", console)
    print_text("which of these kinds a system's work is like is not known: the range is what may be, not an error", console)
