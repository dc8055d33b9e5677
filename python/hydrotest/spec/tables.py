"""Tables of a user's own, and what is made with them, in the experiment file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.spec.checker import Checker
from hydrotest.spec.lines import Path_
from hydrotest.spec.statement import verb, words

VIEWS_ENABLED = ("materialized_views_enabled", "enable_materialized_views")
"""The setting of cassandra.yaml that allows materialised views, and its name before Cassandra 4.1."""
_VIEW = re.compile(r"\s*CREATE\s+MATERIALIZED\s+VIEW\b", re.IGNORECASE)
_INDEX = re.compile(r"\s*CREATE\s+(?:CUSTOM\s+)?INDEX\b", re.IGNORECASE)
_VECTOR = re.compile(r"\bVECTOR\s*<", re.IGNORECASE)


def has_views(table: Sequence[str]) -> bool:
    """True if one of the statements makes a materialised view."""
    return any(_VIEW.match(words(create)) for create in table)


def may_index_vectors(table: Sequence[str]) -> bool:
    """True if there are vectors, and an index that may be on them."""
    return any(_VECTOR.search(words(create)) for create in table) and any(_INDEX.match(words(create)) for create in table)


def check_tables(table: Sequence[str], config: Mapping[str, Any] | None, place: Path_, checker: Checker) -> None:
    """Raises `BadInputError` where Cassandra refuses them. `config`: what is given of its cassandra.yaml; None: it is not ours."""
    for create in table:
        if verb(create) != "CREATE":
            raise checker.fail(place, f"{create!r} does not begin with CREATE", "Write CREATE TABLE, TYPE, INDEX or MATERIALIZED VIEW.")
    if config is not None and has_views(table) and not any(config.get(name) is True for name in VIEWS_ENABLED):
        raise checker.fail(place, "Cassandra makes no materialised views by default",
                           f"Add `config: {{{VIEWS_ENABLED[0]}: true}}` to `systems.cassandra`.")  # fmt: skip
