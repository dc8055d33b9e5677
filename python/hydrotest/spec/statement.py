"""Statements on tables of a user's own, in the experiment file."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count
from hydrotest.spec.lines import Path_

BATCH_ROWS_MAX = 1_000
"""More statements than that fit into no batch that Cassandra takes by default (`batch_size_fail_threshold`)."""

_BEFORE_VERB = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|//[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
"""Blanks and comments."""
_NO_WORDS = re.compile(r"--[^\n]*|//[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$", re.DOTALL)
"""Comments, texts and names in quotes."""


def verb(cql: str) -> str:
    """The word that a statement begins with, in capitals; empty if there is none."""
    words = _BEFORE_VERB.sub("", cql, count=1).split(None, 1)
    return words[0].upper() if words else ""


def words(cql: str) -> str:
    """A statement without comments, texts and names in quotes."""
    return _NO_WORDS.sub(" ", cql)


class Batch(Model):
    """Executes a statement for several rows at once, whose numbers follow each other: rows 0 to 9, 10 to 19, and so on. They are
    in one partition where `values` makes its key `{rows: 10}`."""

    rows: Count = Field(le=BATCH_ROWS_MAX, description="Rows of a batch.")
    kind: Literal["logged", "unlogged", "counter"] = Field(
        "logged", description="`logged`: all of it is written, or nothing, after a while; `counter`: of changes of counters."
    )


class Statement(Model):
    """A prepared statement on a table of your own; a value is made for each `?`."""

    cql: str = Field(min_length=1, description="The statement, e.g. INSERT INTO orders (customer, note) VALUES (?, ?).")
    weight: float = Field(1.0, ge=0, description="How often it runs, relative to the other statements.")
    batch: Batch | None = Field(None, description="Executes it for several rows at once.")

    @property
    def is_read(self) -> bool:
        """True for a SELECT."""
        return verb(self.cql) == "SELECT"

    @property
    def is_conditional(self) -> bool:
        """True if it writes only where a condition holds (LWT)."""
        return re.search(r"\bIF\b", words(self.cql), re.IGNORECASE) is not None

    @property
    def is_nearest(self) -> bool:
        """True if it asks an index for the nearest vectors."""
        return self.is_read and re.search(r"\bANN\s+OF\b", words(self.cql), re.IGNORECASE) is not None

    def wire(self, name: str, weight: float, *, is_filling: bool = False) -> dict[str, Any]:
        """`OwnStatement` of rust/cassandra/src/settings.rs. What fills the tables writes one row at a time."""
        batch = None if is_filling else self.batch
        return {"name": name, "cql": self.cql, "weight": weight} | ({} if batch is None else {"batch": batch.model_dump()})

    def check(self, name: str, place: Path_, checker: Checker) -> None:
        """Raises `BadInputError` where a statement or its batch is not usable."""
        if not verb(self.cql):
            raise checker.fail((*place, "cql"), f"{name} is blank", "Write a statement, e.g. SELECT … WHERE … = ?.")
        if self.batch is not None and verb(self.cql) not in ("INSERT", "UPDATE", "DELETE"):
            raise checker.fail((*place, "batch"), f"{name} begins with {verb(self.cql)}, which cannot be in a batch",
                               "Write an INSERT, UPDATE or DELETE of one row; hydrotest puts BEGIN BATCH and APPLY BATCH around.")  # fmt: skip
