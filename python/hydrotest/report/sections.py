"""The questions that a run answers: sections of the report, and what `hydrotest show RUN SECTION` prints."""

from __future__ import annotations

from enum import StrEnum


class Section(StrEnum):
    """A question, by the name that it has on the command line."""

    LIMITS = "limits"
    BOTTLENECKS = "bottlenecks"
    TOGETHER = "together"
    SPARK = "spark"
    DATAFLOW = "dataflow"
    INTEGRITY = "integrity"
    TRIALS = "trials"
    USAGE = "usage"


QUESTIONS = {
    Section.LIMITS: "How much, and at what latency?",
    Section.BOTTLENECKS: "What binds it?",
    Section.TOGETHER: "What happens together?",
    Section.SPARK: "Where does Spark's time go?",
    Section.DATAFLOW: "What does the pipeline do to each record?",
    Section.INTEGRITY: "Was anything lost?",
    Section.TRIALS: "What happened at given rates, over time and under faults?",
    Section.USAGE: "What was used when, and what did hydrotest cost?",
}
"""In the report's order."""
EVIDENCE = frozenset({Section.BOTTLENECKS, Section.INTEGRITY, Section.TRIALS, Section.USAGE, Section.SPARK, Section.DATAFLOW})
"""Sections that stand behind the answers; a reader opens them."""
