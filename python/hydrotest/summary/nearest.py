"""Reads of the nearest vectors."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import NO_LATENCY, TENANCY, WORKLOAD, Count, Latency, Number, Row
from hydrotest.summary.integrity import Reason

STATEMENT = "Its name in the experiment."


class Nearest(Row):
    """Reads of the nearest vectors by a statement under one load: how long they take, and how many of the nearest they find. The
    rows that are searched are all of `keys`: each is there before the load, and no statement changes its vector or deletes it."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    statement: str = Field(description=STATEMENT)
    is_at_limit: bool = Field(description="Whether it is the load at the workload's limit.")
    offered: Number | None = Field(description="Operations of the workload a second asked for; null in a closed loop, and at the limit.")
    concurrency: Count | None = Field(description="Operations in flight allowed; null in an open loop.")
    trials: list[int] = Field(description="Numbers of the trials.")
    latency_ms: Latency | None = Field(description=f"Response times of the statement; {NO_LATENCY}.")
    similarity: Literal["cosine", "dot_product", "euclidean"] = Field(description="The similarity function of the index.")
    limit: Count = Field(description="Rows that it asks for: the k of recall@k.")
    dimension: Count = Field(description="Elements of a vector.")
    rows: Count = Field(description="Rows that are searched.")
    answers: Count = Field(description="Its answers, warm-up included.")
    queries: Count = Field(description="Answers among them that were held against an exact search: a random sample.")
    recall: Number | None = Field(description="Mean share of the nearest that an answer holds, 0 to 1; null: no query was held.")
    low: Number | None = Field(description="Lower end of its 95 % interval.")
    high: Number | None = Field(description="Upper end of its 95 % interval.")
    short: Count = Field(description="Of the queries, those whose answer has fewer rows than there are to find.")


class NearestUntold(Row):
    """A statement that asks for the nearest vectors, and whose recall is not known."""

    workload: str = Field(description=WORKLOAD)
    statement: str = Field(description=STATEMENT)
    reason: Reason = Field(description="Why.")
