"""What is tested in a workload of OpenMessaging Benchmark: a rate for some time, or the highest one; and a backlog. (`WorkloadGenerator.java`.)"""

from __future__ import annotations

import math
from typing import Any

from hydrotest.imports.kafka_settings import INGEST
from hydrotest.imports.note import Aim, Imported, Why
from hydrotest.imports.omb_readers import READERS, Readers
from hydrotest.imports.yaml_lines import Lined
from hydrotest.spec.kafka_group import members_service
from hydrotest.spec.tests.soak import SOAK_S_MIN

LATER = frozenset({
    "subscriptionsPerTopic", "consumerPerSubscription", "producerRate", "testDurationMinutes", "warmupDurationMinutes", "consumerBacklogSizeGB",
    "backlogDrainRatio",
})  # fmt: skip
"""Keys that are read here, and in `omb_readers`."""
MINUTES = 5.0
"""Of a test, where the workload does not say."""
BACKLOG_BYTES_MAX = 4 << 30
BACKLOG_S_MAX = 300
"""A backlog is built no longer: what is written meanwhile, and until it is worked off, has to fit on this machine's disk."""
BEFORE_S = 20
AFTER_S_MIN = 60
CATCH_UP = 2
"""Time to work a backlog off, at least, by the time that built it: for readers that are half as fast again as the producer."""
STILL_MEMBER = 2 / 3
"""Part of a session that a member may be silent for."""


def make_tests(lined: Lined, out: Imported, readers: Readers, aim: Aim) -> None:
    """Rate, duration and backlog decide which tests there are."""
    rate, minutes = lined.number("producerRate", 0) or 0, lined.number("testDurationMinutes", None)
    where = lined.where("producerRate")
    reading = [READERS] if readers.has_groups else []
    tests: list[dict[str, Any]] = []
    if rate:
        if not readers.drains:
            name = readers.add_drain()
            out.changed(f"producerRate: {rate}", f"{name}, a kafka-consume in addition", Why.CHECKED, **where)
        seconds = max(round(SOAK_S_MIN), round(60 * float(minutes or MINUTES)))
        tests.append({"soak": {"workloads": [INGEST, *reading, *readers.drains], "rates": {INGEST: rate}, "duration": f"{seconds} s"}})
        out.kept(f"producerRate: {rate}", f"soak, rates: {{{INGEST}: {rate}}}", **where)
    else:
        out.experiment["objectives"] = {INGEST: {"p99": aim.p99}}
        tests.append({"isolated": [INGEST]})
        out.changed(f"producerRate: {rate}", f"isolated: [{INGEST}], p99: {aim.p99}", Why.OBJECTIVE, **where)
        if reading:
            tests.append({"combined": [INGEST, *reading]})
            out.changed(f"producerRate: {rate}", f"combined: [{INGEST}, {READERS}]", Why.KEPT_UP_WITH, **where)
    if minutes is not None:
        ours = "duration" if rate else "the search ends by itself"
        out.kept(f"testDurationMinutes: {minutes}", ours, **lined.where("testDurationMinutes"))
    if "warmupDurationMinutes" in lined.values:
        said = f"warmupDurationMinutes: {lined.values['warmupDurationMinutes']}"
        out.changed(said, "warm_up", Why.WARM_UP, **lined.where("warmupDurationMinutes"))
    tests += _backlog(lined, out, readers, rate, aim)
    out.experiment["tests"] = tests


def _backlog(lined: Lined, out: Imported, readers: Readers, rate: float, aim: Aim) -> list[dict[str, Any]]:
    """All members are away until it is built, and work it off while producing goes on."""
    size_gib, where = lined.number("consumerBacklogSizeGB", None), lined.where("consumerBacklogSizeGB")
    ratio = lined.number("backlogDrainRatio", None)
    said, drained = f"consumerBacklogSizeGB: {size_gib}", f"backlogDrainRatio: {ratio}"
    if not size_gib:
        if size_gib is not None:
            out.kept(said, "no backlog", **where)
        if ratio is not None:
            out.left_out(drained, Why.NO_BACKLOG, **lined.where("backlogDrainRatio"))
        return []
    if not readers.has_groups or not rate:
        why = Why.BACKLOG_RATE if readers.are_asked_for else Why.NO_READERS
        out.left_out(said, why, **where)
        if ratio is not None:
            out.left_out(drained, why, **lined.where("backlogDrainRatio"))
        return []
    # All subscriptions together count, as there.
    bytes_per_s = rate * max(lined.whole("messageSize"), 1)
    asked_s = size_gib * 2**30 / (bytes_per_s * readers.group["groups"])
    down_s = math.ceil(min(asked_s, BACKLOG_BYTES_MAX / bytes_per_s, BACKLOG_S_MAX))
    action = "pause" if down_s <= readers.session_s * STILL_MEMBER else "stop"
    fault: dict[str, Any] = {
        "workloads": [INGEST, READERS], "rates": {INGEST: rate}, "service": members_service(READERS), "action": action, "at": f"{BEFORE_S} s",
        "down": f"{down_s} s", "duration": f"{BEFORE_S + down_s + max(AFTER_S_MIN, CATCH_UP * down_s)} s",
    }  # fmt: skip
    ours = f"fault: {action} {members_service(READERS)} for {down_s} s"
    if down_s < asked_s and aim.attach:
        out.changed(said, ours, Why.BACKLOG_THERE, **where)
    elif down_s < asked_s:
        fault["cold"] = True
        out.changed(said, f"{ours}, cold", Why.BACKLOG, **where)
    else:
        out.kept(said, ours, **where)
    if ratio == 1:
        out.kept(drained, "until nothing is behind", **lined.where("backlogDrainRatio"))
    elif ratio is not None:
        out.changed(drained, "until nothing is behind", Why.DRAIN_RATIO, **lined.where("backlogDrainRatio"))
    return [{"fault": fault}]
