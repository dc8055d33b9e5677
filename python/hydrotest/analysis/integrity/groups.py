"""The account of consumer groups, from what their generator found (rust/kafka/src/group.rs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydrotest.store.records import RecordAccounting


def group_fates(found: Mapping[str, Any]) -> RecordAccounting:
    """The account of all groups of a workload together. Each group is to read each record: acknowledged are as many as
    it could read, lost those that it passed unread. Records that it read again are in the groups' own rows: a group whose
    members commit now and then promises no less than once, and no more."""
    accounts = [group["account"] for group in found["groups"]]

    def total(key: str) -> int:
        return sum(int(account[key]) for account in accounts)

    records, missed, unread = total("records"), total("missed"), total("unread")
    there = records + missed + unread
    return RecordAccounting(
        unit="records", sent=there, acked=there, seen=records, lost=missed, duplicated=None, corrupted=total("corrupted"),
        out_of_order=None, unacked_present=None, in_flight=unread,
    )  # fmt: skip
