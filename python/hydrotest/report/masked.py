"""Reports that are given away: without what says where machines and clusters are, and who logs in there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import urlsplit

from hydrotest.spec.attach import attached
from hydrotest.spec.models import Experiment
from hydrotest.summary.model import Summary

_IPV4 = re.compile(r"(?<![\d.])(?!127\.0\.0\.1(?!\d))\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_MAY_BE_IPV6 = re.compile(r"(?<![\w:])[0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F:]*(?![\w:])")
OF_HOSTS = ("address", "to", "command", "metrics", "server", "instance", "services", "host_key", "user", "authority")
"""Settings of a host that say how it is reached."""
OF_SECURITY = ("user", "authority", "certificate", "key")
"""The same of a cluster that is there already."""
OF_CLUSTERS = ("attach", "status", "user", "bucket", "prefix")
"""And beside its `security`."""


class Mask:
    """What is hidden, by the same word wherever it stands."""

    def __init__(self, experiment: Experiment, environment: Mapping[str, Any]) -> None:
        """The names of hosts and workloads in the experiment stay: without them nothing could be read."""
        own = {*experiment.hosts, *experiment.workloads, *experiment.systems.present(), experiment.name}
        found = {*_of_hosts(experiment), *_of_clusters(experiment), *_of_contact(environment)} - own
        ordered = sorted((text for text in found if len(text) > 1), key=lambda text: (-len(text), text))
        self._words = {text: f"masked-{number}" for number, text in enumerate(ordered, 1)}

    def of_text(self, text: str) -> str:
        """A text of a run: its experiment, an error. All other addresses in it are hidden, too."""
        return _MAY_BE_IPV6.sub(_unless_none, _IPV4.sub("masked", self._hide(text, self._words)))

    def of_summary(self, summary: Summary) -> Summary:
        """A summary with all its texts hidden: errors, reasons, names of services."""
        return Summary.model_validate(self._of(summary.model_dump(mode="json")))

    def of_page(self, text: str) -> str:
        """A whole page, made from hidden texts: what figures have from the run folder by themselves, such as reasons of trials.

        Only what cannot be a word of the page is hidden: `exec` may be part of a command, and of the page.
        """
        return self._hide(text, [word for word in self._words if re.search(r"[.:@]", word)])

    def _of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.of_text(value)
        if isinstance(value, list):
            return [self._of(one) for one in value]
        if isinstance(value, dict):
            return {self.of_text(key): self._of(one) for key, one in value.items()}
        return value

    def _hide(self, text: str, words: Iterable[str]) -> str:
        pattern = "|".join(map(re.escape, words))
        return re.sub(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])", lambda match: self._words[match[0]], text) if pattern else text


def _unless_none(match: re.Match[str]) -> str:
    try:
        address = IPv6Address(match[0])
    except ValueError:  # a time of day
        return match[0]
    return match[0] if address.is_loopback else "masked"


def _of_hosts(experiment: Experiment) -> Iterator[str]:
    for host in experiment.hosts.values():
        if host.is_remote or host.is_monitored:
            for key in OF_HOSTS:
                yield from _texts(getattr(host, key, None))


def _of_clusters(experiment: Experiment) -> Iterator[str]:
    for system in attached(experiment).values():
        for key in OF_CLUSTERS:
            yield from _texts(getattr(system, key, None))
        for key in OF_SECURITY:
            yield from _texts(getattr(getattr(system, "security", None), key, None))


def _of_contact(environment: Mapping[str, Any]) -> Iterator[str]:
    there = environment.get("attached") or {}
    yield from _texts(there.get("identity"))
    for node in there.get("nodes", ()):
        yield from _texts(node.get("address"))
        # A DataNode has its address as its name; of brokers these are numbers.
        if ":" in (name := str(node.get("name", ""))):
            yield from _texts(name)


def _texts(value: object) -> Iterator[str]:
    """Texts, and what is in each of them: `b1.prod:9090` and `b1.prod` of `https://b1.prod:9090/x`, `me` and `b1.prod` of
    `me@b1.prod`."""
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or not text:
            continue
        place = urlsplit(text).netloc if "://" in text else text
        user, _, machine = place.rpartition("@")
        yield from (text, place, machine, user)
        # Not of an address with colons of its own.
        yield machine.partition(":")[0] if machine.count(":") == 1 else machine
