"""Machines of a cluster that is there already, of which only somebody's monitoring is asked: nothing of hydrotest runs there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from hydrotest.spec.fields import written
from hydrotest.spec.hosts import Placed
from hydrotest.spec.secret import Secret

_URL = re.compile(r"^https?://(?P<authority>[^/?#\s]+)[^\s?#]*$")


def _url(value: str) -> str:
    match = _URL.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not an address; write e.g. http://b1:9100/metrics")
    if "@" in match["authority"]:
        raise ValueError("a login does not stand in an address; write `user` and `password: {env: NAME}`")
    return value


Url = Annotated[str, AfterValidator(_url), written(_URL.pattern.replace("(?P<authority>", "("), "http://b1:9100/metrics")]
"""`http://…` or `https://…`, without a login."""

_SERIES = re.compile(r'^(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?P<labels>([a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*",?)*)\})?$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\]*)"')


@dataclass(frozen=True)
class Selected:
    """A series by its name and the labels that it must have, `name{label="value"}`."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


def _selected(value: object) -> object:
    match = _SERIES.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a series; write e.g. `broker_idle{{pool="requests"}}`')
    return Selected(match["name"], dict(_LABEL.findall(match["labels"] or "")))


SeriesField = Annotated[
    Selected, BeforeValidator(_selected), written(_SERIES.pattern.replace("?P<name>", "").replace("?P<labels>", ""), "broker_idle")
]


class Monitored(Placed):
    """A machine that is only looked at, through what monitors it."""

    user: str | None = Field(None, description="The user who logs in there, with `password`.")
    password: Secret | None = Field(None, description="Where the password is: `{env: NAME}` or `{file: PATH}`.")
    token: Secret | None = Field(None, description="Where a bearer token is: `{env: NAME}` or `{file: PATH}`.")
    authority: str | None = Field(None, description="File of the certificates that sign its own, PEM; this machine's own if not given.")
    map: dict[str, SeriesField] = Field(
        default_factory=dict,
        description="Gauges of the system that are exported under other names than hydrotest knows: its own name, then theirs, "
        'e.g. `{kafka_under_replicated_partitions: broker_behind{kind="urp"}}`.',
    )

    refused: ClassVar[frozenset[str]] = frozenset({"data", "data_center", "rack"})
    """Settings of other hosts."""
    is_monitored: ClassVar[bool] = True
    reach: ClassVar[Literal["loopback", "emulated", "real"]] = "real"

    @model_validator(mode="after")
    def _is_only_looked_at(self) -> Monitored:
        if given := sorted(self.model_fields_set & self.refused):
            raise ValueError(f"nothing is placed on a machine that is only looked at; leave `{given[0]}` out")
        if (self.user is None) != (self.password is None):
            raise ValueError("a login needs both `user` and `password`")
        if self.user is not None and self.token is not None:
            raise ValueError("write one of `user` and `token`")
        return self


class ExporterHost(Monitored):
    """A machine whose node_exporter is read each second."""

    connect: Literal["exporter"] = Field(description="How its counters are read: `exporter`.")
    metrics: Url = Field(description="The page of its node_exporter, e.g. `http://b1:9100/metrics`.")
    services: list[Url] = Field(
        default_factory=list, description="Pages of the exporters of the broker's or node's JVM there, e.g. `http://b1:9404/metrics`."
    )


class PrometheusHost(Monitored):
    """A machine whose counters a Prometheus collects. They are fetched after each trial."""

    connect: Literal["prometheus"] = Field(description="How its counters are read: `prometheus`.")
    server: Url = Field(description="The Prometheus, e.g. `https://prometheus.example:9090`.")
    instance: str = Field(min_length=1, pattern=r'^[^"\\\n]+$', description="The label `instance` of its node_exporter, e.g. `b1:9100`.")
    services: list[Annotated[str, Field(min_length=1, pattern=r'^[^"\\\n]+$')]] = Field(
        default_factory=list, description="The labels `instance` of the exporters of the broker's or node's JVM there, e.g. `b1:9404`."
    )
