"""The account of every record: acknowledged against seen, as sets of runs `[start, end)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hydrotest.store.records import RecordAccounting

Runs = list[tuple[int, int]]


def normalised(runs: Iterable[Iterable[int]]) -> Runs:
    """Disjoint runs in ascending order."""
    out: Runs = []
    for start, end in sorted((int(s), int(e)) for s, e in runs):
        if start >= end:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def size(runs: Runs) -> int:
    """How many numbers the runs contain."""
    return sum(end - start for start, end in runs)


def common(a: Runs, b: Runs) -> Runs:
    """The numbers in both. Both must be normalised, as the result is."""
    out: Runs = []
    i = j = 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            out.append((start, end))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return out


def without(a: Runs, b: Runs) -> Runs:
    """The numbers in `a` and not in `b`. Both must be normalised, as the result is."""
    gaps: Runs = []
    last = 0
    for start, end in b:
        gaps.append((last, start))
        last = end
    gaps.append((last, max(last, a[-1][1]) if a else last))
    return common(a, [gap for gap in gaps if gap[0] < gap[1]])


def overlap(a: Runs, b: Runs) -> int:
    """How many numbers are in both. Both must be normalised."""
    return size(common(a, b))


def kafka_fates(produced: Mapping[str, Any], consumed: Mapping[str, Any] | None) -> RecordAccounting:
    """The account of a topic's records: `produced` and `consumed` are the generators' `extra` findings.

    A record in flight is acknowledged and beyond the reader's last position; it is neither seen nor lost. The
    offsets show which those are, partition by partition. Records without a known offset, beyond the last one
    that a reader who stopped early passed, are unknown. Then `in_flight` is null, and `lost` counts only the
    certain ones (null for none). Without acknowledgements (`acks: 0`) loss has no meaning and is unknown; the
    account has what was sent and what was seen.
    """
    acked = {(part["producer"], part["partition"]): normalised(part["runs"]) for part in produced["acked"]}
    sent = sum(part["sent"] for part in produced["acked"])
    total_acked = sum(size(runs) for runs in acked.values())
    if consumed is None:
        return RecordAccounting(unit="records", sent=sent, acked=total_acked, seen=None, lost=None, duplicated=None, corrupted=None,
                     out_of_order=None, unacked_present=None, in_flight=None)  # fmt: skip
    seen = {(part["producer"], part["partition"]): normalised(part["runs"]) for part in consumed["seen"]}
    arrived = sum(overlap(runs, seen.get(key, [])) for key, runs in acked.items())
    stopped = {one["partition"]: (one["read_to"], one["end"]) for one in consumed["stopped"]}
    in_flight = unknown = 0
    for part in produced["acked"]:
        key = part["producer"], part["partition"]
        missing = without(acked[key], seen.get(key, []))
        if missing and part["partition"] in stopped:
            flying, open_ = _beyond(missing, seen.get(key, []), part.get("places", []), *stopped[part["partition"]])
            in_flight, unknown = in_flight + flying, unknown + open_
    lost = total_acked - arrived - in_flight - unknown
    return RecordAccounting(
        unit="records",
        sent=sent,
        acked=total_acked,
        seen=sum(size(runs) for runs in seen.values()),
        lost=None if not produced.get("acknowledges", True) or (unknown and not lost) else lost,
        duplicated=sum(part["duplicated"] for part in consumed["seen"]),
        corrupted=int(consumed["corrupted"]),
        out_of_order=sum(part["out_of_order"] for part in consumed["seen"]),
        unacked_present=sum(size(runs) for runs in seen.values()) - arrived,
        in_flight=None if unknown else in_flight,
    )


def _beyond(missing: Runs, seen: Runs, places: Iterable[tuple[int, int, int]], read_to: int, end: int) -> tuple[int, int]:
    """Of the missing records of one producer in a partition that was read up to offset `read_to` of `end`:
    how many lie beyond, and how many are unknown. `places` are runs of acknowledged sequences with a known
    offset: (first, end, first offset)."""
    passed = seen[-1][1] if seen else 0
    flying, known = [], []
    for first, last, offset in places:
        known.append((first, last))
        # The sequences of this run at or beyond an offset.
        unread, beyond = (min(last, max(first, first + at - offset)) for at in (read_to, end))
        flying.append((unread, beyond))
        if unread > first:
            passed = max(passed, unread)
    # A producer's sequences are in order: what comes before one that was passed was passed too.
    unplaced = without(missing, normalised([*known, (0, passed)]))
    return overlap(missing, normalised(flying)), size(unplaced)


def rows_fates(attempted: Runs, acked: Runs, scanned: Mapping[str, Any]) -> RecordAccounting:
    """The account of a table's rows: every row whose write was acknowledged must be there and intact.

    Rows are counted, not writes: a later write to the same key replaces an earlier one. `scanned` has the
    rows that are there and intact, and the corrupted ones.
    """
    seen = normalised(scanned["runs"])
    present = overlap(acked, seen)
    return RecordAccounting(
        unit="rows",
        sent=size(attempted),
        acked=size(acked),
        seen=size(seen),
        # A corrupted row is there: it counts as corrupted, not as lost. One that was never acknowledged does
        # not stand for an acknowledged one.
        lost=size(without(without(acked, seen), normalised(scanned["corrupted_runs"]))),
        duplicated=int(scanned["duplicated"]),
        corrupted=int(scanned["corrupted"]),
        out_of_order=None,
        unacked_present=size(seen) - present,
        in_flight=0,
    )
