"""What is found in a claim: a code and its figures. Words are made in `report.audit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Code(StrEnum):
    """What is wrong with a figure, or less than it seems."""

    NOT_A_FIGURE = "not_a_figure"
    NOTHING_MEASURED = "nothing_measured"
    OUT_OF_ORDER = "out_of_order"
    MEAN_IMPOSSIBLE = "mean_impossible"
    RATE_IS_NOT_COUNT_BY_TIME = "rate_is_not_count_by_time"
    BYTES_DO_NOT_FIT = "bytes_do_not_fit"
    TWO_FIGURES = "two_figures"
    SAID_CHANGE_DOES_NOT_FIT = "said_change_does_not_fit"
    MORE_IN_FLIGHT_THAN_THREADS = "more_in_flight_than_threads"
    TASKS_LONGER_THAN_JOB = "tasks_longer_than_job"
    CLIENT_SET_RATE = "client_set_rate"
    CLIENT_MAY_HAVE_SET_RATE = "client_may_have_set_rate"
    TARGET_MISSED = "target_missed"
    QUEUE_IN_CLIENT = "queue_in_client"
    CLIENT_LATE = "client_late"
    TAIL_CUT_OFF = "tail_cut_off"
    WARM_UP_IN_FIGURES = "warm_up_in_figures"
    DRIFT = "drift"
    TOO_FEW_FOR_PERCENTILE = "too_few_for_percentile"
    FAILED = "failed"
    BACKLOG_GROWS = "backlog_grows"
    LINK_FULL = "link_full"
    COLLECTIONS_NOT_MEASURED = "collections_not_measured"
    FASTER_TOGETHER = "faster_together"
    NOT_FINISHED = "not_finished"
    RATE_OF_ONE_WORKER = "rate_of_one_worker"


CONTRADICTIONS = frozenset({
    Code.NOT_A_FIGURE, Code.NOTHING_MEASURED, Code.OUT_OF_ORDER, Code.MEAN_IMPOSSIBLE, Code.RATE_IS_NOT_COUNT_BY_TIME, Code.BYTES_DO_NOT_FIT,
    Code.TWO_FIGURES, Code.SAID_CHANGE_DOES_NOT_FIT, Code.MORE_IN_FLIGHT_THAN_THREADS, Code.TASKS_LONGER_THAN_JOB,
})  # fmt: skip
"""Not both can be so. The others say that a figure claims more than was measured."""


@dataclass(frozen=True)
class Finding:
    """One finding of one claim."""

    code: Code
    figures: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Which figures it is about, by their keys; counts of errors by name."""

    @property
    def is_contradiction(self) -> bool:
        return self.code in CONTRADICTIONS
